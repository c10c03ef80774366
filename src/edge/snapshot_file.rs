//! Snapshots in files: JSON, compressed with Zstandard when the name ends in `.zst`.

use crate::edge::input::{open_input, plain};
use crate::edge::replace::{ReplaceError, store};
use crate::facts::snapshot::{Snapshot, SnapshotError};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::{self, Read};
use std::path::Path;

/// The largest snapshot that is read, unpacked: that of a node with tens of thousands of containers.
const MAX_BYTES: u64 = 1 << 30;

/// The first bytes of a Zstandard frame.
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why a snapshot could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFileError {
    /// The system refused.
    #[error("cannot read snapshot {path}: {}", plain(error))]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// It is larger than kq reads.
    #[error("snapshot {path} has more than {limit} bytes, which kq does not read")]
    TooLarge {
        /// The file.
        path: String,
        /// How large it may be.
        limit: u64,
    },
    /// It holds something else.
    #[error("{path} is no snapshot: {error}")]
    Content {
        /// The file.
        path: String,
        /// What is wrong.
        error: SnapshotError,
    },
    /// It was packed, and cannot be unpacked any more.
    #[error("snapshot {path} is cut off or damaged: take it again ({reason})")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
}

/// Reads a snapshot, compressed or not; `-` is standard input.
///
/// # Errors
///
/// Fails for what cannot be read, is too large or is no snapshot.
pub fn read_snapshot(path: &str) -> Result<Snapshot, SnapshotFileError> {
    read_snapshot_within(path, MAX_BYTES)
}

/// Reads a snapshot of at most so many bytes, packed and unpacked.
///
/// # Errors
///
/// Fails for what cannot be read, is too large or is no snapshot.
pub fn read_snapshot_within(path: &str, limit: u64) -> Result<Snapshot, SnapshotFileError> {
    let refuse = |stopped| match stopped {
        Stopped::System(error) => SnapshotFileError::Read { path: path.to_owned(), error },
        Stopped::TooLarge => SnapshotFileError::TooLarge { path: path.to_owned(), limit },
        Stopped::Damaged(reason) => SnapshotFileError::Damaged { path: path.to_owned(), reason },
    };
    let bytes = match path {
        "-" => bounded(io::stdin().lock(), limit),
        path => open_input(Path::new(path))
            .map_err(Stopped::System)
            .and_then(|file| bounded(file, limit)),
    };
    let mut bytes = bytes.map_err(refuse)?;
    if bytes.starts_with(&ZSTANDARD) {
        bytes = unpack(&bytes, limit).map_err(refuse)?;
    }
    Snapshot::parse(&bytes)
        .map_err(|error| SnapshotFileError::Content { path: path.to_owned(), error })
}

/// Writes a snapshot; a file that is there is replaced as a whole. Only its owner can read it: it
/// tells what runs on a node.
///
/// # Errors
///
/// Fails where the file cannot be written; what was there before is there still then.
pub fn write_snapshot(path: &str, json: &[u8]) -> Result<(), SnapshotFileError> {
    let compressed = path.ends_with(".zst");
    let packed = compressed.then(|| compress_to_vec(json, CompressionLevel::Fastest));
    let content = packed.as_deref().unwrap_or(json);
    Ok(store(Path::new(path), content)?)
}

/// Why nothing more is read.
enum Stopped {
    System(io::Error),
    TooLarge,
    Damaged(String),
}

/// Reads all that is allowed.
fn bounded(reader: impl Read, limit: u64) -> Result<Vec<u8>, Stopped> {
    let mut bytes = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(Stopped::System)?;
    if bytes.len() as u64 > limit { Err(Stopped::TooLarge) } else { Ok(bytes) }
}

/// Unpacks frame after frame: some programs make several of one file. What is damaged in a way that
/// still can be unpacked shows in the sum at the end of a frame.
fn unpack(mut packed: &[u8], limit: u64) -> Result<Vec<u8>, Stopped> {
    let broken = |error: &dyn std::fmt::Display| Stopped::Damaged(error.to_string());
    let mut bytes = Vec::new();
    while !packed.is_empty() {
        let mut decoder = match StreamingDecoder::new(&mut packed) {
            Ok(decoder) => decoder,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                packed = packed.get(length..).ok_or_else(|| broken(&"it ends too early"))?;
                continue;
            }
            Err(error) => return Err(broken(&error)),
        };
        let rest = limit - bytes.len() as u64;
        let frame = bounded(&mut decoder, rest).map_err(|stopped| match stopped {
            Stopped::System(error) => broken(&error),
            other => other,
        })?;
        let said = decoder.decoder.get_checksum_from_data();
        if said.is_some() && said != decoder.decoder.get_calculated_checksum() {
            return Err(broken(&"the sum at its end is another"));
        }
        bytes.extend_from_slice(&frame);
    }
    Ok(bytes)
}
