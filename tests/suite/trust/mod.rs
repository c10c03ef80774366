//! An unprivileged user of the node does not lead kq astray: the claims of `docs/security.md`.
//!
//! The attacker is user 65534. Each scenario runs in namespaces of its own (processes, mounts, network), so that its
//! processes are the only ones of the node and the kubelet's ports are free. That needs root; elsewhere a scenario says
//! so and passes.

use crate::edges::http_server::Server;
#[cfg(feature = "cri")]
use crate::program_file;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Credential plugins of a kubeconfig.
#[cfg(feature = "apiserver")]
mod credential_plugin;
/// Plugin sockets of a copied node, and endpoints that a plugin names.
#[cfg(feature = "cri")]
mod devices;
/// kq executes nothing of a node.
mod execution;
/// Which files, programs and folders are believed, row by row.
mod files;
/// Files that never answer.
mod hang;
/// The kubeconfig in the home of the user.
#[cfg(feature = "apiserver")]
mod home;
/// A kubeconfig names only files of its owner.
#[cfg(feature = "apiserver")]
mod kubeconfig;
/// The server on the kubelet's port.
mod port;
/// Processes that call themselves kubelet.
mod process;
/// Runtimes whose socket belongs to another user.
#[cfg(feature = "cri")]
mod runtime;

/// The system bus, over which properties of units are set.
mod systemd;

/// The attacker.
const EVE: u32 = 65534;

/// Says inside of the namespaces that a scenario runs there.
const INSIDE: &str = "KQ_TRUST_INSIDE";

/// Runs a scenario in namespaces of its own: as a run of this very test, named by its path.
#[track_caller]
fn in_own_namespaces(test: &str, scenario: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return scenario();
    }
    if !geteuid().is_root() {
        eprintln!("{test}: left out, because it needs root");
        return;
    }
    let own = std::env::current_exe().expect("a test is a file");
    let run = Command::new("unshare")
        .args(["--fork", "--pid", "--mount", "--net", "--mount-proc", "--kill-child"])
        .args(["sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""])
        .arg(own)
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("unshare runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&run.stdout), text(&run.stderr));
    assert!(run.status.success() && stdout.contains("1 passed"), "{test}: {stdout}\n{stderr}");
}

/// Does something as the attacker: what is made belongs to that user, and so does who listens.
fn as_eve<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let done = scope.spawn(|| {
            let (uid, gid) = (Uid::from_raw(EVE), Gid::from_raw(EVE));
            set_thread_res_gid(gid, gid, gid).expect("root may");
            // Of this thread alone.
            set_thread_res_uid(uid, uid, uid).expect("root may");
            work()
        });
        done.join().expect("it does not panic")
    })
}

/// A node in a folder whose processes are the real ones, with a home for the attacker.
struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let node = Self { folder };
        fs::set_permissions(node.folder.path(), Permissions::from_mode(0o755)).expect("a mode");
        for folder in ["proc", "home/eve", "usr/bin", "var/lib/kubelet", "etc/kubernetes", "run"] {
            fs::create_dir_all(node.path(folder)).expect("a folder can be made");
        }
        chown(node.path("home/eve"), Some(EVE), Some(EVE)).expect("root may");
        fs::copy("/bin/sh", node.path("usr/bin/kubelet")).expect("a shell");
        let mounted =
            Command::new("mount").args(["--bind", "/proc"]).arg(node.path("proc")).status();
        assert!(mounted.expect("mount runs").success());
        node
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("host")
    }

    /// Returns the folder next to the root, which only root may enter.
    fn secret(&self, content: &str) -> PathBuf {
        let path = self.folder.path().join("secret");
        fs::write(&path, content).expect("a file can be written");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
        path
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    /// Writes a file of root's.
    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(&path, content).expect("a file can be written");
    }

    /// Writes a file of the attacker's.
    fn write_as_eve(&self, path: &str, content: impl AsRef<[u8]> + Send) {
        as_eve(|| fs::write(self.path(path), content).expect("it is the attacker's home"));
    }

    /// Writes the program of a low-level runtime.
    #[cfg(feature = "cri")]
    fn write_runc(&self, path: &str) {
        self.write(path, program_file::runc("1.1.5"));
        fs::set_permissions(self.path(path), Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Starts a process that is called kubelet, with flags, by root.
    fn kubelet(&self, flags: &[&str]) -> Process {
        self.start(Command::new(self.path("usr/bin/kubelet")), &["-c", "read line"], flags)
    }

    /// The same by the attacker.
    fn kubelet_of_eve(&self, flags: &[&str]) -> Process {
        let program = self.path("home/eve/kubelet");
        as_eve(|| fs::copy("/bin/sh", &program).expect("a shell"));
        let mut command = Command::new("setpriv");
        command
            .args([format!("--reuid={EVE}"), format!("--regid={EVE}"), "--clear-groups".to_owned()])
            .arg(program);
        self.start(command, &["-c", "read line"], flags)
    }

    fn start(&self, mut command: Command, program: &[&str], flags: &[&str]) -> Process {
        let child = command
            .args(program)
            // What follows is for the script, whatever it looks like.
            .arg("x")
            .args(flags)
            .current_dir("/")
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        let process = Process(child);
        let begin = Instant::now();
        let comm = format!("/proc/{}/comm", process.0.id());
        while !fs::read_to_string(&comm).is_ok_and(|name| name == "kubelet\n") {
            assert!(begin.elapsed() < Duration::from_secs(20), "it is never called kubelet");
            thread::sleep(Duration::from_millis(10));
        }
        process
    }

    /// Runs kq on the node and returns its output.
    #[track_caller]
    fn kq(&self, line: &str) -> String {
        let line = format!("{line} --host-root {} --timeout 2s", self.root().display());
        super::cli::kq(&line).run().text()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Else the processes would be removed with the folder.
        let unmounted = Command::new("umount").arg("--lazy").arg(self.path("proc")).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || thread::panicking());
    }
}

/// A process that ends with this value.
struct Process(Child);

impl Process {
    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asserts that a server got no request.
#[track_caller]
fn never_asked(server: &Server) {
    assert!(server.seen().is_empty(), "{:?}", server.seen());
}

/// Asserts that a text does not hold another.
#[track_caller]
fn lacks(text: &str, other: &str) {
    assert!(!text.contains(other), "{other:?} is said: {text}");
}

/// Asserts that a text holds another.
#[track_caller]
fn says(text: &str, other: &str) {
    assert!(text.contains(other), "{other:?} is not said: {text}");
}

/// Returns true if a socket had no connection.
fn is_untouched(listener: &std::os::unix::net::UnixListener) -> bool {
    listener.set_nonblocking(true).expect("it can be set");
    listener.accept().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

fn is_root() -> bool {
    geteuid().is_root()
}

/// Writes a script another process's way: a file that this one has open for writing could not be run.
fn install(path: &Path, mode: &str, content: &[u8]) {
    use std::io::Write;
    let mut install = Command::new("install")
        .args(["-D", "-m", mode, "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("install can be run");
    let mut stdin = install.stdin.take().expect("it is piped");
    stdin.write_all(content).expect("it is read");
    drop(stdin);
    assert!(install.wait().expect("it ends").success());
}

/// Writes a file with its owner and mode.
#[cfg(feature = "apiserver")]
fn write(path: &Path, text: &str, owner: u32, mode: u32) {
    fs::write(path, text).expect("a file can be written");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    chown(path, Some(owner), None).expect("root may");
}
