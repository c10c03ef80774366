//! The answer for people.

use super::finding::{Finding, Severity};
use super::report::{FileVerdict, NOT_KNOWN, Verdict, Verification};
use crate::facts::checkpoint::StateFile;
use crate::output::table::Table;

/// More of a text, which is somebody else's, is cut off in a table; `wide` has all of it.
const SHOWN: usize = 2_000;

/// Returns a line for each file, and one for each finding that is no note.
pub fn table(answer: &Verification) -> String {
    let mut files = headed(&["FILE", "KIND", "LAYOUT", "CHECKSUM", "VERDICT", "WHAT"]);
    for file in &answer.files {
        let [path, kind, layout, checksum, verdict] = cells(file);
        files.add(vec![path, kind, layout, checksum, verdict, brief(&what(file))]);
    }
    let mut text = files.to_string();
    let worth = |finding: &&Finding| finding.severity != Severity::Note;
    let shown: Vec<&Finding> = answer.findings.iter().filter(worth).collect();
    if !shown.is_empty() {
        let mut table = headed(&["SEVERITY", "FILE", "PLACE", "FOUND"]);
        for finding in shown {
            let [severity, path, place, found] = finding_cells(finding);
            table.add(vec![severity, path, brief(&place), brief(&found)]);
        }
        text = format!("{text}\n{table}");
    }
    text
}

/// Returns everything, with how each verdict came about.
pub fn wide(answer: &Verification) -> String {
    let headings =
        ["FILE", "KIND", "SIZE", "LAYOUT", "CHECKSUM", "VERDICT", "WHAT", "AT NEXT START", "SAYS"];
    let mut files = headed(&headings);
    let mut derived = headed(&["FILE", "DERIVATION"]);
    for file in &answer.files {
        let [path, kind, layout, checksum, verdict] = cells(file);
        let size = file.size.map_or_else(dash, |size| size.to_string());
        let damage = file.damage_text.clone().unwrap_or_else(dash);
        let next = file.at_next_start.clone();
        let says = file.kubelet_error.clone().unwrap_or_else(dash);
        files.add(vec![path, kind, size, layout, checksum, verdict, damage, next, says]);
        for line in &file.derivation {
            derived.add(vec![file.path.clone(), line.clone()]);
        }
    }
    let mut text = format!("{files}\n{derived}");
    if !answer.findings.is_empty() {
        let mut table = headed(&["SEVERITY", "FILE", "PLACE", "FOUND", "WHY", "ADVICE", "RULE"]);
        for finding in &answer.findings {
            let mut row = finding_cells(finding).to_vec();
            row.extend([finding.why.clone(), finding.advice.clone(), finding.id.to_owned()]);
            table.add(row);
        }
        text = format!("{text}\n{table}");
    }
    text
}

/// Returns what to do, once for each advice.
pub fn advice(answer: &Verification) -> Vec<String> {
    let bad = answer
        .files
        .iter()
        .filter_map(|file| file.advice.as_ref().map(|advice| format!("{}: {advice}", file.path)));
    let mut advice: Vec<String> = bad.collect();
    for finding in answer.findings.iter().filter(|it| it.severity != Severity::Note) {
        let line = format!("{}: {}", finding.path, finding.advice);
        if !advice.contains(&line) {
            advice.push(line);
        }
    }
    advice
}

/// Says how many notes there are, which a table does not show.
pub fn notes(answer: &Verification) -> Option<String> {
    let notes = answer.findings.iter().filter(|finding| finding.severity == Severity::Note);
    match notes.count() {
        0 => None,
        1 => Some("1 finding that needs nothing done is not shown: see -o wide".to_owned()),
        count => {
            Some(format!("{count} findings that need nothing done are not shown: see -o wide"))
        }
    }
}

fn headed(headings: &[&str]) -> Table {
    Table::new(headings.iter().map(|heading| (*heading).to_owned()).collect())
}

fn cells(file: &FileVerdict) -> [String; 5] {
    let checksum = match (file.checksum_in_file, file.checksum_computed) {
        (Some(said), Some(has)) if said == u64::from(has) => "right".to_owned(),
        (Some(0), Some(_)) => "none".to_owned(),
        (Some(_), Some(_)) => "wrong".to_owned(),
        _ => dash(),
    };
    let layout = file.layout.clone().filter(|text| !text.is_empty()).unwrap_or_else(dash);
    let kind =
        file.file.and_then(StateFile::named).map_or_else(dash, |kind| kind.short().to_owned());
    [file.path.clone(), kind, layout, checksum, file.verdict.to_string()]
}

/// What there is to say of a file in one line.
fn what(file: &FileVerdict) -> String {
    let unread = file.derivation.first().filter(|_| file.at_next_start == NOT_KNOWN);
    if file.verdict == Verdict::Contradicts {
        return format!("the kubelet {}, with the errors below", file.at_next_start);
    }
    match (&file.damage_text, &file.kubelet_error, unread) {
        (Some(damage), _, _) => format!("{damage}; the kubelet {}", file.at_next_start),
        (None, Some(error), _) => format!("the kubelet {}: {error}", file.at_next_start),
        (None, None, Some(reason)) => reason.clone(),
        (None, None, None) => format!("the kubelet {}", file.at_next_start),
    }
}

fn finding_cells(finding: &Finding) -> [String; 4] {
    [
        finding.severity.to_string(),
        finding.path.clone(),
        finding.place.clone(),
        finding.found.clone(),
    ]
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

fn dash() -> String {
    "-".to_owned()
}
