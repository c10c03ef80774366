//! In which way bytes are not what the kubelet wrote.

use super::recognise::{is_alike, recognise};
use crate::facts::checkpoint::StateFile;
use crate::k8s::go_json::check_syntax;
use serde::Serialize;
use std::fmt;

/// The kind of damage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
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
    /// One bit is not what it was: with it turned around, the checksum is right.
    Bit {
        /// The byte.
        offset: usize,
        /// What it is.
        is: u8,
        /// What it was.
        was: u8,
    },
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
    /// JSON as it should be, with another checksum: somebody changed it, or something else wrote it.
    Edited,
}

/// The largest file in which each bit is tried: the work grows with the square.
const TRIED: usize = 2_048;

/// How far before a mistake its cause is looked for.
const NEAR: usize = 32;

/// The largest file in which that is done: each of the bits takes a look at the whole file.
const SEARCHED: usize = 1 << 20;

impl Damage {
    /// Something else than belongs there.
    pub(super) fn of_type(problem: &str) -> Self {
        Self::Type { problem: problem.to_owned() }
    }

    /// Tells what is wrong with bytes that the kubelet does not take. `error`: why they cannot be read, where
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
                let near = error.offset.saturating_sub(NEAR)..bytes.len().min(error.offset + 1);
                let is_searched = bytes.len() <= SEARCHED;
                if let Some(bit) = is_searched.then(|| one_bit(bytes, near, &is_right)).flatten() {
                    return bit;
                }
                // A text that ends within a word is told as if a blank came next.
                let is_end = error.offset >= bytes.len();
                if is_end || error.to_string() == "unexpected end of JSON input" {
                    return Self::Cut { offset: bytes.len() };
                }
                match std::str::from_utf8(bytes) {
                    Err(text) => Self::Binary { offset: text.valid_up_to() },
                    Ok(_) => Self::Syntax { offset: error.offset },
                }
            }
            Ok(()) => match found {
                Some(found) if !is_alike(file, found) => Self::AnotherFile { file: found.name() },
                _ => {
                    let all = 0..if bytes.len() <= TRIED { bytes.len() } else { 0 };
                    let otherwise = error.map_or(Self::Edited, |problem| Self::Type { problem });
                    one_bit(bytes, all, &is_right).unwrap_or(otherwise)
                }
            },
        }
    }
}

/// Finds the bit that makes the bytes right when it is turned around.
fn one_bit(
    bytes: &[u8],
    places: std::ops::Range<usize>,
    is_right: impl Fn(&[u8]) -> bool,
) -> Option<Damage> {
    let mut tried = bytes.to_vec();
    for offset in places {
        let is = *bytes.get(offset)?;
        for bit in 0..8 {
            let was = is ^ (1 << bit);
            tried[offset] = was;
            if is_right(&tried) {
                return Some(Damage::Bit { offset, is, was });
            }
        }
        tried[offset] = is;
    }
    None
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "empty"),
            Self::Zeros { offset: 0, size } => {
                write!(f, "{size} zero bytes and nothing else, as after a loss of power")
            }
            Self::Zeros { offset, size } => {
                write!(f, "zero bytes from byte {offset} to {size}, as after a loss of power")
            }
            Self::Cut { offset } => write!(f, "cut short after byte {offset}"),
            Self::Bit { offset, is, was } => write!(
                f,
                "a bit flipped in byte {offset}: it is {}, with {} the checksum is right",
                shown(*is),
                shown(*was)
            ),
            Self::AnotherFile { file } => write!(f, "the content of {file}"),
            Self::OldLayout { written_by } => write!(f, "the layout of {written_by}"),
            Self::Binary { offset } => write!(f, "no text from byte {offset} on"),
            Self::Syntax { offset } => write!(f, "no JSON from byte {offset} on"),
            Self::Type { problem } => {
                write!(f, "JSON with something else in it than belongs there: {problem}")
            }
            Self::Edited => write!(
                f,
                "sound JSON with another checksum: edited by hand, or written by something else"
            ),
        }
    }
}

fn shown(byte: u8) -> String {
    match byte {
        b' '..=b'~' => format!("'{}'", char::from(byte)),
        _ => format!("0x{byte:02x}"),
    }
}
