//! Bytes to characters (`readerc.go`): errors appear when their part of 512 bytes is decoded, which may be long before
//! the scanner comes there.

use super::GoYamlError;
use std::borrow::Cow;

/// How many bytes are decoded at once.
const PART: usize = 512;

/// A position, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Characters before it.
    pub index: usize,
    pub line: usize,
    pub column: usize,
}

/// The characters of a text.
pub(super) struct Source<'a> {
    bytes: Cow<'a, [u8]>,
    /// Why the text ends there, where UTF-16 is broken.
    broken: Option<&'static str>,
    /// The first byte that is not decoded yet.
    next: usize,
    /// Where the part that is read ends.
    part_end: usize,
    chars: Vec<char>,
    at: usize,
    pub mark: Mark,
}

impl<'a> Source<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        let (bytes, broken) = match of_utf16(bytes) {
            Some((text, broken)) => (Cow::Owned(text.into_bytes()), broken),
            None => (Cow::Borrowed(bytes), None),
        };
        let next = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let part_end = if next > 0 { PART.min(bytes.len()) } else { 0 };
        let (chars, mark) = (Vec::new(), Mark::default());
        Self { bytes, broken, next, part_end, chars, at: 0, mark }
    }

    /// Decodes until so many characters are ahead, or the text ends.
    pub fn need(&mut self, count: usize) -> Result<(), GoYamlError> {
        while self.chars.len() - self.at < count {
            if self.next >= self.bytes.len() {
                match self.broken {
                    Some(reason) => return Err(reader_error(reason)),
                    None => break,
                }
            }
            if self.next >= self.part_end || self.is_cut(self.part_end) {
                self.part_end = (self.next + PART).min(self.bytes.len());
                if self.is_cut(self.part_end) {
                    return Err(reader_error("incomplete UTF-8 octet sequence"));
                }
            }
            self.decode_part()?;
        }
        Ok(())
    }

    fn is_cut(&self, end: usize) -> bool {
        let width = self.bytes.get(self.next).map_or(0, |byte| width(*byte));
        width > 0 && self.next + width > end
    }

    fn decode_part(&mut self) -> Result<(), GoYamlError> {
        while self.next < self.part_end {
            let first = self.bytes[self.next];
            let width = width(first);
            if width == 0 {
                return Err(reader_error("invalid leading UTF-8 octet"));
            }
            let Some(octets) = self.bytes.get(self.next..self.next + width) else { break };
            if self.next + width > self.part_end {
                break;
            }
            self.chars.push(decoded(octets)?);
            self.next += width;
        }
        Ok(())
    }

    /// Returns a character ahead; NUL after the end.
    pub fn ahead(&self, offset: usize) -> char {
        self.chars.get(self.at + offset).copied().unwrap_or('\0')
    }

    pub fn peek(&self) -> char {
        self.ahead(0)
    }

    /// Passes a character of a line, and makes sure of the next.
    pub fn skip(&mut self) -> Result<(), GoYamlError> {
        self.at = (self.at + 1).min(self.chars.len());
        self.mark.index += 1;
        self.mark.column += 1;
        self.need(2)
    }

    /// Passes a line break and returns it as it counts in a scalar.
    pub fn line_break(&mut self) -> Result<char, GoYamlError> {
        let first = self.peek();
        let count = if first == '\r' && self.ahead(1) == '\n' { 2 } else { 1 };
        self.at = (self.at + count).min(self.chars.len());
        self.mark.index += 1;
        self.mark.column = 0;
        self.mark.line += 1;
        self.need(2)?;
        Ok(if matches!(first, '\u{2028}' | '\u{2029}') { first } else { '\n' })
    }
}

/// Returns the text of UTF-16, which begins with a byte order mark, and why it ends before its bytes do; `None`: it is none.
pub(super) fn of_utf16(bytes: &[u8]) -> Option<(String, Option<&'static str>)> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let (pairs, rest) = bytes[2..].as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut text = String::with_capacity(bytes.len() / 2);
    for decoded in char::decode_utf16(units) {
        match decoded {
            Ok(char) => text.push(char),
            Err(error) => {
                let before: usize = text.chars().map(char::len_utf16).sum();
                let reason = match error.unpaired_surrogate() {
                    0xdc00..=0xdfff => "unexpected low surrogate area",
                    _ if before + 1 == pairs.len() => "incomplete UTF-16 surrogate pair",
                    _ => "expected low surrogate area",
                };
                return Some((text, Some(reason)));
            }
        }
    }
    Some((text, (!rest.is_empty()).then_some("incomplete UTF-16 character")))
}

fn width(first: u8) -> usize {
    match first {
        0x00..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 0,
    }
}

fn decoded(octets: &[u8]) -> Result<char, GoYamlError> {
    let width = octets.len();
    let first = u32::from(octets[0]);
    let mut value = if width == 1 { first } else { first & (0x7f >> width) };
    for octet in &octets[1..] {
        if octet & 0xc0 != 0x80 {
            return Err(reader_error("invalid trailing UTF-8 octet"));
        }
        value = (value << 6) | u32::from(octet & 0x3f);
    }
    let least = [0, 0, 0x80, 0x800, 0x1_0000][width];
    if value < least {
        return Err(reader_error("invalid length of a UTF-8 sequence"));
    }
    let Some(char) = char::from_u32(value) else {
        return Err(reader_error("invalid Unicode character"));
    };
    let is_allowed = matches!(char, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}')
        || matches!(char, '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    if is_allowed { Ok(char) } else { Err(reader_error("control characters are not allowed")) }
}

/// Returns an error of the reader, which has no line.
fn reader_error(problem: &str) -> GoYamlError {
    GoYamlError::Yaml(problem.to_owned())
}

pub(super) fn is_blank(char: char) -> bool {
    matches!(char, ' ' | '\t')
}

pub(super) fn is_break(char: char) -> bool {
    matches!(char, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn is_break_or_end(char: char) -> bool {
    is_break(char) || char == '\0'
}

pub(super) fn is_space_or_end(char: char) -> bool {
    is_blank(char) || is_break_or_end(char)
}

/// Returns true for the characters of names: letters and digits of ASCII, `_` and `-`.
pub(super) fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}
