//! Files that are written as a whole: whoever looks, and whenever the machine stops, there is the old
//! file or the new one.
//!
//! A sibling is written and synced beside the place, and takes the name when it is whole. All of that
//! happens in one folder that is held open. Killed before, it leaves a sibling that nobody looks at.

use crate::edge::input::plain;
use rustix::fd::OwnedFd;
use rustix::fs::{
    self, AtFlags, Mode, OFlags, RenameFlags, Stat, fchmod, fchown, fstat, fsync, linkat, openat,
    renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {}", plain(error))]
pub struct ReplaceError {
    /// The file.
    pub path: String,
    /// What the system said.
    pub error: io::Error,
}

/// Writes a file that only its owner can read, in place of one that is there.
///
/// # Errors
///
/// Fails where the system refuses; the old file is there then, unless it cannot be made sure on the disk
/// that the new one is.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    write(path, content, |sibling, name| {
        sibling.replace(name).map_err(|not| match not {
            NotReplaced::Before(error) | NotReplaced::NotSynced(error) => error,
        })
    })
}

/// Writes a file that must not be there yet, and only its owner can read. When this returns, it is on
/// the disk.
///
/// # Errors
///
/// Fails where there is one already, and where the system refuses.
pub fn create(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    write(path, content, |sibling, name| sibling.create(name))
}

fn write(
    path: &Path,
    content: &[u8],
    put: impl FnOnce(Sibling<'_>, &OsStr) -> io::Result<()>,
) -> Result<(), ReplaceError> {
    let written = || {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = fs::open(folder.unwrap_or(Path::new(".")), flags, Mode::empty())?;
        put(Sibling::write(&folder, name, content, None)?, name)
    };
    written().map_err(|error| ReplaceError { path: path.display().to_string(), error })
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
    Before(io::Error),
    /// The new one is there, and may not be after the machine stops.
    NotSynced(io::Error),
}

impl<'f> Sibling<'f> {
    /// Writes it, with mode and owner of another file, or for its owner only. One that an earlier run left,
    /// perhaps of the same process number in another container, is let be.
    pub(in crate::edge) fn write(
        folder: &'f OwnedFd,
        name: &OsStr,
        content: &[u8],
        like: Option<&Stat>,
    ) -> io::Result<Self> {
        let mut attempt = 0;
        let (own, file) = loop {
            let mut own = OsString::from(".");
            own.push(name);
            own.push(format!(".kq-{}-{attempt}", std::process::id()));
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(folder, &*own, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => break (own, file),
                Err(Errno::EXIST) if attempt < 1_000 => attempt += 1,
                Err(error) => return Err(error.into()),
            }
        };
        let sibling = Self { folder, own, has_name: false };
        fill(file, content, like)?;
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
            .map_err(|error| NotReplaced::Before(error.into()))?;
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
fn fill(file: OwnedFd, content: &[u8], like: Option<&Stat>) -> io::Result<()> {
    if let Some(like) = like {
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
