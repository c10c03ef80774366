//! A real containerd with a real runc, as Debian packages them.
//!
//! Each test starts one of its own, with its configuration, state and socket in a temporary folder, and
//! ends it, also when the test fails. On a machine without containerd, or for an ordinary user, they
//! say so and test nothing.

use kq_facts::cgroup_mode::CgroupDriver;
use kq_io::trust::NamedBy;
use kq_linux::cri::{CriError, CriSession, RuntimeNeeds, StatusNeeds, read_runtime};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(20);

/// A containerd that ends with its test.
pub struct Containerd {
    process: Child,
    folder: tempfile::TempDir,
}

impl Containerd {
    /// Starts one and waits until it listens; `None`: this machine cannot.
    pub fn start(disabled: &str, systemd_cgroup: bool) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            crate::skipped::skip("containerd wants root");
            return None;
        }
        if said_version("containerd").is_none() || said_version("runc").is_none() {
            crate::skipped::skip("no containerd and runc on this machine");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let config = format!(
            r#"
version = 2
root = "{root}"
state = "{state}"
disabled_plugins = [{disabled}]
[grpc]
address = "{socket}"
[ttrpc]
address = "{socket}.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
path = "{opt}"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{cni}/bin"
conf_dir = "{cni}/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
default_runtime_name = "real"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.real]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.real.options]
SystemdCgroup = {systemd_cgroup}
"#,
            root = at("root"),
            state = at("state"),
            socket = at("c.sock"),
            opt = at("opt"),
            cni = at("cni"),
        );
        std::fs::write(at("config.toml"), config).expect("a file can be written");
        let log = File::create(at("log")).expect("a file can be made");
        let process = Command::new("containerd")
            .args(["--config", &at("config.toml")])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file can be shared"))
            .stderr(log)
            .spawn()
            .expect("containerd can be started");
        let mut started = Self { process, folder };
        started.wait();
        Some(started)
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.folder.path().join("c.sock").display())
    }

    /// Returns the folder in which everything is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until it says that it has started: the socket alone answers before its plugins are there. The CRI
    /// starts after that.
    fn wait(&mut self) {
        let begin = Instant::now();
        let endpoint = self.endpoint();
        let is_cri_starting = || {
            let version = RuntimeNeeds::default();
            let asked = read_runtime(&endpoint, Path::new("/"), NamedBy::Operator, version, TIME);
            asked.is_err_and(|error| error.to_string().contains("not initialized yet"))
        };
        loop {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            if log.contains("containerd successfully booted") && !is_cri_starting() {
                return;
            }
            let ended = self.process.try_wait().expect("it can be looked at");
            assert!(ended.is_none() && begin.elapsed() < TIME, "containerd: {ended:?}\n{log}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the words of the first line of `PROGRAM --version`.
fn said_version(program: &str) -> Option<Vec<String>> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).expect("it writes UTF-8");
    Some(text.lines().next()?.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn an_empty_containerd_is_read() {
    for (systemd_cgroup, driver) in [(false, CgroupDriver::Cgroupfs), (true, CgroupDriver::Systemd)]
    {
        let Some(containerd) = Containerd::start("", systemd_cgroup) else { return };
        let endpoint = containerd.endpoint();
        let facts =
            read_runtime(&endpoint, Path::new("/"), NamedBy::Operator, RuntimeNeeds::ALL, TIME)
                .expect("containerd answers");
        assert_eq!(facts.endpoint, endpoint);

        let version = said_version("containerd").expect("it is there");
        assert_eq!(facts.version.runtime_name, "containerd");
        assert_eq!(facts.version.runtime_version, version[2]);
        assert_eq!(facts.version.runtime_api_version, "v1");

        let found = facts.cgroup_driver.found.as_ref().expect("the driver is known");
        assert_eq!(found.value, driver, "SystemdCgroup = {systemd_cgroup}");
        if facts.version.runtime_version.starts_with("1.6.") {
            let field = "config.containerd.runtimes.real.options.SystemdCgroup";
            assert_eq!(found.source, format!("{endpoint} Status(verbose) {field}"));
            let [tried] = &facts.cgroup_driver.tried[..] else {
                panic!("{:?}", facts.cgroup_driver.tried)
            };
            assert_eq!(tried.source, format!("{endpoint} RuntimeConfig"));
            assert!(tried.reason.starts_with("answered Unimplemented: "), "{}", tried.reason);
        }

        let runc =
            facts.low_level.value().unwrap_or_else(|| panic!("{}", facts.low_level.reason()));
        let version = said_version("runc").expect("it is there");
        assert_eq!((&runc.name, &runc.version), (&version[0], &version[2]));
        assert!(Path::new(&runc.path).is_file(), "{}", runc.path);

        assert_eq!(facts.sandboxes.value().map(|all| all.len()), Some(0), "{:?}", facts.sandboxes);
        assert_eq!(
            facts.containers.value().map(|all| all.len()),
            Some(0),
            "{:?}",
            facts.containers
        );
        assert_eq!(facts.images.value().map(|all| all.len()), Some(0), "{:?}", facts.images);
        let filesystems = facts.image_filesystems.value().expect("file systems are told");
        let [images] = &filesystems.image[..] else { panic!("{filesystems:?}") };
        let snapshots = containerd.folder.path().join("root/io.containerd.snapshotter.v1.native");
        assert_eq!(Path::new(&images.mountpoint), snapshots);
        assert!(images.timestamp > 0);
    }
}

/// Puts an image without content into a containerd, as `docker save` would have written it.
fn import_image(containerd: &Containerd, name: &str) {
    let script = r#"
        set -eu
        cd "$FOLDER"
        tar -cf layer.tar -T /dev/null
        layer=$(sha256sum layer.tar | cut -d' ' -f1)
        printf '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' "$layer" >config.json
        printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$NAME" >manifest.json
        tar -cf image.tar manifest.json config.json layer.tar
        ctr --address "$FOLDER/c.sock" --namespace k8s.io images import --snapshotter native image.tar
    "#;
    let output = Command::new("sh")
        .args(["-c", script])
        .env("FOLDER", containerd.folder.path())
        .env("NAME", name)
        .output()
        .expect("sh can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_a_containerd_removes_is_gone() {
    let Some(containerd) = Containerd::start("", false) else { return };
    let session = CriSession::connect(&containerd.endpoint(), Path::new("/"), TIME)
        .expect("containerd answers");
    import_image(&containerd, "example.test/kq/empty:v1");
    let wants = RuntimeNeeds { images: true, ..RuntimeNeeds::default() };
    let list = || session.read(wants).expect("it answers").images.value().cloned();
    // The CRI hears of an image of another client a moment later.
    let begin = Instant::now();
    let image = loop {
        let images = list().expect("images are listed");
        if let [image] = &images[..] {
            break image.clone();
        }
        assert!(images.is_empty() && begin.elapsed() < TIME, "{images:?}");
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(image.repo_tags, ["example.test/kq/empty:v1"]);
    assert_eq!(session.image(&image.id), Ok(Some(image.clone())), "as in the list");
    assert_eq!(session.remove_image(&image.id), Ok(()));
    assert_eq!(session.image(&image.id), Ok(None));
    assert_eq!(list(), Some(Vec::new().into()));

    let gone = "0123456789abcdef";
    assert_eq!(session.container_state(gone), Ok(None));
    for (name, done) in [
        ("an image", session.remove_image(&image.id)),
        ("a container", session.stop_container(gone, 1)),
        ("a container's rest", session.remove_container(gone)),
        ("a sandbox", session.stop_sandbox(gone)),
        ("a sandbox's rest", session.remove_sandbox(gone)),
    ] {
        assert_eq!(done, Ok(()), "{name} that is gone");
    }
}

#[test]
fn a_containerd_that_is_killed_is_one_that_failed() {
    let Some(mut containerd) = Containerd::start("", false) else { return };
    let session = CriSession::connect(&containerd.endpoint(), Path::new("/"), TIME)
        .expect("containerd answers");
    containerd.process.kill().expect("it is there");
    containerd.process.wait().expect("it ends");
    let begin = Instant::now();
    let error = session.remove_image("sha256:a").expect_err("nobody is there");
    assert!(error.ends_with("connection refused"), "{error}");
    let wants = RuntimeNeeds { container_statuses: StatusNeeds::All, ..RuntimeNeeds::ALL };
    let error = session.read(wants).expect_err("nobody is there");
    assert!(matches!(error, CriError::Connect { .. }), "{error:?}");
    assert!(begin.elapsed() < TIME, "it is known at once");
}

#[test]
fn a_containerd_without_the_cri_says_so() {
    let Some(containerd) = Containerd::start("\"io.containerd.grpc.v1.cri\"", false) else {
        return;
    };
    let error = read_runtime(
        &containerd.endpoint(),
        Path::new("/"),
        NamedBy::Operator,
        RuntimeNeeds::ALL,
        TIME,
    )
    .expect_err("it has no CRI");
    let CriError::Version { reason, .. } = &error else { panic!("{error:?}") };
    assert!(error.hint().is_some_and(|hint| hint.contains("disabled_plugins")), "{error:?}");
    assert_eq!(reason, "answered Unimplemented: unknown service runtime.v1.RuntimeService");
}

#[test]
fn a_containerd_that_is_stopped_does_not_hold_kq() {
    let Some(containerd) = Containerd::start("", false) else { return };
    let id = i32::try_from(containerd.process.id()).ok().and_then(rustix::process::Pid::from_raw);
    let signal = |signal| {
        rustix::process::kill_process(id.expect("it has an id"), signal).expect("it is there");
    };
    signal(rustix::process::Signal::STOP);
    let begin = Instant::now();
    while !is_stopped(containerd.process.id()) {
        assert!(begin.elapsed() < TIME, "containerd does not stop");
        thread::sleep(Duration::from_millis(10));
    }
    let begin = Instant::now();
    let read = read_runtime(
        &containerd.endpoint(),
        Path::new("/"),
        NamedBy::Operator,
        RuntimeNeeds::ALL,
        Duration::from_millis(500),
    );
    let taken = begin.elapsed();
    signal(rustix::process::Signal::CONT);
    assert!(taken < Duration::from_secs(5), "took {taken:?}");
    let error = read.expect_err("it does nothing");
    assert!(error.to_string().ends_with("no answer within 500ms"), "{error}");
}

/// Returns true if every thread of a process has stopped: on a busy machine some go on for a while after
/// the signal, long enough to answer.
fn is_stopped(id: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("it is there");
    threads.flatten().all(|thread| {
        std::fs::read_to_string(thread.path().join("stat")).is_ok_and(|stat| stat.contains(") T "))
    })
}
