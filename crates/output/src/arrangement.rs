//! The widths of a table's columns on a terminal.
//!
//! A name, a value or a path is whole, so that it can be searched, compared and copied: only texts wrap, at words. What
//! does not fit then stands below its row. Names that are wider than the screen alone are written as they are.

use super::screen::{Screen, wrapped};
use super::table::GAP;
use unicode_width::UnicodeWidthStr;

/// The narrowest column of text that is read with ease.
const NARROWEST: usize = 24;

/// How far a text below its row is indented.
const BELOW: usize = 4;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is never parted.
    Whole,
    /// What wraps, or stands below the row.
    Text,
    /// What wraps, and stays.
    Value,
}

/// A table that fits.
pub struct Arranged {
    /// The columns that stand beside each other.
    pub columns: Vec<usize>,
    /// Their cells in each row; the lines of a cell are apart by line ends.
    pub rows: Vec<Vec<String>>,
    /// The lines below each row.
    pub below: Vec<Vec<String>>,
}

/// Arranges rows, the first of which has the headings.
pub fn arrange(rows: &[Vec<String>], kinds: &[Kind], screen: Screen) -> Arranged {
    let columns: Vec<Column> = (kinds.iter().enumerate())
        .map(|(index, kind)| Column::of(*kind, rows.iter().filter_map(|row| row.get(index))))
        .collect();
    let widths = widths(&columns, screen.width);
    let headings = rows.first().map_or(&[] as &[String], Vec::as_slice);
    let cell = |index: usize, text: &str| match widths[index] {
        // The lines of a list are all alike: what goes on is further in.
        Some(width) if kinds[index] == Kind::Value => {
            let indent = text.len() - text.trim_start().len();
            wrapped(text, width, indent + 2).join("\n")
        }
        Some(width) => wrapped(text, width, 0).join("\n"),
        None => text.to_owned(),
    };
    let is_beside = |index: &usize| widths[*index].is_some() || kinds[*index] != Kind::Text;
    let row = |row: &Vec<String>| {
        let beside = (0..row.len()).filter(is_beside);
        beside.map(|index| cell(index, &row[index])).collect()
    };
    let below = |(number, row): (usize, &Vec<String>)| {
        let below = (0..row.len()).filter(|index| number > 0 && !is_beside(index));
        let said = below.filter(|index| !matches!(row[*index].as_str(), "" | "-"));
        said.flat_map(|index| {
            let text = format!("{}{}: {}", " ".repeat(BELOW), headings[index], row[index]);
            wrapped(&text, screen.width.map_or(usize::MAX, usize::from), BELOW + 2)
        })
        .collect()
    };
    Arranged {
        columns: (0..kinds.len()).filter(is_beside).collect(),
        rows: rows.iter().map(row).collect(),
        below: rows.iter().enumerate().map(below).collect(),
    }
}

/// What a column needs.
struct Column {
    kind: Kind,
    widest: usize,
    /// The narrowest it can be without parting a word.
    narrowest: usize,
}

impl Column {
    fn of<'c>(kind: Kind, cells: impl Iterator<Item = &'c String> + Clone) -> Self {
        let widest = cells.clone().map(|cell| cell.width()).max().unwrap_or(0);
        let words = cells.enumerate().flat_map(|(number, cell)| {
            // A heading is one word.
            let apart = if number == 0 { '\n' } else { ' ' };
            cell.split(apart).map(UnicodeWidthStr::width)
        });
        let narrowest = match kind {
            Kind::Whole => widest,
            Kind::Text => words.max().unwrap_or(0).max(NARROWEST).min(widest),
            Kind::Value => NARROWEST.min(widest),
        };
        Self { kind, widest, narrowest }
    }
}

/// Returns the widths of the columns: `None` for a text that stands below its row, and for what is whole.
fn widths(columns: &[Column], width: Option<u16>) -> Vec<Option<usize>> {
    let Some(width) = width else { return columns.iter().map(|it| Some(it.widest)).collect() };
    let wraps = |column: &Column| matches!(column.kind, Kind::Text | Kind::Value);
    let mut beside: Vec<usize> = (0..columns.len()).collect();
    loop {
        let gaps = beside.len().saturating_sub(1) * usize::from(GAP);
        let whole: usize =
            beside.iter().map(|it| &columns[*it]).filter(|it| !wraps(it)).map(|it| it.widest).sum();
        let texts: Vec<usize> = beside.iter().copied().filter(|it| wraps(&columns[*it])).collect();
        let room = usize::from(width).checked_sub(whole + gaps);
        let last = texts.iter().rposition(|it| columns[*it].kind == Kind::Text);
        let needed: usize = texts.iter().map(|it| columns[*it].narrowest).sum();
        match (room, last) {
            (Some(room), _) if needed <= room => return shared(columns, &texts, room),
            (_, Some(last)) => beside.retain(|it| *it != texts[last]),
            // There is nothing else to put below: what is there is as wide as it is.
            (room, None) => return shared(columns, &texts, room.unwrap_or(0)),
        }
    }
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
        let text = |narrowest, widest| Column { kind: Kind::Text, widest, narrowest };
        let whole = |widest| Column { kind: Kind::Whole, widest, narrowest: widest };
        for (name, columns, width, expected) in [
            ("all fits", vec![whole(10), text(5, 10)], 40, vec![None, Some(10)]),
            (
                "the short one is as it is",
                vec![text(5, 8), text(5, 90)],
                40,
                vec![Some(8), Some(29)],
            ),
            ("alike", vec![text(5, 90), text(5, 90)], 43, vec![Some(20), Some(20)]),
            (
                "the last is below",
                vec![whole(20), text(5, 9), text(10, 90)],
                40,
                vec![None, Some(9), None],
            ),
            ("names are too wide", vec![whole(50), text(5, 9)], 40, vec![None, None]),
        ] {
            assert_eq!(widths(&columns, Some(width)), expected, "{name}");
        }
    }
}
