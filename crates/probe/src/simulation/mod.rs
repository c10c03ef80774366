//! Replays a trace through the kubelet's worker, step by step, with other settings if requested.
//!
//! Live runs use the same [`worker`](super::worker).

mod view;
mod world;

#[cfg(test)]
mod tests;

pub use view::{table, wide};

use super::attempt::Attempt;
use super::events::ProbeEvent;
use super::results::{ResultsCache, Verdict};
use super::retry::Conclusion;
use super::trace::{Trace, TraceStep};
use super::worker::{
    Action, Begun, Call, NewContainer, ProbeTiming, StepFacts, StepReason, StepReport, Worker,
    WorkerState,
};
use kq_answer::{Basis, Warning, WarningCode, Worded, answer};
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::{FeatureGateError, FeatureGates};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::patch_fixes::{PatchFault, PatchNote};
use kq_k8s::pod::{Container, Pod, Probe, ProbeType};
use kq_k8s::version::{KubeletVersion, VersionSupport};
use kq_output::units::counted;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use world::World;

/// What the value calls itself.
pub const KIND: &str = "ProbeSimulation";

/// What is to be otherwise than the trace says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhatIf {
    /// Another delay.
    pub initial_delay_seconds: Option<i32>,
    /// Another period; it moves the steps that have no time of their own.
    pub period_seconds: Option<i32>,
    /// Another threshold.
    pub success_threshold: Option<i32>,
    /// Another threshold.
    pub failure_threshold: Option<i32>,
    /// Another kubelet.
    pub version: Option<KubeletVersion>,
    /// Feature gates in addition to those of the trace.
    pub feature_gates: BTreeMap<String, bool>,
}

/// The replayed trace.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Simulation {
    /// Which probe it was.
    #[serde(rename = "type")]
    pub probe_type: ProbeType,
    /// Of which container.
    pub container: String,
    /// Its numbers.
    pub probe: ProbeTiming,
    /// By the rules of which kubelet.
    pub kubelet_version: String,
    /// The time of `0s`; null: not set.
    pub start: Option<Timestamp>,
    pub steps: Vec<SimulatedStep>,
    /// All of them in short.
    pub summary: Summary,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ProbeSimulation", Simulation);

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedStep {
    /// How long after `0s`.
    pub at: GoDuration,
    /// The same as a time.
    pub time: Option<Timestamp>,
    /// The result of the probe; null: it was not probed, or the result is unknown.
    pub probe: Option<SimulatedProbe>,
    /// What followed from seeing another container.
    pub new_container: Option<NewContainer>,
    /// What was kept and forgotten of results, in order.
    pub calls: Vec<Call>,
    /// What decided.
    pub reason: Worded<StepReason>,
    /// What the kubelet does.
    pub action: Option<Action>,
    /// The worker after the step.
    pub worker: WorkerState,
    /// There is a next step.
    pub continues: bool,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedProbe {
    /// Success or failure.
    pub result: Verdict,
    /// The prober failed, and the result does not count.
    pub error: Option<String>,
    /// How often it was tried.
    pub attempts: usize,
    /// The event of the kubelet.
    pub event: Option<ProbeEvent>,
}

/// All steps in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How many steps there were.
    pub steps: usize,
    /// How many of them probed.
    pub probes: usize,
    /// How many would have probed, with a result that the trace does not have.
    pub without_result: usize,
    /// The number of unused results of the trace.
    pub not_asked_for: usize,
    /// What the kubelet did: how often, and when first, in the order in which they came first.
    pub actions: Vec<ActionCount>,
    /// The worker stopped before the end of the trace.
    pub stopped: bool,
}

/// How often the kubelet did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionCount {
    /// What, the first time.
    pub first: Action,
    /// When first.
    pub at: GoDuration,
    /// How often.
    pub count: usize,
}

