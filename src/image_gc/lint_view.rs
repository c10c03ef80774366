//! The findings about garbage collection for people.

use crate::image_gc::lint::Finding;
use crate::output::table::{Column, Rows, Table};

const COLUMNS: &[Column<Finding>] = &[
    Column::new("SEVERITY", |finding| finding.severity.to_string()),
    Column::new("RULE", |finding| finding.id.to_owned()),
    Column::new("SUBJECT", |finding| finding.subject.clone()),
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

/// Returns why each finding matters and what to do: `RULE: WHY; ADVICE`.
pub fn advice(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| format!("{}: {}; {}", finding.id, finding.why, finding.advice);
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image_gc::lint::Severity;

    #[test]
    fn only_wide_has_the_reason() {
        let finding = Finding {
            id: "small-gap",
            severity: Severity::Info,
            subject: "a\u{1b}b".to_owned(),
            found: "1%".to_owned(),
            why: "because".to_owned(),
            advice: "do".to_owned(),
        };
        let findings = [finding];
        assert_eq!(
            table(&findings).to_string(),
            "SEVERITY   RULE        SUBJECT    FOUND\n\
             INFO       small-gap   a\\u{1b}b   1%\n"
        );
        assert!(wide(&findings).to_string().contains("because   do"));
        assert_eq!(advice(&findings), ["small-gap: because; do"]);
    }
}
