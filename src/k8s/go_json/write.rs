//! Texts as `json.Marshal` writes them.

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;

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
