//! Snapshots in files and in folders, one file for each node: JSON, compressed with Zstandard when the name ends in `.zst`, or within a page of `kq report`.

use crate::input::plain;
use crate::memory::Counting;
use crate::open::open_input;
use crate::replace::{ReplaceError, store};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kq_facts::input_name::shown;
use kq_facts::limits::{MAX_SNAPSHOT_BYTES, MAX_ZSTD_WINDOW, unpacked_limit};
use kq_facts::report_page::snapshot_text;
use kq_facts::snapshot::{Snapshot, SnapshotError};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The first bytes of a Zstandard frame.
pub(crate) const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The first bytes of what gzip packs.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a snapshot could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFileError {
    /// The system call failed.
    #[error("cannot read snapshot {path}: {}", plain(error))]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// It is larger than kq reads.
    #[error("snapshot {path} has more than {limit} bytes, which kq does not read")]
    TooLarge {
        /// The file.
        path: String,
        limit: u64,
    },
    /// It unpacks to more than a snapshot of its size does.
    #[error("snapshot {path} unpacks to more than {limit} bytes, too much for its size")]
    Unpacked {
        /// The file.
        path: String,
        /// How large it may become.
        limit: u64,
    },
    /// It was packed with a window that is too large.
    #[error(
        "snapshot {path} is packed with a window of {window} bytes, and kq unpacks up to {MAX_ZSTD_WINDOW}: \
         unpack it with zstd -d, or pack it without --long and --ultra"
    )]
    Window {
        /// The file.
        path: String,
        window: u64,
    },
    /// It was packed by gzip.
    #[error("{path} is packed by gzip, and kq unpacks Zstandard alone: unpack it with gzip -d")]
    Gzip {
        /// The file.
        path: String,
    },
    /// A value in it is damaged.
    #[error("{path} has a value that kq cannot read: {error}")]
    Value {
        /// The file.
        path: String,
        error: SnapshotError,
    },
    /// It contains something else.
    #[error("{path} is not a kq snapshot: {error}")]
    Content {
        /// The file.
        path: String,
        error: SnapshotError,
    },
    /// It was packed, and cannot be unpacked any more.
    #[error("snapshot {path} is cut off or damaged: take it again ({reason})")]
    Damaged {
        /// The file.
        path: String,
        /// The error.
        reason: String,
    },
    /// It is a page of `kq report` that holds no snapshot.
    #[error("{path} is a report without a snapshot")]
    NoSnapshot {
        /// The file.
        path: String,
    },
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
}

/// Reads a snapshot, compressed or not, or that of a page of `kq report`; `-` is standard input.
/// Fails if it cannot be read, is too large or is not a snapshot.
pub fn read_snapshot(path: &str) -> Result<Snapshot, SnapshotFileError> {
    read_snapshot_within(path, MAX_SNAPSHOT_BYTES)
}

/// Reads a snapshot of at most `limit` bytes, packed and unpacked.
/// Fails if it cannot be read, is too large or is not a snapshot.
pub fn read_snapshot_within(path: &str, limit: u64) -> Result<Snapshot, SnapshotFileError> {
    let refuse = |stopped| match stopped {
        Stopped::System(error) => SnapshotFileError::Read { path: path.to_owned(), error },
        Stopped::TooLarge => SnapshotFileError::TooLarge { path: path.to_owned(), limit },
        Stopped::Unpacked(limit) => SnapshotFileError::Unpacked { path: path.to_owned(), limit },
        Stopped::Window(window) => SnapshotFileError::Window { path: path.to_owned(), window },
        Stopped::Damaged(reason) => SnapshotFileError::Damaged { path: path.to_owned(), reason },
    };
    let bytes = match path {
        "-" => bounded(Counting::new(shown(path), io::stdin().lock()), limit),
        path => open_input(Path::new(path))
            .map_err(Stopped::System)
            .and_then(|file| bounded(Counting::new(path, file), limit)),
    };
    let mut bytes = bytes.map_err(refuse)?;
    if let Some(text) = snapshot_text(&bytes) {
        let text = text.ok_or_else(|| SnapshotFileError::NoSnapshot { path: path.to_owned() })?;
        let packed = STANDARD.decode(text);
        bytes = packed.map_err(|error| refuse(Stopped::Damaged(error.to_string())))?;
    }
    if bytes.starts_with(&GZIP) {
        return Err(SnapshotFileError::Gzip { path: path.to_owned() });
    }
    if bytes.starts_with(&ZSTANDARD) {
        let in_proportion = unpacked_limit(bytes.len() as u64);
        let unpacked = unpack(&bytes, limit.min(in_proportion));
        bytes = unpacked.map_err(|stopped| match stopped {
            Stopped::TooLarge if in_proportion < limit => refuse(Stopped::Unpacked(in_proportion)),
            stopped => refuse(stopped),
        })?;
    }
    let path = path.to_owned();
    Snapshot::parse(&bytes).map_err(|error| match error {
        // A file of another kind is refused for its kind.
        SnapshotError::Field { .. } => SnapshotFileError::Value { path, error },
        error => SnapshotFileError::Content { path, error },
    })
}

