//! Tables as kubectl prints them: headings in capitals, no lines, columns as wide as their texts.
//!
//! A view is a list of columns; a table has those of them that are wanted. On a terminal it fits the width.

use super::arrangement::{Arranged, Kind, arrange};
use super::order;
use super::screen::{ARRANGED, Screen, Tone};
use crate::terminal::{brief, plain};
use comfy_table::{Cell, presets};
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use unicode_width::UnicodeWidthStr;

/// How far columns are apart.
pub(super) const GAP: u16 = 3;

/// Marks the end of a line, as blanks fill its last column too. It has no width, and [`plain`] leaves it in no cell.
const END: char = '\u{200b}';

/// How many rows the library has at a time.
const PART: usize = 1_000;

/// Tables are without headings. A setting of the process, like the width of its terminal: an answer may be made of
/// several tables.
static HIDES_HEADINGS: AtomicBool = AtomicBool::new(false);

/// Leaves the headings out of all tables.
pub fn hide_headings() {
    HIDES_HEADINGS.store(true, Ordering::Relaxed);
}

/// A column: its heading, its kind, its rank, and what it shows of a row.
pub struct Column<T> {
    heading: &'static str,
    kind: Kind,
    rank: Rank,
    cell: fn(&T) -> String,
    tone: Option<fn(&T) -> Option<Tone>>,
}

/// Which tables have a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rank {
    Always,
    Narrow,
    Wide,
    Never,
}

impl<T> Column<T> {
    /// Returns a column of names, values or amounts: they are whole, and every table has it.
    pub const fn new(heading: &'static str, cell: fn(&T) -> String) -> Self {
        Self { heading, kind: Kind::Whole, rank: Rank::Always, cell, tone: None }
    }

    /// Returns a column of texts, which wrap or stand below their row.
    pub const fn text(heading: &'static str, cell: fn(&T) -> String) -> Self {
        Self { kind: Kind::Text, ..Self::new(heading, cell) }
    }

    /// Returns a column of states, whose words have a tone.
    pub const fn state(
        heading: &'static str,
        cell: fn(&T) -> String,
        tone: fn(&T) -> Option<Tone>,
    ) -> Self {
        Self { tone: Some(tone), ..Self::new(heading, cell) }
    }

    /// Returns the column as one of wide tables only.
    pub const fn wide(column: Self) -> Self {
        Self { rank: Rank::Wide, ..column }
    }

    /// Returns the column as the short form of one that wide tables have in full.
    pub const fn narrow(column: Self) -> Self {
        Self { rank: Rank::Narrow, ..column }
    }

    /// Returns the column, which no table has unless it applies.
    pub fn when(applies: bool, column: Self) -> Self {
        Self { rank: if applies { column.rank } else { Rank::Never }, ..column }
    }

    /// Returns true if a row has something else than `-` in it.
    pub fn is_known(&self, rows: &[T]) -> bool {
        rows.iter().any(|row| (self.cell)(row) != "-")
    }
}

/// Returns the cell of a value that may be missing: `-` stands for none.
pub fn or_dash(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The rows of a table.
#[derive(Clone, Copy, Debug)]
pub struct Rows<I> {
    rows: I,
    is_wide: bool,
}

impl<'r, T: 'r, I: IntoIterator<Item = &'r T>> Rows<I> {
    /// Begins with the rows of a table that is not wide.
    pub fn of(rows: I) -> Self {
        Self { rows, is_wide: false }
    }

    /// Sets whether the table is wide.
    pub fn wide(self, is_wide: bool) -> Self {
        Self { is_wide, ..self }
    }

    /// Returns the table, with those of the columns that belong into it.
    pub fn table(self, columns: &[Column<T>]) -> Table {
        let Self { rows, is_wide } = self;
        let is_shown = |column: &&Column<T>| match column.rank {
            Rank::Always => true,
            Rank::Narrow => !is_wide,
            Rank::Wide => is_wide,
            Rank::Never => false,
        };
        let columns: Vec<_> = columns.iter().filter(is_shown).collect();
        let rows: Vec<&T> = rows.into_iter().collect();
        let headings = columns.iter().map(|column| column.heading.to_owned());
        let cells = |row: &&T| columns.iter().map(|column| (column.cell)(row)).collect();
        let (mut table, places) =
            Table::ordered(headings.collect(), rows.iter().map(cells).collect());
        let tones = |column: &&Column<T>| match column.tone {
            Some(tone) => places.iter().map(|at| tone(rows[*at])).collect(),
            None => Vec::new(),
        };
        table.kinds = columns.iter().map(|column| column.kind).collect();
        table.tones = columns.iter().map(tones).collect();
        table
    }
}

