//! Files that only say who is at work.
//!
//! A lock is made new, or it is what an earlier kq of the same user or of root made: a regular file with one name.
//! Anything else is refused without being opened, because a stranger who can make files in the folder could lead the
//! name to a file of somebody else. No lock is ever cut: a number is written over the one before.

use crate::edge::host::kind_name;
use crate::edge::input::plain;
use crate::edge::place::is_own;
use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait before a lock is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// The length of what is written: a number and blanks.
const LENGTH: usize = 20;

/// A lock that is held until this goes, also by the end of the process.
#[derive(Debug)]
pub(in crate::edge) struct LockFile {
    _file: File,
}

/// Why there is no lock.
#[derive(Debug)]
pub(in crate::edge) enum LockError {
    /// There is something else.
    Kind(&'static str),
    /// It is a file that kq did not make.
    Foreign(String),
    /// Another process has it: its number.
    Held(Option<u32>),
    /// The system refused.
    System(Errno),
}

impl From<Errno> for LockError {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

impl LockFile {
    /// Waits for a lock. Only its owner may open the file, or any user could keep kq from working.
    pub(in crate::edge) fn take(
        folder: &OwnedFd,
        name: &str,
        patience: Duration,
    ) -> Result<Self, LockError> {
        let begin = Instant::now();
        loop {
            let Some(file) = open(folder, name)? else { continue };
            match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if has_name(folder, name, &file)? => {
                    // Only for the message of one who waits in vain: a full disk is no reason not to go on.
                    let mut text = [b' '; LENGTH];
                    let number = std::process::id().to_string();
                    text[..number.len()].copy_from_slice(number.as_bytes());
                    let _ = file.write_all_at(&text, 0);
                    return Ok(Self { _file: file });
                }
                // Somebody removed the file before it was locked, and the name is free again, or another file's.
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

/// Makes the file, or opens the one that is there; `None`: it went in between.
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
        Ok(stat) => check(&stat)?,
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
    check(&found)?;
    let file = File::from(file);
    if found.st_size > 0 && holder(&file).is_none() {
        let reason = "it holds something else than the number of a process";
        return Err(LockError::Foreign(reason.to_owned()));
    }
    Ok(Some(file))
}

/// Refuses what is not a lock of kq.
fn check(found: &Stat) -> Result<(), LockError> {
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

/// Returns who holds a lock, as far as it wrote that down.
fn holder(file: &File) -> Option<u32> {
    let mut text = [0; LENGTH + 1];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = text.get(..length).filter(|text| text.len() <= LENGTH)?;
    str::from_utf8(text).ok()?.trim_end().parse().ok()
}

impl LockError {
    /// Returns why, as far as it is a reason of the file.
    pub(in crate::edge) fn reason(self) -> String {
        match self {
            Self::Kind(found) => format!("it is {found}, expected a file"),
            Self::Foreign(reason) => reason,
            Self::Held(_) => "another process has it".to_owned(),
            Self::System(error) => plain(&error.into()),
        }
    }
}
