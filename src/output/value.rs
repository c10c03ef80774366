//! Answers as JSON and YAML.
//!
//! What [`is_unsafe`] calls unsafe is escaped in both, so that an answer can be shown as it is and still has every
//! character.

use crate::output::terminal::{Escaping, is_unsafe};
use serde::Serialize;
use std::io::{self, Write};

/// Writes a value as indented JSON.
///
/// # Errors
///
/// Those of the writer.
pub fn write_json<T: Serialize>(mut out: impl Write, value: &T) -> io::Result<()> {
    let escaping = Escaping { out: &mut out, escape: json_escape };
    serde_json::to_writer_pretty(escaping, value)?;
    out.write_all(b"\n")
}

/// Writes a value as YAML.
///
/// A value with a character that YAML would show as it is gets the style of JSON, which YAML includes: only texts
/// in double quotes can have escapes.
///
/// # Errors
///
/// Those of the writer.
pub fn write_yaml<T: Serialize>(mut out: impl Write, value: &T) -> io::Result<()> {
    if has_unsafe(value)? {
        let escaping = Escaping { out: &mut out, escape: yaml_escape };
        serde_json::to_writer_pretty(escaping, value)?;
        return out.write_all(b"\n");
    }
    serde_saphyr::to_io_writer(&mut out, value).map_err(|error| match error {
        serde_saphyr::ser_error::Error::IO { error } => error,
        other => io::Error::other(other),
    })
}

/// Returns a value as JSON in one line without an end: of an event, or of a file.
///
/// # Errors
///
/// Fails for a value that JSON cannot have.
pub fn json_line<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    serde_json::to_writer(Escaping { out: &mut line, escape: json_escape }, value)?;
    Ok(line)
}

/// Returns a character in the escapes of JSON, which are of UTF-16.
fn json_escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Returns a character in the escapes of YAML, which has no surrogates.
fn yaml_escape(c: char) -> String {
    match u32::from(c) {
        code @ ..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// Returns true for a value that YAML would show with an unsafe character. Control characters are escaped in YAML
/// as in JSON, except for the line ends and tabs of blocks.
fn has_unsafe<T: Serialize>(value: &T) -> io::Result<bool> {
    let mut looking = Looking(false);
    serde_json::to_writer(&mut looking, value)?;
    Ok(looking.0)
}

/// A writer that only looks for unsafe characters.
struct Looking(bool);

impl Write for Looking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0 |= text.contains(|c: char| !c.is_control() && is_unsafe(c));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    #[test]
    fn unsafe_characters_are_escaped_and_read_back() {
        let rows = [
            ("nothing unsafe", "web-1 漢字"),
            ("controls", "a\u{1b}[2Jb\u{7f}\u{9b}\r\n\thint: x"),
            ("right to left", "a\u{202e}b\u{200f}\u{61c}"),
            ("other ends of a line", "a\u{2028}b\u{2029}c\u{85}d"),
            ("zero width, and a mark of order", "a\u{200b}b\u{feff}"),
            ("tags, beyond 16 bits", "a\u{e0041}b\u{e007f}"),
            ("escapes of its own", "a\\u202e\"b\u{202e}"),
        ];
        for (name, text) in rows {
            let value = BTreeMap::from([("key", text), (text, "value")]);
            let (mut json, mut yaml) = (Vec::new(), Vec::new());
            write_json(&mut json, &value).expect("memory can be written");
            write_yaml(&mut yaml, &value).expect("memory can be written");
            let line = json_line(&value).expect("it is JSON");
            let expected = json!({"key": text, text: "value"});
            for (format, written) in [("json", &json), ("yaml", &yaml), ("line", &line)] {
                let written = str::from_utf8(written).expect("it is text");
                let raw = written.chars().find(|&c| !matches!(c, '\n' | '\t') && is_unsafe(c));
                assert_eq!(raw, None, "{name} in {format}: {written}");
                let read: Value = match format {
                    "yaml" => serde_saphyr::from_str(written).expect(name),
                    _ => serde_json::from_str(written).expect(name),
                };
                assert_eq!(read, expected, "{name} in {format}: {written}");
            }
        }
    }

    #[test]
    fn yaml_without_unsafe_characters_keeps_its_style() {
        let mut yaml = Vec::new();
        write_yaml(&mut yaml, &json!({"a": ["b\nc"]})).expect("memory can be written");
        assert_eq!(str::from_utf8(&yaml), Ok("a:\n- |-\n  b\n  c\n"));
    }
}
