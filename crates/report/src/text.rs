//! Foreign text on the page.
//!
//! maud escapes markup. What is left are characters that a reader cannot see, which are written as in the tables of kq,
//! and texts that are longer than any name: the page shows their start. The embedded answer has them whole.

use kq_output::credentials::redact;
use kq_output::terminal::plain;
use kq_output::value::to_value;
use serde::Serialize;
use std::borrow::Cow;

/// The longest text that the page shows, in characters. No name and no message of a kubelet is as long.
const SHOWN: usize = 2_000;

/// Returns a text that can be shown.
pub fn shown(text: &str) -> String {
    plain(cut(&redact(text), SHOWN).into_owned())
}

/// Returns a whole text that can be shown: of commands, which a reader copies.
pub fn whole(text: &str) -> String {
    plain(redact(text).into_owned())
}

/// Returns the name of a pod without its namespace: what a label has room for.
pub fn short(pod: &str) -> String {
    shown(pod.rsplit('/').next().unwrap_or(pod))
}

/// Returns a pod as `NAMESPACE/NAME`.
pub fn pod(namespace: &str, name: &str) -> String {
    match namespace {
        "" => shown(name),
        namespace => format!("{}/{}", shown(namespace), shown(name)),
    }
}

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// Writes a time of RFC 3339 for reading: `2026-11-22 03:07 UTC`.
pub fn moment(text: &str) -> String {
    match (text.get(..10), text.get(10..11), text.get(11..16), text.ends_with('Z')) {
        (Some(day), Some("T"), Some(time), true) => format!("{} {} UTC", shown(day), shown(time)),
        _ => shown(text),
    }
}

/// Returns the name that a value without fields has in JSON.
pub fn code(value: &impl Serialize) -> String {
    let value = to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns words for a code such as `not-ready` or `targetReached`: `not ready`, `target reached`.
pub fn words(code: &str) -> String {
    let mut words = String::with_capacity(code.len() + 4);
    for c in code.chars() {
        match c {
            '-' | '_' => words.push(' '),
            c if c.is_ascii_uppercase() => {
                if !words.is_empty() {
                    words.push(' ');
                }
                words.push(c.to_ascii_lowercase());
            }
            c => words.push(c),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_written_and_long_texts_are_cut() {
        assert_eq!(shown("a\u{202e}b\u{7}<i>"), "a\\u{202e}b\\u{7}<i>");
        let long = shown(&"x".repeat(10_000));
        assert_eq!((long.chars().count(), long.ends_with("x…")), (SHOWN + 1, true));
        assert_eq!(pod("", "web"), "web");
        assert_eq!(pod("shop", "web"), "shop/web");
    }

    #[test]
    fn codes_are_words() {
        for (code, expected) in
            [("not-ready", "not ready"), ("targetReached", "target reached"), ("InUse", "in use")]
        {
            assert_eq!(words(code), expected);
        }
    }

    #[test]
    fn times_are_short() {
        assert_eq!(moment("2026-11-22T03:07:41Z"), "2026-11-22 03:07 UTC");
        assert_eq!([moment("soon"), moment("")], ["soon", ""]);
    }
}
