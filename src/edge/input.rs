//! Reads the files that the command line names, within limits.

use crate::edge::memory;
use crate::edge::trust::{is_trusted_user, trusted_users};
use crate::k8s::manifest::{MAX_JSON_BYTES, MAX_YAML_BYTES};
use rustix::fs::{FsWord, Mode, OFlags, PROC_SUPER_MAGIC, fstatfs, open, statfs};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Standard input is at its end after it was read once, and would pass for an empty file.
static STANDARD_INPUT_READ: AtomicBool = AtomicBool::new(false);

/// The file system of pipes without a name (`pipefs` of the kernel).
const PIPEFS_MAGIC: FsWord = 0x5049_5045;

/// How long kq waits for a writer of a named pipe.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The system call failed.
    #[error("cannot read {path}: {}", self.reason())]
    Io {
        /// The name of the file on the command line.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// The file is larger than kq reads.
    #[error("{path} {}", self.reason())]
    TooLarge {
        /// The name of the file on the command line.
        path: String,
        /// ` of JSON` or ` of YAML`, if the limit is specific to the format.
        of: &'static str,
        limit: u64,
    },
}

impl InputError {
    /// Returns the reason, without the name.
    pub fn reason(&self) -> String {
        match self {
            Self::Io { error, .. } => plain(error),
            Self::TooLarge { of, limit, .. } => {
                format!("has more than {limit} bytes{of}, which kq does not read")
            }
        }
    }
}

/// Returns the system's error without its number.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_lowercase(),
        None => text,
    }
}

/// Reads a file, or standard input for `-`. Stops at the limit of the detected format, so
/// that a file of any size takes bounded memory.
///
/// # Errors
///
/// Fails if it cannot be read or is too large.
pub fn read_input(path: &str) -> Result<Vec<u8>, InputError> {
    read_bounded(path, |begins| match begins {
        Some(b'{' | b'[') => (" of JSON", MAX_JSON_BYTES as u64),
        _ => (" of YAML", MAX_YAML_BYTES as u64),
    })
}

/// Reads a file, or standard input for `-`, of at most `limit` bytes, whatever its format.
///
/// # Errors
///
/// Fails if it cannot be read or is too large.
pub fn read_input_within(path: &str, limit: u64) -> Result<Vec<u8>, InputError> {
    read_bounded(path, |_| ("", limit))
}

/// Opens what the operator named, to be read to its end: a file, a device, a pipe. For a named pipe, kq waits a
/// limited time for a writer; a pipe that a shell passes is already open at the other end.
///
/// # Errors
///
/// Fails as the system does, for a folder, and for a named pipe without a writer.
pub(in crate::edge) fn open_input(path: &Path) -> io::Result<File> {
    open_within(path, PATIENCE)
}

fn open_within(path: &Path, patience: Duration) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::Error::other("is a directory, expected a file"));
    }
    if kind.is_file() {
        return open_regular(path);
    }
    // The owner of a pipe or a device decides when its content ends. A pipe that a shell passes has no name.
    let is_anonymous = statfs(path)?.f_type == PIPEFS_MAGIC;
    if !is_anonymous && !is_trusted_user(metadata.uid()) {
        let uid = metadata.uid();
        return Err(io::Error::other(format!(
            "a pipe or a device of user {uid}, expected a file, or one of {}",
            trusted_users()
        )));
    }
    if !kind.is_fifo() {
        return File::open(path);
    }
    // Only the open waits for a writer, in its own thread. A non-blocking open could not distinguish a
    // pipe without a writer from one at its end.
    let (opened, waits) = mpsc::channel();
    let pipe = path.to_owned();
    thread::spawn(move || opened.send(File::open(pipe)));
    waits.recv_timeout(patience).unwrap_or_else(|_| {
        let waited = patience.as_secs();
        Err(io::Error::other(format!("a named pipe without a writer for {waited} seconds")))
    })
}

/// Opens a regular file. Files of the kernel are rejected, because some have no end, such as `/proc/kmsg`.
fn open_regular(path: &Path) -> io::Result<File> {
    // Non-blocking: a pipe may have replaced the file.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no longer a file"));
    }
    match fstatfs(&file)?.f_type == PROC_SUPER_MAGIC {
        true => Err(io::Error::other("a file of the kernel's (proc), expected one on a disk")),
        false => Ok(file),
    }
}

/// Returns the name of an input for messages.
pub fn shown(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Reads the input; the limit depends on the first byte that is not white space.
fn read_bounded(
    path: &str,
    limit: impl Fn(Option<u8>) -> (&'static str, u64),
) -> Result<Vec<u8>, InputError> {
    const FIRST: u64 = 64 * 1024;
    let refuse = |error| InputError::Io { path: shown(path).to_owned(), error };
    let mut size = None;
    let mut reader: Box<dyn Read> = match path {
        "-" if STANDARD_INPUT_READ.swap(true, Ordering::Relaxed) => {
            return Err(refuse(io::Error::other(
                "it has been read already; only one input can be -",
            )));
        }
        "-" => Box::new(io::stdin().lock()),
        _ => {
            let file = open_input(Path::new(path)).map_err(refuse)?;
            let metadata = file.metadata().map_err(refuse)?;
            size = metadata.is_file().then_some(metadata.len());
            Box::new(file)
        }
    };
    let mut reader = memory::Counting::new(shown(path), &mut reader);
    let mut content = Vec::new();
    reader.by_ref().take(FIRST).read_to_end(&mut content).map_err(refuse)?;
    let begins = content.iter().find(|byte| !byte.is_ascii_whitespace());
    let (of, limit) = limit(begins.copied());
    let too_large = || InputError::TooLarge { path: shown(path).to_owned(), of, limit };
    if size.is_some_and(|size| size > limit) {
        return Err(too_large());
    }
    if let Some(size) = size.and_then(|size| usize::try_from(size).ok()) {
        content.reserve_exact(size.saturating_sub(content.len()) + 1);
    }
    let rest = (limit + 1).saturating_sub(content.len() as u64);
    reader.take(rest).read_to_end(&mut content).map_err(refuse)?;
    if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::io::Write;

    #[test]
    fn a_named_pipe_is_waited_for_and_not_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("made");
        let error = open_within(&pipe, Duration::from_millis(50)).expect_err("nobody writes");
        assert!(error.to_string().starts_with("a named pipe without a writer"), "{error}");
        // The reader above still waits; a second pipe has one reader only.
        let pipe = folder.path().join("second");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("made");
        let writer = pipe.clone();
        let writer = thread::spawn(move || {
            let mut pipe = fs::OpenOptions::new().write(true).open(writer).expect("opened");
            // The other end may be slow.
            thread::sleep(Duration::from_millis(100));
            pipe.write_all(b"late").expect("written");
        });
        let content = read_input(pipe.to_str().expect("text")).expect("it is read to its end");
        assert_eq!(content, b"late");
        writer.join().expect("it ended");
    }
}