/// Simulates.
/// Fails for feature gates that no kubelet of the version starts with.
pub fn simulate(trace: &Trace, what_if: &WhatIf) -> Result<Simulation, FeatureGateError> {
    let mut warnings = Vec::new();
    let timing = timing(trace, what_if);
    let rules = rules(trace, what_if, &mut warnings)?;
    let kind = trace.probe_type;
    if timing.success_threshold != 1 && kind != ProbeType::Readiness {
        let probe = kind.to_string().to_lowercase();
        let text = format!("successThreshold: the API server accepts only 1 for a {probe} probe");
        let warning = Warning::new(WarningCode::RefusedProbeField, text);
        warnings.push(warning.about("successThreshold"));
    }
    let origin = trace.origin().unwrap_or_default();
    let mut world = World::new(trace, origin);
    let first = trace.steps.first().and_then(|step| step.at).map_or(0, |at| at.offset(origin).0);
    if world.kubelet_start() > origin.plus(first) {
        let text = "the kubelet starts after the first step: its workers would not have been there";
        warnings.push(Warning::new(WarningCode::TraceSteps, text));
    }
    let pod = Arc::new(pod(trace, timing));
    let name = &trace.container.name;
    let mut worker = Worker::new(pod, name, kind, rules, world.kubelet_start())
        .expect("the pod was made with this container and this probe");
    let mut cache = ResultsCache::default();
    let mut summary = Summary::default();
    let mut steps = Vec::with_capacity(trace.steps.len());
    let (period, mut moved) =
        (i64::from(timing.period_seconds).saturating_mul(GoDuration::SECOND.0), 0_usize);
    let mut before: Option<GoDuration> = None;
    for step in &trace.steps {
        let next =
            before.map_or(GoDuration(0), |before| GoDuration(before.0.saturating_add(period)));
        let at = step.at.map_or(next, |at| at.offset(origin));
        // With another period, steps without a time can overtake one that has one.
        moved += usize::from(before.is_some_and(|before| at < before));
        let at = before.map_or(at, |before| at.max(before));
        before = Some(at);
        let now = origin.plus(at.0);
        world.change(&step.changes, now);
        let facts = StepFacts { status: world.status(), deletion_timestamp_set: world.deleted() };
        let report = match worker.begin(&mut cache, facts, now) {
            Begun::Done(report) => {
                summary.not_asked_for += usize::from(!step.attempts.is_empty());
                *report
            }
            Begun::Probe(pending) if step.attempts.is_empty() => {
                summary.without_result += 1;
                worker.finish_without_result(pending)
            }
            Begun::Probe(pending) => {
                summary.probes += 1;
                worker.finish(&mut cache, pending, conclusion(kind, step, rules))
            }
        };
        if report.action == Some(Action::Started) {
            world.has_started();
        }
        summary.count(&report, at);
        let time = trace.origin().map(|_| now);
        let mut simulated = SimulatedStep::of(report, at, time);
        let continues = simulated.continues;
        if !continues {
            simulated.calls.extend(worker.stop(&mut cache));
        }
        steps.push(simulated);
        if !continues {
            break;
        }
    }
    summary.steps = steps.len();
    summary.stopped = steps.len() < trace.steps.len();
    warnings.extend(summary.warnings(trace.steps.len(), moved));
    let mut basis = Basis::default();
    basis.warn_all(warnings);
    if kind == ProbeType::Readiness
        && rules.drops_exec_readiness_of_ending_pods()
        && world.deleted()
    {
        basis.assume(
            "the probe runs no command: kubelets 1.35 and 1.36 drop the results of one once the pod ends, which 1.37 no \
             longer does",
        );
    }
    basis.assume_all(patch_faults(trace, &rules, &steps));
    Ok(Simulation {
        probe_type: kind,
        container: name.clone(),
        probe: timing,
        kubelet_version: rules.gates.version().to_string(),
        start: trace.origin(),
        steps,
        summary,
        basis,
    })
}

/// Returns what is to be said of faults of patch releases that concern the steps.
fn patch_faults(trace: &Trace, rules: &KubeletRules, steps: &[SimulatedStep]) -> Vec<PatchNote> {
    let given = &trace.container;
    if !given.sidecar {
        return Vec::new();
    }
    let never = trace.pod.restart_policy == "Never";
    let met = steps.iter().any(|it| it.new_container == Some(NewContainer::KubeletRestart));
    let is_startup = trace.probe_type == ProbeType::Startup;
    let concerns = [
        (PatchFault::EndsProbesOfSidecars, never),
        (PatchFault::ForgetsStartedSidecars, is_startup && met),
    ];
    let concerning = concerns.into_iter().filter(|(_, concerns)| *concerns);
    concerning.filter_map(|(fault, _)| rules.patch_note(fault)).collect()
}

fn timing(trace: &Trace, what_if: &WhatIf) -> ProbeTiming {
    let given = trace.probe.timing;
    // What a flag says goes the way of what a manifest says: 0 is the default.
    ProbeTiming::of(&Probe {
        initial_delay_seconds: what_if.initial_delay_seconds.unwrap_or(given.initial_delay_seconds),
        timeout_seconds: given.timeout_seconds,
        period_seconds: what_if.period_seconds.unwrap_or(given.period_seconds),
        success_threshold: what_if.success_threshold.unwrap_or(given.success_threshold),
        failure_threshold: what_if.failure_threshold.unwrap_or(given.failure_threshold),
        ..Probe::default()
    })
}

