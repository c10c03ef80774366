//! An answer for people: lines and tables, one below the other, as data. A renderer makes text of it.

use crate::order::{Order, UnknownColumn};
use crate::screen::{Screen, Tone, wrapped};
use crate::table::Table;
use crate::terminal::{Escaping, plain};
use std::fmt;
use std::io;

/// How a document is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// What it is written to.
    pub screen: Screen,
    /// Tables are without headings.
    pub hides_headings: bool,
}

/// Lines and tables.
#[derive(Clone, Debug, Default)]
pub struct Doc {
    /// The sentence that stands first.
    headline: Option<String>,
    blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Clone, Debug)]
enum Block {
    /// A line, which a terminal wraps at words.
    Line(String),
    Table(Table),
    /// What was found: entries on a terminal, else a table.
    Entries {
        entries: Vec<Entry>,
        table: Table,
    },
}

/// Something found, as compilers print it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The tone of the label.
    pub tone: Option<Tone>,
    /// How bad it is, and which rule says so: `error[image-gc]`.
    pub label: String,
    /// What was found.
    pub text: String,
    /// What belongs to it, by name.
    pub parts: Vec<(&'static str, String)>,
}

impl Entry {
    fn write(&self, out: &mut dyn io::Write, screen: Screen, width: usize) -> io::Result<()> {
        let (label, text) = (plain(self.label.clone()), plain(self.text.clone()));
        let lines = wrapped(&format!("{label}: {text}"), width, INDENT);
        for (at, line) in lines.iter().enumerate() {
            match (at, self.tone, line.strip_prefix(&*label)) {
                (0, Some(tone), Some(rest)) => writeln!(out, "{}{rest}", tone.on(screen, &label))?,
                _ => writeln!(out, "{line}")?,
            }
        }
        self.parts.iter().try_for_each(|(name, text)| {
            let text = format!("{}{name}: {}", " ".repeat(INDENT), plain(text.clone()));
            let lines = wrapped(&text, width, 2 * INDENT);
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))
        })
    }
}

/// How far the parts of an entry are indented.
const INDENT: usize = 4;

impl Doc {
    /// Returns the document of one line.
    pub fn of_line(text: impl Into<String>) -> Self {
        let mut doc = Self::default();
        doc.line(text);
        doc
    }

    /// Returns a document that begins with the answer in one sentence.
    pub fn headed(sentence: &str) -> Self {
        Self { headline: Some(plain(sentence.to_owned())), blocks: Vec::new() }
    }

    /// Puts the answer in one sentence first, an empty line below it, unless the document begins with it.
    pub fn under(mut self, sentence: &str) -> Self {
        if self.headline.is_none() {
            self.blocks.insert(0, Block::Line(String::new()));
            self.headline = Some(plain(sentence.to_owned()));
        }
        self
    }

    /// Adds a line. A text from outside cannot add another one, or play with the terminal.
    pub fn line(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Line(plain(text.into())));
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.blocks.push(Block::Line(String::new()));
    }

    /// Adds a table, or the parts of another document.
    pub fn add(&mut self, other: impl Into<Self>) {
        let Self { headline, blocks } = other.into();
        self.blocks.extend(headline.map(Block::Line));
        self.blocks.extend(blocks);
    }

    /// Adds the same below an empty line.
    pub fn add_apart(&mut self, other: impl Into<Self>) {
        self.blank();
        self.add(other);
    }

    /// Returns the document with another one below it.
    pub fn and(mut self, other: impl Into<Self>) -> Self {
        self.add(other);
        self
    }

    /// Adds what was found; `table` has it for a pipe, and for an order of its rows.
    pub fn entries(&mut self, entries: Vec<Entry>, table: Table) {
        self.blocks.push(Block::Entries { entries, table });
    }

    /// Returns true for a document of nothing.
    pub fn is_empty(&self) -> bool {
        self.headline.is_none() && self.blocks.is_empty()
    }

    /// Orders the rows of the tables that have the column.
    ///
    /// # Errors
    ///
    /// Fails if no table has it.
    pub fn sort(&mut self, order: &Order) -> Result<(), UnknownColumn> {
        let mut others = Vec::new();
        let mut is_known = false;
        for block in &mut self.blocks {
            let table = match block {
                Block::Line(_) => continue,
                Block::Table(table) | Block::Entries { table, .. } => table,
            };
            match table.sort(order) {
                true => is_known = true,
                false => others.extend(table.sortable().cloned()),
            }
            if let Block::Entries { table, .. } = block {
                *block = Block::Table(table.clone());
            }
        }
        match is_known {
            true => Ok(()),
            false => Err(order.unknown(others)),
        }
    }

    /// Writes the document.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write(&self, mut out: impl io::Write, layout: Layout) -> io::Result<()> {
        if layout.screen.is_terminal() {
            // The sequences of colours are kq's own: all texts are safe already.
            return self.write_blocks(&mut out, layout);
        }
        // This makes sure that no view forgot a name.
        let mut out = Escaping { out, escape: |c| c.escape_unicode().to_string() };
        self.write_blocks(&mut out, layout)
    }

    fn write_blocks(&self, out: &mut dyn io::Write, layout: Layout) -> io::Result<()> {
        if let Some(sentence) = &self.headline {
            writeln!(out, "{}", layout.screen.line(sentence))?;
        }
        self.blocks.iter().try_for_each(|block| match block {
            Block::Table(table) => table.write(out, layout),
            Block::Line(line) => writeln!(out, "{}", layout.screen.line(line)),
            Block::Entries { entries, table } => match layout.screen.width {
                None => table.write(out, layout),
                Some(width) => entries.iter().enumerate().try_for_each(|(at, entry)| {
                    if at > 0 {
                        writeln!(out)?;
                    }
                    entry.write(out, layout.screen, width.into())
                }),
            },
        })
    }
}

impl From<Table> for Doc {
    fn from(table: Table) -> Self {
        Self { headline: None, blocks: vec![Block::Table(table)] }
    }
}

impl<T: Into<String>> FromIterator<T> for Doc {
    fn from_iter<I: IntoIterator<Item = T>>(lines: I) -> Self {
        let mut doc = Self::default();
        doc.extend(lines);
        doc
    }
}

impl<T: Into<String>> Extend<T> for Doc {
    fn extend<I: IntoIterator<Item = T>>(&mut self, lines: I) {
        lines.into_iter().for_each(|line| self.line(line));
    }
}

/// As a pipe gets it.
impl fmt::Display for Doc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        // Memory takes every text.
        self.write(&mut text, Layout::default()).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&text))
    }
}
