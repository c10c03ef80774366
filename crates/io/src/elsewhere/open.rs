//! Opens the files that the command line or a configuration names.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens what the operator named, to be read to its end: a file, a device, a pipe.
/// Fails as the system does, and for a folder.
pub fn open_input(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_dir() {
        return Err(io::Error::other("is a directory, expected a file"));
    }
    File::open(path)
}

/// Opens a file, which the caller has checked to be one.
pub fn open_unblocked(path: &Path) -> io::Result<File> {
    File::open(path)
}
