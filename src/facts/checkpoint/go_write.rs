//! JSON as Go's `json.Marshal` writes it: no blanks, and `<`, `>`, `&`, U+2028 and U+2029 in strings
//! escaped.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io;

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
mod tests {
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
