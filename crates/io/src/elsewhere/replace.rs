//! Writes files atomically: at any time there is either the old file or the complete new one.
//!
//! A temporary file is written and synced in the same folder, and then renamed. On Windows, a new file has the access
//! rights of its folder: there is no mode that keeps other users from reading it.

use crate::input::plain;
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
/// Fails if the system refuses; then the old file remains.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let replaced = Sibling::write(path, content, 0o600).and_then(|sibling| sibling.replace(path));
    named(path, replaced)
}

/// Writes a file that every user can read, if the umask allows it, and replaces the entry of that name.
pub fn replace_public(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let replaced = Sibling::write(path, content, 0o644).and_then(|sibling| sibling.replace(path));
    named(path, replaced)
}

/// Returns true if two paths lead to one file.
pub fn is_one_file(path: &Path, other: &Path) -> bool {
    match (fs::canonicalize(path), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Writes a new file that only its owner can read, where the system has such a mode.
/// Fails if the name exists, and if the system refuses.
pub fn create(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    create_open(path, content).map(drop)
}

/// Writes a new file as [`create`] does, and returns it open, so that more can be appended.
pub fn create_open(path: &Path, content: &[u8]) -> Result<File, ReplaceError> {
    let created = Sibling::write(path, content, 0o600).and_then(|sibling| {
        let Sibling { entry, file } = sibling;
        // Unlike renaming, linking fails where the name exists.
        fs::hard_link(&entry.0, path).map(|()| file)
    });
    named(path, created)
}

/// Opens an existing file to read it and to append to it. No link is followed.
/// Fails for everything but a regular file, and if the system refuses.
pub fn reopen(path: &Path) -> Result<File, ReplaceError> {
    let opened = fs::symlink_metadata(path).and_then(|found| match found.is_file() {
        true => OpenOptions::new().read(true).append(true).open(path),
        false => Err(io::Error::other("it is not a file")),
    });
    named(path, opened)
}

/// Writes to the path that the operator named: replaces a file as [`replace`] does, or the target of a link; writes to
/// a pipe or a device.
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

fn named<T>(path: &Path, written: io::Result<T>) -> Result<T, ReplaceError> {
    written.map_err(|error| ReplaceError { path: path.display().to_string(), error })
}

/// A complete new file on the disk that has no name yet. Its temporary name is removed unless it becomes the file.
struct Sibling {
    entry: Temporary,
    file: File,
}

/// The temporary name of a file.
struct Temporary(PathBuf);

impl Sibling {
    fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it is not a file name"))?;
        let mut attempt = 0;
        let (entry, mut file) = loop {
            let mut own = OsString::from(".");
            own.push(name);
            own.push(format!(".kq-{}-{attempt}", std::process::id()));
            let own = path.with_file_name(own);
            match create_new(&own, mode) {
                Ok(file) => break (Temporary(own), file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1_000 => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        };
        file.write_all(content)?;
        file.sync_all()?;
        Ok(Self { entry, file })
    }

    fn replace(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.entry.0, path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It has gone where it was renamed.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(unix)]
fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().append(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create_new(path: &Path, _mode: u32) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).open(path)
}
