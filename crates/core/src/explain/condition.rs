//! The condition of a resize in YAML, whose message and reason are those of other things without its type.

use super::line::LONGEST_LINE;
use super::message::{failed_resize, recognise};

/// No condition has more lines.
const MOST_LINES: usize = 40;

/// The fields of a condition.
const FIELDS: [&str; 7] = [
    "lastProbeTime: ",
    "lastTransitionTime: ",
    "message: ",
    "observedGeneration: ",
    "reason: ",
    "status: ",
    "type: ",
];

/// Lines that may be a condition.
#[derive(Debug, Default)]
pub(super) struct Condition {
    lines: Vec<String>,
    bytes: usize,
    /// The text of the last field has no end.
    is_open: bool,
}

impl Condition {
    /// Adds a line; false: it is no part of this condition.
    pub fn add(&mut self, line: &str) -> bool {
        let own = line.trim_start();
        let begins = own.starts_with("- ");
        let own = own.trim_start_matches("- ");
        let is_field = FIELDS.iter().any(|field| own.starts_with(field));
        let is_moved_in = line.starts_with(' ') || begins;
        let goes_on = self.is_open && line.starts_with(' ');
        let is_full = self.lines.len() >= MOST_LINES || self.bytes + line.len() > LONGEST_LINE;
        if is_full || begins && !self.lines.is_empty() || !(goes_on || is_field && is_moved_in) {
            return false;
        }
        self.is_open = match (goes_on, own.strip_prefix("message: '")) {
            (true, _) => !own.replace("''", "").contains('\''),
            (false, Some(text)) => !text.replace("''", "").contains('\''),
            (false, None) => false,
        };
        self.bytes += line.len();
        self.lines.push(line.to_owned());
        true
    }

    /// Returns the lines as they stand there, or those of a resize as one; with the number of lines of each.
    pub fn end(&mut self) -> Vec<(String, u64)> {
        let lines = std::mem::take(self).lines;
        let is_resize = |line: &String| {
            let kind = line.trim().trim_start_matches("- ").strip_prefix("type: ");
            kind.is_some_and(|kind| {
                matches!(kind.trim_matches('"'), "PodResizePending" | "PodResizeInProgress")
            })
        };
        if !lines.iter().any(is_resize) {
            return lines.into_iter().map(|line| (line, 1)).collect();
        }
        let count = lines.len() as u64;
        let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        if failed_resize(&text).is_some() {
            return vec![("reason: ResizeError".to_owned(), count)];
        }
        // A message that is not known is that of its reason.
        let reason = lines.iter().find(|line| line.trim().starts_with("reason: "));
        let text = match reason {
            Some(reason) if recognise(&text).is_err() => reason.trim().to_owned(),
            _ => text,
        };
        vec![(text, count)]
    }
}
