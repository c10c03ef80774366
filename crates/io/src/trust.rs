//! The files, sockets and programs of the node that kq trusts.
//!
//! kq usually runs as root on machines with other users. A path that a process or a server named, or that is
//! a default, is trusted when only a trusted owner can change the entry: root, and
//! kq's own user where kq does not run as root.
//!
//! | entry                  | trusted when                                                                 |
//! |------------------------|------------------------------------------------------------------------------|
//! | every folder above it  | its owner is trusted, and no other user can write to it; also those of links |
//! | a file                 | the same                                                                     |
//! | a socket               | its owner is trusted; so is the listening user (`SO_PEERCRED`)               |
//! | a program              | as a file; it is not set-user-ID                                             |
//!
//! A world-writable folder is rejected even if it is sticky, like `/tmp`. So is one that a group may write to, root's
//! group too: containers whose user has the group 0 are common. Only where kq does not run as root, its own group may
//! write, unless an access control list adds users to it. A FUSE file system is rejected if another user mounted it.
//!
//! The path is resolved from the node's root on descriptors, one component at a time, and kq follows links itself. kq
//! reads or connects to the checked descriptor, or a name in a checked folder.

use crate::host::{MOST_LINKS, ReadError, expect_kind, names_in, open, open_folder, parts, system};
use crate::input::plain;
use crate::memory;
use crate::watchdog::reading;
use kq_facts::mounts::Mounts;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use kq_facts::lookup::NamedBy;

/// The permission bits of a file with write permission for a group or by an access control list.
const WRITE_OF_GROUP: u32 = 0o020;

/// Everybody may write.
const WRITE_OF_OTHERS: u32 = 0o002;

/// The program runs as its owner or with its group, whoever starts it.
const SET_ID: u32 = 0o6000;

/// The attribute with the access control list of a file that has one.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// The file systems of the kernel: proc, tracefs, debugfs.
const KERNELS: [fs::FsWord; 3] = [fs::PROC_SUPER_MAGIC, 0x7472_6163, 0x6462_6720];

/// Returns true for a user whose files and processes are trusted: root, and the one that kq runs as.
pub fn is_trusted_user(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

/// Returns the trusted users, for messages: `root`, or `root or user 1000`.
pub fn trusted_users() -> String {
    match rustix::process::geteuid().as_raw() {
        0 => "root".to_owned(),
        uid => format!("root or user {uid}"),
    }
}

/// Reads a trusted regular file of at most `limit` bytes below the node's root.
/// Fails as [`read_beneath`](crate::host::read_beneath) does, and with [`ReadError::Untrusted`].
pub fn read_trusted(root: &Path, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_at(walk(root, path)?, limit)
}

/// Opens a trusted regular file below the node's root, for one that is read in parts.
pub fn open_trusted(root: &Path, path: &str) -> Result<File, ReadError> {
    open_place(&walk(root, path)?)
}

/// Lists the names in a trusted folder below the node's root, in order.
/// Fails as [`list_beneath`](crate::host::list_beneath) does, and with [`ReadError::Untrusted`].
pub fn list_trusted(root: &Path, path: &str) -> Result<Vec<String>, ReadError> {
    let _reading = reading(path);
    let place = walk(root, path)?;
    expect_kind(&place.file, FileType::Directory)?;
    names_in(&place.file, path)
}

/// Lists the trusted files in a folder below the node's root and in its subfolders, as Go's `filepath.WalkDir` does: a link
/// is a file, also one to a folder, and the folder itself where no slash ends its name.
pub fn files_trusted(root: &Path, folder: &str) -> Result<Vec<String>, ReadError> {
    let mut files = Vec::new();
    let itself = open(root, folder, OFlags::PATH | OFlags::NOFOLLOW)?;
    if !folder.ends_with('/') && kind_of(&fs::fstat(&itself).map_err(system)?) == FileType::Symlink
    {
        return Ok(vec![folder.to_owned()]);
    }
    for name in list_trusted(root, folder)? {
        let path = format!("{}/{name}", folder.trim_end_matches('/'));
        let itself = open(root, &path, OFlags::PATH | OFlags::NOFOLLOW)?;
        match kind_of(&fs::fstat(&itself).map_err(system)?) {
            FileType::Directory => files.extend(files_trusted(root, &path)?),
            _ => files.push(path),
        }
    }
    Ok(files)
}

/// The owner of a file that names other files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namer {
    /// The owner of the file; `None`: others may have written it as well, and it names no files.
    owner: Option<u32>,
    /// Why the file is not trusted; `None`: it is.
    untrusted: Option<String>,
}

