//! Recordings in files: a line of JSON for each snapshot. With a name that ends in `.zst`, each line is a Zstandard frame
//! of its own, so that a recording that was cut off is readable up to there.

use crate::input::plain;
use crate::memory::received;
use crate::open::open_input;
use crate::replace::{ReplaceError, create_open};
use crate::snapshot_file::ZSTANDARD;
use kq_facts::limits::{MAX_RECORDED_BYTES, MAX_ZSTD_WINDOW};
use kq_facts::recording::{RecordingError, SnapshotSequence, entry};
use kq_facts::snapshot::Snapshot;
use kq_output::credentials::Redacted;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingFileError {
    /// The system call failed.
    #[error("cannot {action} recording {path}: {}", plain(error))]
    System {
        /// `write` or `read`.
        action: &'static str,
        /// The file.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// It was packed, and cannot be unpacked from there on.
    #[error("recording {path} is cut off or damaged from here on")]
    Damaged {
        /// The file.
        path: String,
    },
    /// A line is longer than kq reads.
    #[error(
        "recording {path} has a line of more than {MAX_RECORDED_BYTES} bytes, which kq does not read"
    )]
    TooLong {
        /// The file.
        path: String,
    },
    /// It could not be created.
    #[error(transparent)]
    Create(#[from] ReplaceError),
    /// It contains something else.
    #[error("{path} is not a kq recording: {error}")]
    Content {
        /// The file.
        path: String,
        error: RecordingError,
    },
}

/// Writes snapshots one after the other.
#[derive(Debug)]
pub struct RecordingWriter {
    path: String,
    file: File,
    last: Option<Value>,
}

impl RecordingWriter {
    /// Creates the file, which only its owner can read. A file of that name is never overwritten.
    /// Fails where the name exists, and as the system does.
    pub fn create(path: &str) -> Result<Self, RecordingFileError> {
        // Its path is not opened again: in a folder of another user it may lead elsewhere by then.
        let file = create_open(Path::new(path), b"")?;
        Ok(Self { path: path.to_owned(), file, last: None })
    }

    /// Writes a snapshot, or its difference from the one before.
    pub fn add(&mut self, snapshot: &Snapshot) -> Result<(), RecordingFileError> {
        let written =
            serde_json::to_value(Redacted(snapshot)).map_err(io::Error::from).and_then(|now| {
                let mut line = entry(self.last.as_ref(), &now).line()?;
                line.push(b'\n');
                let is_packed = self.path.ends_with(".zst");
                let packed =
                    is_packed.then(|| compress_to_vec(line.as_slice(), CompressionLevel::Fastest));
                self.file.write_all(packed.as_deref().unwrap_or(&line))?;
                self.last = Some(now);
                Ok(())
            });
        written.map_err(|error| failed("write", &self.path, error))
    }
}

/// Reads snapshots one after the other.
pub struct RecordingReader {
    path: String,
    lines: Box<dyn BufRead + Send>,
    sequence: SnapshotSequence,
}

impl RecordingReader {
    /// Opens a recording, compressed or not.
    pub fn open(path: &str) -> Result<Self, RecordingFileError> {
        let opened = open_input(Path::new(path)).and_then(|file| {
            let mut file = BufReader::new(file);
            let is_packed = file.fill_buf()?.starts_with(&ZSTANDARD);
            Ok(match is_packed {
                true => Box::new(BufReader::new(Frames::new(file))) as Box<dyn BufRead + Send>,
                false => Box::new(file),
            })
        });
        let lines = opened.map_err(|error| failed("read", path, error))?;
        Ok(Self { path: path.to_owned(), lines, sequence: SnapshotSequence::default() })
    }

    /// Reads the next snapshot; `None`: the recording is over.
    /// Fails for what is not a recording, and as the system does.
    pub fn next_snapshot(&mut self) -> Result<Option<Snapshot>, RecordingFileError> {
        let mut line = Vec::new();
        let mut limited = self.lines.by_ref().take(MAX_RECORDED_BYTES + 1);
        let read = limited.read_until(b'\n', &mut line);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => RecordingFileError::Damaged { path: self.path.clone() },
            _ => failed("read", &self.path, error),
        })?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() as u64 > MAX_RECORDED_BYTES {
            return Err(RecordingFileError::TooLong { path: self.path.clone() });
        }
        received(&self.path, line.len());
        let snapshot = self.sequence.next(&line);
        snapshot
            .map(Some)
            .map_err(|error| RecordingFileError::Content { path: self.path.clone(), error })
    }
}

fn failed(action: &'static str, path: &str, error: io::Error) -> RecordingFileError {
    RecordingFileError::System { action, path: path.to_owned(), error }
}

/// The content of all frames of a file, unpacked as it is read.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_inside: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_ZSTD_WINDOW);
        Self { source, decoder, is_inside: false }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: &dyn std::error::Error| {
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        };
        loop {
            if !self.is_inside {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.decoder.reset(&mut self.source).map_err(|error| damaged(&error))?;
                self.is_inside = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let some = BlockDecodingStrategy::UptoBytes(out.len().max(1));
                let decoded = self.decoder.decode_blocks(&mut self.source, some);
                decoded.map_err(|error| damaged(&error))?;
            }
            match self.decoder.read(out)? {
                0 if out.is_empty() => return Ok(0),
                0 => self.is_inside = false,
                count => return Ok(count),
            }
        }
    }
}