/// A table of texts.
#[derive(Clone, Debug)]
pub struct Table {
    kinds: Vec<Kind>,
    /// The tones of the rows below the headings, for each column of states.
    tones: Vec<Vec<Option<Tone>>>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins a table of what is whole, for columns that are known only when it is made.
    pub fn new(headings: Vec<String>) -> Self {
        let mut table = Self { kinds: Vec::new(), tones: Vec::new(), rows: Vec::new() };
        table.add(headings);
        table
    }

    /// Returns the table of rows in the order that was asked for.
    pub fn of(headings: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        Self::ordered(headings, rows).0
    }

    /// Returns the same, and the places that its rows had.
    fn ordered(headings: Vec<String>, mut rows: Vec<Vec<String>>) -> (Self, Vec<usize>) {
        let places = order::places(&headings, &rows);
        let places = places.unwrap_or_else(|| (0..rows.len()).collect());
        let mut table = Self::new(headings);
        places.iter().for_each(|at| table.add(std::mem::take(&mut rows[*at])));
        (table, places)
    }

    /// Begins a list of labels and values, with its first line; values may wrap.
    pub fn listing(first: Vec<String>) -> Self {
        let mut table = Self::new(first);
        table.kinds.iter_mut().for_each(|kind| *kind = Kind::Value);
        if let Some(label) = table.kinds.first_mut() {
            *label = Kind::Whole;
        }
        table
    }

    /// Adds a line; the texts are made safe for a terminal, and cut where they are longer than a reader
    /// can use. JSON and YAML have the whole.
    ///
    /// The library counts widths in 16 bits and breaks what is wider into lines: a cut text never is.
    pub fn add(&mut self, cells: Vec<String>) {
        let text = |cell| {
            let text = plain(cell);
            match brief(&text) {
                Cow::Borrowed(_) => text,
                Cow::Owned(brief) => brief,
            }
        };
        self.kinds.resize(self.kinds.len().max(cells.len()), Kind::Whole);
        self.rows.push(cells.into_iter().map(text).collect());
    }

    /// Writes the lines for a screen.
    fn write(&self, out: &mut dyn fmt::Write, screen: Screen) -> fmt::Result {
        let hidden = usize::from(HIDES_HEADINGS.load(Ordering::Relaxed));
        let rows = self.rows.get(hidden..).unwrap_or_default();
        if !screen.is_terminal() {
            return write_lines(out, rows);
        }
        let tone = |number: usize, column: usize| {
            let tones = self.tones.get(column)?;
            tones.get((number + hidden).checked_sub(1)?).copied().flatten()
        };
        let Arranged { rows, below } = arrange(rows, &self.kinds, tone, screen);
        let mut arranged = lines(&rows);
        for (row, below) in rows.iter().zip(below) {
            let height = row.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
            for line in arranged.by_ref().take(height).chain(below) {
                writeln!(out, "{line}{ARRANGED}")?;
            }
        }
        Ok(())
    }
}

/// Writes rows whose cells have one line each. The library would make each of them several times, and a table may have a
/// hundred thousand.
fn write_lines(out: &mut dyn fmt::Write, rows: &[Vec<String>]) -> fmt::Result {
    // Like the library, which leaves no column without width.
    let widths: Vec<usize> = widths(rows).into_iter().map(|width| width.max(1)).collect();
    let mut line = String::new();
    for row in rows {
        line.clear();
        let count = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
        for (at, (cell, width)) in row[..count].iter().zip(&widths).enumerate() {
            line.push_str(cell);
            if at + 1 < count {
                let blanks = width.saturating_sub(cell.width()) + usize::from(GAP);
                line.extend(std::iter::repeat_n(' ', blanks));
            }
        }
        line.push('\n');
        out.write_str(&line)?;
    }
    Ok(())
}

