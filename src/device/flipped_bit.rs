//! The single flipped bit that explains a wrong checksum.

use crate::k8s::go_json::check_syntax;
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// The largest file in which each bit is tried: the work grows with the square.
const TRIED: usize = 2_048;

/// How far before a mistake its cause is looked for.
const NEAR: usize = 32;

/// The largest file in which that is done: each of the bits takes a look at the whole file.
const SEARCHED: usize = 1 << 20;

/// A bit that is not what it was: with it turned around, the bytes are right.
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
