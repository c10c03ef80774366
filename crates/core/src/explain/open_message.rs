//! Messages that go on in the lines after them: an open quote, a field of YAML, the output of mount, keys that were moved in.

use super::event_row::EventRow;
use super::line::{LONGEST_LINE, Line, is_quote_open, key_at};

/// No message has more lines.
const MOST_LINES: usize = 100;

/// What mount-utils writes below `mount failed: exit status 32`.
const OF_MOUNT: [&str; 4] =
    ["Mounting command: ", "Mounting arguments: ", "Output: ", "Refer to the mount"];

/// How a message goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// The quote of a value ends.
    Quote,
    /// The quote of a field of YAML ends.
    YamlQuote,
    /// A line that is none of mount's.
    Mount,
    /// A line that is not moved in, or begins with no key.
    Keys,
}

/// A message that may go on in the next line.
#[derive(Debug)]
pub(super) struct OpenMessage {
    text: String,
    until: Until,
    lines: usize,
}

impl OpenMessage {
    /// Returns the message of a line that may go on in the next one.
    pub fn of(line: &str) -> Option<Self> {
        let until = until(line)?;
        Some(Self { text: line.to_owned(), until, lines: 1 })
    }

    /// Adds a line; false: it is another message.
    pub fn add(&mut self, line: &str) -> bool {
        let own = line.trim();
        let goes_on = match self.until {
            Until::Quote | Until::YamlQuote => !begins(line),
            Until::Mount => OF_MOUNT.iter().any(|it| own.starts_with(it)),
            Until::Keys => line.starts_with(char::is_whitespace) && key_at(own).is_some(),
        };
        if !goes_on || self.lines >= MOST_LINES || self.text.len() + own.len() > LONGEST_LINE {
            return false;
        }
        self.lines += 1;
        // Within quotes a terminal may have parted a word.
        match self.until {
            Until::Quote => {
                self.text.push('\n');
                self.text.push_str(line.trim_start());
            }
            _ => {
                self.text.push(' ');
                self.text.push_str(own);
            }
        }
        if self.until == Until::Keys && is_quote_open(&self.text) {
            self.until = Until::Quote;
        }
        true
    }

    /// Returns true if nothing more belongs to it.
    pub fn is_whole(&self) -> bool {
        match self.until {
            Until::Quote => !is_quote_open(&self.text),
            Until::YamlQuote => !is_yaml_open(&self.text),
            Until::Mount | Until::Keys => false,
        }
    }

    /// Returns the message, and the number of its lines.
    pub fn end(self) -> (String, u64) {
        (self.text, self.lines as u64)
    }
}

fn until(line: &str) -> Option<Until> {
    let own = line.trim();
    if is_yaml_open(own) {
        return Some(Until::YamlQuote);
    }
    if own.contains("mount failed: exit status ") && !own.contains("Output: ") {
        return Some(Until::Mount);
    }
    let has_place = own.contains(".go:");
    if is_quote_open(own) && !own.ends_with(['>', '\u{2026}']) && !own.ends_with("...") {
        return (has_place || EventRow::of(own).is_some()).then_some(Until::Quote);
    }
    (has_place && own.ends_with('"')).then_some(Until::Keys)
}

/// Returns true for a field `message: 'TEXT` whose quote has no end.
fn is_yaml_open(text: &str) -> bool {
    let value = text.trim_start_matches("- ").strip_prefix("message: '");
    value.is_some_and(|value| value.replace("''", "").matches('\'').count() == 0)
}

/// Returns true if a line begins a message of its own.
pub(super) fn begins(line: &str) -> bool {
    let parts = Line::of(line);
    parts.level.is_some()
        || parts.stamp.is_some()
        || parts.place.is_some()
        || EventRow::of(line.trim()).is_some_and(|row| row.reason.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the messages of lines.
    fn parted(lines: &str) -> Vec<String> {
        let mut all = Vec::new();
        let mut open: Option<OpenMessage> = None;
        for line in lines.lines() {
            if open.as_mut().is_some_and(|it| it.add(line)) {
                if open.as_ref().is_some_and(OpenMessage::is_whole) {
                    all.extend(open.take().map(|it| it.end().0));
                }
                continue;
            }
            all.extend(open.take().map(|it| it.end().0));
            match OpenMessage::of(line) {
                Some(it) => open = Some(it),
                None => all.push(line.to_owned()),
            }
        }
        all.extend(open.map(|it| it.end().0));
        all
    }

    #[test]
    fn lines_that_go_on_are_joined() {
        for (lines, expected) in [
            ("x.go:1] \"a\" err=\"b\nc\"\nd", vec!["x.go:1] \"a\" err=\"b\nc\"", "d"]),
            ("message: 'a\n  b'\nreason: c", vec!["message: 'a b'", "reason: c"]),
            (
                "x mount failed: exit status 32\nMounting command: mount\nOutput: no\nEvents:",
                vec![
                    "x mount failed: exit status 32 Mounting command: mount Output: no",
                    "Events:",
                ],
            ),
            ("x.go:1] \"a\"\n  err=\"b\n  c\"\nd", vec!["x.go:1] \"a\" err=\"b\nc\"", "d"]),
            (
                "x.go:1] \"a\" err=\"b\nI0101 00:00:00.000000 1 x.go:2] c",
                vec!["x.go:1] \"a\" err=\"b", "I0101 00:00:00.000000 1 x.go:2] c"],
            ),
            ("a \"b\nc\"", vec!["a \"b", "c\""]),
        ] {
            assert_eq!(parted(lines), expected, "{lines}");
        }
    }
}
