//! The plan of probes: requests and times, without sending anything.

use super::attempt::Output;
use super::exec_cost::{ExecCost, exec_costs, sentence};
use super::reason::ProbeNote;
use super::recorded::{RecordedResult, recorded_results};
use super::report::ProbeName;
use super::schedule::{TimelineEntry, timeline};
use super::subject::HandlerKind;
use super::target::Target;
use super::view::{pod, short};
use super::worker::ProbeTiming;
use kq_answer::{Basis, Worded, answer};
use kq_facts::events::PodEvent;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::ProbeType;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, or_dash};
use serde::Serialize;

/// The planned probes.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbePlan {
    /// The probes, in the order in which the kubelet makes workers for them.
    pub probes: Vec<PlannedProbe>,
    /// What the exec probes of each container cost, as long as it runs; empty: there is none.
    pub exec_costs: Vec<ExecCost>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ProbePlan", ProbePlan);

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedProbe {
    /// Its container.
    #[serde(flatten)]
    pub name: ProbeName,
    /// The kind of probe.
    #[serde(rename = "type")]
    pub probe_type: ProbeType,
    /// The handler; null if the probe has none.
    pub handler: Option<HandlerKind>,
    /// The request and its destination in one line; null if a fact is missing.
    pub target: Option<String>,
    /// The address that is connected to; null for a command.
    pub address: Option<String>,
    /// The bytes of an HTTP request, the metadata of a gRPC call, the command; null for what sends nothing.
    pub request: Option<Output>,
    /// The error of the prober, where it fails before anything is sent.
    pub error: Option<String>,
    /// The numbers of the probe.
    pub timing: ProbeTiming,
    /// The times of the consequences.
    pub timeline: Vec<TimelineEntry>,
    /// The results that the kubelet has reported as events, the newest first; null: events are unknown.
    pub recorded: Option<Vec<RecordedResult>>,
    /// Oddities.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Worded<ProbeNote>>,
}

/// Plans probes. `events`: those about the pods; `None`: unknown.
///
/// `runtime_request_timeout` is how long the kubelet waits for a runtime that does not end a
/// command in time.
pub fn plan(
    targets: &[Target],
    events: Option<&[PodEvent]>,
    runtime_request_timeout: GoDuration,
    mut basis: Basis,
) -> ProbePlan {
    let mut probes = Vec::new();
    for target in targets {
        let timeline = target
            .container_spec()
            .map(|container| timeline(&target.pod, container, runtime_request_timeout));
        let timeline = timeline.unwrap_or_default();
        for text in timeline.assumptions {
            if !basis.assumptions.iter().any(|known| known.text == text) {
                basis.assume(text);
            }
        }
        // A probe that is refused or never sent has no timeline.
        let happens = target.happens();
        let own = timeline.entries.into_iter();
        let own = own.filter(|entry| happens && entry.probe == target.probe_type);
        let mut own: Vec<TimelineEntry> = own.collect();
        if !target.counts_timeouts() {
            // A command that the runtime does not end has no result.
            own.iter_mut().for_each(|entry| entry.latest_without_runtime_timeout = None);
        }
        probes.push(planned(target, own, events));
    }
    let exec_costs = exec_costs(&probes);
    ProbePlan { probes, exec_costs, basis }
}

fn planned(
    target: &Target,
    timeline: Vec<TimelineEntry>,
    events: Option<&[PodEvent]>,
) -> PlannedProbe {
    let job = target.job.as_ref().ok();
    let (address, request) = job.map(|job| job.request()).unwrap_or_default();
    PlannedProbe {
        name: target.name.clone(),
        probe_type: target.probe_type,
        handler: target.handler,
        target: job.map(|job| job.target()),
        address,
        request,
        error: job.and_then(|job| job.error()),
        timing: target.timing,
        timeline,
        recorded: events.zip(target.name.container.as_deref()).and_then(|(events, container)| {
            recorded_results(events, &target.pod, container, target.probe_type)
        }),
        notes: target.notes.iter().cloned().map(Worded).collect(),
    }
}

