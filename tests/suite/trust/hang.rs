//! Files that never answer, and links out of a container.

use super::{EVE, Node, in_own_namespaces, is_untouched, says};
use kq_io::kubelet_process::suspects;
use rustix::fs::OFlags;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::CString;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A FUSE file system whose server never answers, mounted by a user.
struct Silent {
    folder: PathBuf,
    connection: fs::File,
    /// Ends the server that takes requests, and waits for it.
    server: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Silent {
    /// Mounts it, with a server that takes what it is asked and keeps it: no signal ends a process that waits for that.
    fn mount_holding(folder: PathBuf) -> Option<Self> {
        let mut mounted = Self::mount(folder, 0)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (until, connection) = (Arc::clone(&is_over), mounted.connection.try_clone());
        let mut connection = connection.expect("a second descriptor");
        let flags = rustix::fs::fcntl_getfl(&connection).expect("flags") | OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&connection, flags).expect("it does not wait");
        let server = thread::spawn(move || {
            let mut request = vec![0; 1 << 20];
            while !until.load(Ordering::Relaxed) {
                match connection.read(&mut request) {
                    // FUSE_INIT: its answer has a header, the version and limits.
                    Ok(length) if length > 40 && request[4..8] == 26_u32.to_ne_bytes() => {
                        let mut answer = Vec::new();
                        answer.extend(80_u32.to_ne_bytes());
                        answer.extend(0_u32.to_ne_bytes());
                        answer.extend(&request[8..16]);
                        answer.extend([7_u32, 31].map(u32::to_ne_bytes).concat());
                        answer.resize(80, 0);
                        // The largest write.
                        answer[36..40].copy_from_slice(&4096_u32.to_ne_bytes());
                        connection.write_all(&answer).expect("it is taken");
                    }
                    _ => thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        mounted.server = Some((is_over, server));
        Some(mounted)
    }

    /// Mounts it; `None`: this machine has no FUSE.
    fn mount(folder: PathBuf, user: u32) -> Option<Self> {
        let connection = fs::File::options().read(true).write(true).open("/dev/fuse").ok()?;
        fs::create_dir_all(&folder).expect("a folder");
        let number = connection.as_raw_fd();
        let options =
            format!("fd={number},rootmode=40000,user_id={user},group_id={user},allow_other");
        let options = CString::new(options).expect("text");
        mount("silent", &folder, "fuse", MountFlags::empty(), options.as_c_str()).ok()?;
        Some(Self { folder, connection, server: None })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        let _ = unmount(&self.folder, UnmountFlags::DETACH);
        if let Some((is_over, server)) = self.server.take() {
            is_over.store(true, Ordering::Relaxed);
            let _ = server.join();
        }
    }
}

/// Says that a test is left out; where nothing may be skipped, it fails.
fn leave_out() {
    assert!(std::env::var_os("KQ_REAL_NODE").is_none(), "this machine has no FUSE");
    eprintln!("left out, because this machine has no FUSE");
}

#[test]
fn a_file_system_that_does_not_answer_ends_kq() {
    in_own_namespaces("trust::hang::a_file_system_that_does_not_answer_ends_kq", || {
        let node = Node::new();
        let Some(_silent) = Silent::mount(node.path("etc/kubernetes/manifests"), 0) else {
            return leave_out();
        };
        node.write("var/lib/kubelet/config.yaml", "staticPodPath: /etc/kubernetes/manifests\n");
        let _kubelet = node.kubelet(&["--config=/var/lib/kubelet/config.yaml"]);
        for command in
            ["snapshot", "doctor", "cgroup diff", "gc dry-run", "evict rank", "devices list"]
        {
            let begin = Instant::now();
            let line = format!("{command} --host-root {} --timeout 500ms", node.root().display());
            let ran = crate::cli::kq(&line).run();
            assert!(begin.elapsed() < Duration::from_secs(30), "{command}");
            if ran.stderr.contains("no answer within") {
                assert_eq!(ran.code, 3, "{command}: {}", ran.text());
                assert!(
                    ran.stderr.contains("/etc/kubernetes/manifests: no answer"),
                    "{}",
                    ran.text()
                );
                assert!(ran.stdout.is_empty(), "{command}: {}", ran.text());
            } else {
                // It does not need the static pods.
                assert!(!command.contains("snapshot"), "{command}: {}", ran.text());
            }
        }
    });
}

/// Runs kq with its output in files: a process that the kernel holds would keep pipes open.
fn started(line: &str, folder: &Path) -> Child {
    let file = |name: &str| fs::File::create(folder.join(name)).expect("a file");
    // A shell that starts the tests in the background lets them ignore SIGINT.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_kq"));
    command.args(line.split(' ')).stdin(Stdio::null());
    command.stdout(file("stdout")).stderr(file("stderr")).spawn().expect("kq runs")
}

/// Waits for kq, and returns its exit code with its standard error.
fn ended(mut child: Child, folder: &Path, line: &str) -> (Option<i32>, String) {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            let said = fs::read_to_string(folder.join("stderr")).expect("text");
            return (status.code(), said);
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{line} does not end");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server that has taken a request keeps the reader in the kernel, where SIGKILL does not end it.
#[test]
fn a_server_that_keeps_a_request_ends_kq() {
    in_own_namespaces("trust::hang::a_server_that_keeps_a_request_ends_kq", || {
        let node = Node::new();
        let copy = node.path("copy");
        let Some(_of_copy) = Silent::mount_holding(copy.clone()) else { return leave_out() };
        let files = tempfile::tempdir().expect("a folder");
        let limit = "--timeout 300ms";
        for line in [
            format!("snapshot --host-root {} {limit}", copy.display()),
            format!("doctor --host-root {} {limit}", copy.display()),
            format!("gc dry-run --host-root {} {limit}", copy.display()),
        ] {
            let (code, said) = ended(started(&line, files.path()), files.path(), &line);
            assert_eq!(code, Some(3), "{line}: {said}");
            assert!(said.contains("no answer within 900ms"), "{line}: {said}");
        }
        // Below a root that answers.
        let _below = Silent::mount_holding(node.path("etc/kubernetes/manifests"));
        node.write("var/lib/kubelet/config.yaml", "staticPodPath: /etc/kubernetes/manifests\n");
        let _kubelet = node.kubelet(&["--config=/var/lib/kubelet/config.yaml"]);
        let line = format!("snapshot --host-root {} {limit}", node.root().display());
        let (code, said) = ended(started(&line, files.path()), files.path(), &line);
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("/etc/kubernetes/manifests: no answer"), "{said}");
        // A signal ends it before the time is over.
        let line = format!("snapshot --host-root {} --timeout 60s", copy.display());
        for (signal, expected) in [(Signal::TERM, 143), (Signal::INT, 130)] {
            let child = started(&line, files.path());
            thread::sleep(Duration::from_millis(500));
            let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number"));
            kill_process(pid.expect("a process"), signal).expect("a signal");
            let (code, said) = ended(child, files.path(), &line);
            assert_eq!(code, Some(expected), "{said}");
        }
    });
}

/// What the process in between passes on: the input, the output, the exit code.
#[test]
fn beside_such_file_systems_kq_answers_as_elsewhere() {
    in_own_namespaces("trust::hang::beside_such_file_systems_kq_answers_as_elsewhere", || {
        let node = Node::new();
        let pod =
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c}]}\n";
        let lines = ["cgroup plan - -o name", "admit explain - --snapshot missing", "doctor --no"];
        let ask = |line: &str| {
            let ran = crate::cli::kq(line).stdin(pod).run();
            (ran.code, ran.stdout, ran.stderr)
        };
        let elsewhere = lines.map(ask);
        let Some(_silent) = Silent::mount_holding(node.path("silent")) else { return leave_out() };
        assert_eq!(lines.map(ask), elsewhere);
        // Where the end of a child is not told, the work is not done a second time.
        node.write("pod.yaml", pod);
        let file = node.path("pod.yaml").display().to_string();
        let line =
            format!("trap '' CHLD; exec {} cgroup plan {file} -o name", env!("CARGO_BIN_EXE_kq"));
        let ran = Command::new("sh").args(["-c", &line]).output().expect("a shell");
        let once = crate::cli::kq(&format!("cgroup plan {file} -o name")).run();
        assert!(once.stdout.contains("kubepods"), "{}", once.text());
        assert_eq!(String::from_utf8_lossy(&ran.stdout), once.stdout, "{ran:?}");
        assert_eq!(ran.status.code(), Some(once.code), "{ran:?}");
    });
}

/// FUSE shows any owner: the user who mounted it decides.
#[test]
fn a_file_system_that_a_user_mounted_is_not_trusted() {
    in_own_namespaces("trust::hang::a_file_system_that_a_user_mounted_is_not_trusted", || {
        let node = Node::new();
        let Some(_silent) = Silent::mount(node.path("etc/kubernetes/manifests"), EVE) else {
            return leave_out();
        };
        node.write("var/lib/kubelet/config.yaml", "staticPodPath: /etc/kubernetes/manifests\n");
        let _kubelet = node.kubelet(&["--config=/var/lib/kubelet/config.yaml"]);
        let said = node.kq("snapshot -v");
        says(&said, "/etc/kubernetes/manifests is on a FUSE file system that user 65534 mounted");
    });
}

/// The memory of another user's process is not read: it can block the reader.
#[test]
fn the_command_line_of_another_user_is_not_read() {
    const STRACE: &str = "/usr/bin/strace";
    if !Path::new(STRACE).exists() {
        assert!(std::env::var_os("KQ_REAL_NODE").is_none(), "strace is missing");
        eprintln!("left out, because strace is missing");
        return;
    }
    in_own_namespaces("trust::hang::the_command_line_of_another_user_is_not_read", || {
        let node = Node::new();
        let of_eve = node.kubelet_of_eve(&["--hostname-override=eves-node"]);
        // Root in a container: its program, folders and command line are its own choice too.
        let mut contained = Command::new("unshare")
            .args(["--pid", "--fork", "--kill-child"])
            .arg(node.path("usr/bin/kubelet"))
            .args(["-c", "read line", "x", "--hostname-override=roots-node"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        let begin = Instant::now();
        let children = format!("/proc/{0}/task/{0}/children", contained.id());
        let of_root = loop {
            let child = fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
            let comm = fs::read_to_string(format!("/proc/{child}/comm")).unwrap_or_default();
            if comm == "kubelet\n" {
                break child;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "it is never called kubelet");
            thread::sleep(Duration::from_millis(10));
        };
        let log = node.secret("");
        for command in [
            "snapshot",
            "doctor",
            "cgroup diff",
            "devices repair --remove-stale --dry-run",
            "gc policy",
        ] {
            let traced = Command::new(STRACE)
                .args(["-f", "-qq", "-e", "trace=open,openat,openat2,readlink,readlinkat", "-o"])
                .arg(&log)
                .arg(env!("CARGO_BIN_EXE_kq"))
                .args(command.split(' '))
                .args(["--host-root", &node.root().display().to_string(), "--timeout", "2s"])
                .env_clear()
                .output();
            traced.expect("strace runs");
            let trace = fs::read_to_string(&log).expect("a trace");
            for (pid, files) in [
                (
                    of_eve.pid().to_string(),
                    &["cmdline", "environ", "maps", "exe", "cwd", "root"][..],
                ),
                (of_root.clone(), &["cmdline", "environ", "maps", "exe", "cwd"]),
            ] {
                for file in files {
                    let path = format!("/proc/{pid}/{file}");
                    assert!(!trace.contains(&path), "{command} opens {path}");
                }
                let status = format!("/proc/{pid}/status");
                assert!(trace.contains(&status), "{command} reads {status}");
            }
        }
        let _ = contained.kill();
        let _ = contained.wait();
    });
}

/// A container, as far as kq sees one: a root folder of its own, and a process in it that is called kubelet.
struct Container {
    root: PathBuf,
    process: std::process::Child,
}

impl Container {
    fn start(root: PathBuf) -> Self {
        // As of a container, its root is a mount.
        let mount = Command::new("mount").arg("--rbind").args([&root, &root]).status();
        assert!(mount.is_ok_and(|status| status.success()));
        for folder in ["lib", "lib64", "usr", "bin", "proc"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
            let bound = Command::new("mount")
                .arg("--rbind")
                .arg(Path::new("/").join(folder))
                .arg(root.join(folder))
                .status();
            assert!(bound.is_ok_and(|status| status.success()) || folder == "lib64", "{folder}");
        }
        fs::copy("/bin/sh", root.join("kubelet")).expect("a shell");
        let process = Command::new("unshare")
            .args(["--mount", "chroot"])
            .arg(&root)
            .args(["/kubelet", "-c", "read line", "x"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        let begin = Instant::now();
        let comm = format!("/proc/{}/comm", process.id());
        while !fs::read_to_string(&comm).is_ok_and(|name| name == "kubelet\n") {
            assert!(begin.elapsed() < Duration::from_secs(20), "it is never called kubelet");
            thread::sleep(Duration::from_millis(10));
        }
        Self { root, process }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for folder in ["proc", "bin", "usr", "lib64", "lib"] {
            let _ = unmount(self.root.join(folder), UnmountFlags::DETACH);
        }
        let _ = unmount(&self.root, UnmountFlags::DETACH);
    }
}

#[test]
fn a_link_out_of_a_container_is_not_followed() {
    in_own_namespaces("trust::hang::a_link_out_of_a_container_is_not_followed", || {
        let node = Node::new();
        let host = node.path("run/host.sock");
        let listener = UnixListener::bind(&host).expect("bound");
        let root = node.path("container");
        let plugins = root.join("var/lib/kubelet/device-plugins");
        fs::create_dir_all(&plugins).expect("a folder");
        symlink(&host, plugins.join("kubelet.sock")).expect("a link");
        let container = Container::start(root);
        let found = suspects(&node.root()).expect("processes are listed");
        let found = found.iter().find(|it| u32::try_from(it.pid) == Ok(container.process.id()));
        let plugins = found.expect("it is a suspect").plugins.expect("it has the folder");
        assert!(!plugins.is_served && is_untouched(&listener));
    });
}

#[test]
fn a_folder_of_a_container_that_does_not_answer_is_passed_over() {
    in_own_namespaces(
        "trust::hang::a_folder_of_a_container_that_does_not_answer_is_passed_over",
        || {
            let node = Node::new();
            let root = node.path("container");
            let Some(_silent) = Silent::mount(root.join("var/lib/kubelet/device-plugins"), 0)
            else {
                return leave_out();
            };
            let container = Container::start(root);
            let found = suspects(&node.root()).expect("processes are listed");
            let pid = container.process.id();
            let found = found.iter().find(|it| u32::try_from(it.pid) == Ok(pid));
            assert_eq!(found.expect("it is a suspect").plugins, None);
        },
    );
}
