//! Foreign text that is safe to show.
//!
//! A character that a reader cannot see may move the cursor, turn the direction of writing around or hide a
//! part of a name. Such characters are written as escapes everywhere: on a terminal as `\u{202e}`, in JSON and
//! YAML as these formats write it.

use crate::credentials::{self, redact};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write as _};
use unicode_width::UnicodeWidthChar;

/// The widest text that is shown as a part of a line, in columns.
const WIDEST: usize = 2_000;

/// The characters without a shape of their own, in order: the general categories Cc, Cf, Zl and Zp, what has the property
/// `Default_Ignorable_Code_Point`, and the code points that are no characters, two of which XML cannot have. There are no
/// exceptions: names in Kubernetes have none of these, and emoji and scripts that use joiners stay readable with escapes.
const UNSAFE: [(char, char); 45] = [
    ('\0', '\u{1f}'),
    ('\u{7f}', '\u{9f}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fdd0}', '\u{fdef}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{fffe}', '\u{ffff}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{1fffe}', '\u{1ffff}'),
    ('\u{2fffe}', '\u{2ffff}'),
    ('\u{3fffe}', '\u{3ffff}'),
    ('\u{4fffe}', '\u{4ffff}'),
    ('\u{5fffe}', '\u{5ffff}'),
    ('\u{6fffe}', '\u{6ffff}'),
    ('\u{7fffe}', '\u{7ffff}'),
    ('\u{8fffe}', '\u{8ffff}'),
    ('\u{9fffe}', '\u{9ffff}'),
    ('\u{afffe}', '\u{affff}'),
    ('\u{bfffe}', '\u{bffff}'),
    ('\u{cfffe}', '\u{cffff}'),
    ('\u{dfffe}', '\u{dffff}'),
    ('\u{e0000}', '\u{e0fff}'),
    ('\u{efffe}', '\u{effff}'),
    ('\u{ffffe}', '\u{fffff}'),
    ('\u{10fffe}', '\u{10ffff}'),
];

/// Returns true for a character that is not shown as it is.
pub fn is_unsafe(c: char) -> bool {
    if matches!(c, ' '..='~') {
        return false;
    }
    let next = UNSAFE.partition_point(|(_, last)| *last < c);
    UNSAFE.get(next).is_some_and(|(first, _)| *first <= c)
}

/// Returns the text with every unsafe character escaped, line ends too: one line that says what it says. Credentials that
/// the process has sent are left out.
pub fn plain(text: String) -> String {
    let text = match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(redacted) => redacted,
    };
    match text.contains(is_unsafe) {
        true => text.chars().fold(String::with_capacity(text.len()), |mut plain, c| {
            push(&mut plain, c);
            plain
        }),
        false => text,
    }
}

fn push(plain: &mut String, c: char) {
    match is_unsafe(c) {
        true => plain.extend(c.escape_unicode()),
        false => plain.push(c),
    }
}

/// Returns the beginning of a text that would bury everything around it, with the count of what is missing. Credentials
/// that the process has sent are left out: the cut would make another word of one.
pub fn brief(text: &str) -> Cow<'_, str> {
    match redact(text) {
        Cow::Borrowed(text) => beginning(text),
        Cow::Owned(text) => beginning(&text).into_owned().into(),
    }
}

fn beginning(text: &str) -> Cow<'_, str> {
    // No character is wider than it is long.
    if text.len() <= WIDEST {
        return text.into();
    }
    let mut columns = 0;
    let end = text.char_indices().find(|(at, c)| {
        columns += c.width().unwrap_or(1);
        // Any number of characters can have no width.
        columns > WIDEST || *at > 4 * WIDEST
    });
    match end {
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{}... ({more} more characters)", &text[..end]).into()
        }
        None => text.into(),
    }
}

/// Returns a text of several lines with what is unsafe escaped, except for line ends.
pub fn shown_safely(text: &str) -> String {
    let text = redact(text);
    match text.contains(|c| c != '\n' && is_unsafe(c)) {
        false => text.into_owned(),
        true => text.split('\n').map(|line| plain(line.to_owned())).collect::<Vec<_>>().join("\n"),
    }
}

