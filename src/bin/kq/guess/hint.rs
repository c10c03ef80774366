//! A hint: a sentence with command lines in it.

use std::fmt;

/// A sentence with command lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Command(String),
}

impl Hint {
    /// Reads a row of a table: one command line, or a sentence with command lines between backticks.
    pub fn of(row: &str) -> Self {
        let is_line = ["kq ", "LINE "].iter().any(|first| row.starts_with(first));
        match is_line && !row.contains('`') {
            true => Self::command(row),
            false => Self::sentence(row),
        }
    }

    /// Reads a sentence with command lines between backticks.
    pub fn sentence(row: &str) -> Self {
        let pieces = row.split('`').enumerate().map(|(at, piece)| match at % 2 {
            0 => Piece::Text(piece.to_owned()),
            _ => Piece::Command(piece.to_owned()),
        });
        Self(pieces.collect())
    }

    /// Returns the hint that is one command line.
    pub fn command(line: impl Into<String>) -> Self {
        Self(vec![Piece::Command(line.into())])
    }

    /// Returns the hint that names several commands.
    pub fn commands(lines: impl IntoIterator<Item = String>) -> Self {
        let mut pieces = Vec::new();
        for line in lines {
            if !pieces.is_empty() {
                pieces.push(Piece::Text(", ".to_owned()));
            }
            pieces.push(Piece::Command(line));
        }
        Self(pieces)
    }

    /// Returns the hint without a command line.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Piece::Text(text.into())])
    }

    /// Returns the command line, if the hint is nothing else.
    pub fn command_line(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Command(line)] => Some(line),
            _ => None,
        }
    }

    /// Puts a word in the places of a placeholder.
    pub fn put(self, placeholder: &str, word: &str) -> Self {
        let put = |text: String| put(&text, placeholder, word);
        let pieces = self.0.into_iter().map(|piece| match piece {
            Piece::Text(text) => Piece::Text(put(text)),
            Piece::Command(line) => Piece::Command(put(line)),
        });
        Self(pieces.collect())
    }

    /// Changes each command line.
    pub fn with_lines(self, change: impl Fn(&str) -> String) -> Self {
        let pieces = self.0.into_iter().map(|piece| match piece {
            Piece::Command(line) => Piece::Command(change(&line)),
            text @ Piece::Text(_) => text,
        });
        Self(pieces.collect())
    }

    /// Keeps the clauses before the first command line of a kind; all where it is the first.
    pub fn until(mut self, is_it: impl Fn(&str) -> bool) -> Self {
        let is_of_kind = |piece: &Piece| matches!(piece, Piece::Command(line) if is_it(line));
        let is_command = |piece: &Piece| matches!(piece, Piece::Command(_));
        let at = self.0.iter().position(is_of_kind);
        let Some(at) = at.filter(|at| self.0[..*at].iter().any(is_command)) else { return self };
        self.0.truncate(at);
        if let Some(Piece::Text(between)) = self.0.last_mut() {
            let end = between.rfind([',', ';']).unwrap_or_default();
            between.truncate(end);
        }
        self
    }

    /// Returns the command lines.
    #[cfg(test)]
    pub fn lines(&self) -> Vec<&str> {
        let pieces = self.0.iter().filter_map(|piece| match piece {
            Piece::Command(line) => Some(line.as_str()),
            Piece::Text(_) => None,
        });
        pieces.collect()
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) | Piece::Command(text) => f.write_str(text),
        })
    }
}

/// Puts a word in the places of a placeholder.
fn put(text: &str, placeholder: &str, word: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(placeholder) {
        let (before, after) = (&rest[..at], &rest[at + placeholder.len()..]);
        let is_whole = !before.ends_with(|c: char| c.is_alphanumeric())
            && !after.starts_with(|c: char| c.is_alphanumeric());
        filled.push_str(before);
        filled.push_str(if is_whole { word } else { placeholder });
        rest = after;
    }
    filled + rest
}
