//! The widths of a table's columns on a terminal.
//!
//! A name, a value or a path is whole, so that it can be searched, compared and copied: only texts wrap, at words. What
//! does not fit gives way in this order, until the rest fits:
//!
//! 1. A column with one value in all rows becomes a line below the table.
//! 2. A text stands below its row.
//! 3. A name stands above its row, where it takes more than half of the width.
//! 4. The last columns of amounts go; a line below the table names them.
//!
//! What then is wider than the screen wraps at words, too, or stands below its row. A word that is wider alone is written
//! as it is.

use super::screen::{Screen, wrapped};
use super::table::GAP;
use unicode_width::UnicodeWidthStr;

/// The narrowest column of text that is read with ease.
const NARROWEST: usize = 24;

/// How far what belongs to a row is indented below it.
const BELOW: usize = 4;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What distinguishes the rows: never parted, and never left out. The first column is a name, too.
    Name,
    /// What is never parted.
    Whole,
    /// The same, and never left out.
    State,
    /// What wraps, or stands below the row.
    Text,
    /// What wraps, and stays.
    Value,
}

/// A table that fits.
pub struct Arranged {
    /// The columns that stand side by side.
    pub columns: Vec<usize>,
    /// Their cells in each row; the lines of a cell are apart by line ends.
    pub rows: Vec<Vec<String>>,
    /// The lines above each row; then the row itself is indented.
    pub above: Option<Vec<Vec<String>>>,
    /// The lines below each row.
    pub below: Vec<Vec<String>>,
    /// The lines below the table: what is the same in all rows, and what is left out.
    pub end: Vec<String>,
}

/// How the columns of a table stand on a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Places {
    /// Side by side, with their widths; `None`: as wide as they are.
    beside: Vec<(usize, Option<usize>)>,
    /// Names that stand above their rows.
    above: Vec<usize>,
    below: Vec<usize>,
    /// With one value in all rows.
    same: Vec<usize>,
    left_out: Vec<usize>,
}

/// How far a row below its first cell is indented.
pub const INDENT: usize = 2;

/// Arranges rows, the first of which has the headings.
pub fn arrange(rows: &[Vec<String>], kinds: &[Kind], screen: Screen) -> Arranged {
    let columns: Vec<Column> = (kinds.iter().enumerate())
        .map(|(index, kind)| Column::of(*kind, rows.iter().filter_map(|row| row.get(index))))
        .collect();
    let places = places(&columns, screen.width);
    let width = screen.width.map_or(usize::MAX, usize::from);
    let text_of = |row: &'_ [String], index: usize| row.get(index).cloned().unwrap_or_default();
    let heading = |index: usize| rows.first().map(|row| text_of(row, index)).unwrap_or_default();
    let cell = |(index, wide): &(usize, Option<usize>), row: &[String]| {
        let text = text_of(row, *index);
        match wide {
            // The lines of a list are all alike: what goes on is further in.
            Some(width) if kinds[*index] == Kind::Value && !has_wide_word(&text, *width) => {
                let indent = text.len() - text.trim_start().len();
                wrapped(&text, *width, indent + 2).join("\n")
            }
            Some(_) if kinds[*index] == Kind::Value => String::new(),
            Some(width) => wrapped(&text, *width, 0).join("\n"),
            None => text,
        }
    };
    let row = |row: &Vec<String>| {
        let beside = places.beside.iter().filter(|(index, _)| *index < row.len());
        beside.map(|place| cell(place, row)).collect()
    };
    let below = |(number, row): (usize, &Vec<String>)| {
        let below = places.below.iter().filter(|_| number > 0);
        let said = below.map(|index| (*index, text_of(row, *index)));
        let said = said.filter(|(_, text)| !matches!(text.as_str(), "" | "-"));
        let said = said.flat_map(|(index, text)| {
            let text = format!("{}{}: {text}", " ".repeat(BELOW), heading(index));
            wrapped(&text, width, BELOW + 2)
        });
        let values = places.beside.iter().filter_map(|(index, wide)| {
            let text = text_of(row, *index);
            let is_wide = kinds[*index] == Kind::Value && has_wide_word(&text, (*wide)?);
            is_wide.then(|| wrapped(&format!("{}{text}", " ".repeat(INDENT)), width, INDENT))
        });
        said.chain(values.flatten()).collect()
    };
    let mut end = Vec::new();
    let same = places.same.iter().map(|index| {
        let value = rows.get(1).map(|row| text_of(row, *index)).unwrap_or_default();
        let value = if value.is_empty() { "-".to_owned() } else { value };
        format!("{} {value}", heading(*index))
    });
    let same: Vec<String> = same.collect();
    if !same.is_empty() {
        end.extend(wrapped(&format!("in every row: {}", same.join(", ")), width, BELOW));
    }
    let left_out: Vec<String> = places.left_out.iter().map(|index| heading(*index)).collect();
    if !left_out.is_empty() {
        let text = format!("for a wider terminal: {}", left_out.join(", "));
        end.extend(wrapped(&text, width, BELOW));
    }
    let above = |row: &Vec<String>| {
        let names = places.above.iter().map(|index| text_of(row, *index));
        names.flat_map(|name| wrapped(&name, width, INDENT)).collect()
    };
    Arranged {
        columns: places.beside.iter().map(|(index, _)| *index).collect(),
        rows: rows.iter().map(row).collect(),
        above: (!places.above.is_empty()).then(|| rows.iter().map(above).collect()),
        below: rows.iter().enumerate().map(below).collect(),
        end,
    }
}

