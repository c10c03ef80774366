//! Findings in the formats of other programs: SARIF, which code scanners read, and JUnit's XML, which CI servers read.

use super::{Basis, Finding, Missing, Severity, Subject};
use kq_output::credentials::redact;
use kq_output::terminal::is_unsafe;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Returns findings as SARIF 2.1.0. Checks that passed are results of the kind `pass`. Checks that lack a fact are no
/// results: the invocation was then not successful, and its notifications name the facts. `exit_code` is that of kq.
pub fn sarif(findings: &[Finding], basis: &Basis, exit_code: u8) -> Value {
    let rules: BTreeSet<&str> = findings.iter().map(|it| it.id.as_str()).collect();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id })).collect();
    let mut driver = json!({
        "name": "kq",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    let facts: BTreeSet<String> = basis.missing.iter().map(name_of).collect();
    if !facts.is_empty() {
        driver["notifications"] = facts.iter().map(|id| json!({ "id": id })).collect();
    }
    let missing =
        basis.missing.iter().map(|it| notification("error", &it.to_string(), Some(name_of(it))));
    let warnings = basis.warnings.iter().map(|it| notification("warning", &it.text, None));
    let notifications: Vec<Value> = missing.chain(warnings).collect();
    let invocation = json!({
        "executionSuccessful": basis.is_complete(),
        "exitCode": exit_code,
        "toolExecutionNotifications": notifications,
    });
    let results: Vec<Value> = findings.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "invocations": [invocation],
            "results": results,
        }],
    })
}

fn notification(level: &str, text: &str, fact: Option<String>) -> Value {
    let mut notification = json!({ "level": level, "message": { "text": text } });
    if let Some(fact) = fact {
        notification["descriptor"] = json!({ "id": fact });
    }
    notification
}

/// Returns the name of a missing fact as JSON has it: `pods`.
fn name_of(missing: &Missing) -> String {
    let name = serde_json::to_value(missing.fact).ok();
    format!("missing/{}", name.as_ref().and_then(Value::as_str).unwrap_or_default())
}

fn result(finding: &Finding) -> Value {
    let (kind, level) = match finding.severity {
        Severity::Error => ("fail", "error"),
        Severity::Warning => ("fail", "warning"),
        Severity::Unknown => ("review", "none"),
        Severity::Info => ("informational", "none"),
        Severity::Ok => ("pass", "none"),
    };
    let name = match finding.subject.place() {
        Some(place) => format!("{}/{place}", finding.subject.name()),
        None => finding.subject.name(),
    };
    let mut location = json!({ "logicalLocations": [{ "fullyQualifiedName": name }] });
    if let Subject::File { path, .. } = &finding.subject {
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": path } });
    }
    json!({
        "ruleId": finding.id,
        "kind": kind,
        "level": level,
        "message": { "text": text(finding) },
        "locations": [location],
    })
}

/// Returns findings as a suite of tests in JUnit's XML: problems are failures, and what is unknown is an error. A fact
/// without which something was not checked is an error too: a suite without it would have passed.
pub fn junit(suite: &str, findings: &[Finding], basis: &Basis) -> String {
    let count = |is_meant: fn(&Finding) -> bool| findings.iter().filter(|it| is_meant(it)).count();
    let is_failure = |it: &Finding| matches!(it.severity, Severity::Error | Severity::Warning);
    let is_error = |it: &Finding| it.severity == Severity::Unknown;
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let missing = &basis.missing;
    let (tests, failures) = (findings.len() + missing.len(), count(is_failure));
    let errors = count(is_error) + missing.len();
    let suite = escaped(suite);
    // Memory takes every text.
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\">"
    );
    for finding in findings {
        let (rule, subject) = (escaped(&finding.id), escaped(&finding.subject.to_string()));
        let _ = write!(xml, "    <testcase classname=\"{rule}\" name=\"{subject}\"");
        let element = match finding.severity {
            Severity::Error | Severity::Warning => "failure",
            Severity::Unknown => "error",
            Severity::Info | Severity::Ok => {
                xml.push_str("/>\n");
                continue;
            }
        };
        let (severity, found, text) =
            (finding.severity, escaped(&finding.found), escaped(&text(finding)));
        let _ = writeln!(
            xml,
            ">\n      <{element} type=\"{severity}\" message=\"{found}\">{text}</{element}>\n    </testcase>"
        );
    }
    for fact in missing {
        let (name, about) =
            (escaped(&name_of(fact)), escaped(fact.about.as_deref().unwrap_or("node")));
        let text = escaped(&fact.to_string());
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{name}\" name=\"{about}\">\n      \
             <error type=\"MISSING\" message=\"{text}\">{text}</error>\n    </testcase>"
        );
    }
    if !basis.warnings.is_empty() {
        let warnings: Vec<&str> = basis.warnings.iter().map(|it| it.text.as_str()).collect();
        let _ = writeln!(xml, "    <system-err>{}</system-err>", escaped(&warnings.join("\n")));
    }
    xml.push_str("  </testsuite>\n</testsuites>");
    xml
}

fn text(finding: &Finding) -> String {
    let more = [&finding.why, &finding.leads_to, &finding.advice].into_iter().flatten();
    more.fold(finding.found.clone(), |text, more| format!("{text}; {more}"))
}

/// Escapes what XML means otherwise, and what it or a terminal cannot have: as in tables, `\u{202e}`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in redact(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topic;

    #[test]
    fn names_of_strangers_are_escaped() {
        let hostile = "a<script>\"&\u{202e}\n]]>";
        let finding = Finding {
            severity: Severity::Error,
            id: "rule".to_owned(),
            subject: Subject::Pod { pod: hostile.to_owned(), container: None },
            facts: serde_json::Map::new(),
            found: hostile.to_owned(),
            why: Some("why".to_owned()),
            leads_to: None,
            advice: Some("advice".to_owned()),
            command: None,
            source: None,
            topic: Topic::default(),
        };
        let xml = junit("Suite", std::slice::from_ref(&finding), &Basis::default());
        let escaped = "a&lt;script&gt;&quot;&amp;\\u{202e}&#10;]]&gt;";
        assert_eq!(xml.matches(escaped).count(), 3, "{xml}");
        assert!(xml.contains(&format!(">{escaped}; why; advice</failure>")), "{xml}");
        assert!(!xml.contains("<script>") && !xml.contains('\u{202e}'), "{xml}");
        let sarif = sarif(&[finding], &Basis::default(), 1);
        let text = &sarif["runs"][0]["results"][0]["message"]["text"];
        assert_eq!(text, &format!("{hostile}; why; advice"));
    }
}