/// Writes a text of several lines: what is not escaped yet is, except for line ends.
///
/// This makes sure that no view forgot a name. A view still escapes what it puts into a line, since only the view
/// knows which line ends are its own.
pub fn show(out: impl io::Write, text: impl fmt::Display) -> io::Result<()> {
    let escape = |c: char| c.escape_unicode().to_string();
    if credentials::are_known() {
        // A text is formatted in pieces, and one of them may be a part of a credential.
        let text = text.to_string();
        return write!(Escaping { out, escape }, "{}", redact(&text));
    }
    write!(Escaping { out, escape }, "{text}")
}

/// A writer of text that replaces unsafe characters, except for line ends.
#[derive(Debug)]
pub(super) struct Escaping<W> {
    pub out: W,
    pub escape: fn(char) -> String,
}

/// Returns true for ASCII without controls other than line ends. Eight bytes are checked at a time: nearly all output is
/// such text, and some answers have hundreds of megabytes.
fn is_plain(bytes: &[u8]) -> bool {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().all(|bytes| {
        let word = u64::from_ne_bytes(*bytes);
        // A carry follows only a byte that is marked already.
        let above = word | word.wrapping_add(u64::from_ne_bytes([1; 8]));
        let below = word.wrapping_sub(u64::from_ne_bytes([0x20; 8])) & !word;
        (above | below) & HIGH == 0 || bytes.iter().all(is_plain)
    }) && rest.iter().all(is_plain)
}

impl<W: io::Write> io::Write for Escaping<W> {
    /// Takes whole characters: what formats a text or writes JSON never parts one.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if is_plain(bytes) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        let is_foreign = |c: char| c != '\n' && is_unsafe(c);
        let mut rest = text;
        while let Some(at) = rest.find(is_foreign) {
            let (before, from) = rest.split_at(at);
            let mut from = from.chars();
            self.out.write_all(before.as_bytes())?;
            let escaped = from.next().map(self.escape).unwrap_or_default();
            self.out.write_all(escaped.as_bytes())?;
            rest = from.as_str();
        }
        self.out.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn unsafe_characters_are_those_of_unicode() {
        let classes = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]";
        let is_invisible = Regex::new(classes).expect("these classes exist");
        let mut text = String::new();
        for c in '\0'..=char::MAX {
            text.clear();
            text.push(c);
            assert_eq!(is_unsafe(c), is_invisible.is_match(&text), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn plain_bytes_are_found_wherever_they_stand() {
        for byte in 0..=u8::MAX {
            let expected = matches!(byte, b' '..=b'~' | b'\n');
            for at in 0..20 {
                for other in [b' ', b'~', b'\n'] {
                    let mut bytes = [other; 20];
                    bytes[at] = byte;
                    assert_eq!(is_plain(&bytes), expected, "{byte:x} at {at} in {other:x}");
                }
            }
        }
    }

    #[test]
    fn what_is_unsafe_is_escaped() {
        for (name, text, expected) in [
            ("plain", "web-1", "web-1"),
            ("wide", "漢字", "漢字"),
            ("escape", "a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("newline", "a\nb", "a\\u{a}b"),
            ("right to left", "a\u{202e}b", "a\\u{202e}b"),
            ("a mark of direction", "a\u{200e}\u{61c}b", "a\\u{200e}\\u{61c}b"),
            ("another end of a line", "a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c"),
            ("zero width", "a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("tags", "a\u{e0041}b", "a\\u{e0041}b"),
        ] {
            assert_eq!(plain(text.to_owned()), expected, "{name}");
            let mut shown = Vec::new();
            show(&mut shown, text).expect("memory can be written");
            let shown = String::from_utf8(shown).expect("it is text");
            assert_eq!(shown, expected.replace("\\u{a}", "\n"), "{name}");
        }
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        for (name, text, kept, more) in [
            ("as long as it may be", "x".repeat(2_000), 2_000, 0),
            ("longer", "x".repeat(2_001), 2_000, 1),
            ("wide", "漢".repeat(1_500), 1_000, 500),
            ("many bytes", "é".repeat(2_000), 2_000, 0),
        ] {
            let shown = brief(&text);
            let mark =
                if more == 0 { String::new() } else { format!("... ({more} more characters)") };
            let expected: String = text.chars().take(kept).collect();
            assert_eq!(shown, expected + &mark, "{name}");
        }
    }

    /// A writer that is full.
    struct Full;

    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_error_of_the_writer_is_kept() {
        let error = show(Full, "text").expect_err("it is full");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
