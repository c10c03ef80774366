//! Writes files atomically: at any time there is either the old file or the complete new one.
//!
//! A temporary file is written and synced in the same folder, and then renamed. On Windows, a new file has the access
//! rights of its folder: there is no mode that keeps other users from reading it.

use crate::edge::input::plain;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {}", plain(error))]
pub struct ReplaceError {
    /// The file.
    pub path: String,
    /// The system's error.
    pub error: io::Error,
}

/// Writes a file that only its owner can read, where the system has such a mode, and replaces the entry of that name.
///
/// # Errors
///
/// Fails if the system refuses; then the old file remains.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let replaced = Sibling::write(path, content, 0o600).and_then(|sibling| sibling.replace(path));
    named(path, replaced)
}

/// Writes a file that every user can read, if the umask allows it, and replaces the entry of that name.
///
/// # Errors
///
/// As [`replace`] does.
pub fn replace_public(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let replaced = Sibling::write(path, content, 0o644).and_then(|sibling| sibling.replace(path));
    named(path, replaced)
}

/// Writes a new file that only its owner can read, where the system has such a mode.
///
/// # Errors
///
/// Fails if the name exists, and if the system refuses.
pub fn create(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let created = Sibling::write(path, content, 0o600)
        // Unlike renaming, linking fails where the name exists.
        .and_then(|sibling| fs::hard_link(&sibling.path, path));
    named(path, created)
}

/// Writes to the path that the operator named: replaces a file as [`replace`] does, or the target of a link; writes to
/// a pipe or a device.
///
/// # Errors
///
/// Fails as [`replace`] does, and for a folder.
pub fn store(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            named(path, Err(io::Error::other("it is a folder, expected a file")))
        }
        Ok(found) if !found.is_file() => {
            let opened = OpenOptions::new().append(true).open(path);
            named(path, opened.and_then(|mut file| file.write_all(content)))
        }
        Ok(_) => replace(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()), content),
        Err(_) => replace(path, content),
    }
}

fn named(path: &Path, written: io::Result<()>) -> Result<(), ReplaceError> {
    written.map_err(|error| ReplaceError { path: path.display().to_string(), error })
}

/// A complete new file on the disk that has no name yet. Its temporary name is removed unless it becomes the file.
struct Sibling {
    path: PathBuf,
}

impl Sibling {
    fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it is not a file name"))?;
        let mut attempt = 0;
        let (sibling, mut file) = loop {
            let mut own = OsString::from(".");
            own.push(name);
            own.push(format!(".kq-{}-{attempt}", std::process::id()));
            let own = path.with_file_name(own);
            match create_new(&own, mode) {
                Ok(file) => break (Self { path: own }, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1_000 => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        };
        file.write_all(content)?;
        file.sync_all()?;
        Ok(sibling)
    }

    fn replace(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        // It has gone where it was renamed.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create_new(path: &Path, _mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
