//! Values without parts: strings, numbers, `true`, `false` and `null`.
//!
//! The characters of a string (`unquoteBytes` in `decode.go`).

use super::error::Stop;
use super::reader::Reader;
use crate::go_text::characters;
use std::borrow::Cow;

const IN_ESCAPE: &str = "in \\u hexadecimal character escape";

impl<'a> Reader<'a> {
    /// Reads a string, which must come next. Invalid UTF-8 in it becomes U+FFFD.
    /// Fails where the text is no JSON.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Stop> {
        let (inside, escaped) = self.scan_string()?;
        match std::str::from_utf8(inside) {
            Ok(text) if !escaped => Ok(Cow::Borrowed(text)),
            _ => Ok(Cow::Owned(unquote(inside))),
        }
    }

    /// Reads a number, which must come next, and returns its text.
    /// Fails where the text is no JSON.
    pub fn number(&mut self) -> Result<&'a str, Stop> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            byte => return Err(self.inside(byte, "in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.inside(self.peek(), "after decimal point in numeric literal"));
            }
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.inside(self.peek(), "in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(std::str::from_utf8(&self.bytes[start..self.at]).expect("a number is ASCII"))
    }

    /// Reads `true` or `false`, one of which must come next.
    /// Fails where the text is no JSON.
    pub fn boolean(&mut self) -> Result<bool, Stop> {
        if self.peek() == Some(b't') {
            self.word(
                b"true",
                &[
                    "in literal true (expecting 'r')",
                    "in literal true (expecting 'u')",
                    "in literal true (expecting 'e')",
                ],
            )?;
            return Ok(true);
        }
        self.word(
            b"false",
            &[
                "in literal false (expecting 'a')",
                "in literal false (expecting 'l')",
                "in literal false (expecting 's')",
                "in literal false (expecting 'e')",
            ],
        )?;
        Ok(false)
    }

    /// Reads `null`, which must come next.
    /// Fails where the text is no JSON.
    pub fn null(&mut self) -> Result<(), Stop> {
        self.word(
            b"null",
            &[
                "in literal null (expecting 'u')",
                "in literal null (expecting 'l')",
                "in literal null (expecting 'l')",
            ],
        )
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Reads a word after its first letter.
    fn word(&mut self, word: &[u8], contexts: &[&'static str]) -> Result<(), Stop> {
        self.at += 1;
        for (&letter, context) in word[1..].iter().zip(contexts) {
            if self.peek() != Some(letter) {
                return Err(self.inside(self.peek(), context));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Skips a string; returns its content, and whether it has escapes.
    pub(super) fn scan_string(&mut self) -> Result<(&'a [u8], bool), Stop> {
        let bytes = self.bytes;
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain_run(&bytes[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok((&bytes[start..self.at - 1], escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                Some(byte) => return Err(self.invalid(byte, "in string literal")),
                None => return Err(self.cut()),
            }
        }
    }

    /// Skips the rest of an escape after the backslash.
    fn escape(&mut self) -> Result<(), Stop> {
        match self.peek() {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.inside(self.peek(), IN_ESCAPE));
                    }
                    self.at += 1;
                }
            }
            byte => return Err(self.inside(byte, "in string escape code")),
        }
        Ok(())
    }

    /// Returns the error of a byte inside a literal; at the end of the text Go reports a blank.
    fn inside(&self, byte: Option<u8>, context: &'static str) -> Stop {
        self.invalid(byte.unwrap_or(b' '), context)
    }
}

/// Counts the bytes before the next quote, backslash or control character.
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let mut run = 0;
    // Eight at a time. A borrow can only mark a byte above one that is marked rightly.
    while let Some(chunk) = bytes.get(run..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quote | backslash | control) & HIGH;
        if found != 0 {
            return run + found.trailing_zeros() as usize / 8;
        }
        run += 8;
    }
    let rest =
        bytes[run..].iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= 0x20);
    run + rest.count()
}

/// Returns what a string that has been checked says: escapes undone, and U+FFFD for each byte that is no
/// UTF-8 and for each half of a surrogate pair without the other.
pub(super) fn unquote(mut inside: &[u8]) -> String {
    let mut text = String::with_capacity(inside.len());
    while let Some(at) = inside.iter().position(|&byte| byte == b'\\') {
        text.push_str(&characters(&inside[..at]));
        inside = &inside[at + 1..];
        let Some((&code, rest)) = inside.split_first() else { break };
        inside = rest;
        match code {
            b'u' => inside = push_unit(inside, &mut text),
            b'b' => text.push('\u{8}'),
            b'f' => text.push('\u{c}'),
            b'n' => text.push('\n'),
            b'r' => text.push('\r'),
            b't' => text.push('\t'),
            other => text.push(char::from(other)),
        }
    }
    text.push_str(&characters(inside));
    text
}

/// Adds the character of the digits after `\u`, and of a second half if it follows; returns the rest.
fn push_unit<'a>(inside: &'a [u8], text: &mut String) -> &'a [u8] {
    let (unit, rest) = hex(inside);
    let second = rest.strip_prefix(b"\\u").map(hex);
    if let Some((low, after)) = second
        && (0xd800..0xdc00).contains(&unit)
        && (0xdc00..0xe000).contains(&low)
    {
        let both = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        text.push(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER));
        return after;
    }
    text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

fn hex(bytes: &[u8]) -> (u32, &[u8]) {
    let (digits, rest) = bytes.split_at(bytes.len().min(4));
    let value = digits.iter().filter_map(|&digit| char::from(digit).to_digit(16));
    (value.fold(0, |value, digit| value * 16 + digit), rest)
}
