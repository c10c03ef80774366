//! The findings about probes for people.

use crate::output::table::Table;
use crate::probe::lint::Finding;

/// Returns a line for each finding.
pub fn table(findings: &[Finding]) -> Table {
    let mut table = Table::new(HEADINGS.map(str::to_owned).to_vec());
    for finding in findings {
        table.add(cells(finding).to_vec());
    }
    table
}

/// Returns a line for each finding, with why it matters and what to do.
pub fn wide(findings: &[Finding]) -> Table {
    let headings = HEADINGS.into_iter().chain(["WHY", "ADVICE"]);
    let mut table = Table::new(headings.map(str::to_owned).collect());
    for finding in findings {
        let more = [finding.why.clone(), finding.advice.clone()];
        table.add(cells(finding).into_iter().chain(more).collect());
    }
    table
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

const HEADINGS: [&str; 6] = ["SEVERITY", "RULE", "POD", "CONTAINER", "FIELD", "FOUND"];

fn cells(finding: &Finding) -> [String; 6] {
    [
        finding.severity.to_string(),
        finding.id.to_owned(),
        finding.pod.clone(),
        finding.container.clone(),
        finding.field.clone(),
        finding.found.clone(),
    ]
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
