//! Writes files atomically: at any time, also after a crash, there is either the old file or the complete new one.
//!
//! A temporary file is written and synced in the same folder, and then renamed, all within one open folder
//! (`crate::place`). If kq is killed before that, an unused temporary file remains. An existing file is never
//! opened for writing, except for pipes and devices that the operator names, and for a record of kq's that is continued.
//! A file that grows is written through the descriptor with which it was created: its path may lead elsewhere by then.

use crate::host::{ReadError, kind_name};
use crate::input::plain;
use crate::lock_file::check_own;
use crate::place::{Last, Place};
use rustix::fd::OwnedFd;
use rustix::fs::{
    self, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fchown, fstat, fsync, linkat,
    openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a named pipe without a reader is waited for.
const READER: Duration = Duration::from_secs(5);

/// How long a reader of a named pipe may stop reading.
const STALLED: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(20);

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {}", plain(error))]
pub struct ReplaceError {
    /// The file.
    pub path: String,
    /// The system's error.
    pub error: io::Error,
}

/// Writes a file that only its owner can read, and replaces the entry of that name: a file, link or pipe is replaced
/// itself, whoever owns it, and the target of a link is not touched.
/// Fails if the system refuses; then the old file remains, unless the new one cannot be synced to the
/// disk.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    replace_for(path, content, &Access::Owner)
}

/// Writes a file that every user can read, if the umask allows it, and replaces the entry of that name.
pub fn replace_public(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    replace_for(path, content, &Access::All)
}

fn replace_for(path: &Path, content: &[u8], access: &Access<'_>) -> Result<(), ReplaceError> {
    at(path, Last::Keep, |place| {
        let sibling = Sibling::write(&place.folder, &place.name, content, access)?;
        sibling.replace(&place.name).map_err(NotReplaced::into_error)
    })
}

/// Writes a file that only its owner can read into an open folder, and replaces the entry of that name.
pub fn replace_in(folder: &OwnedFd, name: &OsStr, content: &[u8]) -> io::Result<()> {
    let sibling = Sibling::write(folder, name, content, &Access::Owner)?;
    sibling.replace(name).map_err(NotReplaced::into_error)
}

/// Writes a new file that only its owner can read. When this returns, it is on
/// the disk.
/// Fails if the name exists, and if the system refuses.
pub fn create(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    create_open(path, content).map(drop)
}

/// Writes a new file as [`create`] does, and returns it open, so that more can be appended.
pub fn create_open(path: &Path, content: &[u8]) -> Result<File, ReplaceError> {
    at(path, Last::Keep, |place| {
        let sibling = Sibling::write(&place.folder, &place.name, content, &Access::Owner)?;
        sibling.create(&place.name)
    })
}

/// Opens an existing file of kq's to read it and to append to it: a regular file of a trusted owner with one name. No
/// link is followed.
/// Fails for everything else, and if the system refuses.
pub fn reopen(path: &Path) -> Result<File, ReplaceError> {
    let check = |found: &Stat| check_own(found).map_err(|error| io::Error::other(error.reason()));
    at(path, Last::Keep, |place| {
        // First without opening it: opening a device can do something.
        let Some(found) = place.stat()? else { return Err(Errno::NOENT.into()) };
        check(&found)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = openat(&place.folder, &place.name, flags, Mode::empty())?;
        check(&fstat(&file)?)?;
        Ok(file.into())
    })
}

/// Writes to the path that the operator named: replaces a file as [`replace`] does, or the target of their own link;
/// writes to a pipe or a character device, such as `/dev/stdout`.
/// Fails as [`replace`] does, for an entry that an untrusted user may have planted, for other types of entries, and
/// for a pipe without a reader.
pub fn store(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    at(path, Last::Follow, |place| {
        let found = place.stat()?;
        let kind = found.map(|found| FileType::from_raw_mode(found.st_mode));
        match (found, kind) {
            (None, _) | (_, Some(FileType::RegularFile)) if !place.is_open_file => {
                replace_in(&place.folder, &place.name, content)
            }
            (Some(found), Some(FileType::Fifo | FileType::CharacterDevice)) => {
                place.check_owner(&found).map_err(io_error)?;
                pour(place, &found, content)
            }
            // An open file of a shell: `-o /dev/stdout > file`.
            (Some(found), Some(FileType::RegularFile)) => pour(place, &found, content),
            (_, kind) => {
                let found = kind_name(kind.unwrap_or(FileType::Unknown));
                Err(io::Error::other(format!("it is {found}, expected a file")))
            }
        }
    })
}

