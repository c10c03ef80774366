//! `kq devices repair`: on real files, with a kubelet that is stopped and one that is not.

use crate::edges::cri::fake::{Answers, Server};
use crate::objects;
use kq_facts::checkpoint::device::{DeviceCheckpoint, PodDevicesEntry};
use kq_linux::cri::v1;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A node of which nothing runs but a runtime without containers, in a folder.
struct Node {
    _runtime: Server,
    endpoint: Option<&'static str>,
    folder: tempfile::TempDir,
}

impl Node {
    /// Returns a node whose checkpoint has these bytes.
    fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["root/proc/1", "root/var/lib/kubelet/device-plugins"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        let answers = Answers {
            version: Some(("made-up", "1.2.3")),
            sandboxes: Some(v1::ListPodSandboxResponse::default()),
            containers: Some(v1::ListContainersResponse::default()),
            ..Answers::default()
        };
        let runtime = Server::answering(&folder.path().join("root/runtime.sock"), answers);
        let node = Self { _runtime: runtime, endpoint: Some("unix:///runtime.sock"), folder };
        node.process(1, "systemd", "/sbin/init\0", "0::/init.scope\n");
        fs::write(node.checkpoint(), bytes).expect("written");
        fs::set_permissions(node.checkpoint(), fs::Permissions::from_mode(0o640)).expect("set");
        let pods = objects::list([objects::pod("web").uid("active")]).to_string();
        fs::write(node.folder.path().join("pods.json"), pods).expect("written");
        node
    }

    /// Makes a process.
    fn process(&self, pid: u32, name: &str, command_line: &str, cgroup: &str) {
        let process = self.folder.path().join(format!("root/proc/{pid}"));
        fs::create_dir_all(&process).expect("a folder");
        let stat = format!("{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n");
        for (file, text) in [
            ("comm", format!("{name}\n")),
            ("cmdline", command_line.to_owned()),
            ("stat", stat),
            ("status", format!("Name:\t{name}\nNSpid:\t{pid}\n")),
            ("cgroup", cgroup.to_owned()),
            ("mountinfo", "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n".to_owned()),
        ] {
            fs::write(process.join(file), text).expect("written");
        }
    }

    fn kubelet(&self, name: &str) -> PathBuf {
        self.folder.path().join("root/var/lib/kubelet").join(name)
    }

    fn checkpoint(&self) -> PathBuf {
        self.kubelet("device-plugins/kubelet_internal_checkpoint")
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
        command
            .args(["devices", "repair", "--host-root", "root", "--pods", "pods.json"])
            .args(
                self.endpoint
                    .map(|endpoint| ["--runtime-endpoint", endpoint])
                    .into_iter()
                    .flatten(),
            )
            .args(line.split(' '))
            .env_clear()
            .stdin(Stdio::null())
            .current_dir(self.folder.path());
        command
    }

    /// Runs kq; returns its exit code and what it said.
    fn kq(&self, line: &str) -> (i32, String) {
        let output = self.command(line).output().expect("kq runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!said.contains("panicked"), "{said}");
        (output.status.code().unwrap_or(-1), said)
    }

    fn read(&self) -> Vec<u8> {
        fs::read(self.checkpoint()).expect("it is there")
    }

    /// Returns the old files that were kept.
    fn backups(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(self.kubelet(""))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path());
        let is_backup = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.contains(".kq-") && !name.starts_with('.')
        };
        names.filter(is_backup).collect()
    }
}

fn entry(pod: &str, id: &str) -> PodDevicesEntry {
    PodDevicesEntry {
        pod_uid: pod.to_owned(),
        container_name: "c".to_owned(),
        resource_name: "example.com/gpu".to_owned(),
        device_ids: Some([(0, Some(vec![id.to_owned()]))].into()),
        alloc_resp: Some(Vec::new()),
    }
}

fn checkpoint(entries: Vec<PodDevicesEntry>) -> DeviceCheckpoint {
    DeviceCheckpoint {
        entries: Some(entries),
        registered: Some([("example.com/gpu".to_owned(), Some(vec!["d1".to_owned()]))].into()),
    }
}

