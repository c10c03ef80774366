//! The one way in which kq writes files: as a whole, so that whoever looks, and whenever the machine stops, there
//! is the old file or the new one.
//!
//! A sibling is written and synced beside the place, and takes the name when it is whole. All of that
//! happens in one folder that is held open (`crate::edge::place`). Killed before, it leaves a sibling that nobody
//! looks at. What is there is never opened for writing, but for pipes and devices that a person names.

use crate::edge::host::{ReadError, kind_name};
use crate::edge::input::plain;
use crate::edge::place::{Last, Place};
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
    /// What the system said.
    pub error: io::Error,
}

/// Writes a file that only its owner can read, in place of what has the name: a file, a link or a pipe is replaced
/// itself, whoever put it there, and nothing behind it is touched.
///
/// # Errors
///
/// Fails where the system refuses; the old file is there then, unless it cannot be made sure on the disk
/// that the new one is.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    replace_for(path, content, &Access::Owner)
}

/// Writes a file that everybody can read, where the umask allows it, in place of what has the name.
///
/// # Errors
///
/// As [`replace`] does.
pub fn replace_public(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    replace_for(path, content, &Access::All)
}

fn replace_for(path: &Path, content: &[u8], access: &Access<'_>) -> Result<(), ReplaceError> {
    at(path, Last::Keep, |place| {
        let sibling = Sibling::write(&place.folder, &place.name, content, access)?;
        sibling.replace(&place.name).map_err(NotReplaced::into_error)
    })
}

/// Writes a file that only its owner can read, in place of what has the name in a folder that is held open.
pub(in crate::edge) fn replace_in(
    folder: &OwnedFd,
    name: &OsStr,
    content: &[u8],
) -> io::Result<()> {
    let sibling = Sibling::write(folder, name, content, &Access::Owner)?;
    sibling.replace(name).map_err(NotReplaced::into_error)
}

/// Writes a file that must not be there yet, and only its owner can read. When this returns, it is on
/// the disk.
///
/// # Errors
///
/// Fails where there is one already, and where the system refuses.
pub fn create(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    at(path, Last::Keep, |place| {
        let sibling = Sibling::write(&place.folder, &place.name, content, &Access::Owner)?;
        sibling.create(&place.name)
    })
}

/// Writes what a person wants stored under a path: a file as [`replace`] does, the one behind a link of their own;
/// a pipe and a character device, such as `/dev/stdout`, are written to.
///
/// # Errors
///
/// Fails as [`replace`] does, for what a stranger may have planted, for everything else that is not a file, and
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

/// Finds the place of a path and writes there.
fn at(
    path: &Path,
    last: Last,
    write: impl FnOnce(&Place) -> io::Result<()>,
) -> Result<(), ReplaceError> {
    let written = Place::find(path, last).map_err(io_error).and_then(|place| write(&place));
    written.map_err(|error| ReplaceError { path: path.display().to_string(), error })
}

fn io_error(error: ReadError) -> io::Error {
    match error {
        ReadError::Absent => Errno::NOENT.into(),
        error => io::Error::other(error.to_string()),
    }
}

/// Writes to something that is there and is what was found, without waiting for ever: for a reader of a pipe, or
/// for one that stopped reading. Whoever gave kq an open pipe may take any time, as with standard output.
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
                    "a named pipe, and nobody opened it for reading within {waited} seconds"
                )));
            }
            Err(error) => return Err(error.into()),
        }
    };
    let opened = fstat(&file)?;
    if (opened.st_dev, opened.st_ino) != (found.st_dev, found.st_ino) {
        return Err(io::Error::other("something else took its place meanwhile"));
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
                    return Err(io::Error::other(format!("nobody read on for {waited} seconds")));
                }
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Who may read a new file.
#[derive(Debug)]
pub(in crate::edge) enum Access<'a> {
    /// Only the own user: it tells what runs on a node.
    Owner,
    /// Everybody, where the umask allows it.
    All,
    /// Whoever may read another file, whose mode and owner it gets.
    As(&'a Stat),
}