fn rules(
    trace: &Trace,
    what_if: &WhatIf,
    warnings: &mut Vec<Warning>,
) -> Result<KubeletRules, FeatureGateError> {
    let said = trace.kubelet.version.as_deref().and_then(|text| text.parse().ok());
    let version: KubeletVersion = what_if.version.or(said).unwrap_or(KubeletVersion::ASSUMED);
    if let VersionSupport::Older(used) | VersionSupport::Newer(used) = version.known() {
        let text = format!("the rules of {version} are unknown; those of {used} are used");
        warnings.push(Warning::new(WarningCode::UnknownRules, text).about(version.to_string()));
    }
    let mut gates = trace.kubelet.feature_gates.clone();
    gates.extend(what_if.feature_gates.iter().map(|(name, on)| (name.clone(), *on)));
    Ok(KubeletRules { gates: FeatureGates::for_version(version).with_overrides(&gates)? })
}

/// Makes the pod of a trace.
fn pod(trace: &Trace, timing: ProbeTiming) -> Pod {
    let probe = Box::new(Probe {
        initial_delay_seconds: timing.initial_delay_seconds,
        timeout_seconds: timing.timeout_seconds,
        period_seconds: timing.period_seconds,
        success_threshold: timing.success_threshold,
        failure_threshold: timing.failure_threshold,
        termination_grace_period_seconds: trace.probe.termination_grace_period_seconds,
        ..Probe::default()
    });
    let given = &trace.container;
    let always = given.sidecar.then(|| "Always".to_owned());
    let mut container = Container {
        name: given.name.clone(),
        restart_policy: always.or_else(|| given.restart_policy.clone()),
        restart_policy_rules: given.restart_policy_rules.clone(),
        ..Container::default()
    };
    match trace.probe_type {
        ProbeType::Startup => container.startup_probe = Some(probe),
        ProbeType::Readiness => container.readiness_probe = Some(probe),
        ProbeType::Liveness => container.liveness_probe = Some(probe),
    }
    let mut pod = Pod::default();
    pod.spec.restart_policy = trace.pod.restart_policy.clone();
    pod.spec.termination_grace_period_seconds = Some(trace.pod.termination_grace_period_seconds);
    if given.sidecar {
        pod.spec.init_containers.push(container);
    } else {
        pod.spec.containers.push(container);
    }
    pod
}

fn conclusion(kind: ProbeType, step: &TraceStep, rules: KubeletRules) -> Conclusion {
    let attempts: Vec<Attempt> = step.attempts.iter().map(Attempt::from).collect();
    Conclusion::of_repeating(kind, &attempts, rules)
}

impl SimulatedStep {
    fn of(report: StepReport, at: GoDuration, time: Option<Timestamp>) -> Self {
        let probe = report.probe.map(|probe| SimulatedProbe {
            result: probe.result,
            attempts: probe.attempts.len(),
            error: probe.error,
            event: probe.event,
        });
        Self {
            at,
            time,
            probe,
            new_container: report.new_container,
            calls: report.calls,
            reason: report.reason.into(),
            action: report.action,
            worker: report.state,
            continues: report.continues,
        }
    }
}

impl Summary {
    fn count(&mut self, report: &StepReport, at: GoDuration) {
        let Some(action) = &report.action else { return };
        // There are four kinds of actions, so the list stays short.
        match self.actions.iter_mut().find(|known| known.first == *action) {
            Some(known) => known.count += 1,
            None => self.actions.push(ActionCount { first: action.clone(), at, count: 1 }),
        }
    }

    fn warnings(&self, given: usize, moved: usize) -> impl Iterator<Item = Warning> {
        let mut texts = Vec::new();
        if self.stopped {
            let left = given.saturating_sub(self.steps);
            texts.push(format!("the worker stopped: {} left out", counted(left, "step")));
        }
        if self.without_result > 0 {
            texts.push(format!(
                "at {} it would be probed, with a result that the trace does not have: nothing is \
                 counted, and what follows can be otherwise",
                counted(self.without_result, "step")
            ));
        }
        if moved > 0 {
            texts.push(format!(
                "{} would be earlier than the previous step, with this period: moved to its time",
                counted(moved, "step")
            ));
        }
        WarningCode::TraceSteps.each(texts)
    }
}