fn two() -> Vec<u8> {
    checkpoint(vec![entry("active", "d1"), entry("gone", "d2")]).to_bytes()
}

fn one() -> Vec<u8> {
    checkpoint(vec![entry("active", "d1")]).to_bytes()
}

#[test]
fn what_is_stale_goes_and_can_be_brought_back() {
    let node = Node::new(&two());
    let (code, said) = node.kq("--remove-stale --dry-run");
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("remove   gone   c           example.com/gpu   d2        the pod is gone"),
        "{said}"
    );
    assert_eq!(node.read(), two());
    let (code, said) = node.kq("--remove-stale");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("confirmation needs a terminal"), "{said}");
    assert_eq!((node.read(), node.backups().len()), (two(), 0));

    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!(code, 0, "{said}");
    assert_eq!(node.read(), one(), "the bytes are those of a kubelet");
    let mode = fs::metadata(node.checkpoint()).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    let [backup] = &node.backups()[..] else { panic!("one old file is kept: {said}") };
    assert_eq!(fs::read(backup).expect("it is there"), two());
    assert_eq!(fs::read_dir(node.kubelet("device-plugins")).expect("a folder").count(), 1);

    let (code, said) = node.kq("--remove-stale --yes");
    assert!(code == 0 && said.contains("1 entry: nothing to remove"), "{said}");
    assert_eq!(node.backups().len(), 1);
    let undo = node.kq("--remove active --force --yes").1;
    let undo = undo.lines().find_map(|line| line.strip_prefix("undo: ")).expect("it says how");
    assert!(DeviceCheckpoint::parse(&node.read()).expect("it parses").checkpoint.entries.is_none());
    let ran = Command::new("sh").args(["-c", undo]).current_dir(node.folder.path()).status();
    assert!(ran.expect("a shell").success());
    assert_eq!(node.read(), one());
}

#[test]
fn a_plan_that_nobody_sees_is_not_applied() {
    let node = Node::new(&two());
    let full = fs::File::options().write(true).open("/dev/full").expect("Linux has one");
    let (reader, gone) = std::io::pipe().expect("a pipe");
    drop(reader);
    for output in [Stdio::from(gone), Stdio::from(full)] {
        let ran = node.command("--remove-stale --yes").stdout(output).output().expect("kq runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(4), "{said}");
        assert!(said.contains("the plan could not be shown, so nothing was changed"), "{said}");
        assert_eq!((node.read(), node.backups().len()), (two(), 0));
    }
}

#[test]
fn a_damaged_file_becomes_a_sound_one() {
    let good = String::from_utf8(two()).expect("text");
    let cut = &good.as_bytes()[..good.find("\"RegisteredDevices").expect("it is there")];
    let wrong = good.replace("\"d1\"", "\"d7\"");
    for (name, bytes, devices) in [
        ("cut", cut, vec!["d1", "d2"]),
        ("changed", wrong.as_bytes(), vec!["d7", "d2"]),
        ("empty", b"".as_slice(), vec![]),
        ("zeros", &[0; 4096], vec![]),
    ] {
        let node = Node::new(bytes);
        let (code, said) = node.kq("--remove-stale --yes");
        assert_eq!(code, 4, "{name}: {said}");
        assert!(said.contains("--rebuild makes a sound one"), "{name}: {said}");
        assert_eq!(node.read(), bytes, "{name}");
        let force = if name == "cut" { "" } else { " --force" };
        if !force.is_empty() {
            let (code, said) = node.kq("--rebuild --dry-run");
            let why = match name {
                "changed" => "nothing says which entries are sound",
                _ => "nothing of this file can be saved: the kubelet starts with nothing",
            };
            assert!(code == 4 && said.contains(why), "{name}: {said}");
            assert_eq!(node.kq("--rebuild --yes").0, 4, "{name}");
            assert_eq!(node.read(), bytes, "{name}");
        }
        let line = format!("--rebuild --yes -o json{force}");
        let output = node.command(&line).output().expect("kq runs");
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["kind"], "DeviceRepair", "{name}");
        assert_eq!(report["done"]["verified"], true, "{name}");
        assert_eq!(
            fs::read(
                report["done"]["backup"]
                    .as_str()
                    .map(|path| node.folder.path().join(path))
                    .expect("a path")
            )
            .expect("kept"),
            bytes,
            "{name}"
        );
        let loaded = DeviceCheckpoint::parse(&node.read()).expect("it parses");
        assert!(loaded.is_valid(), "{name}");
        let entries = loaded.checkpoint.entries.into_iter().flatten();
        let ids = entries.flat_map(|entry| entry.device_ids).flatten().filter_map(|(_, ids)| ids);
        assert_eq!(ids.flatten().collect::<Vec<_>>(), devices, "{name}");
        // It is sound now.
        let (code, said) = node.kq("--rebuild --yes");
        assert!(code == 0 && said.contains("nothing to repair"), "{name}: {said}");
        assert_eq!(node.backups().len(), 1, "{name}");
    }
}

