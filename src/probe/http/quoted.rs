//! Bytes that somebody else sent, as Go's `%q` shows them.

use crate::k8s::go_text::quote;
use std::fmt::Write as _;

/// Returns bytes as Go's `%q` shows a string of them: what is no UTF-8 is shown byte by byte.
pub(super) fn quote_bytes(bytes: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        let valid = quote(chunk.valid());
        let inner = valid.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        quoted.push_str(inner.unwrap_or_default());
        for byte in chunk.invalid() {
            let _ = write!(quoted, "\\x{byte:02x}");
        }
    }
    quoted.push('"');
    quoted
}

/// Returns a list as Go's `%q` shows it: `["2" "3"]`.
pub(super) fn quote_list(list: &[Vec<u8>]) -> String {
    let quoted: Vec<String> = list.iter().map(|bytes| quote_bytes(bytes)).collect();
    format!("[{}]", quoted.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_quoted() {
        for (name, bytes, expected) in [
            ("plain", b"a b".as_slice(), "\"a b\""),
            ("controls", b"\x15\x03\x01\x00\x02\x02F", "\"\\x15\\x03\\x01\\x00\\x02\\x02F\""),
            ("no UTF-8", b"a\xff\xc3\xa9\xc3", "\"a\\xff\u{e9}\\xc3\""),
            ("quotes", b"\"\\", "\"\\\"\\\\\""),
        ] {
            assert_eq!(quote_bytes(bytes), expected, "{name}");
        }
        assert_eq!(quote_list(&[b"2".to_vec(), b"3".to_vec()]), "[\"2\" \"3\"]");
    }
}
