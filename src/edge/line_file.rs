//! A record in lines, each on the disk before the next step begins.

use crate::edge::input::{InputError, plain, read_input};
use crate::edge::open::open_new;
use crate::edge::replace::{ReplaceError, create};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// Why a line could not be written.
#[derive(Debug, thiserror::Error)]
pub enum LineFileError {
    /// The system call failed.
    #[error("cannot write {path}: {}", plain(error))]
    System {
        /// The file.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// It could not be created.
    #[error(transparent)]
    Create(#[from] ReplaceError),
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
    ///
    /// # Errors
    ///
    /// Fails where the name exists, and as the system does.
    pub fn begin(path: &str, line: &str) -> Result<Self, LineFileError> {
        create(Path::new(path), format!("{line}\n").as_bytes())?;
        Self::open(path)
    }

    /// Opens an existing file, to add lines. No link is followed. Nobody else can open it until this is dropped.
    ///
    /// # Errors
    ///
    /// Fails for a file that another process has open so, and as the system does.
    pub fn open(path: &str) -> Result<Self, LineFileError> {
        let system = |error| LineFileError::System { path: path.to_owned(), error };
        let file = open_new(path).map_err(system)?;
        let found = file.metadata().map_err(system)?;
        if !found.is_file() {
            return Err(system(io::Error::other("it is not a file")));
        }
        match file.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), file, is_cut: false }),
            Err(TryLockError::WouldBlock) => {
                Err(system(io::Error::other("another kq continues it")))
            }
            Err(TryLockError::Error(error)) => Err(system(error)),
        }
    }

    /// Returns the content as it is now, with a limit.
    ///
    /// # Errors
    ///
    /// Fails as the system does.
    pub fn content(&mut self) -> Result<Vec<u8>, InputError> {
        let content = read_input(&self.path)?;
        self.is_cut = content.last().is_some_and(|last| *last != b'\n');
        Ok(content)
    }

    /// Adds a line. When this returns, it is on the disk.
    ///
    /// # Errors
    ///
    /// Fails as the system does; a part of the line may be in the file then.
    pub fn add(&mut self, line: &str) -> Result<(), LineFileError> {
        let begin = if self.is_cut { "\n" } else { "" };
        let written = self.file.write_all(format!("{begin}{line}\n").as_bytes());
        self.is_cut = written.is_err();
        let synced = written.and_then(|()| self.file.sync_data());
        synced.map_err(|error| LineFileError::System { path: self.path.clone(), error })
    }
}
