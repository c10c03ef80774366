//! A simulation as a table.

use super::{SimulatedStep, Simulation};
use crate::events::ProbeEvent;
use crate::results::Verdict;
use crate::worker::{Call, StepReason};
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, or_dash};
use kq_output::units::counted;

const COLUMNS: &[Column<SimulatedStep>] = &[
    Column::new("TIME", |step| step.at.to_string()),
    Column::state("PROBE RESULT", result, tone),
    Column::new("RUN", |step| match &step.reason.0 {
        StepReason::BelowThreshold { run, threshold, .. }
        | StepReason::ThresholdReached { run, threshold, .. } => format!("{run}/{threshold}"),
        StepReason::Error { .. } => format!("{} stays", step.worker.run),
        _ => "-".to_owned(),
    }),
    Column::text("ON HOLD", |step| if step.worker.on_hold { "yes" } else { "no" }.to_owned()),
    Column::text("ACTION", |step| or_dash(step.action.as_ref())),
    Column::text("WHY", |step| match &step.new_container {
        Some(new) => format!("{}; {new}", step.reason),
        None => step.reason.to_string(),
    }),
    Column::wide(Column::new("CLOCK", |step| or_dash(step.time))),
    Column::wide(Column::name("CONTAINER", |step| step.worker.container_id.to_string())),
    Column::wide(Column::text("RESULTS KEPT", |step| calls(&step.calls))),
    Column::wide(Column::text("EVENT", |step| {
        let event = step.probe.as_ref().and_then(|probe| probe.event.as_ref());
        let shown = |event: &ProbeEvent| {
            format!("{} {}: {}", event.event_type, event.reason, event.message.text())
        };
        or_dash(event.map(shown))
    })),
];

/// Returns a line for each step, and a summary.
pub fn table(simulation: &Simulation) -> Doc {
    shown(simulation, false)
}

/// Returns a line for each step with everything that is known, and a summary.
pub fn wide(simulation: &Simulation) -> Doc {
    shown(simulation, true)
}

fn shown(simulation: &Simulation, is_wide: bool) -> Doc {
    let mut doc = Doc::from(Rows::of(&simulation.steps).wide(is_wide).table(COLUMNS));
    doc.blank();
    doc.line(summary(simulation));
    doc
}

fn result(step: &SimulatedStep) -> String {
    let Some(probe) = &step.probe else { return "-".to_owned() };
    let attempts = match probe.attempts {
        0 | 1 => String::new(),
        several => format!(" ({several} attempts)"),
    };
    match probe.error {
        Some(_) => format!("error{attempts}"),
        None => format!("{}{attempts}", probe.result),
    }
}

fn tone(step: &SimulatedStep) -> Option<Tone> {
    let probe = step.probe.as_ref()?;
    Some(match (&probe.error, probe.result) {
        (Some(_), _) | (None, Verdict::Failure) => Tone::Bad,
        (None, Verdict::Unknown) => Tone::Doubtful,
        (None, Verdict::Success) => Tone::Good,
    })
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
    or_dash((!shown.is_empty()).then(|| shown.join(", ")))
}

/// Returns the summary in one line.
fn summary(simulation: &Simulation) -> String {
    let all = &simulation.summary;
    let mut parts = vec![format!("{}, {} probed", counted(all.steps, "step"), all.probes)];
    for action in &all.actions {
        let times = match action.count {
            1 => format!("at {}", action.at),
            several => format!("{several} times, first at {}", action.at),
        };
        parts.push(format!("{} {times}", action.first));
    }
    if all.actions.is_empty() {
        parts.push("no consequences".to_owned());
    }
    if simulation.steps.last().is_some_and(|last| last.worker.on_hold) {
        parts.push("on hold at the end".to_owned());
    }
    let probe = simulation.probe_type;
    format!("{probe} probe of {}: {}", simulation.container, parts.join("; "))
}