#[test]
fn a_flipped_bit_is_put_back() {
    let wrong = String::from_utf8(two()).expect("text").replacen("\"d2\"", "\"d0\"", 1);
    let node = Node::new(wrong.as_bytes());
    let (code, said) = node.kq("--rebuild --yes");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("it is '0', with '2' the checksum is right; it is put back"), "{said}");
    // The table has what is saved.
    assert!(said.contains("keep     gone          c           example.com/gpu   d2"), "{said}");
    assert_eq!(node.read(), two());
}

#[test]
fn a_copy_with_its_pods_asks_nothing_of_this_machine() {
    let node = Node { endpoint: None, ..Node::new(&two()) };
    fs::write(node.folder.path().join("copy"), two()).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
    let line = "devices repair --checkpoint copy --pods pods.json --remove-stale --dry-run";
    command.args(line.split(' ')).current_dir(node.folder.path());
    let output = command.env_clear().stdin(Stdio::null()).output().expect("kq runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "kept: 1 entry: its pod is active: its phase is Running\n\
                    kept: 1 entry: the pod is gone: pods.json does not list it; whether its container \
                    still runs, only the runtime knows (--runtime-endpoint)\n\
                    warning: the file is a copy: it is in no kubelet's folder, so a kubelet may run\n";
    assert_eq!(said, expected);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2 entries: nothing to remove\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_is_not_safe_is_refused_and_nothing_is_written() {
    for (name, line, expected, code) in [
        ("sound", "--rebuild --yes", "2 entries: nothing to repair", 0),
        ("active", "--remove default/web --yes", "its pod is active", 4),
        ("nobody", "--remove nobody --yes", "no entry has that name", 4),
        ("nothing is asked", "--yes", "required arguments", 2),
        ("unseen", "--rebuild -o json", "cannot show a plan before the confirmation", 2),
        (
            "no folder",
            "--remove-stale --yes --backup absent/old",
            "absent/old: there is no folder",
            4,
        ),
        (
            "swept",
            "--remove-stale --yes --backup root/var/lib/kubelet/device-plugins/old",
            "a kubelet that starts removes it",
            4,
        ),
    ] {
        let node = Node::new(&two());
        let (got, said) = node.kq(line);
        assert_eq!(got, code, "{name}: {said}");
        assert!(said.contains(expected), "{name}: {said}");
        assert_eq!((node.read(), node.backups().len()), (two(), 0), "{name}");
    }

    let ran = super::kq("devices repair --rebuild --snapshot x").run();
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("a snapshot has no file"), "{}", ran.text());

    let node = Node::new(&two());
    let socket = node.kubelet("device-plugins/kubelet.sock");
    let listener = UnixListener::bind(&socket).expect("bound");
    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("the kubelet runs (something listens on"), "{said}");
    drop(listener);
    assert_eq!(node.kq("--remove-stale --dry-run").0, 0);

    // A process that is called so and was started so.
    let command_line = "/usr/bin/kubelet\0--config=/etc/kubelet.yaml\0";
    node.process(77, "kubelet", command_line, "0::/system.slice/kubelet.service\n");
    for line in ["--remove-stale --yes", "--remove-stale --dry-run"] {
        let (code, said) = node.kq(line);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("the kubelet runs (process 77)"), "{said}");
    }
    // A copy elsewhere is no kubelet's.
    fs::write(node.folder.path().join("copy"), two()).expect("written");
    let (code, said) = node.kq("--remove-stale --yes --checkpoint copy");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the file is a copy"), "{said}");
    let own = node.checkpoint();
    assert_eq!(node.kq(&format!("--remove-stale --yes --checkpoint {}", own.display())).0, 4);

    let cannot_tell = |why: &str| {
        let (code, said) = node.kq("--remove-stale --yes");
        assert_eq!(code, 4, "{why}: {said}");
        assert!(said.contains("it is unknown whether the kubelet is stopped"), "{why}: {said}");
        assert!(said.contains(why), "{why}: {said}");
    };
    node.process(77, "kubelet", command_line, "0::/kubepods/pod1/c\n");
    cannot_tell("process 77: it looks like a kubelet in a container");
    let proc = node.folder.path().join("root/proc");
    // It sees the very folder.
    symlink("../..", proc.join("77/root")).expect("linked");
    let (code, said) = node.kq("--remove-stale --yes");
    assert!(code == 4 && said.contains("the kubelet runs (process 77)"), "{said}");
    // It has one of its own, and nobody serves it.
    fs::remove_file(proc.join("77/root")).expect("removed");
    let other = proc.join("77/root/var/lib/kubelet/device-plugins");
    fs::create_dir_all(&other).expect("made");
    cannot_tell("process 77: it looks like a kubelet in a container");
    let listener = UnixListener::bind(other.join("kubelet.sock")).expect("bound");
    let (code, said) = node.kq("--remove-stale --dry-run");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("warning: process 77 is the kubelet of another node"), "{said}");
    drop(listener);
    fs::remove_file(proc.join("77/comm")).expect("removed");
    cannot_tell("process 77: it is not accessible");
    fs::remove_dir_all(&proc).expect("removed");
    fs::create_dir(&proc).expect("made");
    cannot_tell("has no process 1");
    fs::remove_dir_all(&proc).expect("removed");
    cannot_tell("no such file");
    assert_eq!((node.read(), node.backups().len()), (two(), 0));
}

