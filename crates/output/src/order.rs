//! The order of rows by `--sort-by`.
//!
//! Rows are compared as they are printed, so each column of each table can be sorted: amounts by their size, whatever
//! their unit, before texts; what is unknown comes last.

use std::cmp::Ordering;

/// An order of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The heading, in any case.
    column: String,
    is_reversed: bool,
}

/// No table has the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownColumn {
    /// The heading that was asked for.
    pub column: String,
    /// The headings that there are, each once; none where the rows have an order of their own.
    pub others: Vec<String>,
}

impl Order {
    /// Reads `COLUMN`, or `-COLUMN` for the reverse.
    /// Fails for an empty name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let column = text.strip_prefix('-').unwrap_or(text);
        match column.trim().is_empty() {
            true => Err("expected the heading of a column".to_owned()),
            false => Ok(Self {
                column: column.trim().to_owned(),
                is_reversed: column.len() < text.len(),
            }),
        }
    }

    /// Returns that no table has the column, but others.
    pub(super) fn unknown(&self, headings: impl IntoIterator<Item = String>) -> UnknownColumn {
        let mut others = Vec::new();
        for heading in headings {
            if !others.contains(&heading) {
                others.push(heading);
            }
        }
        UnknownColumn { column: self.column.clone(), others }
    }

    /// Returns the places of rows, given with their depths, in this order; `None`: no heading is the column.
    /// A row stays below the one that it belongs to; `is_tree`: what belongs to one is sorted too.
    pub(super) fn places(
        &self,
        headings: &[String],
        rows: &[Vec<String>],
        depths: &[usize],
        is_tree: bool,
    ) -> Option<Vec<usize>> {
        let at = headings.iter().position(|it| it.eq_ignore_ascii_case(&self.column))?;
        let cells: Vec<&str> =
            rows.iter().map(|row| row.get(at).map_or("", |cell| cell.trim())).collect();
        let keys = keys(&cells);
        let mut places = Vec::with_capacity(rows.len());
        // What is left to do, the next at the end: rows to sort, and rows that stay.
        let mut left = vec![(0..rows.len(), true)];
        while let Some((range, is_sorted)) = left.pop() {
            if !is_sorted {
                places.extend(range);
                continue;
            }
            let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
            for place in range {
                match groups.last_mut() {
                    Some(group) if depths[place] > depths[group.start] => group.end = place + 1,
                    _ => groups.push(place..place + 1),
                }
            }
            groups.sort_by(|left, right| {
                keys[left.start].compare(&keys[right.start], self.is_reversed)
            });
            for group in groups.into_iter().rev() {
                left.push((group.start + 1..group.end, is_tree));
                left.push((group.start..group.start + 1, false));
            }
        }
        Some(places)
    }
}

/// What a cell is compared by.
#[derive(Clone, Debug, PartialEq)]
enum Key {
    Amount(f64),
    Text(String),
    Unknown,
}

impl Key {
    fn compare(&self, other: &Self, is_reversed: bool) -> Ordering {
        let known = match (self, other) {
            (Self::Unknown, Self::Unknown) => return Ordering::Equal,
            (Self::Unknown, _) => return Ordering::Greater,
            (_, Self::Unknown) => return Ordering::Less,
            (Self::Amount(left), Self::Amount(right)) => left.total_cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::Amount(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Amount(_)) => Ordering::Greater,
        };
        if is_reversed { known.reverse() } else { known }
    }
}

/// Returns the keys of a column's cells.
fn keys(cells: &[&str]) -> Vec<Key> {
    // Where amounts need no unit, `m` is a thousandth of it; elsewhere it is a minute.
    let is_plain = |cell: &&str| amount(cell, 60.0).is_some_and(|(_, has_unit)| !has_unit);
    let m = if cells.iter().any(is_plain) { 0.001 } else { 60.0 };
    let key = |cell: &&str| match (*cell, amount(cell, m)) {
        ("" | "-" | "?", _) => Key::Unknown,
        (_, Some((amount, _))) => Key::Amount(amount),
        (text, None) => Key::Text(text.to_owned()),
    };
    cells.iter().map(key).collect()
}

