//! Where one document of a file ends and the next begins.
//!
//! Splitting comes before parsing, as it does in Kubernetes (`k8s.io/apimachinery`,
//! `pkg/util/yaml/decoder.go`): a document with a mistake does not lose the ones after it. It is
//! safe because YAML allows `---` at the start of a line nowhere inside a document.

/// One document of a file, not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// The position among the documents of the file; the first is 1.
    pub number: usize,
    /// How many lines of the file come before `text`.
    pub lines_before: u64,
    /// The text, with the `---` line that opened it.
    pub text: &'a str,
}

impl<'a> Document<'a> {
    /// Returns the text after the `---` that opened the document.
    pub fn body(&self) -> &'a str {
        match first_line(self.text) {
            line if is_separator(line) => &self.text[3..],
            _ => self.text,
        }
    }

    /// Tells whether the document holds nothing but blanks and comments.
    pub fn is_empty(&self) -> bool {
        self.body().lines().all(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#')
        })
    }
}

/// Splits a file at its `---` and `...` lines.
///
/// What comes before the first `---` counts as a document only when it holds more than blanks,
/// comments and `%` directives; so does what follows a `...`. A byte order mark is dropped.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut split = Splitter { text, number: 0, found: Vec::new() };
    let (mut start, mut start_line) = (0, 0);
    let (mut at, mut line_number) = (0, 0);
    for line in text.split_inclusive('\n') {
        if is_separator(line) {
            split.push(start, at, start_line);
            (start, start_line) = (at, line_number);
        } else if is_end(line) {
            split.push(start, at, start_line);
            (start, start_line) = (at + line.len(), line_number + 1);
        }
        at += line.len();
        line_number += 1;
    }
    split.push(start, text.len(), start_line);
    split.found
}

struct Splitter<'a> {
    text: &'a str,
    number: usize,
    found: Vec<Document<'a>>,
}

impl<'a> Splitter<'a> {
    fn push(&mut self, start: usize, end: usize, lines_before: u64) {
        let text = &self.text[start..end];
        let opened = is_separator(first_line(text));
        if !opened && text.lines().all(carries_nothing) {
            return;
        }
        self.number += 1;
        self.found.push(Document { number: self.number, lines_before, text });
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

fn carries_nothing(line: &str) -> bool {
    let trimmed = line.trim();
    trimmed.is_empty() || trimmed.starts_with('#') || line.starts_with('%')
}

fn is_separator(line: &str) -> bool {
    is_marker(line, "---")
}

fn is_end(line: &str) -> bool {
    is_marker(line, "...")
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_markers() {
        // Name, text, (number, lines before, text) of each document.
        type Row = (&'static str, &'static str, &'static [(usize, u64, &'static str)]);
        let rows: &[Row] = &[
            ("nothing", "", &[]),
            ("comments only", "# a\n\n# b\n", &[]),
            ("one", "a: 1\n", &[(1, 0, "a: 1\n")]),
            ("opened", "---\na: 1\n", &[(1, 0, "---\na: 1\n")]),
            ("comment first", "# x\n---\na: 1\n", &[(1, 1, "---\na: 1\n")]),
            ("directive first", "%YAML 1.1\n---\na: 1\n", &[(1, 1, "---\na: 1\n")]),
            ("two", "a: 1\n---\nb: 2", &[(1, 0, "a: 1\n"), (2, 1, "---\nb: 2")]),
            (
                "comment on the line",
                "a: 1\n--- # c\nb: 2\n",
                &[(1, 0, "a: 1\n"), (2, 1, "--- # c\nb: 2\n")],
            ),
            ("blanks", "a: 1\n---  \t\nb\n", &[(1, 0, "a: 1\n"), (2, 1, "---  \t\nb\n")]),
            ("crlf", "a: 1\r\n---\r\nb\r\n", &[(1, 0, "a: 1\r\n"), (2, 1, "---\r\nb\r\n")]),
            ("content on the line", "--- {a: 1}\n", &[(1, 0, "--- {a: 1}\n")]),
            ("end marker", "a: 1\n...\n# c\n---\nb\n", &[(1, 0, "a: 1\n"), (2, 3, "---\nb\n")]),
            ("empty counts", "---\n---\nb\n", &[(1, 0, "---\n"), (2, 1, "---\nb\n")]),
            ("no marker", "----\na: |\n  ---\n", &[(1, 0, "----\na: |\n  ---\n")]),
            ("byte order mark", "\u{feff}---\na\n", &[(1, 0, "---\na\n")]),
        ];
        for (name, text, expected) in rows {
            let found: Vec<_> =
                documents(text).iter().map(|d| (d.number, d.lines_before, d.text)).collect();
            assert_eq!(found, *expected, "{name}");
        }
    }

    #[test]
    fn tells_empty_documents() {
        for (text, empty) in [("---\n", true), ("--- # c\n\n", true), ("--- a\n", false)] {
            assert_eq!(documents(text)[0].is_empty(), empty, "{text:?}");
        }
    }
}
