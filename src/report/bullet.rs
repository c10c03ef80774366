//! A small bar within a row of a table: an amount, with marks for what it is compared to.

use super::mark::percent;
use super::scale::part;
use maud::{Markup, html};

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