/// Returns true if two paths lead to one file.
pub fn is_one_file(path: &Path, other: &Path) -> bool {
    match (fs::stat(path), fs::stat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

/// Finds the place of a path and writes there.
fn at<T>(
    path: &Path,
    last: Last,
    write: impl FnOnce(&Place) -> io::Result<T>,
) -> Result<T, ReplaceError> {
    let written = Place::find(path, last).map_err(io_error).and_then(|place| write(&place));
    written.map_err(|error| ReplaceError { path: path.display().to_string(), error })
}

fn io_error(error: ReadError) -> io::Error {
    match error {
        ReadError::Absent => Errno::NOENT.into(),
        error => io::Error::other(error.to_string()),
    }
}

/// Writes to an existing pipe or device, if it is still the same. Waits a limited time for a reader of a named pipe.
/// An open pipe may take any time, like standard output.
fn pour(place: &Place, found: &Stat, content: &[u8]) -> io::Result<()> {
    let mut flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    flags |= if place.is_open_file { OFlags::APPEND } else { OFlags::NOFOLLOW };
    let begin = Instant::now();
    let file = loop {
        match openat(&place.folder, &place.name, flags, Mode::empty()) {
            Ok(file) => break file,
            Err(Errno::NXIO) if begin.elapsed() < READER => thread::sleep(PAUSE),
            Err(Errno::NXIO) => {
                let waited = READER.as_secs();
                return Err(io::Error::other(format!(
                    "a named pipe without a reader for {waited} seconds"
                )));
            }
            Err(error) => return Err(error.into()),
        }
    };
    let opened = fstat(&file)?;
    if (opened.st_dev, opened.st_ino) != (found.st_dev, found.st_ino) {
        return Err(io::Error::other("it was replaced meanwhile"));
    }
    if place.is_open_file {
        fs::fcntl_setfl(&file, OFlags::APPEND)?;
    }
    let mut file = File::from(file);
    let (mut rest, mut moved) = (content, Instant::now());
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (rest, moved) = (&rest[written..], Instant::now()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if moved.elapsed() > STALLED {
                    let waited = STALLED.as_secs();
                    return Err(io::Error::other(format!(
                        "the reader stopped for {waited} seconds"
                    )));
                }
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The permissions of a new file.
#[derive(Debug)]
pub enum Access<'a> {
    /// Only the owner: the content describes a node.
    Owner,
    /// Everybody, where the umask allows it.
    All,
    /// The owner and mode of another file.
    As(&'a Stat),
}

/// A complete new file on the disk that has no name yet. It is removed unless it gets its name.
#[derive(Debug)]
pub struct Sibling<'f> {
    entry: Temporary<'f>,
    file: File,
}

/// The name of a new file until it gets its own.
#[derive(Debug)]
struct Temporary<'f> {
    folder: &'f OwnedFd,
    own: OsString,
    has_name: bool,
}

/// Returns true if a file is the temporary file that a killed run left for a name.
pub fn is_left_behind(found: &str, name: &str) -> bool {
    let after = found.strip_prefix('.').and_then(|rest| rest.strip_prefix(name));
    let numbers =
        after.and_then(|rest| rest.strip_prefix(".kq-")).and_then(|it| it.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, attempt)| is_number(process) && is_number(attempt))
}

/// Why a file was not replaced.
#[derive(Debug)]
pub enum NotReplaced {
    /// The old one is there.
    Before(io::Error),
    /// The new one is there, and may not be after the machine stops.
    NotSynced(io::Error),
}

impl NotReplaced {
    fn into_error(self) -> io::Error {
        let (Self::Before(error) | Self::NotSynced(error)) = self;
        error
    }
}

impl<'f> Sibling<'f> {
    /// Writes it. The temporary file of an earlier run is kept; its process may have the same ID in another
    /// container.
    pub fn write(
        folder: &'f OwnedFd,
        name: &OsStr,
        content: &[u8],
        access: &Access<'_>,
    ) -> io::Result<Self> {
        let mode = Mode::from_raw_mode(if matches!(access, Access::All) { 0o644 } else { 0o600 });
        let mut attempt = 0;
        let (own, file) = loop {
            let mut own = OsString::from(".");
            own.push(name);
            own.push(format!(".kq-{}-{attempt}", std::process::id()));
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let flags = flags | OFlags::CREATE | OFlags::EXCL;
            match openat(folder, &*own, flags, mode) {
                Ok(file) => break (own, file),
                Err(Errno::EXIST) if attempt < 1_000 => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        };
        let entry = Temporary { folder, own, has_name: false };
        let mut file = File::from(file);
        fill(&mut file, content, access)?;
        Ok(Self { entry, file })
    }

    /// Returns the name that it has for now.
    pub fn name(&self) -> &OsStr {
        &self.entry.own
    }

    /// Exchanges the names with a file, so that the replaced file can be checked; `false` if the file
    /// system does not support that.
    pub fn exchange(&mut self, name: &OsStr) -> io::Result<bool> {
        let Temporary { folder, own, .. } = &self.entry;
        match renameat_with(folder, &**own, folder, name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Syncs the exchange, and removes the replaced file.
    pub fn sync(self) -> Result<(), NotReplaced> {
        let folder = self.entry.folder;
        drop(self);
        fsync(folder).map_err(|error| NotReplaced::NotSynced(error.into()))
    }

    /// Replaces a file, or takes a free name.
    pub fn replace(self, name: &OsStr) -> Result<(), NotReplaced> {
        let Self { mut entry, .. } = self;
        renameat(entry.folder, &*entry.own, entry.folder, name)
            .map_err(|error| NotReplaced::Before(error.into()))?;
        entry.has_name = true;
        fsync(entry.folder).map_err(|error| NotReplaced::NotSynced(error.into()))
    }

    /// Takes a name that must be free, and returns the open file.
    pub fn create(self, name: &OsStr) -> io::Result<File> {
        let Self { mut entry, file } = self;
        let (folder, own) = (entry.folder, &*entry.own);
        match renameat_with(folder, own, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => entry.has_name = true,
            // Not every file system supports that. A hard link does not replace an existing file either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(folder, own, folder, name, AtFlags::empty())?;
            }
            Err(error) => return Err(error.into()),
        }
        drop(entry);
        fsync(folder)?;
        Ok(file)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.has_name {
            let _ = unlinkat(self.folder, &*self.own, AtFlags::empty());
        }
    }
}

/// Fills a new file, copies mode and owner of another one, and syncs it.
fn fill(file: &mut File, content: &[u8], access: &Access<'_>) -> io::Result<()> {
    if let Access::As(like) = access {
        let own = fstat(&*file)?;
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid) {
            let (user, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
            fchown(&*file, Some(user), Some(group))?;
        }
        fchmod(&*file, Mode::from_raw_mode(like.st_mode))?;
    }
    file.write_all(content)?;
    file.sync_all()
}
