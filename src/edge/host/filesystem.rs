//! The file system that contains a folder of the node.
//!
//! The amounts are those of cAdvisor, and so of the kubelet (`getVfsStats` in `fs/fs.go` of
//! cAdvisor): blocks of the fragment size; available is what unprivileged users can use.

use super::beneath::{expect_kind, open, system};
use crate::facts::filesystems::Filesystem;
use crate::facts::mounts::Mounts;
use rustix::fs::{self, FileType, OFlags};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Returns the file system of a folder below the node's root, from `statfs`.
///
/// # Errors
///
/// Fails for anything but a readable folder.
pub fn read_filesystem(root: &Path, folder: &str, mounts: &Mounts) -> Result<Filesystem, String> {
    let opened = open(root, folder, OFlags::PATH).map_err(|error| error.to_string())?;
    expect_kind(&opened, FileType::Directory).map_err(|error| error.to_string())?;
    let failed = |error| system(error).to_string();
    let stat = fs::fstat(&opened).map_err(failed)?;
    let space = fs::fstatvfs(&opened).map_err(failed)?;
    let device = format!("{}:{}", fs::major(stat.st_dev), fs::minor(stat.st_dev));
    let path = path_on_node(root, folder, &opened);
    let mount = mounts.of(&path, &device).cloned().unwrap_or_default();
    let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
    Ok(Filesystem {
        mount_point: mount.point,
        device,
        kind: mount.kind,
        capacity_bytes: bytes(space.f_blocks),
        free_bytes: bytes(space.f_bfree),
        available_bytes: bytes(space.f_bavail),
        inodes: space.f_files,
        inodes_free: space.f_ffree,
    })
}

/// Returns the path of a folder on the node without links, if the kernel reports it.
pub(super) fn path_on_node(root: &Path, folder: &str, opened: &OwnedFd) -> String {
    let link = |path: &str| fs::readlink(path, Vec::new()).ok()?.into_string().ok();
    let found = || {
        let real = link(&format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
        if root == Path::new("/") {
            return Some(real);
        }
        let root = fs::open(root, OFlags::PATH | OFlags::CLOEXEC, fs::Mode::empty()).ok()?;
        let root = link(&format!("/proc/self/fd/{}", root.as_raw_fd()))?;
        match real.strip_prefix(root.trim_end_matches('/'))? {
            "" => Some("/".to_owned()),
            rest if rest.starts_with('/') => Some(rest.to_owned()),
            _ => None,
        }
    };
    found().unwrap_or_else(|| folder.to_owned())
}
