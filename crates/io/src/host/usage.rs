//! The disk usage of a folder of the node: everything on its own file system, including what mounts cover.
//!
//! The amounts of the file system that contains a folder are those of cAdvisor, and so of the kubelet (`getVfsStats` in `fs/fs.go` of
//! cAdvisor): blocks of the fragment size; available is what unprivileged users can use.

use super::beneath::{expect_kind, open, system};
use crate::watchdog::{reading, reading_apart};
use kq_facts::filesystems::{Filesystem, FolderUsage, HiddenFolder};
use kq_facts::mounts::Mounts;
use rustix::fs::{
    self, AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags,
};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// The number of entries between two checks of the deadline.
const PACE: u64 = 64;

/// Any time beyond it means the same, and can be added to a moment.
const LONGEST: Duration = Duration::from_secs(3600);

/// Counts the usage of a folder below the node's root, like `du -x`: the blocks of everything on its
/// own file system, each hard-linked file once, and nothing behind a mount.
///
/// What mounts cover is counted separately, in a private copy of the folder's own mount without
/// submounts (`open_tree`). Only this process sees the copy, which ends with its descriptor.
/// Fails for anything but a folder, for an unreadable folder in it, and at the
/// time limit.
pub fn read_usage(
    root: &Path,
    folder: &str,
    mounts: &Mounts,
    time: Duration,
) -> Result<FolderUsage, String> {
    // The clock ends it between two entries, and many slow ones are no fault.
    let _reading = reading_apart(folder);
    let mut clock = Clock { end: Instant::now() + time.min(LONGEST), time, entries: 0 };
    let opened = open(root, folder, OFlags::PATH).map_err(|error| error.to_string())?;
    expect_kind(&opened, FileType::Directory).map_err(|error| error.to_string())?;
    let path = path_on_node(root, folder, &opened);
    let covering = mounts.beneath(&path);
    let visible = count(&opened, &mut clock)?;
    let mut usage =
        FolderUsage { bytes: visible.bytes, inodes: visible.inodes, ..FolderUsage::default() };
    if !covering.is_empty() {
        match hidden(&opened, &path, &covering, &mut clock) {
            Ok(hidden) => usage.hidden = hidden,
            Err(reason) => usage.hidden_unknown = Some(reason),
        }
    }
    Ok(usage)
}

/// Counts what mounts cover. A folder without blocks of its own, like most, hides nothing.
fn hidden(
    folder: &OwnedFd,
    path: &str,
    covering: &[&str],
    clock: &mut Clock,
) -> Result<Vec<HiddenFolder>, String> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    let copy =
        open_tree(folder, "", flags).map_err(|error| format!("open_tree: {}", words(error)))?;
    let mut hidden = Vec::new();
    for point in covering {
        let below = point.strip_prefix(path.trim_end_matches('/')).unwrap_or(point);
        let below = below.trim_start_matches('/');
        let covered = match open_below(&copy, below, OFlags::PATH | OFlags::NOFOLLOW) {
            // The mount may itself be below a mount that this table does not show.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(error) => return Err(format!("{point}: {}", words(error))),
            Ok(covered) => covered,
        };
        let kind = FileType::from_raw_mode(fs::fstat(&covered).map_err(words)?.st_mode);
        let held = match kind {
            FileType::Directory => count(&covered, clock)?,
            _ => Held::of(&look(&covered, c"")?),
        };
        let is_empty = if kind == FileType::Directory { held.inodes <= 1 } else { held.bytes == 0 };
        if !is_empty {
            hidden.push(HiddenFolder {
                path: (*point).to_owned(),
                bytes: held.bytes,
                inodes: held.inodes,
            });
        }
    }
    Ok(hidden)
}

/// Opens a folder by a path without links.
fn open_below(folder: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(folder, path, flags, Mode::empty(), beneath) {
        // Not known to the kernel, or forbidden by a filter of system calls.
        Err(Errno::NOSYS | Errno::PERM) => fs::openat(folder, path, flags, Mode::empty()),
        answer => answer,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    bytes: u64,
    inodes: u64,
}

impl Held {
    fn of(looked: &Looked) -> Self {
        Self { bytes: looked.blocks.saturating_mul(512), inodes: 1 }
    }

    fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.inodes = self.inodes.saturating_add(other.inodes);
    }
}

/// When counting must be over.
struct Clock {
    end: Instant,
    time: Duration,
    entries: u64,
}

impl Clock {
    /// Counts an entry.
    fn tick(&mut self) -> Result<(), String> {
        let is_due = self.entries.is_multiple_of(PACE);
        self.entries = self.entries.wrapping_add(1);
        match is_due && Instant::now() >= self.end {
            true => Err(format!("not counted within {:?}", self.time)),
            false => Ok(()),
        }
    }
}

/// The needed attributes of a file.
struct Looked {
    device: (u32, u32),
    inode: u64,
    links: u32,
    blocks: u64,
    is_folder: bool,
    is_mount: bool,
}

/// How many folders of one walk are open at a time. Several folders of a node are counted at the same time.
const MOST_OPEN: usize = 32;

/// A folder on the way from the top to the folder that is read.
struct Level {
    /// `None`: closed, because too many are open.
    folder: Option<OwnedFd>,
    /// Its device and inode.
    identity: ((u32, u32), u64),
    /// The folders in it that are not read yet.
    waiting: Vec<CString>,
}

/// The folders from the top to the one that is read. The deepest is open, and with it at most [`MOST_OPEN`] in all,
/// whatever the depth.
struct Way {
    levels: Vec<Level>,
    first_open: usize,
}

