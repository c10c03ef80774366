//! Findings as text.

use super::{Finding, Severity, Subject};
use kq_output::doc::{Doc, Entry};
use kq_output::table::{Column, Rows, Table, or_dash};
use std::collections::BTreeMap;

/// Returns a row for each finding.
pub fn table<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Table {
    of(findings, false)
}

/// Returns each finding that is not OK, and a line with the rules of the others.
pub fn folded(findings: &[Finding]) -> Doc {
    let (passed, found): (Vec<Finding>, Vec<Finding>) =
        findings.iter().cloned().partition(|finding| finding.severity == Severity::Ok);
    let mut doc = Doc::default();
    if !found.is_empty() {
        doc.entries(entries(&found), table(&without_sources(&found)));
    }
    let mut rules: Vec<&str> = passed.iter().map(|finding| finding.id.as_str()).collect();
    rules.dedup();
    if !rules.is_empty() {
        doc.line(format!("{} OK: {}", rules.len(), rules.join(", ")));
    }
    doc
}

/// Returns the findings of a lint.
pub fn listed(findings: &[Finding]) -> Doc {
    let mut doc = Doc::default();
    doc.entries(entries(findings), table(findings));
    doc
}

fn without_sources(findings: &[Finding]) -> Vec<Finding> {
    findings.iter().cloned().map(|finding| Finding { source: None, ..finding }).collect()
}

/// How many findings of a rule stand alone; of more, the first stands for all.
const ALONE: usize = 3;

/// Returns the findings as a terminal shows them, with all that belongs to each.
fn entries(findings: &[Finding]) -> Vec<Entry> {
    let mut same: BTreeMap<(Severity, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        same.entry((finding.severity, &finding.id)).or_default().push(finding);
    }
    let mut entries = Vec::new();
    for finding in findings {
        match same.get(&(finding.severity, &*finding.id)).map(Vec::as_slice) {
            // Of one subject, each has its own text.
            Some([first, others @ ..])
                if others.len() >= ALONE && others.iter().any(|it| it.subject != first.subject) =>
            {
                if std::ptr::eq(*first, finding) {
                    entries.push(entry(finding, others));
                }
            }
            _ => entries.push(entry(finding, &[])),
        }
    }
    entries
}

/// Returns a finding, which stands for others of its rule as well.
fn entry(finding: &Finding, others: &[&Finding]) -> Entry {
    const NAMED: usize = 5;
    let Finding { severity, id, subject, found, why, leads_to, advice, command, .. } = finding;
    let place = subject.place().map(|place| format!(" {place}")).unwrap_or_default();
    let text = match subject {
        Subject::Node => found.clone(),
        subject => format!("{subject}{place}: {found}"),
    };
    let others = (!others.is_empty()).then(|| {
        let mut names: Vec<String> = others.iter().map(|it| it.subject.to_string()).collect();
        names.dedup();
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more (-o wide)"),
        };
        names.truncate(NAMED);
        format!("{}{more}", names.join(", "))
    });
    let parts = [
        ("also", others),
        ("why", why.clone()),
        ("leads to", leads_to.clone()),
        ("fix", advice.clone()),
        ("see", command.clone()),
    ];
    Entry {
        tone: severity.tone(),
        label: format!("{}[{id}]", severity.to_string().to_lowercase()),
        text,
        parts: parts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect(),
    }
}

/// Returns the subjects of the problems, the worst first and each once.
pub fn names(findings: &[Finding]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.is_problem()) {
        let name = finding.subject.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns a row for each finding, with its explanation and advice.
pub fn wide<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Table {
    of(findings, true)
}

fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>, is_wide: bool) -> Table {
    let findings: Vec<&Finding> = findings.into_iter().collect();
    let any = |has: fn(&Finding) -> bool| findings.iter().any(|finding| has(finding));
    let have_subjects = any(|finding| finding.subject != Subject::Node);
    let have_places = any(|finding| finding.subject.place().is_some());
    let have_sources = any(|finding| finding.source.is_some());
    let columns: [Column<&Finding>; 10] = [
        Column::state("SEVERITY", |it| it.severity.to_string(), |it| it.severity.tone()),
        Column::new("RULE", |finding| finding.id.clone()),
        Column::when(have_subjects, Column::name("SUBJECT", |it| it.subject.to_string())),
        Column::when(have_places, Column::new("PLACE", |it| or_dash(it.subject.place()))),
        Column::text("FOUND", |finding| finding.found.clone()),
        Column::when(have_sources, Column::text("SOURCE", |it| or_dash(it.source.as_ref()))),
        Column::wide(Column::text("WHY", |finding| or_dash(finding.why.as_ref()))),
        Column::when(
            any(|it| it.leads_to.is_some()),
            Column::wide(Column::text("LEADS TO", |finding| or_dash(finding.leads_to.as_ref()))),
        ),
        Column::wide(Column::text("ADVICE", |finding| or_dash(finding.advice.as_ref()))),
        Column::when(
            any(|it| it.command.is_some()),
            Column::wide(Column::text("MORE", |finding| or_dash(finding.command.as_ref()))),
        ),
    ];
    Rows::of(&findings).wide(is_wide).table(&columns)
}

/// Returns the explanation, the consequence, the advice and the command of each problem, the worst first and equal ones
/// once: `RULE: WHY; leads to: CONSEQUENCE; ADVICE; see: COMMAND`.
pub fn advice(findings: &[Finding]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for severity in Severity::ALL {
        for finding in findings.iter().filter(|finding| finding.severity == severity) {
            let Finding { why, leads_to, advice, command, .. } = finding;
            let named =
                |name: &str, text: &Option<String>| Some(format!("{name}: {}", text.as_ref()?));
            let texts =
                [why.clone(), named("leads to", leads_to), advice.clone(), named("see", command)];
            let texts: Vec<String> = texts.into_iter().flatten().collect();
            let line = format!("{}: {}", finding.id, texts.join("; "));
            if !texts.is_empty() && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: Severity, id: &'static str, found: &str) -> Finding {
        let subject = Subject::Setting { name: "a\u{1b}b".to_owned() };
        Finding::new(severity, id, subject, found)
    }

    #[test]
    fn only_wide_has_the_reason() {
        let findings = [finding(Severity::Info, "small-gap", "1%").because("because").advise("do")];
        assert_eq!(
            table(&findings).to_string(),
            "SEVERITY   RULE        SUBJECT    FOUND\n\
             INFO       small-gap   a\\u{1b}b   1%\n"
        );
        assert!(wide(&findings).to_string().contains("because   do"));
    }

    #[test]
    fn the_worst_advice_comes_first_and_once() {
        let findings = [
            finding(Severity::Ok, "a", "fine"),
            finding(Severity::Warning, "c", "hm").advise("mind"),
            finding(Severity::Unknown, "b", "?").advise("look"),
            finding(Severity::Warning, "c", "hm again").advise("mind"),
            finding(Severity::Error, "d", "bad").because("it stops").advise("act"),
        ];
        assert_eq!(advice(&findings), ["d: it stops; act", "b: look", "c: mind"]);
    }

    #[test]
    fn no_text_is_cut() {
        let long = format!("{} the-name-of-a-pod", "ä ".repeat(400));
        let findings = [finding(Severity::Unknown, "a", &long)];
        assert!(table(&findings).to_string().contains(&long));
    }
}
