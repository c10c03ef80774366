//! Reading the files that the command line names, within bounds.

use crate::k8s::manifest::{MAX_JSON_BYTES, MAX_YAML_BYTES};
use std::fs::File;
use std::io::{self, Read};

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The system refused.
    #[error("cannot read {path}: {}", plain(error))]
    Io {
        /// The file as it was named.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// The file is larger than kq reads.
    #[error("{path} has more than {limit} bytes of {syntax}, which kq does not read")]
    TooLarge {
        /// The file as it was named.
        path: String,
        /// `JSON` or `YAML`.
        syntax: &'static str,
        /// The limit.
        limit: u64,
    },
}

/// Returns what the system said without its number.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_lowercase(),
        None => text,
    }
}

/// Reads a file, or standard input for `-`. Stops at the limit of what the content seems to be, so
/// that a file of any size costs no more memory than one that is read.
///
/// # Errors
///
/// Fails for what cannot be read or is too large.
pub fn read_input(path: &str) -> Result<Vec<u8>, InputError> {
    let refuse = |error| InputError::Io { path: shown(path).to_owned(), error };
    if path == "-" {
        return read_bounded(path, io::stdin().lock(), None).map_err(|e| e.or_io(refuse));
    }
    let file = File::open(path).map_err(refuse)?;
    let metadata = file.metadata().map_err(refuse)?;
    if metadata.is_dir() {
        return Err(refuse(io::Error::other("is a directory, expected a file")));
    }
    let size = metadata.is_file().then_some(metadata.len());
    read_bounded(path, file, size).map_err(|e| e.or_io(refuse))
}

/// Returns the name of an input for messages.
pub fn shown(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// What can happen while reading.
enum Stopped {
    Io(io::Error),
    TooLarge(InputError),
}

impl Stopped {
    fn or_io(self, refuse: impl FnOnce(io::Error) -> InputError) -> InputError {
        match self {
            Self::Io(error) => refuse(error),
            Self::TooLarge(error) => error,
        }
    }
}

fn read_bounded(path: &str, mut reader: impl Read, size: Option<u64>) -> Result<Vec<u8>, Stopped> {
    const FIRST: u64 = 64 * 1024;
    let mut content = Vec::new();
    reader.by_ref().take(FIRST).read_to_end(&mut content).map_err(Stopped::Io)?;
    let begins = content.iter().find(|byte| !byte.is_ascii_whitespace());
    let (syntax, limit) = match begins {
        Some(b'{' | b'[') => ("JSON", MAX_JSON_BYTES as u64),
        _ => ("YAML", MAX_YAML_BYTES as u64),
    };
    let too_large =
        || Stopped::TooLarge(InputError::TooLarge { path: shown(path).to_owned(), syntax, limit });
    if size.is_some_and(|size| size > limit) {
        return Err(too_large());
    }
    if let Some(size) = size.and_then(|size| usize::try_from(size).ok()) {
        content.reserve_exact(size.saturating_sub(content.len()) + 1);
    }
    let rest = (limit + 1).saturating_sub(content.len() as u64);
    reader.take(rest).read_to_end(&mut content).map_err(Stopped::Io)?;
    if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
}
