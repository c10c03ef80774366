//! Explanations as lines of text, at most 80 columns wide.

use super::log::{LogExplanation, LogKind};
use super::message::{MessageExplanation, MessageFact};
use super::table::Rank;
use unicode_width::UnicodeWidthStr;

/// The width of a line.
const WIDTH: usize = 80;

/// The width of the column of labels.
const LABEL: usize = 10;

/// The most facts that are shown without `wide`.
const MOST_FACTS: usize = 14;

/// Returns the explanation of a message; `wide`: with every fact and the templates.
pub fn message_lines(explained: &MessageExplanation, wide: bool) -> Vec<String> {
    let mut lines = wrapped(&explained.summary, 0, WIDTH);
    lines.push(String::new());
    details(explained, wide, &mut lines);
    lines
}

fn details(explained: &MessageExplanation, wide: bool, lines: &mut Vec<String>) {
    let mut put = |label: &str, text: &str| lines.extend(titled(label, text));
    put("SAID BY", &said_by(explained));
    let inner = explained.wrapped.len().saturating_sub(1);
    for (at, part) in explained.wrapped.iter().enumerate() {
        let label = if at == 0 { "MESSAGE" } else { "" };
        let place = match (at < inner, part.go_function.is_empty()) {
            (true, false) => format!("  [{}]", part.go_function),
            _ => String::new(),
        };
        let arrow = if at == 0 { "" } else { "<- " };
        put(label, &format!("{arrow}{}{place}", part.template.trim()));
    }
    if explained.is_cut {
        put("", "The end of the message is missing.");
    }
    if explained.summary != explained.means {
        put("RULE", &explained.means);
    }
    let most = if wide { usize::MAX } else { MOST_FACTS };
    for (at, fact) in explained.values.iter().take(most).enumerate() {
        put(if at == 0 { "FACTS" } else { "" }, &fact_text(fact));
    }
    if explained.values.len() > most {
        put("", &format!("{} more with -o wide", explained.values.len() - most));
    }
    for (at, text) in explained.on_node.iter().enumerate() {
        put(if at == 0 { "HERE" } else { "" }, text);
    }
    if let Some(cause) = &explained.foreign_cause {
        put("CAUSE", &format!("In the words of {}: {}", cause.speaker, cause.text));
        if !explained.summary.contains(&cause.means) {
            put("", &cause.means);
        }
        if cause.action != explained.action {
            put("", &cause.action);
        }
    }
    put("LEADS TO", &explained.leads_to);
    put("DO", &explained.action);
    if let Some(misleads) = &explained.misleads {
        put("BEWARE", misleads);
    }
    if let Some(command) = &explained.command {
        put("KQ", command);
    }
}

fn said_by(explained: &MessageExplanation) -> String {
    let MessageExplanation { speaker, go_function, go_file, versions, .. } = explained;
    let mut text = speaker.clone();
    if explained.domain == "foreign" {
        text += " (not the kubelet)";
    }
    if !go_function.is_empty() {
        text += &format!(": {go_function}");
    }
    if !go_file.is_empty() {
        text += &format!(" in {go_file}");
    }
    if !versions.is_empty() {
        text += &format!(" ({versions})");
    }
    text
}

fn fact_text(fact: &MessageFact) -> String {
    let MessageFact { name, value, meaning } = fact;
    format!("{name} {value}: {meaning}")
}

/// Returns the explanation of a log.
pub fn log_lines(log: &LogExplanation, wide: bool) -> Vec<String> {
    let mut lines = wrapped(&log.summary, 0, WIDTH);
    lines.push(String::new());
    for kind in &log.kinds {
        lines.extend(kind_lines(kind));
    }
    for (title, others) in [("NOT KNOWN", &log.unknown), ("NOT THE KUBELET", &log.foreign)] {
        for (at, other) in others.iter().enumerate() {
            if at == 0 {
                lines.push(String::new());
                lines.push(title.to_owned());
            }
            lines.extend(wrapped(&format!("{:>7} x  {}", other.count, other.what), 11, WIDTH));
        }
    }
    let counts = [
        (log.information, "of information that kq does not explain"),
        (log.unnamed, "without the name of a program, and without a message that kq knows"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        lines.push(String::new());
        let noun = if count == 1 { "line" } else { "lines" };
        lines.push(format!("{count:>7} {noun} {what}"));
    }
    for kind in log.kinds.iter().filter(|kind| wide || kind.rank > Rank::Note) {
        lines.push(String::new());
        lines.push("-".repeat(WIDTH));
        lines.extend(wrapped(&kind.newest.message, 0, WIDTH));
        lines.push(String::new());
        lines.extend(message_lines(&kind.newest, wide));
    }
    lines
}

/// Returns the line of a kind in the list.
fn kind_lines(kind: &LogKind) -> Vec<String> {
    let rank = match kind.rank {
        Rank::Note => "note",
        Rank::Retry => "retried",
        Rank::Pod => "pod",
        Rank::Ended => "pod ended",
        Rank::Node => "node",
    };
    let times = match (&kind.first, &kind.last) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(first), _) => first.clone(),
        _ => String::new(),
    };
    let text = format!("{:>7} x  {rank:<9}  {}", kind.count, kind.newest.summary);
    let mut lines = wrapped(&text, 22, WIDTH);
    if !times.is_empty() {
        lines.push(format!("{}{times}", " ".repeat(22)));
    }
    lines
}

/// Returns lines with a label before the first one.
fn titled(label: &str, text: &str) -> Vec<String> {
    let text = format!("{label:<10}{text}");
    wrapped(&text, LABEL, WIDTH)
}

/// Returns a text in lines that fit, the later ones moved in.
fn wrapped(text: &str, indent: usize, width: usize) -> Vec<String> {
    let start = text.len() - text.trim_start().len();
    let mut lines = Vec::new();
    let mut line = text[..start].to_owned();
    let mut is_empty = true;
    for word in text[start..].split(' ') {
        let needed = line.width() + usize::from(!is_empty) + word.width();
        if needed > width && !line.trim().is_empty() {
            lines.push(line.trim_end().to_owned());
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}