impl Namer {
    /// Checks an open file that the operator named by a path.
    pub fn of(file: &File, path: &Path) -> Result<Self, ReadError> {
        let stat = fs::fstat(file).map_err(system)?;
        let has_other_writers = stat.st_mode & WRITE_OF_OTHERS != 0
            || (stat.st_mode & WRITE_OF_GROUP != 0 && !is_trusted_group(stat.st_gid));
        let untrusted = check_path(&stat, path).err().map(|error| match error {
            ReadError::Untrusted(reason) => reason,
            error => error.to_string(),
        });
        Ok(Self { owner: (!has_other_writers).then_some(stat.st_uid), untrusted })
    }

    /// Returns why a file may not be named by this one: it belongs neither to the same owner, nor to a
    /// trusted user where this one is trusted.
    pub fn refuses(&self, named: &File) -> Result<Option<String>, ReadError> {
        let uid = fs::fstat(named).map_err(system)?.st_uid;
        Ok(match self.owner {
            Some(owner) if uid == owner || (self.untrusted.is_none() && is_trusted_user(uid)) => {
                None
            }
            Some(owner) => Some(format!(
                "it belongs to user {uid}, and the kubeconfig that names it to user {owner}"
            )),
            None => Some("others can write the kubeconfig that names it".to_owned()),
        })
    }

    /// Returns why this file may not name a program that kq runs. For root it must be trusted, with every folder above it;
    /// for another user it is enough that the file is their own or root's, and that no other user can write to it.
    pub fn refuses_programs(&self) -> Option<String> {
        if is_root() {
            return self.untrusted.clone();
        }
        match self.owner {
            Some(owner) if is_trusted_user(owner) => None,
            Some(owner) => {
                Some(format!("it belongs to user {owner}, expected {}", trusted_users()))
            }
            None => Some("others can write it".to_owned()),
        }
    }
}

/// Checks that a path leads to an open file, and that both are trusted.
fn check_path(opened: &Stat, path: &Path) -> Result<(), ReadError> {
    let path = std::path::absolute(path).map_err(|error| ReadError::System(plain(&error)))?;
    let place = walk(Path::new("/"), &path.to_string_lossy())?;
    if (place.stat.st_dev, place.stat.st_ino) != (opened.st_dev, opened.st_ino) {
        return Err(untrusted(format!("{} was replaced meanwhile", place.shown)));
    }
    check_file(&place.file, &place.stat, &place.shown)
}

/// Returns true if kq runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the type of the entry at a path below the node's root, if every folder above it is trusted.
pub fn kind_trusted(root: &Path, path: &str) -> Result<FileType, ReadError> {
    Ok(kind_of(&walk(root, path)?.stat))
}

/// Returns true for a trusted folder below the node's root, also behind a link.
pub fn is_folder(root: &Path, path: &str) -> bool {
    kind_trusted(root, path) == Ok(FileType::Directory)
}

/// A socket in a trusted folder.
#[derive(Debug)]
pub struct TrustedSocket {
    folder: OwnedFd,
    name: OsString,
}

impl TrustedSocket {
    /// Finds a socket below the node's root.
    /// Fails if it does not exist, and with [`ReadError::Untrusted`].
    pub fn find(root: &Path, path: &str) -> Result<Self, ReadError> {
        let place = walk(root, path)?;
        check_owner(&place.stat, &place.shown)?;
        Ok(Self { folder: place.folder, name: place.name })
    }