#[test]
fn what_may_run_stays_and_it_is_said() {
    let node = Node { endpoint: None, ..Node::new(&two()) };
    let (code, said) = node.kq("--remove-stale --yes");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("2 entries: nothing to remove"), "{said}");
    assert!(said.contains("the container runtime did not answer"), "{said}");
    assert_eq!((node.read(), node.backups().len()), (two(), 0));
    let (code, said) = node.kq("--remove gone --yes");
    assert!(code == 4 && said.contains("only the runtime knows"), "{said}");
    assert_eq!(node.kq("--remove gone --yes --force").0, 0);
    assert_eq!(node.read(), one());
}

#[test]
fn only_a_regular_file_of_a_sane_size_is_read() {
    let node = Node::new(&two());
    let path = |name: &str| node.folder.path().join(name);
    symlink(node.checkpoint(), path("link")).expect("linked");
    assert!(Command::new("mkfifo").arg(path("pipe")).status().expect("mkfifo").success());
    let sparse = fs::File::create(path("sparse")).expect("made");
    sparse.set_len(1 << 30).expect("grown");
    for (file, expected) in [
        ("link", "a symbolic link, expected a regular file"),
        ("pipe", "a named pipe, expected a regular file"),
        ("/dev/zero", "a device, expected a regular file"),
        ("root", "a folder, expected a regular file"),
        ("sparse", "larger than 268435456 bytes"),
        ("absent", "no such file"),
        ("absent/file", "no such file"),
    ] {
        let began = Instant::now();
        let (code, said) = node.kq(&format!("--rebuild --yes --checkpoint {file}"));
        assert_eq!(code, 3, "{file}: {said}");
        assert!(said.contains(expected), "{file}: {said}");
        assert!(began.elapsed() < Duration::from_secs(20), "{file} took {:?}", began.elapsed());
    }
}

