//! The tables of a verification.

use super::report::{FileVerdict, NextStart, Verdict, Verification};
use kq_answer::{Finding, Severity, finding_view};
use kq_facts::checkpoint::StateFile;
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, or_dash};
use kq_output::units::counted;

/// A longer text from another program is cut in a table; `wide` has all of it.
const SHOWN: usize = 2_000;

const FILES: &[Column<FileVerdict>] = &[
    Column::name("FILE", |file| file.path.clone()),
    Column::new("KIND", |file| or_dash(file.file.map(StateFile::short))),
    Column::wide(Column::new("SIZE", |file| or_dash(file.size))),
    Column::new("LAYOUT", |file| or_dash(file.layout.as_ref().filter(|text| !text.is_empty()))),
    Column::state("CHECKSUM", |file| checksum(file).0.to_owned(), |file| checksum(file).1),
    Column::state("VERDICT", |file| file.verdict.to_string(), |file| tone(file.verdict)),
    Column::narrow(Column::text("WHAT", |file| brief(&what(file)))),
    Column::wide(Column::text("WHAT", |file| or_dash(file.damage.as_ref()))),
    Column::wide(Column::text("AT NEXT START", |file| file.at_next_start.to_string())),
    Column::wide(Column::text("SAYS", |file| or_dash(file.kubelet_error.as_ref()))),
];

fn checksum(file: &FileVerdict) -> (&'static str, Option<Tone>) {
    match (file.checksum_in_file, file.checksum_computed) {
        (Some(said), Some(has)) if said == u64::from(has) => ("right", Some(Tone::Good)),
        (Some(0), Some(_)) => ("none", None),
        (Some(_), Some(_)) => ("wrong", Some(Tone::Bad)),
        _ => ("-", None),
    }
}

fn tone(verdict: Verdict) -> Option<Tone> {
    match verdict {
        Verdict::Ok => Some(Tone::Good),
        Verdict::Contradicts | Verdict::Discarded | Verdict::Refused | Verdict::Unreadable => {
            Some(Tone::Bad)
        }
        Verdict::Unknown | Verdict::Unrecognised | Verdict::Unrecorded => Some(Tone::Doubtful),
        Verdict::Absent | Verdict::Unused => None,
    }
}

/// Returns a line for each file, and one for each finding that is no note.
pub fn table(answer: &Verification) -> Doc {
    let mut doc = Doc::from(Rows::of(&answer.files).table(FILES));
    let worth = |finding: &&Finding| finding.severity != Severity::Info;
    let shown: Vec<Finding> = answer.findings.iter().filter(worth).cloned().collect();
    if !shown.is_empty() {
        doc.add_apart(finding_view::listed(&shown));
    }
    doc
}

/// Returns everything, with how each verdict came about.
pub fn wide(answer: &Verification) -> Doc {
    let mut doc = Doc::from(Rows::of(&answer.files).wide(true).table(FILES));
    let mut rows: Vec<(&String, &String)> = Vec::new();
    for file in &answer.files {
        rows.extend(file.derivation.iter().map(|line| (&file.path, line)));
    }
    doc.add_apart(Rows::of(&rows).table(&[
        Column::name("FILE", |(path, _)| (*path).clone()),
        Column::text("DERIVATION", |(_, line)| (*line).clone()),
    ]));
    if !answer.findings.is_empty() {
        doc.add_apart(finding_view::wide(&answer.findings));
    }
    doc
}

/// Returns what to do, once for each advice.
pub fn advice(answer: &Verification) -> Vec<String> {
    let bad = answer
        .files
        .iter()
        .filter_map(|file| file.advice.as_ref().map(|advice| format!("{}: {advice}", file.path)));
    let mut advice: Vec<String> = bad.collect();
    for finding in answer.findings.iter().filter(|it| it.severity != Severity::Info) {
        let Some(own) = &finding.advice else { continue };
        let line = format!("{}: {own}", finding.subject);
        if !advice.contains(&line) {
            advice.push(line);
        }
    }
    advice
}

/// Returns the number of notes that a table does not show.
pub fn notes(answer: &Verification) -> Option<String> {
    let notes = answer.findings.iter().filter(|finding| finding.severity == Severity::Info);
    match notes.count() {
        0 => None,
        count => Some(format!("{} hidden (-o wide)", counted(count, "note"))),
    }
}

/// What there is to say of a file in one line.
fn what(file: &FileVerdict) -> String {
    let unread = file.derivation.first().filter(|_| *file.at_next_start == NextStart::Unknown);
    if file.verdict == Verdict::Contradicts {
        return format!("the kubelet {}, with the errors below", file.at_next_start);
    }
    match (&file.damage, &file.kubelet_error, unread) {
        (Some(damage), _, _) => format!("{damage}; the kubelet {}", file.at_next_start),
        (None, Some(error), _) => format!("the kubelet {}: {error}", file.at_next_start),
        (None, None, Some(reason)) => reason.clone(),
        (None, None, None) => format!("the kubelet {}", file.at_next_start),
    }
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{}... ({more} more characters: -o wide)", &text[..end])
        }
        None => text.to_owned(),
    }
}
