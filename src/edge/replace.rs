//! Files that are written as a whole: whoever looks, and whenever the machine stops, there is the old
//! file or the new one.

use crate::edge::input::plain;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

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
/// Fails where the system refuses; the old file is untouched then.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    let sibling = sibling(path);
    let written = write_new(&sibling, content)
        .and_then(|()| fs::rename(&sibling, path))
        .and_then(|()| sync_folder(path));
    written.map_err(|error| {
        let _ = fs::remove_file(&sibling);
        ReplaceError { path: path.display().to_string(), error }
    })
}

/// Writes a file that must not be there yet, and only its owner can read. When this returns, it is on
/// the disk.
///
/// # Errors
///
/// Fails where there is one already, and where the system refuses.
pub fn create(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    write_new(path, content)
        .and_then(|()| sync_folder(path))
        .map_err(|error| ReplaceError { path: path.display().to_string(), error })
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Makes sure that the name is on the disk too.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

/// Returns a name beside the file that no other run of kq takes.
fn sibling(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".kq-{}", std::process::id()));
    path.with_file_name(name)
}
