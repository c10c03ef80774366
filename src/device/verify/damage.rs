//! The kind of damage: how bytes differ from the kubelet's.

use super::file::{is_alike, recognise};
use crate::device::flipped_bit::{FlippedBit, flipped_bit};
use crate::facts::checkpoint::StateFile;
use crate::k8s::go_json::check_syntax;
use serde::Serialize;
use std::fmt;

/// The kind of damage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Damage {
    /// There is nothing in it.
    Empty,
    /// Zeros from a byte on: the machine lost power before the disk had the data.
    Zeros {
        /// The first of them.
        offset: usize,
        /// How many bytes the file has.
        size: usize,
    },
    /// It ends too early.
    Cut {
        /// How many bytes there are.
        offset: usize,
    },
    /// One bit is not what it was.
    Bit(FlippedBit),
    /// What another file holds.
    AnotherFile {
        /// Which.
        file: &'static str,
    },
    /// A layout that this kubelet does not know.
    OldLayout {
        /// Who wrote it.
        written_by: &'static str,
    },
    /// No text at all.
    Binary {
        /// The first byte that does not belong there.
        offset: usize,
    },
    /// A mark of the order of bytes stands before the JSON.
    ByteOrderMark,
    /// There is more behind the JSON.
    Trailing {
        /// Where it begins.
        offset: usize,
    },
    /// No JSON.
    Syntax {
        /// Where it stops being JSON.
        offset: usize,
    },
    /// JSON, with something else in it than belongs there.
    Type {
        /// What, and where.
        problem: String,
    },
    /// JSON, and nothing in it that belongs there.
    NoData,
    /// JSON as it should be, without a checksum.
    NoChecksum,
    /// JSON as it should be, with another checksum: it was changed, or another program wrote it.
    Edited,
}

impl Damage {
    /// Something else than belongs there.
    pub(super) fn of_type(problem: &str) -> Self {
        Self::Type { problem: problem.to_owned() }
    }

    /// Returns the damage of bytes that the kubelet rejects. `error`: why they cannot be read, where
    /// not all in them has the type that it should have. `is_right` tells whether the kubelet would take
    /// others.
    pub(super) fn of(
        file: StateFile,
        bytes: &[u8],
        error: Option<String>,
        is_right: impl Fn(&[u8]) -> bool,
    ) -> Self {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Self::Empty;
        }
        let written = bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0).count();
        if written < bytes.len() {
            return Self::Zeros { offset: written, size: bytes.len() };
        }
        let found = recognise(bytes);
        match check_syntax(bytes) {
            Err(error) => {
                if let Some(bit) = flipped_bit(bytes, is_right) {
                    return Self::Bit(bit);
                }
                // A text that ends within a word is reported as if a blank came next.
                let is_end = error.offset >= bytes.len();
                if is_end || error.to_string() == "unexpected end of JSON input" {
                    return Self::Cut { offset: bytes.len() };
                }
                if bytes.starts_with(b"\xef\xbb\xbf") {
                    return Self::ByteOrderMark;
                }
                if error.to_string().ends_with("after top-level value") {
                    return Self::Trailing { offset: error.offset };
                }
                match std::str::from_utf8(bytes) {
                    Err(text) => Self::Binary { offset: text.valid_up_to() },
                    Ok(_) => Self::Syntax { offset: error.offset },
                }
            }
            Ok(()) => match found {
                Some(found) if !is_alike(file, found) => Self::AnotherFile { file: found.name() },
                _ => {
                    let otherwise = match error {
                        Some(problem) => Self::Type { problem },
                        None if found.is_none() && file == StateFile::Devices => Self::NoData,
                        None => Self::Edited,
                    };
                    flipped_bit(bytes, is_right).map_or(otherwise, Self::Bit)
                }
            },
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "empty"),
            Self::Zeros { offset: 0, size } => {
                write!(f, "{size} zero bytes and nothing else, as after a loss of power")
            }
            Self::Zeros { offset, size } => {
                write!(f, "zero bytes from offset {offset} to {size}, as after a loss of power")
            }
            Self::Cut { offset } => write!(f, "cut short after {offset} bytes"),
            Self::Bit(bit) => write!(f, "{bit}"),
            Self::AnotherFile { file } => write!(f, "the content of {file}"),
            Self::OldLayout { written_by } => write!(f, "the layout of {written_by}"),
            Self::Binary { offset } => write!(f, "no text from offset {offset} on"),
            Self::ByteOrderMark => write!(f, "a byte order mark before the JSON"),
            Self::Trailing { offset } => {
                write!(f, "something behind the end of the JSON, from offset {offset} on")
            }
            Self::Syntax { offset } => write!(f, "no JSON from offset {offset} on"),
            Self::Type { problem } => {
                write!(f, "JSON with something else in it than belongs there: {problem}")
            }
            Self::NoData => write!(f, "JSON with nothing in it that the kubelet writes there"),
            Self::NoChecksum => write!(f, "sound JSON without a checksum, or with 0 for it"),
            Self::Edited => write!(
                f,
                "sound JSON with another checksum: edited by hand, or written by something else"
            ),
        }
    }
}