    /// Returns a path to the socket in the checked folder, independent of later renames. It
    /// is valid as long as this value lives.
    pub fn path(&self) -> PathBuf {
        Path::new(&format!("/proc/self/fd/{}", self.folder.as_raw_fd())).join(&self.name)
    }
}

/// A trusted program, from whose file its version is read. It is never executed.
#[derive(Debug)]
pub struct TrustedProgram {
    file: File,
    path: String,
}

impl TrustedProgram {
    /// Finds a program below the node's root.
    /// Fails if it is not a readable program, and with [`ReadError::Untrusted`].
    pub fn find(root: &Path, path: &str) -> Result<Self, ReadError> {
        let place = walk(root, path)?;
        check_program(&place.stat, &place.shown)?;
        Ok(Self { file: open_program(&place.file, &place.shown)?, path: path.to_owned() })
    }

    /// Finds the program that a process runs. A program that was replaced or removed since the process started is
    /// found as well: the kernel keeps the file.
    /// Fails as [`find`](Self::find) does.
    pub fn of_process(root: &Path, pid: i32) -> Result<Self, ReadError> {
        let running = running_program(root, pid)?;
        check_program(&running.stat, &running.path)?;
        let file = open_program(&running.file, &running.path)?;
        Ok(Self { file, path: format!("/proc/{pid}/exe") })
    }

