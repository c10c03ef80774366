//! Tables as kubectl prints them: headings in capitals, no lines, columns as wide as they must be.
//!
//! A table library would bring wrapping, borders and colours that are not wanted here, and takes as
//! long for the lines of ten thousand pods as reading and planning them does.

use crate::output::terminal::{brief, plain};
use std::fmt::{self, Write as _};
use unicode_width::UnicodeWidthStr;

/// How far columns are apart.
const GAP: usize = 3;

/// A table of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins a table.
    pub fn new(headings: Vec<String>) -> Self {
        let mut table = Self { rows: Vec::new() };
        table.add(headings);
        table
    }

    /// Adds a line; the texts are made safe for a terminal, and cut where they are longer than a reader
    /// can use. JSON and YAML have the whole.
    pub fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| brief(&plain(cell)).into_owned()).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        for row in &self.rows {
            // Blanks are owed to the next cell that has something, so that no line ends in them.
            let mut owed = 0;
            for (width, cell) in widths.iter().zip(row) {
                if cell.is_empty() {
                    owed += width + GAP;
                } else {
                    write_blanks(f, owed)?;
                    f.write_str(cell)?;
                    owed = width + GAP - cell.width();
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Writes blanks. As the width of a format they would panic from 65,536 on.
fn write_blanks(f: &mut fmt::Formatter<'_>, count: usize) -> fmt::Result {
    (0..count).try_for_each(|_| f.write_char(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["A", "B", "C"].map(str::to_owned).to_vec());
        table.add(["漢字", "", "x"].map(str::to_owned).to_vec());
        table.add(["1", "22", ""].map(str::to_owned).to_vec());
        assert_eq!(table.to_string(), "A      B    C\n漢字        x\n1      22\n");
    }

    #[test]
    fn no_width_panics() {
        let long = "x".repeat(70_000);
        let shown = "x".repeat(2_000) + "... (68000 more characters)";
        let mut table = Table::new(vec![long.clone(); 3]);
        table.add(vec![long.clone(), "b".to_owned(), "c".to_owned()]);
        // Columns that are all empty add up.
        table.add([vec![String::new(); 40_000], vec!["far".to_owned()]].concat());
        let text = table.to_string();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some([shown.as_str(); 3].join("   ").as_str()));
        assert_eq!(lines.next().map(str::len), Some(2 * (shown.len() + 3) + 1));
        assert_eq!(lines.next().map(|line| line.trim_start()), Some("far"));
    }
}
