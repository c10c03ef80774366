//! The findings about garbage collection for people.

use crate::image_gc::lint::Finding;
use crate::output::table::Table;

/// Returns a line for each finding.
pub fn table(findings: &[Finding]) -> Table {
    let headings = ["SEVERITY", "RULE", "SUBJECT", "FOUND"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for finding in findings {
        table.add(cells(finding).to_vec());
    }
    table
}

/// Returns a line for each finding, with why it matters and what to do.
pub fn wide(findings: &[Finding]) -> Table {
    let headings = ["SEVERITY", "RULE", "SUBJECT", "FOUND", "WHY", "ADVICE"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for finding in findings {
        let more = [finding.why.clone(), finding.advice.clone()];
        table.add(cells(finding).into_iter().chain(more).collect());
    }
    table
}

/// Returns why each finding matters and what to do: `RULE: WHY; ADVICE`.
pub fn advice(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| format!("{}: {}; {}", finding.id, finding.why, finding.advice);
    findings.iter().map(line).collect()
}

fn cells(finding: &Finding) -> [String; 4] {
    [
        finding.severity.to_string(),
        finding.id.to_owned(),
        finding.subject.clone(),
        finding.found.clone(),
    ]
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