/// A new file, whole and on the disk, that has not got its name yet. It is removed when it does not get it.
#[derive(Debug)]
pub(in crate::edge) struct Sibling<'f> {
    folder: &'f OwnedFd,
    own: OsString,
    has_name: bool,
}

/// Tells whether a file is what a run that was killed left beside a file of a name.
pub(in crate::edge) fn is_left_behind(found: &str, name: &str) -> bool {
    let after = found.strip_prefix('.').and_then(|rest| rest.strip_prefix(name));
    let numbers =
        after.and_then(|rest| rest.strip_prefix(".kq-")).and_then(|it| it.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, attempt)| is_number(process) && is_number(attempt))
}

/// Why a file was not replaced.
#[derive(Debug)]
pub(in crate::edge) enum NotReplaced {
    /// The old one is there.
    ResourceLedger(io::Error),
    /// The new one is there, and may not be after the machine stops.
    NotSynced(io::Error),
}

impl NotReplaced {
    fn into_error(self) -> io::Error {
        let (Self::ResourceLedger(error) | Self::NotSynced(error)) = self;
        error
    }
}

impl<'f> Sibling<'f> {
    /// Writes it. One that an earlier run left, perhaps of the same process number in another container, is let
    /// be.
    pub(in crate::edge) fn write(
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
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(folder, &*own, flags, mode) {
                Ok(file) => break (own, file),
                Err(Errno::EXIST) if attempt < 1_000 => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        };
        let sibling = Self { folder, own, has_name: false };
        fill(file, content, access)?;
        Ok(sibling)
    }

    /// Returns the name that it has for now.
    pub(in crate::edge) fn name(&self) -> &OsStr {
        &self.own
    }

    /// Changes places with a file, so that what was replaced can be looked at; `false` where the file
    /// system cannot do that.
    pub(in crate::edge) fn exchange(&mut self, name: &OsStr) -> io::Result<bool> {
        match renameat_with(self.folder, &*self.own, self.folder, name, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes sure that the places which were changed stay so, and removes what was replaced.
    pub(in crate::edge) fn sync(self) -> Result<(), NotReplaced> {
        let folder = self.folder;
        drop(self);
        fsync(folder).map_err(|error| NotReplaced::NotSynced(error.into()))
    }

    /// Takes the place of a file, or of none.
    pub(in crate::edge) fn replace(mut self, name: &OsStr) -> Result<(), NotReplaced> {
        renameat(self.folder, &*self.own, self.folder, name)
            .map_err(|error| NotReplaced::ResourceLedger(error.into()))?;
        self.has_name = true;
        fsync(self.folder).map_err(|error| NotReplaced::NotSynced(error.into()))
    }

    /// Takes a name that no file has.
    pub(in crate::edge) fn create(mut self, name: &OsStr) -> io::Result<()> {
        let (folder, own) = (self.folder, &*self.own);
        match renameat_with(folder, own, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.has_name = true,
            // Not every file system can do that. A link never replaces what is there, either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(folder, own, folder, name, AtFlags::empty())?;
            }
            Err(error) => return Err(error.into()),
        }
        drop(self);
        Ok(fsync(folder)?)
    }
}

impl Drop for Sibling<'_> {
    fn drop(&mut self) {
        if !self.has_name {
            let _ = unlinkat(self.folder, &*self.own, AtFlags::empty());
        }
    }
}

/// Fills a new file, gives it mode and owner of another, and syncs it.
fn fill(file: OwnedFd, content: &[u8], access: &Access<'_>) -> io::Result<()> {
    if let Access::As(like) = access {
        let own = fstat(&file)?;
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid) {
            let (user, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
            fchown(&file, Some(user), Some(group))?;
        }
        fchmod(&file, Mode::from_raw_mode(like.st_mode))?;
    }
    let mut file = File::from(file);
    file.write_all(content)?;
    file.sync_all()
}
