//! Whether the kubelet starts.

use super::state::NodeState;
use crate::kubelet_start::{Exit, Fix, StartProblem};
use crate::what_if::{Effect, StartFinding, WhatIfRule};
use kq_answer::{Basis, Certainty, Subject};
use kq_facts::kubelet_config::Source;

/// Simulates the start of the kubelet, and returns whether it starts and the messages it logs.
pub fn start(after: &mut NodeState, basis: &mut Basis) -> (Option<bool>, Vec<Effect>) {
    let finding = |rule| Effect::new(Subject::Node, WhatIfRule::KubeletStart(rule));
    if !after.knows_files() && !after.has_assumed_config {
        basis.assume(match after.read_as() {
            Some(Source::Configz) => {
                "the kubelet starts with the configuration that it runs with".to_owned()
            }
            _ => "the kubelet starts with this configuration".to_owned(),
        });
    }
    let examination = after.start();
    if after.has_assumed_config {
        let with_defaults = match examination.first() {
            Some(problem) => format!("the kubelet exits: {}", problem.text),
            None => "it starts".to_owned(),
        };
        let reason = format!(
            "the configuration is unknown (--kubelet-config FILE); with the defaults, {with_defaults}"
        );
        let rule = WhatIfRule::Missing { about: "the start of the kubelet".to_owned(), reason };
        return (None, vec![Effect::new(Subject::Node, rule)]);
    }
    let mut findings: Vec<Effect> = examination
        .problems
        .iter()
        .map(|problem| finding(stop(problem)).from(problem.source))
        .collect();
    let warnings = examination.warnings.iter();
    findings.extend(warnings.map(|it| finding(StartFinding::Warns { text: it.to_string() })));
    for skipped in &examination.unknown {
        basis.assume(format!(
            "the start does not fail on {} (unknown: {})",
            skipped.what, skipped.fact
        ));
    }
    let starts = match examination.first() {
        None => Some(true),
        Some(problem) if problem.certainty == Certainty::Certain => Some(false),
        Some(_) => None,
    };
    (starts, findings)
}

fn stop(problem: &StartProblem) -> StartFinding {
    let fix = problem.fix.as_ref().map(ToString::to_string);
    let text = problem.text.clone();
    if !problem.is_first {
        return StartFinding::StopsThen { text, fix };
    }
    let command = match problem.fix.as_deref() {
        Some(Fix::DeleteFile { path }) => Some(format!("rm -- '{}'", path.replace('\'', "'\\''"))),
        _ => None,
    };
    StartFinding::Stops {
        text,
        is_panic: problem.exit == Exit::Panic,
        certainty: problem.certainty,
        fix,
        command,
    }
}
