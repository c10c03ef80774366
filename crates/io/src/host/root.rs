//! Finds the root folder of the node.

use crate::watchdog::reading;
use rustix::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Where `kubectl debug node/NAME` mounts the node's root in its container.
const MOUNTED: &str = "/host";

/// The identity of a folder: device and inode.
type Identity = (u64, u64);

/// The state of `/host`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Probe {
    /// kq's own root.
    own: Option<Identity>,
    /// The folder `/host`.
    mounted: Option<Identity>,
    /// The folders `etc` and `var` are in it.
    has_folders: bool,
    /// `proc` in it is the kernel's, and has the first process.
    has_processes: bool,
    /// The root of that process; it is not always shown.
    first_process: Option<Identity>,
}

/// Returns the root of the node, and the reason: the flag's folder; else `/host` if it is the
/// root of its process 1, as in a container for debugging a node; else `/`.
pub fn host_root(flag: Option<&Path>) -> (PathBuf, String) {
    let probe = if flag.is_some() { Probe::default() } else { probe() };
    let (root, why) = decide(flag, probe);
    (root.to_owned(), why.to_owned())
}

/// Returns true if a root folder has the `/proc` of a kernel, not copies of its files.
pub fn is_running(root: &Path) -> bool {
    kernels_proc(root).is_some_and(|proc| fs::statat(&proc, "1", fs::AtFlags::empty()).is_ok())
}

/// Opens the kernel's `/proc` in a root folder, without the right to read it. Links are not followed.
/// Fails with the reason for a copy of a node.
pub fn proc_of(root: &Path) -> Result<OwnedFd, &'static str> {
    kernels_proc(root).ok_or("a copy of a node's files has no processes")
}

fn kernels_proc(root: &Path) -> Option<OwnedFd> {
    // A copy may have a link there, which leads to the processes of the machine that kq runs on.
    let flags =
        fs::OFlags::PATH | fs::OFlags::DIRECTORY | fs::OFlags::NOFOLLOW | fs::OFlags::CLOEXEC;
    let proc = fs::open(root.join("proc"), flags, fs::Mode::empty()).ok()?;
    fs::fstatfs(&proc).is_ok_and(|found| found.f_type == fs::PROC_SUPER_MAGIC).then_some(proc)
}

/// Returns true if a process is on the node with this root folder; `None`: its processes are not visible.
pub fn has_process(root: &Path, pid: i32) -> Option<bool> {
    // Where process 1 is hidden (`hidepid`), others are too.
    if !is_running(root) {
        return None;
    }
    match fs::stat(root.join(format!("proc/{pid}"))) {
        Ok(_) => Some(true),
        Err(rustix::io::Errno::NOENT) => Some(false),
        Err(_) => None,
    }
}

/// Decides by the first line that fits:
///
/// | `/host`                                          | root    |
/// |--------------------------------------------------|---------|
/// | a flag names a folder                            | flag    |
/// | lacks folders or processes of a node             | `/`     |
/// | is kq's own root                                 | `/`     |
/// | its first process has kq's root: kq is on a node | `/`     |
/// | its first process has `/host` as its root        | `/host` |
/// | its first process has another root               | `/`     |
/// | its first process does not show its root         | `/host` |
fn decide(flag: Option<&Path>, probe: Probe) -> (&Path, &'static str) {
    let (mounted, own) = (Path::new(MOUNTED), Path::new("/"));
    if let Some(flag) = flag {
        return (flag, "given");
    }
    if probe.mounted.is_none() || !probe.has_folders || !probe.has_processes {
        return (own, "no node is mounted at /host");
    }
    if probe.mounted == probe.own {
        return (own, "/host is kq's own root");
    }
    match probe.first_process {
        Some(root) if Some(root) == probe.own => (own, "the first process has kq's root"),
        Some(root) if Some(root) == probe.mounted => {
            (mounted, "/host is the root of the first process there")
        }
        Some(_) => (own, "/host is not the root of the first process there"),
        None => (mounted, "a node with its processes is mounted at /host"),
    }
}

fn probe() -> Probe {
    let _reading = reading(MOUNTED);
    let identity = |path: &str| fs::stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino));
    Probe {
        own: identity("/"),
        mounted: identity(MOUNTED),
        has_folders: identity("/host/etc").is_some() && identity("/host/var").is_some(),
        has_processes: is_running(Path::new(MOUNTED)),
        first_process: identity("/host/proc/1/root"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_decided_by_what_is_mounted() {
        let (ours, node, other) = (Some((1, 2)), Some((3, 4)), Some((5, 6)));
        let full = Probe {
            own: ours,
            mounted: node,
            has_folders: true,
            has_processes: true,
            first_process: node,
        };
        for (name, probe, expected) in [
            ("a debugging container", full, "/host"),
            ("without the right to see its root", Probe { first_process: None, ..full }, "/host"),
            ("nothing", Probe { own: ours, ..Probe::default() }, "/"),
            ("no folders", Probe { has_folders: false, ..full }, "/"),
            ("no processes", Probe { has_processes: false, ..full }, "/"),
            ("own root again", Probe { mounted: ours, ..full }, "/"),
            ("on the node, with a copy", Probe { first_process: ours, ..full }, "/"),
            ("processes of somebody else", Probe { first_process: other, ..full }, "/"),
        ] {
            assert_eq!(decide(None, probe).0, Path::new(expected), "{name}");
            assert_eq!(decide(Some(Path::new("/x")), probe).0, Path::new("/x"), "{name}");
        }
    }
}
