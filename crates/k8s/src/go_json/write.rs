//! Values and texts as `json.Marshal` writes them: no blanks, and `<`, `>`, `&`, U+2028 and U+2029 escaped; base64 as
//! Go's `StdEncoding` reads it: padded, with line ends anywhere.

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::fmt::Write as _;
use std::io;

/// Adds a text in quotes, with escapes that also keep it harmless in HTML (`appendString` in
/// `encode.go`).
pub fn push_string(text: &str, json: &mut String) {
    json.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(is_escaped) {
        json.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        match chars.next() {
            Some('"') => json.push_str("\\\""),
            Some('\\') => json.push_str("\\\\"),
            Some('\u{8}') => json.push_str("\\b"),
            Some('\u{c}') => json.push_str("\\f"),
            Some('\n') => json.push_str("\\n"),
            Some('\r') => json.push_str("\\r"),
            Some('\t') => json.push_str("\\t"),
            other => {
                let _ = write!(json, "\\u{:04x}", other.map_or(0, u32::from));
            }
        }
        rest = chars.as_str();
    }
    json.push_str(rest);
    json.push('"');
}

fn is_escaped(c: char) -> bool {
    c < ' ' || matches!(c, '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Adds bytes in quotes, in base64.
pub fn push_base64(bytes: &[u8], json: &mut String) {
    json.push('"');
    STANDARD.encode_string(bytes, json);
    json.push('"');
}

const PAD: u8 = b'=';

/// Decodes a text; fails with the position that Go names.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    while at < text.len() {
        if let Some(&quantum) = text[at..].first_chunk::<4>()
            && let [Some(a), Some(b), Some(c), Some(d)] = quantum.map(sextet)
        {
            push(&mut bytes, [a, b, c, d], 3);
            at += 4;
        } else {
            at = quantum(text, at, &mut bytes)?;
        }
    }
    Ok(bytes)
}

/// Decodes four symbols of which some are padding, or have line ends between them (`decodeQuantum`).
fn quantum(text: &[u8], mut at: usize, bytes: &mut Vec<u8>) -> Result<usize, usize> {
    let past_line_ends = |mut at: usize| {
        while let Some(b'\r' | b'\n') = text.get(at) {
            at += 1;
        }
        at
    };
    let mut symbols = [0; 4];
    let mut count = 0;
    while count < 4 {
        let Some(&symbol) = text.get(at) else {
            return if count == 0 { Ok(at) } else { Err(at - count) };
        };
        at += 1;
        match sextet(symbol) {
            Some(value) => {
                symbols[count] = value;
                count += 1;
            }
            None if symbol == b'\r' || symbol == b'\n' => {}
            None if symbol == PAD && count >= 2 => {
                if count == 2 {
                    at = past_line_ends(at);
                    match text.get(at) {
                        Some(&PAD) => at += 1,
                        Some(_) => return Err(at - 1),
                        None => return Err(text.len()),
                    }
                }
                at = past_line_ends(at);
                if at < text.len() {
                    return Err(at);
                }
                break;
            }
            None => return Err(at - 1),
        }
    }
    push(bytes, symbols, count - 1);
    Ok(at)
}

/// Adds the first bytes of four symbols.
fn push(bytes: &mut Vec<u8>, [a, b, c, d]: [u8; 4], count: usize) {
    let three = [(a << 2) | (b >> 4), (b << 4) | (c >> 2), (c << 6) | d];
    bytes.extend_from_slice(&three[..count]);
}

const fn sextet_of(symbol: u8) -> u8 {
    match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => NONE,
    }
}

const NONE: u8 = 0xff;

const SEXTETS: [u8; 256] = {
    let mut table = [NONE; 256];
    let mut symbol = 0;
    while symbol < 256 {
        table[symbol] = sextet_of(symbol as u8);
        symbol += 1;
    }
    table
};

fn sextet(symbol: u8) -> Option<u8> {
    let value = SEXTETS[usize::from(symbol)];
    (value != NONE).then_some(value)
}

/// Returns a value as Go writes it. The order of fields and keys is the value's.
///
/// # Panics
///
/// Never for values of texts, numbers, lists, and maps with texts as keys.
pub fn to_go_json<T: Serialize>(value: &T) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, GoFormatter);
    value.serialize(&mut serializer).expect("the keys are texts, and memory does not fail");
    String::from_utf8(bytes).expect("JSON is text")
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut written = 0;
        for (at, found) in fragment.match_indices(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            writer.write_all(&fragment.as_bytes()[written..at])?;
            let escaped = match found {
                "<" => "\\u003c",
                ">" => "\\u003e",
                "&" => "\\u0026",
                "\u{2028}" => "\\u2028",
                _ => "\\u2029",
            };
            writer.write_all(escaped.as_bytes())?;
            written = at + found.len();
        }
        writer.write_all(&fragment.as_bytes()[written..])
    }
}

#[cfg(test)]
mod value_tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_go_does() {
        for (text, expected) in [
            ("a", r#""a""#),
            ("<p>&\u{2028}\u{2029}", r#""\u003cp\u003e\u0026\u2028\u2029""#),
            (
                "\"\\\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}",
                "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\"",
            ),
            ("\u{e9}\u{1f600}", "\"\u{e9}\u{1f600}\""),
        ] {
            assert_eq!(to_go_json(&text), expected, "{text:?}");
        }
    }
}
