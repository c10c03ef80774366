//! Differences for people.

use crate::cgroup::because::join;
use crate::cgroup::live::diff::{Difference, Verdict};
use crate::output::table::Table;
use std::collections::BTreeMap;

/// Returns what is not as planned, a line each; `None` if all is.
pub fn table(differences: &[Difference<'_>]) -> Option<Table> {
    let telling =
        |found: &&Difference<'_>| !matches!(found.verdict, Verdict::Match | Verdict::Rounded);
    let mut rows = differences.iter().filter(telling).peekable();
    rows.peek()?;
    let headings = ["VERDICT", "POD", "CONTAINER", "FILE", "PLANNED", "ACTUAL", "REASON"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for found in rows {
        let reason = found.reason.clone().unwrap_or_else(dash);
        table.add(cells(found).into_iter().chain([reason]).collect());
    }
    Some(table)
}

/// Returns every value with its path and its derivation.
pub fn wide(differences: &[Difference<'_>]) -> Table {
    let headings = [
        "VERDICT",
        "POD",
        "CONTAINER",
        "FILE",
        "PLANNED",
        "ACTUAL",
        "REASON",
        "WRITER",
        "CGROUP",
        "BECAUSE",
    ];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for found in differences {
        let rest = [
            found.reason.clone().unwrap_or_else(dash),
            found.writer.unwrap_or("-").to_owned(),
            found.cgroup.clone(),
            if found.because.is_empty() { dash() } else { join(found.because) },
        ];
        table.add(cells(found).into_iter().chain(rest).collect());
    }
    table
}

fn cells(found: &Difference<'_>) -> [String; 6] {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(dash);
    let pod = match (&found.namespace, &found.pod) {
        (Some(namespace), Some(pod)) => format!("{namespace}/{pod}"),
        // What belongs to no pod, or to none that is known, is named by its cgroup.
        _ => found.cgroup.clone(),
    };
    [
        found.verdict.to_string(),
        pod,
        text(&found.container),
        found.file.clone().unwrap_or_else(|| "(cgroup)".to_owned()),
        text(&found.planned),
        text(&found.actual),
    ]
}

fn dash() -> String {
    "-".to_owned()
}

/// Returns the counts in a line: `195 values: 190 MATCH, 4 ROUNDED, 1 DRIFT`.
pub fn counts(summary: &BTreeMap<String, usize>) -> String {
    let total: usize = summary.values().sum();
    let counted = Verdict::ALL.iter().filter_map(|verdict| {
        let name = verdict.to_string();
        let count = summary.get(&name).copied().filter(|count| *count > 0)?;
        Some(format!("{count} {name}"))
    });
    let counted: Vec<String> = counted.collect();
    match counted.is_empty() {
        true => "nothing to compare".to_owned(),
        false => format!("{total} compared: {}", counted.join(", ")),
    }
}
