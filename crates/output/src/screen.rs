//! The width and the colours of what is written to.
//!
//! On a terminal, texts wrap at words and words have tones. Elsewhere nothing changes.

use super::terminal::plain;
use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What lines are written to; the default is no terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// In columns; `None` is no limit.
    pub width: Option<u16>,
    /// Whether escape sequences colour words.
    pub colour: bool,
}

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Wrong, or about to be removed.
    Bad,
    /// Worth a look, or unknown.
    Doubtful,
    /// As it should be.
    Good,
    /// Nothing to read.
    Nothing,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Doubtful => AnsiColor::Yellow.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Nothing => Style::new().dimmed(),
        }
    }

    /// Returns a text in this tone, with escape sequences where there are colours.
    pub fn on(self, screen: Screen, text: &str) -> String {
        match screen.colour {
            true => format!("{}{text}{:#}", self.style(), self.style()),
            false => text.to_owned(),
        }
    }
}

impl Screen {
    /// Returns true where texts are arranged.
    pub fn is_terminal(self) -> bool {
        self != Self::default()
    }

    /// Returns one line as it is written, without its end; it may become several. What is unsafe in it is escaped.
    pub fn line(self, line: &str) -> String {
        let line = plain(line.to_owned());
        match self.width {
            Some(width) => wrapped(&line, width.into(), hanging(&line)).join("\n"),
            None => line,
        }
    }
}

/// Returns how far the further lines of a line are indented: as the text after a label in capitals, or as the line
/// and two more.
fn hanging(line: &str) -> usize {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let label = text.split("  ").next().unwrap_or_default();
    let is_label =
        !label.is_empty() && !label.contains(|c: char| !c.is_ascii_uppercase() && c != ' ');
    let value = text[label.len()..].trim_start();
    match is_label && !value.is_empty() {
        true => line.len() - value.len(),
        false => indent + 2,
    }
}

/// Returns a text in lines that are no wider, each word whole; a word that is wider alone has a line of its own.
/// All lines but the first are indented.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = if indent * 2 > width { 2.min(width) } else { indent };
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let mut lines = Vec::new();
    let (mut line, mut columns, mut has_word) = (String::new(), 0, false);
    let mut rest = text;
    while !rest.is_empty() {
        let word_at = rest.find(|c| c != ' ').unwrap_or(rest.len());
        let end = rest[word_at..].find(' ').map_or(rest.len(), |end| word_at + end);
        let (piece, after) = rest.split_at(end);
        rest = after;
        let wide = piece.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
        if has_word && columns + wide > width {
            // A word that fits the screen alone fits, however far its line should be in.
            let indent = indent.min(width.saturating_sub(wide - word_at));
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            line.push_str(&piece[word_at..]);
            columns = indent + wide - word_at;
        } else {
            line.push_str(piece);
            columns += wide;
        }
        has_word |= end > word_at;
    }
    if !line.trim().is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_wrap_at_words() {
        for (name, text, width, indent, expected) in [
            ("short", "a b", 10, 2, &["a b"] as &[&str]),
            ("at a word", "one two three", 8, 2, &["one two", "  three"]),
            ("a word too wide", "one twothreefour five", 8, 2, &["one", "twothreefour", "  five"]),
            ("a word that fits alone", "one twothree four", 8, 2, &["one", "twothree", "  four"]),
            ("blanks between", "A   bb   cc dd", 9, 0, &["A   bb", "cc dd"]),
            ("wide characters", "漢字 漢字 漢", 5, 0, &["漢字", "漢字", "漢"]),
            ("an indent that is too far", "one two three", 8, 6, &["one two", "  three"]),
            ("nothing", "", 8, 2, &[""]),
        ] {
            assert_eq!(wrapped(text, width, indent), expected, "{name}");
        }
    }

    #[test]
    fn lines_hang_below_their_text() {
        for (line, expected) in [
            ("DECISION   remove two images", 11),
            ("STILL MISSING  cpu", 15),
            ("one image", 2),
            ("  a step", 4),
            ("DECISION", 2),
        ] {
            assert_eq!(hanging(line), expected, "{line}");
        }
    }

    #[test]
    fn only_own_sequences_are_written() {
        let colour = Screen { width: Some(40), colour: true };
        assert_eq!(colour.line("a\u{1b}[2J\u{fff0}"), "a\\u{1b}[2J\\u{fff0}");
        assert_eq!(Tone::Bad.on(colour, "DRIFT"), "\u{1b}[1m\u{1b}[31mDRIFT\u{1b}[0m");
        assert_eq!(Tone::Bad.on(Screen::default(), "DRIFT"), "DRIFT");
    }
}
