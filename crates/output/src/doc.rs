//! An answer for people: lines and tables, one below the other, as data. A renderer makes text of it.

use crate::order::{Order, UnknownColumn};
use crate::screen::Screen;
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
    blocks: Vec<Block>,
}

/// A part of a document.
#[derive(Clone, Debug)]
enum Block {
    /// A line, which a terminal wraps at words.
    Line(String),
    Table(Table),
}

impl Doc {
    /// Returns the document of one line.
    pub fn of_line(text: impl Into<String>) -> Self {
        let mut doc = Self::default();
        doc.line(text);
        doc
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
        self.blocks.extend(other.into().blocks);
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

    /// Returns true for a document of nothing.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
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
            let Block::Table(table) = block else { continue };
            match table.sort(order) {
                true => is_known = true,
                false => others.extend(table.sortable().cloned()),
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
        self.blocks.iter().try_for_each(|block| match block {
            Block::Table(table) => table.write(out, layout),
            Block::Line(line) => writeln!(out, "{}", layout.screen.line(line)),
        })
    }
}

impl From<Table> for Doc {
    fn from(table: Table) -> Self {
        Self { blocks: vec![Block::Table(table)] }
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
