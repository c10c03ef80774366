//! Frames as lines, for screen readers and pipes: each line names its values, and nothing is redrawn.

use super::frame::{Body, Frame};
use super::table::{HEADINGS, SortKey, cells};
use super::trend::Trends;
use crate::output::terminal::plain;

/// The columns that draw what another column says.
const DRAWN: [&str; 1] = ["TREND"];

/// Returns a frame as lines.
pub fn plain_lines(frame: &Frame, trends: &Trends) -> Vec<String> {
    let mut lines = vec![plain(frame.title(trends).join(", "))];
    match &frame.body {
        Body::Unavailable(reason) => lines.push(format!("unavailable: {}", plain(reason.clone()))),
        Body::Text(text) => lines.extend(text.iter().cloned().map(plain)),
        Body::Pods(rows) => {
            for line in cells(rows, trends, "", SortKey::Name, true) {
                let kind = if line.is_pod { "pod" } else { "container" };
                let mut text = format!("{kind} {}:", line.texts[0].trim());
                let known = HEADINGS.iter().zip(&line.texts).skip(1);
                let known = known.filter(|(name, cell)| *cell != "-" && !DRAWN.contains(*name));
                for (at, (name, cell)) in known.enumerate() {
                    let between = if at == 0 { " " } else { ", " };
                    let is_drawn = |c: char| ('\u{2581}'..='\u{258f}').contains(&c) || c == ' ';
                    let cell = cell.trim_start_matches(is_drawn);
                    text.push_str(&format!("{between}{} {cell}", name.to_lowercase()));
                }
                lines.push(text);
            }
        }
    }
    lines.extend(frame.notes.iter().map(|note| format!("note: {}", plain(note.clone()))));
    lines
}
