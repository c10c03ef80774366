//! What the sections of the page have in common: heading, state, table.

use kq_answer::Severity;
use kq_output::units::counted;
use maud::{Markup, html};

/// Returns the class of elements that stand out by a severity; the same is said in words.
pub fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "t-error",
        Severity::Unknown => "t-unknown",
        Severity::Warning => "t-warning",
        Severity::Info => "t-info",
        Severity::Ok => "t-ok",
    }
}

/// A section of the page.
#[derive(Clone, Debug)]
pub struct Section {
    /// The end of its identifier.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The answer in a few words, for the table of contents.
    pub state: String,
    /// The sentence below the heading.
    pub lead: Markup,
    /// Pictures and tables.
    pub body: Markup,
}

/// In a table of more rows, the picture says it better than small bars in each row.
pub const BARS: usize = 120;

/// So many rows are shown without being asked for.
const FEW: usize = 24;

/// A table behind a picture: closed where it is long.
pub fn table(caption: &str, rows: usize, one: &str, head: Markup, body: Markup) -> Markup {
    rows_of(rows <= FEW, caption, rows, one, head, body)
}

/// A table that few readers want: closed.
pub fn closed(caption: &str, rows: usize, one: &str, head: Markup, body: Markup) -> Markup {
    rows_of(false, caption, rows, one, head, body)
}

fn rows_of(
    is_open: bool,
    caption: &str,
    rows: usize,
    one: &str,
    head: Markup,
    body: Markup,
) -> Markup {
    html! {
        details.rows open[is_open] {
            summary { (caption) span.n { (counted(rows, one)) } }
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption.vh { (caption) }
                    thead { tr { (head) } }
                    tbody { (body) }
                }
            }
        }
    }
}

/// A picture with its title and its legend.
pub fn figure(label: &str, picture: Markup, legend: Markup) -> Markup {
    html! {
        figure {
            div.pic role="group" aria-label=(label) tabindex="0" { (picture) }
            figcaption { (legend) }
        }
    }
}

/// One entry of a legend: the class of a sample, and its meaning.
pub fn key(class: &str, meaning: &str) -> Markup {
    html! { span.key { svg.sw aria-hidden="true" { rect class=(class) {} } (meaning) } }
}
