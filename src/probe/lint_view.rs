//! The findings about probes for people.

use crate::output::table::{Column, Rows, Table};
use crate::probe::lint::Finding;

const COLUMNS: &[Column<Finding>] = &[
    Column::new("SEVERITY", |finding| finding.severity.to_string()),
    Column::new("RULE", |finding| finding.id.to_owned()),
    Column::new("POD", |finding| finding.pod.clone()),
    Column::new("CONTAINER", |finding| finding.container.clone()),
    Column::new("FIELD", |finding| finding.field.clone()),
    Column::new("FOUND", |finding| finding.found.clone()),
    Column::wide("WHY", |finding| finding.why.clone()),
    Column::wide("ADVICE", |finding| finding.advice.clone()),
];

/// Returns a line for each finding.
pub fn table(findings: &[Finding]) -> Table {
    Rows::of(findings).table(COLUMNS)
}

/// Returns a line for each finding, with why it matters and what to do.
pub fn wide(findings: &[Finding]) -> Table {
    Rows::of(findings).wide(true).table(COLUMNS)
}

/// Returns why each kind of finding matters and what to do: `RULE: WHY; ADVICE`.
pub fn advice(findings: &[Finding]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for finding in findings {
        let line = format!("{}: {}; {}", finding.id, finding.why, finding.advice);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::lint::Severity;

    #[test]
    fn only_wide_has_the_reason() {
        let finding = Finding {
            id: "single-failure",
            severity: Severity::Info,
            pod: "a/b".to_owned(),
            container: "c\u{1b}".to_owned(),
            field: "spec.x".to_owned(),
            found: "1 s".to_owned(),
            why: "because".to_owned(),
            advice: "do".to_owned(),
        };
        let findings = [finding.clone(), finding];
        assert_eq!(
            table(&findings[..1]).to_string(),
            "SEVERITY   RULE             POD   CONTAINER   FIELD    FOUND\n\
             INFO       single-failure   a/b   c\\u{1b}     spec.x   1 s\n"
        );
        assert!(wide(&findings).to_string().contains("because   do"));
        assert_eq!(advice(&findings), ["single-failure: because; do"]);
    }
}