/// Writes a snapshot, and replaces an existing file atomically. Only its owner can read it, because it
/// describes a node.
/// Fails if the file cannot be written; the old file then remains.
pub fn write_snapshot(path: &str, json: &[u8]) -> Result<(), SnapshotFileError> {
    let compressed = path.ends_with(".zst");
    let packed = compressed.then(|| pack(json));
    let content = packed.as_deref().unwrap_or(json);
    Ok(store(Path::new(path), content)?)
}

/// Packs a snapshot.
pub fn pack(json: &[u8]) -> Vec<u8> {
    compress_to_vec(json, CompressionLevel::Fastest)
}

/// Why reading stops.
enum Stopped {
    System(io::Error),
    TooLarge,
    Unpacked(u64),
    Window(u64),
    Damaged(String),
}

/// Reads all that is allowed.
fn bounded(reader: impl Read, limit: u64) -> Result<Vec<u8>, Stopped> {
    let mut bytes = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(Stopped::System)?;
    if bytes.len() as u64 > limit { Err(Stopped::TooLarge) } else { Ok(bytes) }
}

/// Unpacks all frames: some programs write several into one file. Damage that can still be unpacked is
/// detected by the checksum of a frame. One decoder unpacks all frames, because each decoder allocates a
/// window.
fn unpack(mut packed: &[u8], limit: u64) -> Result<Vec<u8>, Stopped> {
    let broken = |error: &dyn std::fmt::Display| Stopped::Damaged(error.to_string());
    let mut bytes = Vec::new();
    let mut frames = FrameDecoder::new();
    frames.set_max_window_size(MAX_ZSTD_WINDOW);
    while !packed.is_empty() {
        let mut decoder = match StreamingDecoder::new_with_decoder(&mut packed, &mut frames) {
            Ok(decoder) => decoder,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                packed = packed.get(length..).ok_or_else(|| broken(&"it ends too early"))?;
                continue;
            }
            Err(FrameDecoderError::WindowSizeTooBig { requested, .. }) => {
                return Err(Stopped::Window(requested));
            }
            Err(error) => return Err(broken(&error)),
        };
        let rest = limit.saturating_sub(bytes.len() as u64);
        let read = decoder.by_ref().take(rest.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| broken(&error))?;
        if bytes.len() as u64 > limit {
            return Err(Stopped::TooLarge);
        }
        let said = decoder.decoder.get_checksum_from_data();
        if said.is_some() && said != decoder.decoder.get_calculated_checksum() {
            return Err(broken(&"the sum at its end is another"));
        }
    }
    Ok(bytes)
}

/// More files than nodes in any cluster.
const MAX_FILES: usize = 100_000;

/// How names of snapshots end.
const ENDINGS: [&str; 2] = [".json", ".json.zst"];

/// A snapshot and the node that it is of, after its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeFile {
    /// The name of the file without its ending.
    pub node: String,
    /// The file.
    pub path: PathBuf,
}

/// Why a folder gives no snapshots.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFolderError {
    /// It cannot be read.
    #[error("cannot read {}: {}", path.display(), plain(error))]
    Read {
        /// The folder or file.
        path: PathBuf,
        error: io::Error,
    },
    /// It has none.
    #[error("{} has no file that ends in .json or .json.zst", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// It has too many.
    #[error("{} has more than {MAX_FILES} files", path.display())]
    Many {
        /// The folder.
        path: PathBuf,
    },
    /// Two files are of one node.
    #[error("{} and {}: two snapshots of node {node}", first.display(), second.display())]
    Twice {
        node: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
}

/// Returns the snapshots that files and folders hold, in the order of their nodes. Folders in folders are left out.
/// Fails for what cannot be read, for a folder without snapshots, and where two files are of one node.
pub fn node_files(paths: &[PathBuf]) -> Result<Vec<NodeFile>, SnapshotFolderError> {
    let mut files = Vec::new();
    for path in paths {
        let read = |error| SnapshotFolderError::Read { path: path.clone(), error };
        match fs::metadata(path).map_err(read)?.is_dir() {
            true => files.extend(of_folder(path)?),
            false => files.push(NodeFile { node: node_of(path), path: path.clone() }),
        }
    }
    files.sort_unstable();
    let mut pairs = files.iter().zip(files.iter().skip(1));
    match pairs.find(|(first, second)| first.node == second.node) {
        None => Ok(files),
        Some((first, second)) => Err(SnapshotFolderError::Twice {
            node: first.node.clone(),
            first: first.path.clone(),
            second: second.path.clone(),
        }),
    }
}

fn of_folder(folder: &Path) -> Result<Vec<NodeFile>, SnapshotFolderError> {
    let read = |error| SnapshotFolderError::Read { path: folder.to_owned(), error };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        let name = entry.file_name();
        let is_snapshot = ENDINGS.iter().any(|ending| name.to_string_lossy().ends_with(ending));
        if is_snapshot && !entry.file_type().map_err(read)?.is_dir() {
            let path = entry.path();
            files.push(NodeFile { node: node_of(&path), path });
        }
        if files.len() > MAX_FILES {
            return Err(SnapshotFolderError::Many { path: folder.to_owned() });
        }
    }
    match files.is_empty() {
        true => Err(SnapshotFolderError::Empty { path: folder.to_owned() }),
        false => Ok(files),
    }
}

/// Returns the name of a file without its ending.
fn node_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = ENDINGS.iter().rev().find_map(|ending| name.strip_suffix(ending));
    ending.unwrap_or(&name).to_owned()
}
