//! Snapshots in files: JSON, compressed with Zstandard when the name ends in `.zst`.

use crate::edge::input::plain;
use crate::edge::replace::{ReplaceError, replace};
use crate::facts::snapshot::{Snapshot, SnapshotError};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs::File;
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
    #[error("snapshot {path} has more than {MAX_BYTES} bytes, which kq does not read")]
    TooLarge {
        /// The file.
        path: String,
    },
    /// It holds something else.
    #[error("{path} is no snapshot: {error}")]
    Content {
        /// The file.
        path: String,
        /// What is wrong.
        error: SnapshotError,
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
    let refuse = |error| SnapshotFileError::Read { path: path.to_owned(), error };
    let bytes =
        if path == "-" { bounded(io::stdin().lock()) } else { File::open(path).and_then(bounded) }
            .map_err(refuse)?;
    let bytes = match bytes.starts_with(&ZSTANDARD) {
        false => bytes,
        true => {
            let broken = |error: &dyn std::fmt::Display| {
                refuse(io::Error::other(format!("not what Zstandard writes: {error}")))
            };
            let decoder = StreamingDecoder::new(bytes.as_slice()).map_err(|e| broken(&e))?;
            bounded(decoder).map_err(|error| broken(&error))?
        }
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SnapshotFileError::TooLarge { path: path.to_owned() });
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
    replace(Path::new(path), packed.as_deref().unwrap_or(json))?;
    Ok(())
}

/// Reads all, up to a byte more than is allowed.
fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
