//! Tables as kubectl prints them: headings in capitals, no lines, columns as wide as their texts.
//!
//! A view is a list of columns; a table has those of them that are wanted. On a terminal it fits the width.

use super::arrangement::{Arranged, INDENT, Kind, arrange};
use super::doc::{Doc, Layout};
use super::order::Order;
use super::screen::{Screen, Tone};
use super::tree::branches;
use crate::terminal::{brief, plain};
use comfy_table::{Cell, presets};
use std::borrow::Cow;
use std::fmt;
use std::io;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How far columns are apart.
pub(super) const GAP: u16 = 3;

/// Marks the end of a line, as blanks fill its last column too. It has no width, and [`plain`] leaves it in no cell.
const END: char = '\u{200b}';

/// How many rows the library has at a time.
const PART: usize = 1_000;

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
    /// Returns a column of values or amounts: they are whole, and every table has it.
    pub const fn new(heading: &'static str, cell: fn(&T) -> String) -> Self {
        Self { heading, kind: Kind::Whole, rank: Rank::Always, cell, tone: None }
    }

    /// Returns a column of names, which tell the rows apart: they are whole, and never left out.
    pub const fn name(heading: &'static str, cell: fn(&T) -> String) -> Self {
        Self { kind: Kind::Name, ..Self::new(heading, cell) }
    }

    /// Returns the column as one that is never left out.
    pub const fn kept(column: Self) -> Self {
        Self { kind: Kind::State, ..column }
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
        Self { kind: Kind::State, tone: Some(tone), ..Self::new(heading, cell) }
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

/// Returns the cell of a list: `-` stands for none.
pub fn listed<T: fmt::Display>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "-".to_owned() } else { items.join(separator) }
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
        let mut table = Table::new(headings.collect());
        for row in &rows {
            table.add(columns.iter().map(|column| (column.cell)(row)).collect());
        }
        let tones = |column: &&Column<T>| match column.tone {
            Some(tone) => rows.iter().map(|row| tone(row)).collect(),
            None => Vec::new(),
        };
        table.kinds = columns.iter().map(|column| column.kind).collect();
        table.tones = columns.iter().map(tones).collect();
        table.order = RowOrder::Free;
        table
    }
}

/// A table of texts.
#[derive(Clone, Debug)]
pub struct Table {
    kinds: Vec<Kind>,
    /// The tones of the rows below the headings, for each column of states.
    tones: Vec<Vec<Option<Tone>>>,
    /// The headings, and the rows below them.
    rows: Vec<Vec<String>>,
    order: RowOrder,
}

/// Whether the rows of a table can be sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RowOrder {
    /// They have an order of their own.
    Own,
    /// A row without a name goes on with the row above it.
    Free,
    /// By their depths: each stays below the one that it belongs to.
    Tree(Vec<usize>),
}

