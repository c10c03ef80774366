//! Tables as kubectl prints them: headings in capitals, no lines, columns as wide as they must be.
//!
//! A table library would bring wrapping, borders and colours that are not wanted here, and takes as
//! long for the lines of ten thousand pods as reading and planning them does.

use crate::output::terminal::plain;
use std::fmt;
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
        Self { rows: vec![headings] }
    }

    /// Adds a line; the texts are made safe for a terminal.
    pub fn add(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(plain).collect());
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
                    write!(f, "{:owed$}{cell}", "")?;
                    owed = width + GAP - cell.width();
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
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
}
