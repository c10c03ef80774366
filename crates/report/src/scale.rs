//! The layout of a scale: a bar from nothing to everything, with marks whose labels do not run into each other;
//! and the same as a small bar within a row of a table.

use super::mark::percent;
use maud::{Markup, html};

/// The rows in which labels stand at these places, so that in each row two are at least `apart` from each other. The
/// places are parts of the whole; the lowest possible row is taken.
pub fn rows(places: &[f64], apart: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|one, other| places[*one].total_cmp(&places[*other]));
    let mut ends: Vec<f64> = Vec::new();
    let mut rows = vec![0; places.len()];
    for at in order {
        let place = places[at];
        let free = ends.iter().position(|end| *end <= place);
        let row = free.unwrap_or(ends.len());
        match ends.get_mut(row) {
            Some(end) => *end = place + apart,
            None => ends.push(place + apart),
        }
        rows[at] = row;
    }
    rows
}

/// Returns a part of a whole, between 0 and 1.
pub fn part(amount: f64, whole: f64) -> f64 {
    match whole > 0.0 {
        true => (amount / whole).clamp(0.0, 1.0),
        false => 0.0,
    }
}

/// A mark on the bar.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    class: &'static str,
    amount: Option<f64>,
}

impl Tick {
    /// Returns a mark of a class: `request` or `limit`.
    pub fn new(class: &'static str, amount: Option<f64>) -> Self {
        Self { class, amount }
    }
}

/// A bar; the numbers are in cells of their own.
#[derive(Clone, Debug)]
pub struct Bullet {
    /// The amount at the right end: the same in all rows.
    pub whole: f64,
    /// The amount; `None`: unknown.
    pub bar: Option<f64>,
    /// The class of the bar.
    pub class: &'static str,
    /// The marks.
    pub ticks: Vec<Tick>,
}

impl Bullet {
    /// Draws it.
    pub fn draw(&self) -> Markup {
        let at = |amount: f64| percent(part(amount, self.whole));
        // What is beyond the end is not drawn: the bar would say that it is there.
        let shown = self.ticks.iter().filter_map(|tick| Some((tick.class, tick.amount?)));
        let shown = shown.filter(|(_, amount)| *amount > 0.0 && *amount <= self.whole * 1.0001);
        html! {
            svg.bullet aria-hidden="true" {
                @if let Some(bar) = self.bar { rect class=(self.class) y="3" height="10" width=(at(bar)) {} }
                @for (class, amount) in shown {
                    line class={ "tick " (class) } x1=(at(amount)) x2=(at(amount)) y1="0" y2="16" {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn near_labels_stand_in_rows_of_their_own() {
        assert_eq!(rows(&[0.80, 0.85, 0.86, 0.10], 0.3), [0, 1, 2, 0]);
        assert!(rows(&[], 0.3).is_empty());
        assert_eq!(rows(&[0.5, 0.1], 0.3), [0, 0]);
    }

    #[test]
    fn parts_are_of_a_whole() {
        assert_eq!(
            [part(1.0, 4.0), part(9.0, 4.0), part(1.0, 0.0), part(-1.0, 4.0)],
            [0.25, 1.0, 0.0, 0.0]
        );
    }

    proptest! {
        #[test]
        fn labels_of_a_row_are_apart(places in prop::collection::vec(0.0..1.0_f64, 0..20)) {
            let rows = rows(&places, 0.2);
            for (one, row) in rows.iter().enumerate() {
                for (other, its) in rows.iter().enumerate().skip(one + 1) {
                    prop_assert!(row != its || (places[one] - places[other]).abs() >= 0.2 - 1e-9);
                }
            }
        }
    }

    #[test]
    fn marks_beyond_the_end_are_left_out() {
        let ticks = vec![
            Tick::new("request", Some(1.0)),
            Tick::new("limit", Some(9.0)),
            Tick::new("limit", None),
        ];
        let drawn = Bullet { whole: 4.0, bar: Some(2.0), class: "b", ticks }.draw().0;
        assert!(drawn.contains("width=\"50%\"") && drawn.contains("x1=\"25%\""), "{drawn}");
        assert_eq!(drawn.matches("<line").count(), 1, "{drawn}");
    }
}
