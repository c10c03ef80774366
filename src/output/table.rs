//! Tables as kubectl prints them: headings in capitals, no lines, columns as wide as they must be.

use crate::output::terminal::{brief, plain};
use comfy_table::{Cell, presets};
use std::fmt;

/// How far columns are apart.
const GAP: u16 = 3;

/// Marks the end of a line, as blanks fill its last column too. It has no width, and [`plain`] leaves it in no cell.
const END: char = '\u{200b}';

/// A table of texts.
#[derive(Clone, Debug)]
pub struct Table(comfy_table::Table);

impl Table {
    /// Begins a table.
    pub fn new(headings: Vec<String>) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        let mut table = Self(table);
        table.add(headings);
        table
    }

    /// Adds a line; the texts are made safe for a terminal, and cut where they are longer than a reader
    /// can use. JSON and YAML have the whole.
    ///
    /// The library counts widths in 16 bits and breaks what is wider into lines: a cut text never is.
    pub fn add(&mut self, cells: Vec<String>) {
        let text = |cell| brief(&plain(cell)).into_owned();
        let mut texts: Vec<String> = cells.into_iter().map(text).collect();
        if let Some(last) = texts.iter_mut().rfind(|text| !text.is_empty()) {
            last.push(END);
        }
        self.0.add_row(texts.into_iter().map(Cell::new_owned));
        // Columns exist once a row has them.
        for column in self.0.column_iter_mut() {
            column.set_padding((0, GAP));
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.lines().try_for_each(|line| {
            let text = line.split_once(END).map_or("", |(text, _)| text);
            writeln!(f, "{text}")
        })
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

    #[test]
    fn only_texts_end_in_blanks() {
        let mut table = Table::new(["A", "B", "C"].map(str::to_owned).to_vec());
        table.add(["1", "2: ", ""].map(str::to_owned).to_vec());
        table.add(["", "", ""].map(str::to_owned).to_vec());
        assert_eq!(table.to_string(), "A   B     C\n1   2: \n\n");
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