impl Table {
    /// Begins a table of what is whole, for columns that are known only when it is made. Its rows have an order of their own.
    pub fn new(headings: Vec<String>) -> Self {
        let (kinds, tones, rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut table = Self { kinds, tones, rows, order: RowOrder::Own };
        table.add(headings);
        table
    }

    /// Returns the table of rows, which can be sorted.
    pub fn of(headings: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        let mut table = Self::new(headings);
        rows.into_iter().for_each(|row| table.add(row));
        table.order = RowOrder::Free;
        table
    }

    /// Returns the tree of rows that are given with their depths, top down: lines before the first cell connect them.
    pub fn tree(
        headings: Vec<String>,
        rows: impl IntoIterator<Item = (usize, Vec<String>)>,
    ) -> Self {
        let mut table = Self::new(headings);
        let mut depths = Vec::new();
        for (depth, row) in rows {
            depths.push(depth);
            table.add(row);
        }
        table.order = RowOrder::Tree(depths);
        table
    }

    /// Keeps columns on every screen, by their number.
    pub fn keep(&mut self, columns: impl IntoIterator<Item = usize>) {
        for column in columns {
            if let Some(kind) = self.kinds.get_mut(column) {
                *kind = Kind::State;
            }
        }
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

    /// Returns the headings of the columns that the rows can be sorted by.
    pub(super) fn sortable(&self) -> impl Iterator<Item = &String> {
        self.rows.first().into_iter().flatten().filter(|_| self.order != RowOrder::Own)
    }

    /// Sorts the rows; false: the table does not have the column.
    pub(super) fn sort(&mut self, order: &Order) -> bool {
        let [headings, rows @ ..] = self.rows.as_mut_slice() else { return false };
        let continued: Vec<usize>;
        let (depths, is_tree) = match &self.order {
            RowOrder::Own => return false,
            RowOrder::Tree(depths) => (depths, true),
            RowOrder::Free => {
                let goes_on = |row: &Vec<String>| row.first().is_some_and(String::is_empty);
                continued = rows.iter().map(|row| usize::from(goes_on(row))).collect();
                (&continued, false)
            }
        };
        let Some(places) = order.places(headings, rows, depths, is_tree) else { return false };
        let sorted: Vec<_> = places.iter().map(|at| std::mem::take(&mut rows[*at])).collect();
        for tones in self.tones.iter_mut().filter(|tones| !tones.is_empty()) {
            *tones = places.iter().map(|at| tones[*at]).collect();
        }
        if let RowOrder::Tree(depths) = &mut self.order {
            *depths = places.iter().map(|at| depths[*at]).collect();
        }
        self.rows.truncate(1);
        self.rows.extend(sorted);
        true
    }

    /// Returns the rows as they are shown.
    fn shown(&self) -> Cow<'_, [Vec<String>]> {
        let RowOrder::Tree(depths) = &self.order else { return Cow::Borrowed(&self.rows) };
        let mut rows = self.rows.clone();
        for (row, entry) in rows.iter_mut().skip(1).zip(branches(depths)) {
            if let Some(name) = row.first_mut() {
                name.insert_str(0, &entry.branch);
            }
        }
        Cow::Owned(rows)
    }

    /// Writes the lines.
    pub(super) fn write(&self, out: &mut dyn io::Write, layout: Layout) -> io::Result<()> {
        let hidden = usize::from(layout.hides_headings);
        let shown = self.shown();
        let rows = shown.get(hidden..).unwrap_or_default();
        let screen = layout.screen;
        if !screen.is_terminal() {
            return write_lines(out, rows);
        }
        let Arranged { columns, rows, above, below, end } = arrange(rows, &self.kinds, screen);
        let widths = widths(&rows);
        let mut arranged = lines(&rows, &widths);
        let indent = if above.is_some() { " ".repeat(INDENT) } else { String::new() };
        for ((number, row), below) in rows.iter().enumerate().zip(below) {
            let height = row.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
            let tone = |column: usize, text: &str| match (number + hidden).checked_sub(1) {
                Some(_) if text == "-" => Some(Tone::Nothing),
                Some(number) => *self.tones.get(columns[column])?.get(number)?,
                None => None,
            };
            let above = above.iter().filter_map(|above| above.get(number)).flatten();
            above.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
            for (at, line) in arranged.by_ref().take(height).enumerate() {
                match screen.colour {
                    true => writeln!(out, "{indent}{}", coloured(&line, at, row, &widths, tone))?,
                    false => writeln!(out, "{indent}{line}")?,
                }
            }
            below.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        end.into_iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

/// Returns a line of a row with its cells in their tones. `at`: the number of the line in the row.
fn coloured(
    line: &str,
    at: usize,
    row: &[String],
    widths: &[usize],
    tone: impl Fn(usize, &str) -> Option<Tone>,
) -> String {
    let on = Screen { width: None, colour: true };
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let piece = cell.split('\n').nth(at).unwrap_or_default();
        if let (Some(tone), Some(after)) = (tone(column, cell), rest.strip_prefix(piece))
            && !piece.is_empty()
        {
            text.push_str(&tone.on(on, piece));
            rest = after;
            let blanks = (width + usize::from(GAP)).saturating_sub(piece.width());
            let blanks = blanks.min(rest.len());
            text.push_str(&rest[..blanks]);
            rest = &rest[blanks..];
            continue;
        }
        let mut columns = 0;
        let end = rest.char_indices().find(|(_, c)| {
            let is_next = columns >= width + usize::from(GAP);
            columns += c.width().unwrap_or(0);
            is_next
        });
        let (before, after) = rest.split_at(end.map_or(rest.len(), |(end, _)| end));
        text.push_str(before);
        rest = after;
    }
    text + rest
}

/// Writes rows whose cells have one line each. The library would make each of them several times, and a table may have a
/// hundred thousand.
fn write_lines(out: &mut dyn io::Write, rows: &[Vec<String>]) -> io::Result<()> {
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
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Returns the lines of rows; cells may have several. The library has a part of the rows at a time, below a row as
/// wide as all of them, so that long tables take little memory.
fn lines(rows: &[Vec<String>], widths: &[usize]) -> impl Iterator<Item = String> {
    let widest: Vec<String> = widths.iter().map(|width| "x".repeat(*width)).collect();
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

/// As a pipe gets it.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Doc::from(self.clone()).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines for a screen.
    fn on(table: &Table, screen: Screen) -> String {
        let mut text = Vec::new();
        let layout = Layout { screen, ..Layout::default() };
        table.write(&mut text, layout).expect("memory can be written");
        String::from_utf8(text).expect("it is text")
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
            Column::name("POD", |(pod, _)| (*pod).to_owned()),
            Column::text("REASON", |(_, reason)| (*reason).to_owned()),
        ]);
        let on = |width| on(&table, Screen { width: Some(width), colour: false });
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
            Column::name("POD", |(_, pod)| (*pod).to_owned()),
        ]);
        let text = on(&table, Screen { width: Some(40), colour: true });
        let (bad, none) = ("\u{1b}[1m\u{1b}[31m", "\u{1b}[2m");
        let expected =
            format!("VERDICT   POD\n{bad}DRIFT\u{1b}[0m     web\n{none}-\u{1b}[0m         漢字\n");
        assert_eq!(text, expected);
    }
}