#[test]
fn hostile_files_are_bounded_and_shown_safely() {
    let nested = "[".repeat(10_000_000);
    let long =
        format!("{{\"Data\":{{\"PodDeviceEntries\":[{{\"PodUID\":\"{}", "x".repeat(10_000_000));
    let twice = r#"{"Data":{"PodDeviceEntries":[{"PodUID":"a"}]},"Data":{"PodDeviceEntries":[{"ContainerName":"b"}]}}"#;
    let escapes =
        String::from_utf8(checkpoint(vec![entry("\u{1b}[2J\u{202e}", "\u{7}")]).to_bytes())
            .expect("text")
            .replace("\"Checksum\":", "\"Checksum\":1");
    for (name, bytes) in
        [("nested", &nested), ("long", &long), ("twice", &twice.to_owned()), ("escapes", &escapes)]
    {
        let node = Node::new(bytes.as_bytes());
        let (code, said) = node.kq("--rebuild --dry-run -o wide");
        // Nothing can be saved, or nobody knows what.
        assert_eq!(code, 4, "{name}: {said}");
        assert!(said.len() < 10_000, "{name}: {} bytes", said.len());
        assert!(!said.contains('\u{1b}') && !said.contains('\u{202e}'), "{name}: {said:?}");
    }
}

/// Whenever kq is killed, the file is the old one or the new one, and whole.
#[test]
fn killed_at_any_instant_it_leaves_the_old_or_the_new_file() {
    let many = |keep_all: bool| {
        let entries = (0..2_000).filter(|n| keep_all || n % 2 == 0);
        let pod = |n: i32| if n % 2 == 0 { "active".to_owned() } else { format!("gone-{n}") };
        let entries = entries.map(|n| PodDevicesEntry {
            container_name: format!("c{n}"),
            ..entry(&pod(n), &format!("d{n}"))
        });
        checkpoint(entries.collect()).to_bytes()
    };
    let (old, new) = (many(true), many(false));
    let node = Node::new(&old);
    let began = Instant::now();
    assert_eq!(node.kq("--remove-stale --yes").0, 0);
    let whole = began.elapsed();
    assert_eq!(node.read(), new);

    let runs = 80;
    let (mut before, mut after) = (0, 0);
    for run in 0..runs {
        let node = Node::new(&old);
        let mut child = node
            .command("--remove-stale --yes")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("kq runs");
        // By the time, and as soon as a file is seen: siblings of the old and of the new file, and the
        // old file's own name.
        let seen = |folder: &str, part: &str| {
            let names = fs::read_dir(node.kubelet(folder)).expect("a folder");
            let mut names = names.map(|name| name.expect("an entry").file_name());
            names.any(|name| name.to_string_lossy().contains(part))
        };
        match run % 4 {
            0 => std::thread::sleep(whole * run / runs),
            _ => {
                let came = || match run % 4 {
                    1 => seen("", ".kq-"),
                    2 => seen("device-plugins", ".kq-"),
                    _ => fs::read(node.checkpoint()).is_ok_and(|found| found != old),
                };
                while child.try_wait().expect("it is ours").is_none() && !came() {}
            }
        }
        let _ = child.kill();
        child.wait().expect("it ended");
        let found = node.read();
        if found == old {
            before += 1;
        } else {
            assert!(found == new, "run {run}: a mixture of {} bytes", found.len());
            after += 1;
            // The old file was safe before the new one was there.
            let [backup] = &node.backups()[..] else { panic!("run {run}: no old file is kept") };
            assert!(fs::read(backup).expect("it is there") == old, "run {run}");
        }
    }
    assert_eq!(before + after, runs);
    assert!(before > 0, "killed at once, nothing is written");
    assert!(after > 0, "killed when the new file is there");
}
