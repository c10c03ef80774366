//! Reads the files that the command line names, within limits.

use crate::memory;
use crate::open::open_input;
use kq_facts::input_name::shown;
use kq_k8s::manifest::{MAX_JSON_BYTES, MAX_YAML_BYTES};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard input is at its end after it was read once, and would pass for an empty file.
static STANDARD_INPUT_READ: AtomicBool = AtomicBool::new(false);

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

/// Returns the system's error without its number, and without the full stop of Windows.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.trim_end_matches('.').to_lowercase(),
        None => text,
    }
}

/// Reads a file, or standard input for `-`. Stops at the limit of the detected format, so
/// that a file of any size takes bounded memory.
/// Fails if it cannot be read or is too large.
pub fn read_input(path: &str) -> Result<Vec<u8>, InputError> {
    read_bounded(path, |begins| match begins {
        Some(b'{' | b'[') => (" of JSON", MAX_JSON_BYTES as u64),
        _ => (" of YAML", MAX_YAML_BYTES as u64),
    })
}

/// Reads a file, or standard input for `-`, of at most `limit` bytes, whatever its format.
/// Fails if it cannot be read or is too large.
pub fn read_input_within(path: &str, limit: u64) -> Result<Vec<u8>, InputError> {
    read_bounded(path, |_| ("", limit))
}

/// Hands a file of any size, or standard input for `-`, over in pieces.
/// Fails if it cannot be read.
pub fn each_piece(path: &str, mut hand: impl FnMut(&[u8])) -> Result<(), InputError> {
    /// No line of a log is longer; one without an end, as of /dev/zero, would be read for ever.
    const LONGEST_LINE: u64 = 64 << 20;
    let mut line = 0_u64;
    let refuse = |error| InputError::Io { path: shown(path).to_owned(), error };
    let mut reader: Box<dyn Read> = match path {
        "-" => Box::new(io::stdin().lock()),
        _ => Box::new(open_input(Path::new(path)).map_err(refuse)?),
    };
    let mut piece = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                let read = &piece[..length];
                let open = read.iter().rev().position(|byte| *byte == b'\n');
                let more = open.unwrap_or(length) as u64;
                line = if open.is_some() { more } else { line.saturating_add(more) };
                if line > LONGEST_LINE {
                    let path = shown(path).to_owned();
                    return Err(InputError::TooLarge {
                        path,
                        of: " in a line",
                        limit: LONGEST_LINE,
                    });
                }
                hand(read);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(refuse(error)),
        }
    }
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