    /// Returns the path on the node.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the file, open for reading.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// Opens a checked file for reading, and checks what was opened.
fn open_program(checked: &OwnedFd, shown: &str) -> Result<File, ReadError> {
    let stat = fs::fstat(checked).map_err(system)?;
    if stat.st_mode & 0o111 == 0 || kind_of(&stat) != FileType::RegularFile {
        return Err(ReadError::System("not an executable file".to_owned()));
    }
    let _reading = reading(shown);
    // The checked descriptor has no right to read; its path leads to the same file.
    let path = format!("/proc/self/fd/{}", checked.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::open(path, flags, Mode::empty()).map_err(system)?;
    check_file(&file, &fs::fstat(&file).map_err(system)?, shown)?;
    Ok(File::from(file))
}

/// Checks that the program of a process belongs to a trusted owner, that no other user can write to it, and that it runs
/// as the user who started it. If the program is not visible, the check of the process's user decides.
///
/// The file of a running program cannot be replaced, so the folders above it do not matter here.
pub fn check_process_program(root: &Path, pid: i32) -> Result<(), ReadError> {
    let running = match running_program(root, pid) {
        Err(ReadError::Absent) => return Ok(()),
        running => running?,
    };
    check_program(&running.stat, &running.path)?;
    check_file(&running.file, &running.stat, &running.path)
}

/// The program of a process.
struct RunningProgram {
    file: OwnedFd,
    stat: Stat,
    /// Its path according to the kernel.
    path: String,
}

fn running_program(root: &Path, pid: i32) -> Result<RunningProgram, ReadError> {
    let link = format!("/proc/{pid}/exe");
    let _reading = reading(&link);
    let folder = open_folder(root, &format!("/proc/{pid}"))?;
    let is_kernels = fs::fstatfs(&folder).is_ok_and(|found| found.f_type == fs::PROC_SUPER_MAGIC);
    let file = match is_kernels {
        // The link leads to the file itself, even without a path.
        true => fs::openat(&folder, "exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            // Not shown to kq.
            .map_err(|error| match error {
                Errno::ACCESS | Errno::PERM => ReadError::Absent,
                error => system(error),
            })?,
        false => open(root, &link, OFlags::PATH)?,
    };
    // For messages; it can be any bytes, and a plain file in a copy.
    let path = fs::readlinkat(&folder, "exe", Vec::new());
    let path = path.map_or_else(|_| link.clone(), |path| path.to_string_lossy().into_owned());
    let stat = fs::fstat(&file).map_err(system)?;
    let path = if path.starts_with('/') { path } else { link };
    Ok(RunningProgram { file, stat, path })
}

/// The entry at a path whose folders are all trusted.
struct Place {
    folder: OwnedFd,
    name: OsString,
    /// It itself, without the right to read.
    file: OwnedFd,
    stat: Stat,
    /// Its path on the node without links.
    shown: String,
}

/// Resolves a path below the node's root and checks every folder above it. A folder at the end is checked
/// too.
fn walk(root: &Path, path: &str) -> Result<Place, ReadError> {
    let _reading = reading(path);
    let mut ahead = parts(Path::new(path));
    let root = open_folder(root, "/")?;
    check_file(&root, &fs::fstat(&root).map_err(system)?, "/")?;
    let device = device_of(&root)?;
    let mut folders = vec![(root, PathBuf::from("/"), device)];
    let mut links = 0;
    let mut ended = None;
    while let Some(part) = ahead.pop() {
        ended = None;
        if part == ".." {
            // Above the root is the root.
            folders.truncate(folders.len().max(2) - 1);
            continue;
        }
        let (folder, above, above_device) = folders.last().expect("the root is never taken away");
        let shown = above.join(&part);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(folder, &part, flags, Mode::empty()).map_err(system)?;
        let device = device_of(&file)?;
        if device != *above_device {
            check_mount(&file, device, &shown)?;
        }
        let stat = fs::fstat(&file).map_err(system)?;
        match kind_of(&stat) {
            FileType::Symlink => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(system(Errno::LOOP));
                }
                let target = fs::readlinkat(&file, "", Vec::new()).map_err(system)?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    folders.truncate(1);
                }
                ahead.extend(parts(&target));
            }
            FileType::Directory => {
                check_file(&file, &stat, &shown.to_string_lossy())?;
                folders.push((file, shown, device));
            }
            _ if !ahead.is_empty() => return Err(ReadError::Absent),
            _ => {
                let folder = fs::openat(folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
                let folder = folder.map_err(system)?;
                let shown = shown.to_string_lossy().into_owned();
                ended = Some(Place { folder, name: part, file, stat, shown });
            }
        }
    }
    if let Some(place) = ended {
        return Ok(place);
    }
    let (file, shown, _) = folders.pop().expect("the root is never taken away");
    let stat = fs::fstat(&file).map_err(system)?;
    let folder = file.try_clone().map_err(|error| ReadError::System(plain(&error)))?;
    Ok(Place { folder, name: ".".into(), file, stat, shown: shown.to_string_lossy().into_owned() })
}

/// Returns the device of an open file. The server of a file system is not asked, which may never answer.
fn device_of(file: &OwnedFd) -> Result<(u32, u32), ReadError> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    match fs::statx(file, "", flags, StatxFlags::TYPE) {
        Ok(found) => Ok((found.stx_dev_major, found.stx_dev_minor)),
        // Forbidden by a filter of system calls, or not known to the kernel.
        Err(Errno::NOSYS | Errno::PERM) => {
            let device = fs::fstat(file).map_err(system)?.st_dev;
            Ok((fs::major(device), fs::minor(device)))
        }
        Err(error) => Err(system(error)),
    }
}

/// Rejects a FUSE file system that another user mounted: its program decides who seems to own what is there. So it does for
/// one whose mount is not shown, as in another mount namespace.
fn check_mount(file: &OwnedFd, device: (u32, u32), shown: &Path) -> Result<(), ReadError> {
    let by = match mounted_by(device) {
        Some(None) => return Ok(()),
        Some(Some(uid)) if is_trusted_user(uid) => return Ok(()),
        Some(Some(uid)) => format!("that user {uid} mounted"),
        None => match fs::fstatfs(file).map_err(system)?.f_type == FUSE {
            false => return Ok(()),
            true => "of another mount namespace".to_owned(),
        },
    };
    Err(untrusted(format!("{} is on a FUSE file system {by}", shown.display())))
}

/// `FUSE_SUPER_MAGIC`
const FUSE: fs::FsWord = 0x6573_5546;

/// How long a reading of the mounts counts.
const MOUNTS_AGE: Duration = Duration::from_secs(1);

/// The mounts, which every path needs, and which may be thousands.
static MOUNTS: Mutex<Option<(Instant, Mounts)>> = Mutex::new(None);