/// Returns true if a word is wider than its column: it stands below its label.
fn has_wide_word(text: &str, width: usize) -> bool {
    text.split(' ').any(|word| word.width() > width)
}

/// What a column needs.
struct Column {
    kind: Kind,
    widest: usize,
    /// The narrowest it can be without parting a word.
    narrowest: usize,
    /// The widest word.
    word: usize,
    /// All rows, and there are several, have the same.
    is_same: bool,
}

impl Column {
    fn of<'c>(kind: Kind, cells: impl Iterator<Item = &'c String> + Clone) -> Self {
        let widest = cells.clone().map(|cell| cell.width()).max().unwrap_or(0);
        let words = cells.clone().enumerate().flat_map(|(number, cell)| {
            // A heading is one word.
            let apart = if number == 0 { '\n' } else { ' ' };
            cell.split(apart).map(UnicodeWidthStr::width)
        });
        let word = words.max().unwrap_or(0);
        let narrowest = match kind {
            Kind::Name | Kind::Whole | Kind::State => widest,
            Kind::Text => word.max(NARROWEST).min(widest),
            Kind::Value => NARROWEST.min(widest),
        };
        let mut values = cells.skip(1);
        let first = values.next();
        let mut others = values.peekable();
        let is_same = others.peek().is_some() && others.all(|other| Some(other) == first);
        Self { kind, widest, narrowest, word, is_same }
    }

    fn wraps(&self) -> bool {
        matches!(self.kind, Kind::Text | Kind::Value)
    }
}

/// Returns where each column stands.
fn places(columns: &[Column], width: Option<u16>) -> Places {
    let all = 0..columns.len();
    let Some(width) = width.map(usize::from) else {
        return Places { beside: all.map(|it| (it, None)).collect(), ..Places::default() };
    };
    let mut places = Places::default();
    let mut beside: Vec<usize> = all.collect();
    loop {
        let indent = if places.above.is_empty() { 0 } else { INDENT };
        let gaps = beside.len().saturating_sub(1) * usize::from(GAP) + indent;
        let whole = beside.iter().map(|it| &columns[*it]).filter(|it| !it.wraps());
        let whole: usize = whole.map(|it| it.widest).sum();
        let texts: Vec<usize> = beside.iter().copied().filter(|it| columns[*it].wraps()).collect();
        let room = width.checked_sub(whole + gaps);
        let needed: usize = texts.iter().map(|it| columns[*it].narrowest).sum();
        if let Some(room) = room.filter(|room| needed <= *room) {
            let widths = shared(columns, &texts, room);
            places.beside = beside.iter().map(|it| (*it, widths[*it])).collect();
            break;
        }
        let first = usize::from(beside.first() == Some(&0));
        let last = |is: &dyn Fn(&Column) -> bool| {
            beside.iter().skip(first).rposition(|it| is(&columns[*it])).map(|at| at + first)
        };
        let is_name = |it: usize| match columns[it].kind {
            Kind::Name => true,
            kind => it == 0 && kind != Kind::Value,
        };
        let names = (0..beside.len()).filter(|at| beside.len() > 1 && is_name(beside[*at]));
        let longest = names.rev().max_by_key(|at| columns[beside[*at]].widest);
        let is_long = longest.is_some_and(|at| columns[beside[at]].widest * 2 > width);
        if let Some(at) = last(&|it| it.is_same && it.kind != Kind::Value) {
            places.same.push(beside.remove(at));
        } else if let Some(at) = beside.iter().rposition(|it| columns[*it].kind == Kind::Text) {
            places.below.push(beside.remove(at));
        } else if let (Some(at), false) = (last(&|it| it.kind == Kind::Whole), is_long) {
            places.left_out.push(beside.remove(at));
        } else if let Some(at) = longest {
            places.above.push(beside.remove(at));
        } else {
            let words: usize = beside.iter().map(|it| columns[*it].word).sum();
            match (width.checked_sub(gaps + words), beside.len()) {
                (Some(spare), _) => places.beside = parted(columns, &beside, spare),
                (None, ..=1) => places.beside = parted(columns, &beside, 0),
                (None, _) => {
                    places.below.extend(beside.pop());
                    continue;
                }
            }
            break;
        }
    }
    for columns in [&mut places.above, &mut places.below, &mut places.same, &mut places.left_out] {
        columns.sort_unstable();
    }
    places
}