/// Returns the size of the amount that a text begins with, such as `6.2Gi`, `85.0%`, `22d` or `3h12m`, and whether it
/// has a unit.
fn amount(text: &str, m: f64) -> Option<(f64, bool)> {
    let word = text.split([' ', ',']).next()?;
    let (sign, mut rest) = word.strip_prefix('-').map_or((1.0, word), |rest| (-1.0, rest));
    let (mut sum, mut has_unit) = (0.0, false);
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let number: f64 = number.parse().ok()?;
        let end = after.find(|it: char| it.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        sum += number * factor(unit, m)?;
        has_unit |= !unit.is_empty();
        rest = after;
    }
    (!word.is_empty() && word != "-").then_some((sign * sum, has_unit))
}

fn factor(unit: &str, m: f64) -> Option<f64> {
    let power = |letters: &str, base: f64| {
        letters.find(unit.chars().next()?).map(|at| base.powi(at as i32 + 1))
    };
    match unit {
        "" | "%" | "s" => Some(1.0),
        "m" => Some(m),
        "h" => Some(3_600.0),
        "d" => Some(86_400.0),
        "ms" => Some(1e-3),
        "us" | "µs" => Some(1e-6),
        "ns" => Some(1e-9),
        "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => power("KMGTPE", 1024.0),
        "k" | "M" | "G" | "T" | "P" | "E" => power("kMGTPE", 1000.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(order: &str, cells: &[&str]) -> String {
        let rows: Vec<Vec<String>> =
            cells.iter().map(|cell| vec!["x".to_owned(), (*cell).to_owned()]).collect();
        let headings = ["NAME", "SIZE"].map(str::to_owned);
        let order = Order::parse(order).expect("an order");
        let depths = vec![0; rows.len()];
        let places = order.places(&headings, &rows, &depths, false).expect("the column is there");
        places.iter().map(|at| cells[*at]).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn amounts_have_units() {
        for (name, cells, expected) in [
            ("bytes", &["10Gi", "9Mi", "-", "512", "1.5Gi"][..], "512 9Mi 1.5Gi 10Gi -"),
            ("ages", &["22d", "3h", "45s", "12m", "?"], "45s 12m 3h 22d ?"),
            ("times", &["12m5s", "0.25s", "30h0m"], "0.25s 12m5s 30h0m"),
            ("CPUs", &["2", "500m", "1.5"], "500m 1.5 2"),
            ("parts", &["85.0%", "9.5%", "100.0%"], "9.5% 85.0% 100.0%"),
            ("limits", &["max", "128Mi", "-"], "128Mi max -"),
            ("numbers", &["10", "-3", "9"], "-3 9 10"),
            ("names", &["web-2", "db", "web-10"], "db web-10 web-2"),
            (
                "moments",
                &["2026-11-18T09:12:01Z", "2025-01-01T00:00:00Z"],
                "2025-01-01T00:00:00Z 2026-11-18T09:12:01Z",
            ),
        ] {
            assert_eq!(sorted("size", cells), expected, "{name}");
        }
        assert_eq!(sorted("-SIZE", &["9Mi", "-", "10Gi", "a"]), "a 10Gi 9Mi -");
    }

    #[test]
    fn rows_stay_with_the_row_that_they_belong_to() {
        let sizes = ["2", "0", "3", "1", "1"];
        let rows = sizes.map(|size| vec!["x".to_owned(), size.to_owned()]);
        let headings = ["NAME", "SIZE"].map(str::to_owned);
        for (name, order, depths, is_tree, expected) in [
            ("equal ones stay", "SIZE", [0, 0, 0, 0, 0], false, Some([1, 3, 4, 0, 2])),
            ("reversed", "-SIZE", [0, 0, 0, 0, 0], false, Some([2, 0, 3, 4, 1])),
            ("a row goes on", "SIZE", [0, 1, 1, 0, 0], false, Some([3, 4, 0, 1, 2])),
            ("a tree", "-SIZE", [0, 1, 1, 2, 0], true, Some([0, 2, 3, 1, 4])),
            ("no such column", "COLOUR", [0, 0, 0, 0, 0], false, None),
        ] {
            let order = Order::parse(order).expect("an order");
            let places = order.places(&headings, &rows, &depths, is_tree);
            assert_eq!(places.as_deref(), expected.as_ref().map(|it| &it[..]), "{name}");
        }
        assert!(Order::parse("-").is_err() && Order::parse("").is_err());
    }
}