/// Returns the lines of rows; cells may have several. The library has a part of the rows at a time, below a row as
/// wide as all of them, so that long tables take little memory.
fn lines(rows: &[Vec<String>]) -> impl Iterator<Item = String> {
    let widest: Vec<String> = widths(rows).into_iter().map(|width| "x".repeat(width)).collect();
    rows.chunks(PART).flat_map(move |part| {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.add_row(&widest);
        for row in part {
            let mut texts = row.clone();
            if let Some(last) = texts.iter_mut().rfind(|text| !text.is_empty()) {
                last.push(END);
            }
            table.add_row(texts.into_iter().map(Cell::new_owned));
        }
        // Columns exist once a row has them.
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        let lines: Vec<String> = table.lines().skip(1).collect();
        lines.into_iter().map(|line| match line.split_once(END) {
            Some((text, _)) => text.to_owned(),
            None => line.trim_end().to_owned(),
        })
    })
}

/// Returns the width of each column.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = cell.split('\n').map(UnicodeWidthStr::width).fold(*widest, usize::max);
        }
    }
    widths
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Screen::of_answers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines for a screen.
    fn on(table: &Table, screen: Screen) -> String {
        let mut text = String::new();
        table.write(&mut text, screen).expect("memory can be written");
        text
    }

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
    fn columns_depend_on_the_width() {
        const COLUMNS: &[Column<u8>] = &[
            Column::new("A", u8::to_string),
            Column::narrow(Column::new("B", |_| "short".to_owned())),
            Column::wide(Column::new("B", |row| format!("{row} in full"))),
            Column::new("C", |row| or_dash((*row > 1).then_some(row))),
        ];
        let table = |is_wide| Rows::of(&[1, 2]).wide(is_wide).table(COLUMNS).to_string();
        assert_eq!(table(false), "A   B       C\n1   short   -\n2   short   2\n");
        assert_eq!(table(true), "A   B           C\n1   1 in full   -\n2   2 in full   2\n");
        let left_out =
            [Column::new("A", u8::to_string), Column::when(false, Column::new("B", u8::to_string))];
        assert_eq!(Rows::of(&[1]).wide(true).table(&left_out).to_string(), "A\n1\n");
        assert_eq!([1, 2].map(|row| COLUMNS[3].is_known(&[row])), [false, true]);
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

    #[test]
    fn tables_fit_a_screen() {
        let table = Rows::of(&[
            ("shop/web-1", "the kubelet keeps it, as it is in use"),
            ("shop/web-2", "-"),
        ])
        .table(&[
            Column::new("POD", |(pod, _)| (*pod).to_owned()),
            Column::text("REASON", |(_, reason)| (*reason).to_owned()),
        ]);
        let on = |width| {
            let text = on(&table, Screen { width: Some(width), colour: false });
            text.replace(ARRANGED, "")
        };
        for (name, width, expected) in [
            (
                "all of it",
                60,
                "POD          REASON\n\
                 shop/web-1   the kubelet keeps it, as it is in use\n\
                 shop/web-2   -\n",
            ),
            (
                "wrapped",
                40,
                "POD          REASON\n\
                 shop/web-1   the kubelet keeps it, as it\n             is in use\n\
                 shop/web-2   -\n",
            ),
            (
                "below",
                26,
                "POD\n\
                 shop/web-1\n    REASON: the kubelet\n      keeps it, as it is\n      in use\n\
                 shop/web-2\n",
            ),
        ] {
            assert_eq!(on(width), expected, "{name}");
        }
    }

    #[test]
    fn colours_take_no_room() {
        let table = Rows::of(&[("DRIFT", "web"), ("-", "漢字")]).table(&[
            Column::state("VERDICT", |row| row.0.to_owned(), |_| Some(Tone::Bad)),
            Column::new("POD", |(_, pod)| (*pod).to_owned()),
        ]);
        let text = on(&table, Screen { width: Some(40), colour: true });
        let expected =
            "VERDICT   POD\n\u{fff0}DRIFT\u{fff6}     web\n\u{fff3}-\u{fff6}         漢字\n";
        assert_eq!(text.replace(ARRANGED, ""), expected);
    }
}
