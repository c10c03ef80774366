//! Answers as JSON and YAML.
//!
//! A value is written without the credentials that the process has sent. What [`is_unsafe`] calls unsafe is escaped in
//! both, so that an answer can be shown as it is and still has every character.

mod layout;

use self::layout::{Layout, Whole};
use crate::credentials::Redacted;
use crate::terminal::{Escaping, is_unsafe};
use serde::Serialize;
use serde_json::{Serializer, Value};
use std::io::{self, Write};

/// Writes a value as indented JSON.
pub fn write_json<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    write_escaped(out, value, Layout::indented(), json_escape)
}

/// Writes a value as YAML.
///
/// A value with a character that YAML would show as it is gets the style of JSON, which YAML includes: only texts
/// in double quotes can have escapes.
pub fn write_yaml<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    let mut json = Vec::new();
    write_escaped(&mut json, value, Layout::compact(), |c| c.to_string())?;
    let text = str::from_utf8(&json).map_err(io::Error::other)?;
    if text.contains(|c: char| !c.is_control() && is_unsafe(c)) {
        return write_escaped(out, value, Layout::indented(), yaml_escape);
    }
    // Each answer is serialized in one way, as JSON: code for another one would be as large again.
    let mut reader = serde_json::Deserializer::from_str(text);
    let fields = serde_transcode::Transcoder::new(&mut reader);
    serde_saphyr::to_io_writer(&mut DynWriter(out), &fields).map_err(|error| match error {
        serde_saphyr::ser_error::Error::IO { error } => error,
        other => io::Error::other(other),
    })
}

/// Returns a value as templates look into it.
/// Fails for a value that JSON cannot have.
pub fn to_value<T: Serialize>(value: &T) -> io::Result<Value> {
    let mut json = Vec::new();
    write_escaped(&mut json, value, Layout::compact(), |c| c.to_string())?;
    Ok(serde_json::from_slice(&json)?)
}

/// The one way in which answers are serialized.
fn write_escaped<T: Serialize>(
    out: &mut dyn Write,
    value: &T,
    layout: Layout,
    escape: fn(char) -> String,
) -> io::Result<()> {
    let mut whole = Whole::new(Escaping { out: DynWriter(out), escape });
    Redacted(value).serialize(&mut Serializer::with_formatter(&mut whole, layout))?;
    whole.write_all(b"\n")?;
    whole.flush()
}

/// A writer of any kind.
struct DynWriter<'w>(&'w mut dyn Write);

impl Write for DynWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns a value as JSON in one line without an end: of an event, or of a file.
/// Fails for a value that JSON cannot have.
pub fn json_line<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    serde_json::to_writer(Escaping { out: &mut line, escape: json_escape }, &Redacted(value))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
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
    fn json_is_laid_out_as_by_serde_json() {
        for (name, value) in [
            ("scalars", json!([null, true, -1, 1.5, "a\"b\\c\n", ""])),
            ("empty", json!({ "a": [], "b": {}, "c": [[], {}] })),
            ("nested", json!({ "a": [1, { "b": [2, 3] }], "c": { "d": null } })),
            ("long", json!(["x".repeat(200_000), "y"])),
            ("deep", (0..70).fold(json!(1), |inner, _| json!([inner]))),
        ] {
            let mut written = Vec::new();
            write_json(&mut written, &value).expect("memory can be written");
            let expected = serde_json::to_string_pretty(&value).expect(name) + "\n";
            assert_eq!(str::from_utf8(&written), Ok(&*expected), "{name}");
            let mut written = Vec::new();
            write_escaped(&mut written, &value, Layout::compact(), json_escape).expect(name);
            let expected = serde_json::to_string(&value).expect(name) + "\n";
            assert_eq!(str::from_utf8(&written), Ok(&*expected), "{name}");
        }
    }

    #[test]
    fn yaml_without_unsafe_characters_keeps_its_style() {
        let mut yaml = Vec::new();
        write_yaml(&mut yaml, &json!({"a": ["b\nc"]})).expect("memory can be written");
        assert_eq!(str::from_utf8(&yaml), Ok("a:\n- |-\n  b\n  c\n"));
    }
}
