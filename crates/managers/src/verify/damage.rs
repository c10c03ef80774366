//! The kind of damage: how bytes differ from the kubelet's, and the single flipped bit that explains a wrong checksum.

use super::file::{is_alike, recognise};
use kq_answer::reason::Reason;
use kq_facts::checkpoint::StateFile;
use kq_k8s::go_json::check_syntax;
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// The kind of damage.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum Damage {
    /// There is nothing in it.
    #[text("empty")]
    Empty,
    /// Zeros from a byte on: the machine lost power before the disk had the data.
    #[text(offset: 0 => "{size} zero bytes and nothing else, as after a loss of power")]
    #[text("zero bytes from offset {offset} to {size}, as after a loss of power")]
    Zeros {
        /// The first of them.
        offset: usize,
        /// How many bytes the file has.
        size: usize,
    },
    /// It ends too early.
    #[text("cut short after {offset} bytes")]
    Cut {
        /// How many bytes there are.
        offset: usize,
    },
    /// One bit is not what it was.
    #[text("{0}")]
    Bit(FlippedBit),
    /// What another file holds.
    #[text("the content of {file}")]
    AnotherFile {
        /// Which.
        file: &'static str,
    },
    /// A layout that this kubelet does not know.
    #[text("the layout of {written_by}")]
    OldLayout {
        /// Who wrote it.
        written_by: &'static str,
    },
    /// No text at all.
    #[text("no text from offset {offset} on")]
    Binary {
        /// The first byte that does not belong there.
        offset: usize,
    },
    /// A byte order mark precedes the JSON.
    #[text("a byte order mark before the JSON")]
    ByteOrderMark,
    /// There is more behind the JSON.
    #[text("something behind the end of the JSON, from offset {offset} on")]
    Trailing {
        /// Where it begins.
        offset: usize,
    },
    /// No JSON.
    #[text("no JSON from offset {offset} on")]
    Syntax {
        /// Where it stops being JSON.
        offset: usize,
    },
    /// JSON, with something else in it than belongs there.
    #[text("JSON with something else in it than belongs there: {problem}")]
    Type {
        /// What, and where.
        problem: String,
    },
    /// JSON, and nothing in it that belongs there.
    #[text("JSON with nothing in it that the kubelet writes there")]
    NoData,
    /// JSON as it should be, without a checksum.
    #[text("sound JSON without a checksum, or with 0 for it")]
    NoChecksum,
    /// JSON as it should be, with another checksum: it was changed, or another program wrote it.
    #[text("sound JSON with another checksum: edited by hand, or written by something else")]
    Edited,
}

impl Damage {
    /// Something else than belongs there.
    pub(super) fn of_type(problem: &str) -> Self {
        Self::Type { problem: problem.to_owned() }
    }

    /// Returns the damage of bytes that the kubelet rejects. `error`: why they cannot be read, where
    /// not all in them has the type that it should have. `is_right` returns true if the kubelet would take
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

/// The largest file in which each bit is tried: the work grows with the square.
const TRIED: usize = 2_048;

/// How far before a mistake its cause is looked for.
const NEAR: usize = 32;

/// The largest file in which that is done: each of the bits takes a look at the whole file.
const SEARCHED: usize = 1 << 20;

/// A flipped bit; flipping it back makes the checksum match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FlippedBit {
    /// Where the byte is; the first one is 0.
    pub offset: usize,
    /// What the byte is.
    pub is: u8,
    pub was: u8,
}

/// Returns the bit that makes the bytes right when it is turned around. `None`: no bit does, more than one
/// does, so that they are unknown, or there are too many to try.
pub fn flipped_bit(bytes: &[u8], is_right: impl Fn(&[u8]) -> bool) -> Option<FlippedBit> {
    let size = bytes.len();
    let places = match check_syntax(bytes) {
        Err(error) if size <= SEARCHED => {
            error.offset.saturating_sub(NEAR)..size.min(error.offset + 1)
        }
        Ok(()) if size <= TRIED => 0..size,
        _ => return None,
    };
    only_bit(bytes, places, is_right)
}

fn only_bit(
    bytes: &[u8],
    places: Range<usize>,
    is_right: impl Fn(&[u8]) -> bool,
) -> Option<FlippedBit> {
    let mut tried = bytes.to_vec();
    let mut found = None;
    for offset in places {
        let is = *bytes.get(offset)?;
        for bit in 0..8 {
            let was = is ^ (1 << bit);
            tried[offset] = was;
            if is_right(&tried) && found.replace(FlippedBit { offset, is, was }).is_some() {
                return None;
            }
        }
        tried[offset] = is;
    }
    found
}

impl FlippedBit {
    /// Returns the bytes as they were.
    pub fn put_back(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if let Some(byte) = bytes.get_mut(self.offset) {
            *byte = self.was;
        }
        bytes
    }
}

impl fmt::Display for FlippedBit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a bit flipped at offset {}: it is {}, with {} the checksum is right",
            self.offset,
            shown(self.is),
            shown(self.was)
        )
    }
}

fn shown(byte: u8) -> String {
    match byte {
        b' '..=b'~' => format!("'{}'", char::from(byte)),
        _ => format!("0x{byte:02x}"),
    }
}
