//! A record in lines, each on the disk before the next step begins.

use crate::input::plain;
use crate::memory::Counting;
use crate::replace::{ReplaceError, create_open, reopen};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// The largest record that is read: one of 5,000 nodes has 5 MB.
const MAX_RECORD: u64 = 256 << 20;

/// Why a record could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LineFileError {
    /// The system call failed.
    #[error("cannot {action} {path}: {}", plain(error))]
    System {
        /// `write` or `read`.
        action: &'static str,
        /// The file.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// It is larger than kq reads.
    #[error("{path} has more than {MAX_RECORD} bytes, which kq does not read")]
    TooLarge {
        /// The file.
        path: String,
    },
    /// It could not be created or opened.
    #[error(transparent)]
    Open(#[from] ReplaceError),
}

/// A file to which lines are added.
#[derive(Debug)]
pub struct LineFile {
    path: String,
    file: File,
    /// The last line has no end: a kill or a full disk cut it off.
    is_cut: bool,
}

impl LineFile {
    /// Creates the file with its first line. Only its owner can read it. A file of that name is never overwritten.
    /// Fails where the name exists, and as the system does.
    pub fn begin(path: &str, line: &str) -> Result<Self, LineFileError> {
        let file = create_open(Path::new(path), format!("{line}\n").as_bytes())?;
        Self::locked(path, file)
    }

    /// Opens an existing record, to add lines: a file of a trusted owner with one name. No other process can open it until this
    /// is dropped.
    /// Fails for anything else, for a file that another process has open so, and as the system does.
    pub fn open(path: &str) -> Result<Self, LineFileError> {
        Self::locked(path, reopen(Path::new(path))?)
    }

    fn locked(path: &str, file: File) -> Result<Self, LineFileError> {
        let refused = |error| failed("write", path, error);
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), file, is_cut: false }),
            Err(TryLockError::WouldBlock) => {
                Err(refused(io::Error::other("another kq continues it")))
            }
            Err(TryLockError::Error(error)) => Err(refused(error)),
        }
    }

    /// Returns the content of an opened record as it is now, with a limit.
    pub fn content(&mut self) -> Result<Vec<u8>, LineFileError> {
        let mut content = Vec::new();
        let begun = self.file.rewind();
        let read = begun.and_then(|()| {
            let reader = Counting::new(&self.path, &self.file);
            reader.take(MAX_RECORD + 1).read_to_end(&mut content)
        });
        read.map_err(|error| failed("read", &self.path, error))?;
        if content.len() as u64 > MAX_RECORD {
            return Err(LineFileError::TooLarge { path: self.path.clone() });
        }
        self.is_cut = content.last().is_some_and(|last| *last != b'\n');
        Ok(content)
    }

    /// Adds a line. When this returns, it is on the disk.
    /// Fails as the system does; a part of the line may be in the file then.
    pub fn add(&mut self, line: &str) -> Result<(), LineFileError> {
        let begin = if self.is_cut { "\n" } else { "" };
        let written = self.file.write_all(format!("{begin}{line}\n").as_bytes());
        self.is_cut = written.is_err();
        let synced = written.and_then(|()| self.file.sync_data());
        synced.map_err(|error| failed("write", &self.path, error))
    }
}

fn failed(action: &'static str, path: &str, error: io::Error) -> LineFileError {
    LineFileError::System { action, path: path.to_owned(), error }
}
