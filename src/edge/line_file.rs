//! A record in lines, each on the disk before the next step begins.

use crate::edge::input::plain;
use crate::edge::open::open_new;
use crate::edge::replace::{ReplaceError, create};
use std::fs::File;
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
}

impl LineFile {
    /// Creates the file, which only its owner can read. A file of that name is never overwritten.
    ///
    /// # Errors
    ///
    /// Fails where the name exists, and as the system does.
    pub fn create(path: &str) -> Result<Self, LineFileError> {
        create(Path::new(path), b"")?;
        Self::open(path)
    }

    /// Opens an existing file, to add lines. No link is followed.
    ///
    /// # Errors
    ///
    /// Fails as the system does.
    pub fn open(path: &str) -> Result<Self, LineFileError> {
        let system = |error| LineFileError::System { path: path.to_owned(), error };
        let file = open_new(path).map_err(system)?;
        let is_file = file.metadata().map_err(system)?.is_file();
        match is_file {
            true => Ok(Self { path: path.to_owned(), file }),
            false => Err(system(io::Error::other("it is not a file"))),
        }
    }

    /// Adds a line. When this returns, it is on the disk.
    ///
    /// # Errors
    ///
    /// Fails as the system does; a part of the line may be in the file then.
    pub fn add(&mut self, line: &str) -> Result<(), LineFileError> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        let synced = written.and_then(|()| self.file.sync_data());
        synced.map_err(|error| LineFileError::System { path: self.path.clone(), error })
    }
}
