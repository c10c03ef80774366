//! A simulation for people.

use super::{SimulatedStep, Simulation, steps};
use crate::output::table::Table;
use crate::probe::worker::{Call, StepReason};
use std::fmt;

/// A table with a line below it.
struct WithSummary {
    table: Table,
    summary: String,
}

/// Returns a line for each step, and a summary.
pub fn table(simulation: &Simulation) -> impl fmt::Display + use<> {
    let headings = ["TIME", "PROBE RESULT", "RUN", "ON HOLD", "ACTION", "WHY"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for step in &simulation.steps {
        table.add(cells(step).to_vec());
    }
    WithSummary { table, summary: summary(simulation) }
}

/// Returns a line for each step with everything that is known, and a summary.
pub fn wide(simulation: &Simulation) -> impl fmt::Display + use<> {
    let headings = [
        "TIME",
        "PROBE RESULT",
        "RUN",
        "ON HOLD",
        "ACTION",
        "WHY",
        "CLOCK",
        "CONTAINER",
        "RESULTS KEPT",
        "EVENT",
    ];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for step in &simulation.steps {
        let event = step.probe.as_ref().and_then(|probe| probe.event.as_ref());
        let more = [
            step.time.map_or_else(dash, |time| time.to_string()),
            step.worker.container_id.to_string(),
            calls(&step.calls),
            event.map_or_else(dash, |event| {
                format!("{} {}: {}", event.event_type, event.reason, event.message.text())
            }),
        ];
        table.add(cells(step).into_iter().chain(more).collect());
    }
    WithSummary { table, summary: summary(simulation) }
}

fn cells(step: &SimulatedStep) -> [String; 6] {
    let result = step.probe.as_ref().map_or_else(dash, |probe| {
        let attempts = match probe.attempts {
            0 | 1 => String::new(),
            several => format!(" ({several} attempts)"),
        };
        match probe.error {
            Some(_) => format!("error{attempts}"),
            None => format!("{}{attempts}", probe.result),
        }
    });
    let run = match &step.reason {
        StepReason::BelowThreshold { run, threshold, .. }
        | StepReason::ThresholdReached { run, threshold, .. } => format!("{run}/{threshold}"),
        StepReason::Error { .. } => format!("{} stays", step.worker.run),
        _ => dash(),
    };
    [
        step.at.to_string(),
        result,
        run,
        if step.worker.on_hold { "yes" } else { "no" }.to_owned(),
        step.action.as_ref().map_or_else(dash, ToString::to_string),
        match &step.new_container {
            Some(new) => format!("{}; {new}", step.why),
            None => step.why.clone(),
        },
    ]
}

fn calls(calls: &[Call]) -> String {
    let shown: Vec<String> = calls
        .iter()
        .map(|call| match call {
            Call::Set { result, published: true, .. } => format!("{result}!"),
            Call::Set { result, published: false, .. } => result.to_string(),
            Call::Remove { .. } => "forgotten".to_owned(),
        })
        .collect();
    if shown.is_empty() { dash() } else { shown.join(", ") }
}

/// Returns what came of it in one line.
fn summary(simulation: &Simulation) -> String {
    let all = &simulation.summary;
    let mut parts = vec![format!("{}, {} probed", steps(all.steps), all.probes)];
    for action in &all.actions {
        let times = match action.count {
            1 => format!("at {}", action.at),
            several => format!("{several} times, first at {}", action.at),
        };
        parts.push(format!("{} {times}", action.first));
    }
    if all.actions.is_empty() {
        parts.push("nothing follows from it".to_owned());
    }
    if simulation.steps.last().is_some_and(|last| last.worker.on_hold) {
        parts.push("on hold in the end".to_owned());
    }
    let probe = simulation.probe_type;
    format!("{probe} probe of {}: {}", simulation.container, parts.join("; "))
}

fn dash() -> String {
    "-".to_owned()
}

impl fmt::Display for WithSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = crate::output::terminal::plain(self.summary.clone());
        write!(f, "{}\n{summary}\n", self.table)
    }
}