/// Returns the user who mounted a file system, for FUSE; `None`: it is not among kq's mounts.
fn mounted_by((major, minor): (u32, u32)) -> Option<Option<u32>> {
    let mut cache = MOUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let device = format!("{major}:{minor}");
    let is_fresh = |(at, mounts): &(Instant, Mounts)| {
        at.elapsed() < MOUNTS_AGE && mounts.of_device(&device).is_some()
    };
    if !cache.as_ref().is_some_and(is_fresh) {
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        *cache = Some((Instant::now(), Mounts::parse(&text)));
    }
    let (_, mounts) = cache.as_ref()?;
    Some(mounts.of_device(&device)?.mounted_by)
}

fn read_at(place: Place, limit: u64) -> Result<Vec<u8>, ReadError> {
    let _reading = reading(&place.shown);
    let mut content = Vec::new();
    memory::Counting::new(&place.shown, open_place(&place)?)
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(|error| ReadError::System(plain(&error)))?;
    if content.len() as u64 > limit { Err(ReadError::TooLarge { limit }) } else { Ok(content) }
}

/// Opens the regular file at a place for reading, and checks what was opened.
fn open_place(place: &Place) -> Result<File, ReadError> {
    let _reading = reading(&place.shown);
    // The type first: opening a device can have side effects.
    expect_kind(&place.file, FileType::RegularFile)?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs::openat(&place.folder, &place.name, flags, Mode::empty()).map_err(system)?;
    expect_kind(&file, FileType::RegularFile)?;
    check_file(&file, &fs::fstat(&file).map_err(system)?, &place.shown)?;
    // Reading some of them takes the content away from others, and some have no end.
    if KERNELS.contains(&fs::fstatfs(&file).map_err(system)?.f_type) {
        return Err(untrusted(format!("{} is a file of the kernel", place.shown)));
    }
    Ok(File::from(file))
}

/// Returns true for a group whose members may write to trusted files: kq's own where it does not run as root, because a
/// user's own group usually has no other member. Root's group is not: a container that runs as any user with the group 0
/// is a member of it, and may have mounted the folder.
fn is_trusted_group(gid: u32) -> bool {
    !is_root() && gid != 0 && gid == rustix::process::getegid().as_raw()
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn check_owner(stat: &Stat, shown: &str) -> Result<(), ReadError> {
    match is_trusted_user(stat.st_uid) {
        true => Ok(()),
        false => {
            let (uid, what) = (stat.st_uid, noun(stat));
            let reason =
                format!("{what}{shown} belongs to user {uid}, expected {}", trusted_users());
            Err(untrusted(reason))
        }
    }
}

/// Returns the prefix of a path in messages.
fn noun(stat: &Stat) -> &'static str {
    if kind_of(stat) == FileType::Directory { "folder " } else { "" }
}

/// Rejects an entry that another user owns or can write to.
fn check_file(file: &OwnedFd, stat: &Stat, shown: &str) -> Result<(), ReadError> {
    check_owner(stat, shown)?;
    let what = noun(stat);
    if stat.st_mode & WRITE_OF_OTHERS != 0 {
        return Err(untrusted(format!("{what}{shown} is writable by every user")));
    }
    if stat.st_mode & WRITE_OF_GROUP == 0 {
        return Ok(());
    }
    if !is_trusted_group(stat.st_gid) {
        return Err(untrusted(format!("{what}{shown} is writable by group {}", stat.st_gid)));
    }
    // Users in the list show as the group permission. A descriptor without read permission has no
    // attributes, but its path has.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    match fs::getxattr(&path, ACCESS_LIST, &mut [0_u8; 0]) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        _ => {
            Err(untrusted(format!("{what}{shown} has an access control list that allows writing")))
        }
    }
}

fn check_program(stat: &Stat, shown: &str) -> Result<(), ReadError> {
    match stat.st_mode & SET_ID {
        0 => Ok(()),
        _ => Err(untrusted(format!("program {shown} is set-user-ID or set-group-ID"))),
    }
}

fn untrusted(reason: String) -> ReadError {
    ReadError::Untrusted(reason)
}
