//! Where one document of a file ends and the next begins.
//!
//! Splitting comes before parsing, as it does in Kubernetes (`k8s.io/apimachinery`,
//! `pkg/util/yaml/decoder.go`): a document with a mistake does not lose the ones after it. It is
//! safe because YAML allows `---` at the start of a line nowhere inside a document.
//!
//! Where in a document the values at some paths are.
//!
//! Values are read without their positions, since only those with a mistake need one. Positions are
//! found in a second pass over the text, all of them at once.

use super::reader::{Key, MAX_BYTES, options};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;
use std::cell::RefCell;
use std::fmt;

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

    /// Returns true if the document has only blanks and comments.
    pub fn is_empty(&self) -> bool {
        self.body().lines().all(|line| {
            let line = line.trim();
            line.is_empty() || line.starts_with('#')
        })
    }
}

/// Splits a file at its `---` and `...` lines.
///
/// The text before the first `---` counts as a document only if it has more than blanks,
/// comments and `%` directives; so does the text after a `...`. A byte order mark is dropped.
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

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a mapping.
    Key(String),
    /// Into a list, from 0.
    Index(usize),
}

/// Returns line and column of the value at each path, both from 1; `None` where there is none.
pub fn locate(text: &str, paths: &[Vec<Step>]) -> Vec<Option<(u64, u64)>> {
    let found = RefCell::new(vec![None; paths.len()]);
    if text.len() <= MAX_BYTES {
        let walk = Walk { paths, found: &found, depth: 0, here: (0..paths.len()).collect() };
        let options = options(DuplicateKeyPolicy::LastWins);
        // The text parsed before; if it does not now, the positions found so far stay.
        let _ = serde_saphyr::with_deserializer_from_str_with_options(text, options, |de| {
            walk.deserialize(de)
        });
    }
    found.into_inner()
}

/// The way down to one node.
struct Walk<'a> {
    paths: &'a [Vec<Step>],
    found: &'a RefCell<Vec<Option<(u64, u64)>>>,
    depth: usize,
    /// The paths that lead through this node, by index.
    here: Vec<usize>,
}

impl Walk<'_> {
    /// Returns the way into a child.
    fn below(&self, is_next: impl Fn(&Step) -> bool) -> Self {
        let leads = |at: &usize| self.paths[*at].get(self.depth).is_some_and(&is_next);
        Self {
            here: self.here.iter().copied().filter(leads).collect(),
            depth: self.depth + 1,
            ..*self
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let (ends, goes_on): (Vec<usize>, Vec<usize>) =
            self.here.iter().partition(|&&at| self.paths[at].len() == self.depth);
        if !ends.is_empty() {
            // The reader reports the position of a node or descends into it, so a longer path is lost.
            let node = Spanned::<IgnoredAny>::deserialize(deserializer)?;
            let place = (node.referenced.line(), node.referenced.column());
            for at in ends {
                self.found.borrow_mut()[at] = Some(place);
            }
            return Ok(());
        }
        if goes_on.is_empty() {
            IgnoredAny::deserialize(deserializer)?;
            return Ok(());
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping or a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut at = 0;
        while seq.next_element_seed(self.below(|step| *step == Step::Index(at)))?.is_some() {
            at += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let is_next = |step: &Step| matches!(step, Step::Key(wanted) if *wanted == key);
            map.next_value_seed(self.below(is_next))?;
        }
        Ok(())
    }
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

#[cfg(test)]
mod locate_tests {
    use super::*;

    #[test]
    fn finds_lines_and_columns() {
        let text = "a: &x\n  b: [1, {c: 2}]\nd: *x\ne:\n  <<: *x\n  yes: 3\nf: 1\nf: 2\n";
        let key = |name: &str| Step::Key(name.to_owned());
        let rows = [
            ("flow", vec![key("a"), key("b"), Step::Index(1), key("c")], Some((2, 14))),
            ("mapping", vec![key("a")], Some((2, 3))),
            ("list", vec![key("a"), key("b")], Some((2, 6))),
            ("alias", vec![key("d")], Some((3, 4))),
            ("boolean key", vec![key("e"), key("true")], Some((6, 8))),
            ("last of two", vec![key("f")], Some((8, 4))),
            ("absent", vec![key("a"), key("z")], None),
            ("not a list", vec![key("a"), Step::Index(0)], None),
            ("in a scalar", vec![key("f"), key("g")], None),
        ];
        for (name, path, expected) in &rows {
            let found = locate(text, std::slice::from_ref(path));
            assert_eq!(found, [*expected], "{name}");
        }
        let paths: Vec<_> = [0, 4, 6].map(|row: usize| rows[row].1.clone()).into();
        let together = locate(text, &paths);
        assert_eq!(together, [Some((2, 14)), Some((6, 8)), None]);
        assert_eq!(locate("a: [", &[vec![key("a")]]), [None]);
    }
}
