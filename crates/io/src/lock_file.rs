//! Lock files, which contain only the process ID of their holder.
//!
//! A lock is a new file, or one that an earlier kq of the same user or of root made: a regular file with one link.
//! Anything else is rejected without being opened, because a user who can write into the folder could link the
//! name to a file of another user. A lock is never truncated: a process ID overwrites the previous one.

use crate::host::kind_name;
use crate::input::plain;
use crate::place::is_own;
use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait before a lock is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// The length of the content: a number and blanks.
const LENGTH: usize = 20;

/// A lock that is held until this is dropped or the process ends.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

/// Why the lock was not taken.
#[derive(Debug)]
pub enum LockError {
    /// The name is taken by something else.
    Kind(&'static str),
    /// The file was not made by kq.
    Foreign(String),
    /// Another process has it: its number.
    Held(Option<u32>),
    /// The system call failed.
    System(Errno),
}

impl From<Errno> for LockError {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

impl LockFile {
    /// Waits for a lock. Only its owner may open the file, so that other users cannot block kq.
    pub fn take(folder: &OwnedFd, name: &str, patience: Duration) -> Result<Self, LockError> {
        let begin = Instant::now();
        loop {
            let Some(file) = open(folder, name)? else { continue };
            match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if has_name(folder, name, &file)? => {
                    // The content is only for messages, so a full disk does not matter.
                    let mut text = [b' '; LENGTH];
                    let number = std::process::id().to_string();
                    text[..number.len()].copy_from_slice(number.as_bytes());
                    let _ = file.write_all_at(&text, 0);
                    return Ok(Self { _file: file });
                }
                // The file was removed or replaced before it was locked.
                Ok(()) | Err(Errno::INTR) if begin.elapsed() < patience => {}
                Err(Errno::WOULDBLOCK) if begin.elapsed() < patience => thread::sleep(PAUSE),
                Ok(()) | Err(Errno::INTR | Errno::WOULDBLOCK) => {
                    return Err(LockError::Held(holder(&file)));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Creates the file, or opens an existing one; `None`: it was removed in between.
fn open(folder: &OwnedFd, name: &str) -> Result<Option<File>, LockError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = flags | OFlags::CREATE | OFlags::EXCL;
    match fs::openat(folder, name, new, Mode::RUSR | Mode::WUSR) {
        Ok(file) => return Ok(Some(file.into())),
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    // First without opening it: opening a device can do something.
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => check_own(&stat)?,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let found = fs::fstat(&file)?;
    check_own(&found)?;
    let file = File::from(file);
    if found.st_size > 0 && holder(&file).is_none() {
        let reason = "its content is not a process ID";
        return Err(LockError::Foreign(reason.to_owned()));
    }
    Ok(Some(file))
}

/// Rejects everything but a regular file of a trusted owner that has one name: another user who can write into the folder
/// can have planted it.
pub fn check_own(found: &Stat) -> Result<(), LockError> {
    let foreign = |why: String| Err(LockError::Foreign(why));
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        kind => return Err(LockError::Kind(kind_name(kind))),
    }
    if !is_own(found) {
        return foreign(format!("it belongs to user {}", found.st_uid));
    }
    if found.st_nlink > 1 {
        return foreign("the file has another name as well".to_owned());
    }
    Ok(())
}

fn has_name(folder: &OwnedFd, name: &str, file: &File) -> Result<bool, LockError> {
    let own = fs::fstat(file)?;
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the process ID of the holder, if it wrote one.
fn holder(file: &File) -> Option<u32> {
    let mut text = [0; LENGTH + 1];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = text.get(..length).filter(|text| text.len() <= LENGTH)?;
    str::from_utf8(text).ok()?.trim_end().parse().ok()
}

impl LockError {
    /// Returns the reason, if it concerns the file.
    pub fn reason(self) -> String {
        match self {
            Self::Kind(found) => format!("it is {found}, expected a file"),
            Self::Foreign(reason) => reason,
            Self::Held(_) => "another process holds it".to_owned(),
            Self::System(error) => plain(&error.into()),
        }
    }
}
