//! The merged answer for people and spreadsheets.

use super::merge::{FleetAnswer, NodeChange, NodeValue, ResultRow};
use super::outcome::NodeOutcome;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, listed};
use kq_output::units::{counted, first_few};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many nodes a narrow table names.
const NAMED: usize = 3;

/// Returns a line for each result, with the first nodes.
pub fn table(answer: &FleetAnswer) -> Doc {
    tables(answer, false)
}

/// Returns a line for each result, with all nodes.
pub fn wide(answer: &FleetAnswer) -> Doc {
    tables(answer, true)
}

/// Returns the nodes, those with the worst results first.
pub fn names(answer: &FleetAnswer) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let nodes = answer.items.iter().flat_map(|row| &row.nodes);
    nodes.filter(|node| seen.insert(node.as_str())).cloned().collect()
}

/// Returns the counts in a sentence.
pub fn summary(answer: &FleetAnswer) -> String {
    let nodes = &answer.nodes;
    let mut text = format!("{} of {} answered", nodes.answered, counted(nodes.asked, "node"));
    for (code, meaning) in [(0, "yes"), (1, "no"), (3, "incomplete")] {
        if let Some(count) = nodes.by_exit_code.get(&code) {
            // Memory takes every text.
            let _ = write!(text, ", {count} {meaning}");
        }
    }
    text
}

/// Returns a node as a line of CSV, with the heading before the first one.
pub fn csv(outcome: Option<&NodeOutcome>) -> String {
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    // Memory takes every text.
    let _ = match outcome {
        None => writer.write_record(["node", "group", "exitCode", "severity", "results"]),
        Some(outcome) => {
            let results = outcome.reply.results();
            let severity = results.first().map(|worst| worst.severity.to_string());
            let names: Vec<&str> = results.iter().map(|it| it.result.as_str()).collect();
            writer.write_record([
                cell(&outcome.node),
                cell(outcome.group.as_deref().unwrap_or_default()),
                outcome.reply.exit_code().to_string(),
                severity.unwrap_or_default(),
                cell(&names.join("; ")),
            ])
        }
    };
    let line = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&line).trim_end().to_owned()
}

/// Returns a text that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

fn tables(answer: &FleetAnswer, is_wide: bool) -> Doc {
    let mut doc = Doc::from(results(&answer.items, is_wide));
    if let Some(value) = &answer.value {
        let mut table = Table::new(vec!["PERCENTILE".to_owned(), value.path.clone()]);
        for (percent, number) in &value.percentiles {
            table.add(vec![format!("{percent}%"), number.to_string()]);
        }
        let extremes = |nodes: &[NodeValue]| {
            let named = nodes.iter().map(|it| format!("{} ({})", it.node, it.value));
            named.collect::<Vec<_>>().join(", ")
        };
        doc.add_apart(table);
        doc.line(format!("lowest: {}", extremes(&value.lowest)));
        doc.line(format!("highest: {}", extremes(&value.highest)));
    }
    match answer.changes.as_deref() {
        None => {}
        Some([]) => {
            doc.blank();
            doc.line("no node's result changed");
        }
        Some(changes) => doc.add_apart(Rows::of(changes).table(&[
            Column::name("NODE", |it: &NodeChange| it.node.clone()),
            Column::text("ANSWER BEFORE", |it| listed(&it.before, ", ")),
            Column::text("ANSWER", |it| listed(&it.after, ", ")),
        ])),
    }
    doc
}

fn results(rows: &[ResultRow], is_wide: bool) -> Table {
    let is_grouped = rows.iter().any(|row| row.group.is_some());
    Rows::of(rows).wide(is_wide).table(&[
        Column::state(
            "SEVERITY",
            |row: &ResultRow| row.result.severity.to_string(),
            |row| row.result.severity.tone(),
        ),
        Column::text("ANSWER", |row| row.result.result.clone()),
        Column::when(
            is_grouped,
            Column::new("GROUP", |row| match row.group.as_deref() {
                None | Some("") => "-".to_owned(),
                Some(group) => group.to_owned(),
            }),
        ),
        Column::new("NODES", |row| row.count.to_string()),
        Column::narrow(Column::text("NAMES", |row| first_few(NAMED, &row.nodes))),
        Column::wide(Column::text("NAMES", |row| row.nodes.join(", "))),
    ])
}