/// Returns the widths of columns that hardly fit: the widest word of each, and a part of what is left.
fn parted(columns: &[Column], beside: &[usize], spare: usize) -> Vec<(usize, Option<usize>)> {
    let more = spare / beside.len().max(1);
    let wide = |it: &usize| (columns[*it].word + more).clamp(1, columns[*it].widest.max(1));
    beside.iter().map(|it| (*it, Some(wide(it)))).collect()
}

/// Returns the widths of columns that share some room: as much for each as it has a use for, and no more than others.
fn shared(columns: &[Column], texts: &[usize], room: usize) -> Vec<Option<usize>> {
    let taken = |limit: usize| {
        let taken = texts.iter().map(|it| &columns[*it]);
        taken.map(|it| limit.clamp(it.narrowest, it.widest)).sum::<usize>()
    };
    let most = texts.iter().map(|it| columns[*it].widest).max().unwrap_or(0);
    // The limits that fit are the first ones.
    let (mut fits, mut beyond) = (0, most + 1);
    while beyond - fits > 1 {
        let limit = fits.midpoint(beyond);
        match taken(limit) <= room {
            true => fits = limit,
            false => beyond = limit,
        }
    }
    let of = |index: usize| {
        texts.contains(&index).then(|| fits.clamp(columns[index].narrowest, columns[index].widest))
    };
    (0..columns.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_share_what_is_left() {
        let text = |narrowest, widest| Column {
            kind: Kind::Text,
            widest,
            narrowest,
            word: narrowest,
            is_same: false,
        };
        let whole = |widest| Column { kind: Kind::Whole, word: widest, ..text(widest, widest) };
        let name = |widest| Column { kind: Kind::Name, ..whole(widest) };
        let state = |widest| Column { kind: Kind::State, ..whole(widest) };
        let same = |widest| Column { is_same: true, ..whole(widest) };
        let beside = |widths: &[(usize, Option<usize>)]| Places {
            beside: widths.to_vec(),
            ..Places::default()
        };
        for (name, columns, width, expected) in [
            ("all fits", vec![whole(10), text(5, 10)], 40, beside(&[(0, None), (1, Some(10))])),
            (
                "the short one is as it is",
                vec![text(5, 8), text(5, 90)],
                40,
                beside(&[(0, Some(8)), (1, Some(29))]),
            ),
            ("alike", vec![text(5, 90), text(5, 90)], 43, beside(&[(0, Some(20)), (1, Some(20))])),
            (
                "the last is below",
                vec![whole(20), text(5, 9), text(10, 90)],
                40,
                Places { below: vec![2], ..beside(&[(0, None), (1, Some(9))]) },
            ),
            (
                "one value is told once",
                vec![whole(20), same(20), whole(10)],
                40,
                Places { same: vec![1], ..beside(&[(0, None), (2, None)]) },
            ),
            (
                "a state stays, the last amounts go",
                vec![whole(20), whole(10), state(10), whole(20), whole(20)],
                50,
                Places { left_out: vec![3, 4], ..beside(&[(0, None), (1, None), (2, None)]) },
            ),
            (
                "a long name is above",
                vec![whole(50), state(9), text(24, 90)],
                40,
                Places { above: vec![0], below: vec![2], ..beside(&[(1, None)]) },
            ),
            (
                "a name that is not the first is above, too",
                vec![whole(4), name(50), whole(10), whole(30)],
                40,
                Places { above: vec![1], left_out: vec![3], ..beside(&[(0, None), (2, None)]) },
            ),
            ("a name alone", vec![whole(50)], 40, beside(&[(0, Some(50))])),
        ] {
            assert_eq!(places(&columns, Some(width)), expected, "{name}");
        }
    }
}
