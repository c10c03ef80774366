//! The kubelet's plugin folder as a process sees it, in its own mount namespace.
//!
//! A process in a container chooses what is there: a link, or a file system whose server does not answer. So nothing is
//! touched before `mountinfo`, which the kernel writes, shows that every file system on the way is a local one, no link
//! is followed, and a socket is connected to by its own descriptor.

use crate::host::{LIMIT, open, open_folder, read_beneath};
use crate::listener::listens;
use crate::watchdog::reading;
use kq_facts::devices::PLUGIN_FOLDER;
use kq_facts::mounts::Mounts;
use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags, fstat};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// The folder in which a kubelet waits for plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginFolder {
    /// Its device and inode, which no link and no mount can hide.
    pub identity: (u64, u64),
    /// A process listens on the kubelet's socket in it.
    pub is_served: bool,
}

/// The file systems that answer from this machine.
const LOCAL: [&str; 12] = [
    "bcachefs", "btrfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs",
    "xfs", "zfs",
];

/// Returns the plugin folder of a process; `None`: it has none that can be looked at.
pub(super) fn plugin_folder(root: &Path, pid: i32) -> Option<PluginFolder> {
    let mounts = read_beneath(root, &format!("/proc/{pid}/mountinfo"), LIMIT).ok()?;
    let mounts = Mounts::parse(&String::from_utf8_lossy(&mounts));
    let mut mounts = mounts.above(PLUGIN_FOLDER).peekable();
    // After chroot, no mount above the root is shown.
    mounts.peek()?;
    if !mounts.all(|mount| LOCAL.contains(&mount.kind.as_str())) {
        return None;
    }
    let _reading = reading(&format!("/proc/{pid}/root{PLUGIN_FOLDER}"));
    let folder = open_without_links(&root_of(root, pid)?, PLUGIN_FOLDER.trim_start_matches('/'))?;
    let status = fstat(&folder).ok()?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
        return None;
    }
    Some(PluginFolder { identity: (status.st_dev, status.st_ino), is_served: is_served(&folder) })
}

/// Opens the root of a process.
fn root_of(root: &Path, pid: i32) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let process = open_folder(root, &format!("/proc/{pid}")).ok()?;
    match fs::fstatfs(&process).ok()?.f_type == fs::PROC_SUPER_MAGIC {
        // The link leads to the folder itself, in the mount namespace of the process.
        true => fs::openat(&process, "root", flags, Mode::empty()).ok(),
        // In a copy of a node it is a name like any other.
        false => open(root, &format!("/proc/{pid}/root"), flags).ok(),
    }
}

/// Returns true if a process listens on the kubelet's socket in a folder.
fn is_served(folder: &OwnedFd) -> bool {
    let Some(socket) = open_without_links(folder, "kubelet.sock") else { return false };
    let is_socket = fstat(&socket)
        .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Socket);
    // The descriptor is the socket itself, whatever takes its name meanwhile.
    is_socket && listens(Path::new(&format!("/proc/self/fd/{}", socket.as_raw_fd()))) == Ok(true)
}

fn open_without_links(folder: &OwnedFd, path: &str) -> Option<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Fails on kernels before 5.6 as well, where the folder then is unknown.
    fs::openat2(folder, path, flags, Mode::empty(), resolve).ok()
}
