//! Whether a pod is taken, as tables.

use super::derivation::shown;
use super::report::{CheckResult, Explanation};
use crate::k8s::pod::ResourceName;
use crate::output::table::Table;
use crate::output::terminal::plain;
use std::fmt::Write as _;

fn headings(names: &[&str]) -> Table {
    Table::new(names.iter().map(|name| (*name).to_owned()).collect())
}

/// Shows what becomes of the pod, the checks, and what is compared.
pub fn table(explanation: &Explanation) -> String {
    let mut checks = headings(&["CHECK", "RESULT", "BECAUSE"]);
    for check in &explanation.checks {
        let result = match check.result {
            CheckResult::Pass => "pass",
            CheckResult::Fail => "FAIL",
            CheckResult::Skipped => "-",
        };
        checks.add(vec![check.check.to_owned(), result.to_owned(), check.because.clone()]);
    }
    let mut text = format!("{}\n{checks}", verdict(explanation));
    if !explanation.resources.is_empty() {
        let mut compared = headings(&[
            "RESOURCE",
            "CAPACITY",
            "RESERVED",
            "ALLOCATABLE",
            "USED",
            "FREE",
            "REQUESTED",
            "MISSING",
        ]);
        for line in &explanation.resources {
            let resource = ResourceName::from(&*line.resource);
            let show = |amount| shown(&resource, amount);
            compared.add(vec![
                line.resource.clone(),
                line.capacity.map_or_else(|| "-".to_owned(), show),
                line.reserved.map_or_else(|| "-".to_owned(), show),
                show(line.allocatable),
                show(line.used),
                show(line.free),
                show(line.requested),
                if line.missing == 0 { "-".to_owned() } else { show(line.missing) },
            ]);
        }
        let _ = write!(text, "\n{compared}");
    }
    text
}

/// Says what the kubelet does with the pod.
pub fn verdict(explanation: &Explanation) -> String {
    let Explanation { pod, node, refusals, kills, .. } = explanation;
    let mut text = String::new();
    let after = match kills.len() {
        0 => String::new(),
        1 => format!(" after the kubelet killed {} for it", kills.concat()),
        count => format!(" after the kubelet killed {count} pods for it (kq preempt explain)"),
    };
    match refusals.as_slice() {
        [] => text += &plain(format!("{pod}: admitted on {node}{after}")),
        [refusal] => {
            let _ = write!(
                text,
                "{}",
                plain(format!(
                    "{pod}: refused by {node}{after}: {}: {}",
                    refusal.reason, refusal.message
                ))
            );
        }
        several => {
            text += &plain(format!(
                "{pod}: refused by {node}, for one of these, which is left to chance:"
            ));
            for refusal in several {
                let _ = write!(
                    text,
                    "\n  {}",
                    plain(format!("{}: {}", refusal.reason, refusal.message))
                );
            }
        }
    }
    text + "\n"
}

/// Shows the ledger behind the sums as well.
pub fn wide(explanation: &Explanation) -> String {
    let mut text = table(explanation);
    let mut of_pod = headings(&["RESOURCE", "REQUESTED", "HOW"]);
    for line in &explanation.resources {
        let amount = shown(&ResourceName::from(&*line.resource), line.requested);
        of_pod.add(vec![line.resource.clone(), amount, line.because.clone()]);
    }
    let _ = write!(text, "\n{}\n{of_pod}", plain(explanation.pod.clone()));
    if !explanation.removed_requests.is_empty() {
        let mut removed = headings(&["CONTAINER", "DOES NOT COUNT", "BECAUSE"]);
        for it in &explanation.removed_requests {
            removed.add(vec![it.container.clone(), it.resource.clone(), it.because.to_owned()]);
        }
        let _ = write!(text, "\n{removed}");
    }
    if !explanation.ledger.is_empty() {
        let mut ledger = headings(&["POD", "PHASE", "COUNTS", "RESOURCE", "AMOUNT", "HOW"]);
        for line in &explanation.ledger {
            let phase = if line.phase.is_empty() { "-" } else { &line.phase };
            let first = [line.pod.clone(), phase.to_owned()];
            if !line.counts {
                let rest = ["no", "-", "-", &line.why].map(str::to_owned);
                ledger.add(first.into_iter().chain(rest).collect());
                continue;
            }
            let asked = line.amounts.iter().filter(|it| it.amount != 0 && it.resource != "pods");
            let mut rows: Vec<[String; 3]> = asked
                .map(|it| {
                    let amount = shown(&ResourceName::from(&*it.resource), it.amount);
                    [it.resource.clone(), amount, it.because.clone()]
                })
                .collect();
            if rows.is_empty() {
                rows.push(["-", "-", "nothing that is compared but its place"].map(str::to_owned));
            }
            for row in rows {
                let cells = first.iter().cloned().chain(["yes".to_owned()]).chain(row);
                ledger.add(cells.collect());
            }
        }
        let _ = write!(text, "\n{ledger}");
    }
    text
}