/// Shows a plan: a line for each probe, then its timeline.
pub fn table(plan: &ProbePlan) -> Doc {
    shown(plan, false)
}

/// Shows a plan with what is sent, byte for byte.
pub fn wide(plan: &ProbePlan) -> Doc {
    shown(plan, true)
}

const PROBES: &[Column<PlannedProbe>] = &[
    Column::name("POD", |probe| pod(&probe.name)),
    Column::name("CONTAINER", |probe| or_dash(probe.name.container.as_ref())),
    Column::new("PROBE", |probe| probe.probe_type.to_string().to_lowercase()),
    Column::new("DELAY", |probe| format!("{}s", probe.timing.initial_delay_seconds)),
    Column::new("PERIOD", |probe| format!("{}s", probe.timing.period_seconds)),
    Column::new("TIMEOUT", |probe| format!("{}s", probe.timing.timeout_seconds)),
    Column::new("SUCCESS", |probe| probe.timing.success_threshold.to_string()),
    Column::new("FAILURE", |probe| probe.timing.failure_threshold.to_string()),
    Column::text("TARGET", |probe| match (&probe.error, &probe.target) {
        (Some(error), _) => format!("error: {error}"),
        (None, Some(target)) => target.clone(),
        (None, None) => "?".to_owned(),
    }),
];

const TIMELINE: &[Column<TimelineEntry>] = &[
    Column::text("WHAT", |entry| entry.what.to_string()),
    Column::text("COUNTED FROM", |entry| format!("after {}", entry.since)),
    Column::new("EARLIEST", |entry| entry.earliest.after.to_string()),
    Column::new("LATEST", |entry| {
        let later = entry.latest_without_runtime_timeout.as_ref();
        let later = later.map(|it| format!(" ({} if the runtime does not end it)", it.after));
        format!("{}{}", entry.latest.after, later.unwrap_or_default())
    }),
    Column::text("LATEST BECAUSE", |entry| entry.latest.formula.clone()),
];

fn shown(plan: &ProbePlan, wide: bool) -> Doc {
    if plan.probes.is_empty() {
        let whose = if plan.basis.is_complete() { "no container" } else { "no known container" };
        return Doc::of_line(format!(
            "{whose} has a probe: the kubelet takes each for started and ready once it runs"
        ));
    }
    let mut doc = Doc::from(Rows::of(&plan.probes).table(PROBES));
    for probe in &plan.probes {
        let container = probe.name.container.as_deref().unwrap_or("-");
        doc.blank();
        doc.line(format!("{container} {}", probe.probe_type.to_string().to_lowercase()));
        if !probe.timeline.is_empty() {
            doc.add(Rows::of(&probe.timeline).table(TIMELINE));
        }
        let results = probe.recorded.as_deref().unwrap_or_default();
        for result in results.iter().take(SHOWN) {
            doc.line(format!("  recorded: {}", recorded(result)));
        }
        if let Some(more) = results.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            doc.line(format!("  recorded: and {more} more with other texts"));
        }
        for note in &probe.notes {
            doc.line(format!("  note: {note}"));
        }
        if let Some(request) = probe.request.as_ref().filter(|_| wide) {
            doc.extend(request.text().lines().map(|line| format!("  > {line}")));
        }
    }
    if let Some(costs) = sentence(&plan.exec_costs) {
        doc.blank();
        doc.line(costs);
    }
    doc
}

/// How many results of a probe are shown.
const SHOWN: usize = 5;

fn recorded(result: &RecordedResult) -> String {
    let RecordedResult { result, is_combined, count, last_at, message, .. } = result;
    let times = match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    let times = format!("{times}{}", if *is_combined { " with similar events" } else { "" });
    let last = last_at.map_or_else(String::new, |at| format!(", last at {at}"));
    format!("{} {times}{last}: {}", result.word(), short(message))
}
