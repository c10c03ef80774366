//! Differences for people.

use crate::derivation::join;
use crate::live::difference::{Difference, Verdict};
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, or_dash};
use std::collections::BTreeMap;

/// Returns what is not as planned, a line each; `None` if all is.
pub fn table(differences: &[Difference<'_>]) -> Option<Table> {
    let telling =
        |found: &&Difference<'_>| !matches!(found.verdict, Verdict::Match | Verdict::Rounded);
    let mut rows = differences.iter().filter(telling).peekable();
    rows.peek()?;
    Some(lines(rows, false))
}

/// Returns every value with its path and its derivation.
pub fn wide(differences: &[Difference<'_>]) -> Table {
    lines(differences.iter(), true)
}

fn lines<'d>(rows: impl Iterator<Item = &'d Difference<'d>>, is_wide: bool) -> Table {
    Rows::of(rows).wide(is_wide).table(&[
        Column::state("VERDICT", |it| it.verdict.to_string(), |it| tone(it.verdict)),
        // What belongs to no pod, or to none that is known, is named by its cgroup.
        Column::name("POD", |found| match (&found.namespace, &found.pod) {
            (Some(namespace), Some(pod)) => format!("{namespace}/{pod}"),
            _ => found.cgroup.clone(),
        }),
        Column::name("CONTAINER", |found| or_dash(found.container.as_ref())),
        Column::name("FILE", |found| found.file.clone().unwrap_or_else(|| "(cgroup)".to_owned())),
        Column::kept(Column::new("PLANNED", |found| or_dash(found.planned.as_ref()))),
        Column::kept(Column::new("ACTUAL", |found| or_dash(found.actual.as_ref()))),
        Column::text("REASON", |found| or_dash(found.reason.as_ref())),
        Column::wide(Column::new("WRITER", |found| or_dash(found.writer))),
        Column::wide(Column::name("CGROUP", |found| found.cgroup.clone())),
        Column::wide(Column::text("BECAUSE", |found| {
            or_dash((!found.because.is_empty()).then(|| join(&found.because)))
        })),
    ])
}

fn tone(verdict: Verdict) -> Option<Tone> {
    match verdict {
        Verdict::Match => Some(Tone::Good),
        Verdict::Drift | Verdict::Missing => Some(Tone::Bad),
        Verdict::Extra
        | Verdict::ResizePending
        | Verdict::OlderConfig
        | Verdict::Changing
        | Verdict::Unknown => Some(Tone::Doubtful),
        Verdict::Rounded => None,
    }
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