impl Way {
    fn push(&mut self, folder: OwnedFd, looked: &Looked, waiting: Vec<CString>) {
        let identity = (looked.device, looked.inode);
        self.levels.push(Level { folder: Some(folder), identity, waiting });
        if self.levels.len() - self.first_open > MOST_OPEN {
            if let Some(level) = self.levels.get_mut(self.first_open) {
                level.folder = None;
            }
            self.first_open += 1;
        }
    }

    /// Leaves folders without waiting ones; returns the name of the next folder to read, in the deepest folder.
    fn next(&mut self) -> Result<Option<CString>, String> {
        loop {
            let Some(deepest) = self.levels.last_mut() else { return Ok(None) };
            if let Some(name) = deepest.waiting.pop() {
                return Ok(Some(name));
            }
            let left = self.levels.pop().and_then(|level| level.folder);
            let last = self.levels.len().saturating_sub(1);
            let (Some(left), Some(above)) = (left, self.levels.last_mut()) else { continue };
            if above.folder.is_none() {
                above.folder = Some(reopen(&left, above.identity)?);
                self.first_open = last;
            }
        }
    }
}

/// Opens the folder above another. A folder that was moved meanwhile is in another one, which is not read.
fn reopen(below: &OwnedFd, identity: ((u32, u32), u64)) -> Result<OwnedFd, String> {
    let above = fs::openat(below, "..", FOLDER, Mode::empty()).map_err(words)?;
    let looked = look(&above, c"")?;
    match (looked.device, looked.inode) == identity {
        true => Ok(above),
        false => Err("a folder was moved while it was counted".to_owned()),
    }
}

/// Counts a folder with all that is in it on its own file system.
///
/// Folders are opened by name in their opened parent, without following links, so that a concurrent
/// rename cannot redirect the walk. A parent that was closed meanwhile is opened again as `..`, and must be the same folder.
fn count(folder: &OwnedFd, clock: &mut Clock) -> Result<Held, String> {
    let top = look(folder, c"")?;
    let mut held = Held::of(&top);
    let mut seen: BTreeSet<u64> = BTreeSet::new();
    // The folder itself is opened for reading by its own name.
    let first = fs::openat(folder, ".", FOLDER, Mode::empty()).map_err(words)?;
    let waiting = read_folder(&first, &top, clock, &mut held, &mut seen)?;
    let mut way = Way { levels: Vec::new(), first_open: 0 };
    way.push(first, &top, waiting);
    while let Some(name) = way.next()? {
        let Some(parent) = way.levels.last().and_then(|level| level.folder.as_ref()) else { break };
        let opened = match fs::openat(parent, &name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(opened) => opened,
            // It went, or was replaced.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(error) => return Err(format!("{}: {}", name.to_string_lossy(), words(error))),
        };
        let looked = look(&opened, c"")?;
        // A mount may have been added since the entry was read.
        if looked.device == top.device {
            let waiting = read_folder(&opened, &top, clock, &mut held, &mut seen)?;
            if !waiting.is_empty() {
                way.push(opened, &looked, waiting);
            }
        }
    }
    Ok(held)
}

/// How folders are opened; without updating access times, where permitted.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Counts one folder; returns the names of the folders in it.
fn read_folder(
    folder: &OwnedFd,
    top: &Looked,
    clock: &mut Clock,
    held: &mut Held,
    seen: &mut BTreeSet<u64>,
) -> Result<Vec<CString>, String> {
    let mut waiting = Vec::new();
    for entry in fs::Dir::read_from(folder).map_err(words)? {
        clock.tick()?;
        let entry = match entry {
            Ok(entry) => entry,
            // The folder was removed while it was read.
            Err(Errno::NOENT) => break,
            Err(error) => return Err(words(error)),
        };
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let looked = match attributes(folder, name) {
            Ok(looked) => looked,
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(format!("{}: {}", name.to_string_lossy(), words(error))),
        };
        if looked.is_mount || looked.device != top.device {
            continue;
        }
        if looked.is_folder {
            held.add(Held::of(&looked));
            waiting.push(name.to_owned());
        } else if looked.links < 2 || seen.insert(looked.inode) {
            held.add(Held::of(&looked));
        }
    }
    Ok(waiting)
}

fn look(file: &OwnedFd, name: &std::ffi::CStr) -> Result<Looked, String> {
    attributes(file, name).map_err(words)
}

/// Returns the attributes of a file without following it and without querying a network server, which
/// might hang.
fn attributes(folder: &OwnedFd, name: &std::ffi::CStr) -> Result<Looked, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW
        | AtFlags::EMPTY_PATH
        | AtFlags::NO_AUTOMOUNT
        | AtFlags::STATX_DONT_SYNC;
    let wanted = StatxFlags::TYPE | StatxFlags::NLINK | StatxFlags::INO | StatxFlags::BLOCKS;
    let found = fs::statx(folder, name, flags, wanted)?;
    let is_folder = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
    Ok(Looked {
        device: (found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        links: found.stx_nlink,
        blocks: found.stx_blocks,
        is_folder,
        is_mount: found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
    })
}

fn words(error: Errno) -> String {
    system(error).to_string()
}

/// Returns the file system of a folder below the node's root, from `statfs`.
/// Fails for anything but a readable folder.
pub fn read_filesystem(root: &Path, folder: &str, mounts: &Mounts) -> Result<Filesystem, String> {
    let _reading = reading(folder);
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
