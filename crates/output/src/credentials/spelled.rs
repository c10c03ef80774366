//! Finds a secret in a text that may have escaped some of its characters: for a URL, or within quotes.

use crate::whole_words::{BEGINNING, replace_cut_word};
use std::borrow::Cow;

/// Returns a text without a secret, however its characters are escaped. It must be a word of its own; of a long one, its
/// beginning is enough where the text was cut.
pub(super) fn without<'t>(text: &'t str, secret: &str, mark: &str) -> Cow<'t, str> {
    let is_unreserved = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    // Nearly all texts have no escapes, and nearly all tokens need none.
    if !text.contains(['%', '\\', '+']) || secret.chars().all(is_unreserved) {
        return replace_cut_word(text, secret, mark);
    }
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut is_found) = (text, false);
    while let Some(c) = rest.chars().next() {
        let length = spelled(rest, secret).filter(|length| {
            let after = &rest[*length..];
            !shown.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        });
        match length {
            Some(length) => {
                shown.push_str(mark);
                rest = &rest[length..];
                is_found = true;
            }
            None => {
                shown.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    if is_found { Cow::Owned(shown) } else { Cow::Borrowed(text) }
}

/// Returns how much of a text is the secret that it begins with, or enough of its beginning.
fn spelled(text: &str, secret: &str) -> Option<usize> {
    let (mut at, mut known) = (0, 0);
    for c in secret.chars() {
        let Some(length) = escaped(&text[at..], c) else {
            return (known >= BEGINNING).then_some(at);
        };
        at += length;
        known += 1;
    }
    Some(at)
}

/// Returns the length of a character at the start of a text: as it is, as `%2F`, `+`, `\"`, `\u0022`, or escaped again.
fn escaped(text: &str, c: char) -> Option<usize> {
    if text.starts_with(c) {
        return Some(c.len_utf8());
    }
    if c == ' ' && text.starts_with('+') {
        return Some(1);
    }
    if text.starts_with('%') {
        let mut bytes = [0; 4];
        let encoded = c.encode_utf8(&mut bytes).bytes();
        let is_same = encoded.enumerate().all(|(at, byte)| {
            let code = text.get(3 * at..3 * at + 3).and_then(|code| code.strip_prefix('%'));
            code.and_then(|code| u8::from_str_radix(code, 16).ok()) == Some(byte)
        });
        return is_same.then_some(3 * c.len_utf8());
    }
    let inner = text.trim_start_matches('\\');
    let slashes = text.len() - inner.len();
    if slashes == 0 {
        return None;
    }
    let code = inner.strip_prefix('u').and_then(|code| code.get(..4));
    match code.and_then(|code| u32::from_str_radix(code, 16).ok()) {
        Some(code) if code == u32::from(c) => Some(slashes + 5),
        _ if c == '\\' => Some(slashes),
        _ if inner.starts_with(c) => Some(slashes + c.len_utf8()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_found() {
        let secret = "pa/ss \"wörd\" &1";
        for (text, expected) in [
            ("is pa/ss \"wörd\" &1", "is *"),
            ("u:pa%2Fss%20%22w%C3%B6rd%22%20%261@h", "u:*@h"),
            ("u:pa%2fss+%22w%c3%b6rd%22+&1@h", "u:*@h"),
            ("http://h/pa/ss%20%22w%C3%B6rd%22%20&1?x", "http://h/*?x"),
            (r#"{"p":"pa\/ss \"wörd\" \u00261"}"#, r#"{"p":"*"}"#),
            (r#"{"p":"{\"p\":\"pa/ss \\\"wörd\\\" &1\"}"}"#, r#"{"p":"{\"p\":\"*\"}"}"#),
            ("apa/ss%20\"wörd\" &1", "apa/ss%20\"wörd\" &1"),
            ("pa/ss%20\"wörd\" &12", "pa/ss%20\"wörd\" &12"),
            ("100% of \\ + %2", "100% of \\ + %2"),
        ] {
            assert_eq!(without(text, secret, "*"), expected);
        }
        let long = "abcd/efgh/ijkl/mnop/qrst";
        assert_eq!(without("x%20 abcd%2Fefgh%2Fijkl%2Fmn...", long, "*"), "x%20 *...");
        assert_eq!(without("x%20 abcd%2Fefgh", long, "*"), "x%20 abcd%2Fefgh");
    }
}
