//! The state machine: `doProbe` and `run`, `pkg/kubelet/prober/worker.go`, and the report of one step.

use super::facts::{ContainerFacts, PodFacts, ProbeTiming, State, started_before_kubelet};
use super::reason::StepReason;
use super::restart;
use super::restart::Action;
use crate::grace_period::{GracePeriods, KillReason};
use crate::results::{ContainerId, ResultsCache, Verdict};
use crate::retry::Conclusion;
use kq_answer::reason::Reason;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod, ProbeType, is_final};
use serde::Serialize;
use std::sync::Arc;

/// The worker of one probe.
#[derive(Clone, Debug)]
pub struct Worker {
    pod: Arc<Pod>,
    container: Container,
    is_sidecar: bool,
    kind: ProbeType,
    timing: ProbeTiming,
    rules: KubeletRules,
    kubelet_start: Timestamp,
    state: WorkerState,
}

/// The facts of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepFacts<'a> {
    /// The status that the kubelet holds; `None`: it has none.
    pub status: Option<&'a PodFacts>,
    /// The pod that the worker was made for was being deleted already.
    pub deletion_timestamp_set: bool,
}

/// How far a step gets by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Begun {
    /// To its end.
    Done(Box<StepReport>),
    /// To the probe; [`Worker::finish`] goes on.
    Probe(Pending),
}

/// A step that waits for a probe.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a step that is not finished counts for nothing"]
pub struct Pending {
    calls: Vec<Call>,
    new_container: Option<NewContainer>,
}

impl Worker {
    /// Makes the worker of a probe; `None` where there is no such container, or no such probe of it.
    /// Init containers have none unless they are sidecars.
    pub fn new(
        pod: Arc<Pod>,
        container: &str,
        kind: ProbeType,
        rules: KubeletRules,
        kubelet_start: Timestamp,
    ) -> Option<Self> {
        let regular = pod.spec.containers.iter().map(|container| (container, false));
        let sidecars = pod.spec.sidecars();
        let mut all = regular.chain(sidecars.map(|container| (container, true)));
        let (named, is_sidecar) = all.find(|(it, _)| it.name == container)?;
        let (timing, container) = (ProbeTiming::of(named.probe(kind)?), named.clone());
        drop(all);
        let state = WorkerState {
            container_id: ContainerId::default(),
            last_result: Verdict::Success,
            run: 0,
            on_hold: false,
        };
        Some(Self { pod, container, is_sidecar, kind, timing, rules, kubelet_start, state })
    }

    /// Returns what it remembers.
    pub fn state(&self) -> &WorkerState {
        &self.state
    }

    /// Returns the numbers of its probe.
    pub fn timing(&self) -> ProbeTiming {
        self.timing
    }

    /// Returns the container that it probes.
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// Begins a step, up to the probe if it needs one.
    pub fn begin(
        &mut self,
        cache: &mut ResultsCache,
        facts: StepFacts<'_>,
        now: Timestamp,
    ) -> Begun {
        let mut calls = Vec::new();
        let Some(status) = facts.status else {
            return self.done(calls, None, StepReason::NoPodStatus, true);
        };
        if is_final(&status.phase) {
            let phase = status.phase.clone();
            return self.done(calls, None, StepReason::PodEnded { phase }, false);
        }
        let Some(container) = status.container(&self.container.name) else {
            return self.done(calls, None, StepReason::NoContainer, true);
        };
        let new = self.meet(cache, &mut calls, container);
        if self.state.on_hold {
            return self.done(calls, new, StepReason::OnHold, true);
        }
        let started_at = match container.state {
            State::Running { started_at } => started_at,
            State::Waiting => {
                self.fail_stopped(cache, &mut calls);
                return self.done(calls, new, StepReason::Waiting, true);
            }
            State::Terminated { exit_code } => {
                self.fail_stopped(cache, &mut calls);
                let restart::RestartDecision { restarts, cause } = restart::after_exit(
                    &self.pod,
                    &self.container,
                    self.is_sidecar,
                    exit_code,
                    status,
                    &self.rules,
                );
                let reason = StepReason::Exited { exit_code, restarts, cause };
                return self.done(calls, new, reason, restarts);
            }
        };
        if facts.deletion_timestamp_set && self.kind != ProbeType::Readiness {
            set(cache, &mut calls, &self.state.container_id, Verdict::Success);
            return self.done(calls, new, StepReason::PodDeleted, false);
        }
        let elapsed_seconds = elapsed_seconds(started_at, now);
        let of_seconds = self.timing.initial_delay_seconds;
        if elapsed_seconds < of_seconds {
            let reason = match started_at {
                None => StepReason::NoStart,
                Some(_) => StepReason::InitialDelay { elapsed_seconds, of_seconds },
            };
            return self.done(calls, new, reason, true);
        }
        match (self.kind, container.started == Some(true)) {
            (ProbeType::Startup, true) => self.done(calls, new, StepReason::AlreadyStarted, true),
            (ProbeType::Readiness | ProbeType::Liveness, false) => {
                self.done(calls, new, StepReason::NotStarted, true)
            }
            _ => Begun::Probe(Pending { calls, new_container: new }),
        }
    }

    /// Ends a step with the result of the probe.
    pub fn finish(
        &mut self,
        cache: &mut ResultsCache,
        pending: Pending,
        conclusion: Conclusion,
    ) -> StepReport {
        let Pending { mut calls, new_container } = pending;
        let reason = match &conclusion.error {
            Some(error) => StepReason::Error { error: error.clone() },
            None => self.count(cache, &mut calls, conclusion.result),
        };
        let action = self.action(&calls, new_container, true);
        let state = self.state.clone();
        let probe = Some(conclusion);
        StepReport { calls, new_container, probe, reason, action, continues: true, state }
    }

    /// Ends a step with an unknown result. Nothing is counted; a kubelet would
    /// have counted something, so what follows can differ from what it does.
    pub fn finish_without_result(&self, pending: Pending) -> StepReport {
        let Pending { calls, new_container } = pending;
        self.report(calls, new_container, StepReason::NoResult, true, true)
    }

    /// Stops the worker and returns what it cleans up.
    pub fn stop(&mut self, cache: &mut ResultsCache) -> Vec<Call> {
        let mut calls = Vec::new();
        if !self.state.container_id.is_empty() {
            remove(cache, &mut calls, &self.state.container_id);
        }
        calls
    }

    /// Takes note of a container that is not the one of the last step.
    ///
    /// The run of results and the last of them stay: failures of the container before count for this
    /// one.
    fn meet(
        &mut self,
        cache: &mut ResultsCache,
        calls: &mut Vec<Call>,
        container: &ContainerFacts,
    ) -> Option<NewContainer> {
        if self.state.container_id.to_string() == container.container_id {
            return None;
        }
        if !self.state.container_id.is_empty() {
            remove(cache, calls, &self.state.container_id);
        }
        self.state.container_id = ContainerId::parse(&container.container_id);
        self.state.on_hold = false;
        let id = &self.state.container_id;
        if !self.rules.forgets_status_on_restart() {
            let started = container.started == Some(true) && self.rules.keeps_start_of_sidecars();
            if self.kind == ProbeType::Startup && self.is_sidecar && started {
                set(cache, calls, id, Verdict::Success);
            }
            if started_before_kubelet(container.state, self.kubelet_start) {
                return Some(NewContainer::KubeletRestart);
            }
        }
        let initial = initial_value(self.kind);
        set(cache, calls, id, initial);
        Some(NewContainer::Initial(initial))
    }

    /// Keeps that a container does not run.
    fn fail_stopped(&self, cache: &mut ResultsCache, calls: &mut Vec<Call>) {
        let id = &self.state.container_id;
        if !id.is_empty() {
            set(cache, calls, id, Verdict::Failure);
        }
    }

    /// Counts a result, and keeps it once there were enough in a row.
    fn count(
        &mut self,
        cache: &mut ResultsCache,
        calls: &mut Vec<Call>,
        result: Verdict,
    ) -> StepReason {
        let state = &mut self.state;
        if state.last_result == result {
            state.run = state.run.saturating_add(1);
        } else {
            (state.last_result, state.run) = (result, 1);
        }
        let run = state.run;
        let threshold = match result {
            Verdict::Success => self.timing.success_threshold,
            Verdict::Failure | Verdict::Unknown => self.timing.failure_threshold,
        };
        if u64::try_from(threshold).is_ok_and(|threshold| run < threshold) {
            return StepReason::BelowThreshold { result, run, threshold };
        }
        set(cache, calls, &state.container_id, result);
        let fatal = self.kind == ProbeType::Liveness && result == Verdict::Failure;
        if fatal || self.kind == ProbeType::Startup {
            (state.on_hold, state.run) = (true, 0);
        }
        StepReason::ThresholdReached { result, run, threshold }
    }

    /// Returns what the kubelet does about the last result that it heard of.
    fn action(&self, calls: &[Call], new: Option<NewContainer>, runs: bool) -> Option<Action> {
        // Where a new container begins is no answer to anything.
        let begun = new.and_then(|new| match new {
            NewContainer::Initial(initial) => calls
                .iter()
                .position(|call| matches!(call, Call::Set { result, .. } if *result == initial)),
            NewContainer::KubeletRestart => None,
        });
        let calls = calls.get(begun.map_or(0, |at| at + 1)..).unwrap_or_default();
        let result = calls.iter().rev().find_map(|call| match call {
            Call::Set { result, published: true, .. } => Some(*result),
            _ => None,
        })?;
        match (self.kind, result) {
            (ProbeType::Readiness, Verdict::Success) => Some(Action::Ready),
            (ProbeType::Readiness, _) => Some(Action::NotReady),
            (ProbeType::Startup, Verdict::Success) => Some(Action::Started),
            (_, Verdict::Failure) if runs => {
                let restarts =
                    restart::restarts_after_kill(&self.pod, &self.container, &self.rules);
                let restarts = restarts || self.is_sidecar;
                let name = &self.container.name;
                let periods = GracePeriods::of(&self.pod, &self.container);
                Some(Action::Kill {
                    message: Action::kill_message(self.kind, name, self.is_sidecar, restarts),
                    restarts,
                    grace_period: periods.decide(KillReason::Probe(self.kind)),
                })
            }
            _ => None,
        }
    }

    fn done(
        &self,
        calls: Vec<Call>,
        new: Option<NewContainer>,
        reason: StepReason,
        continues: bool,
    ) -> Begun {
        let runs = !matches!(reason, StepReason::Waiting | StepReason::Exited { .. });
        Begun::Done(Box::new(self.report(calls, new, reason, continues, runs)))
    }

    fn report(
        &self,
        calls: Vec<Call>,
        new_container: Option<NewContainer>,
        reason: StepReason,
        continues: bool,
        runs: bool,
    ) -> StepReport {
        let action = self.action(&calls, new_container, runs);
        let state = self.state.clone();
        StepReport { calls, new_container, probe: None, reason, action, continues, state }
    }
}

/// Returns what holds of a container that was never probed (`newWorker`).
pub(crate) fn initial_value(kind: ProbeType) -> Verdict {
    match kind {
        ProbeType::Liveness => Verdict::Success,
        ProbeType::Readiness => Verdict::Failure,
        ProbeType::Startup => Verdict::Unknown,
    }
}

/// Returns for how many whole seconds a container runs, cut towards zero and to 32 bits: what does not
/// fit is the least number, as on amd64. So it is where the start is missing, which is the year 1 to
/// the kubelet.
fn elapsed_seconds(started_at: Option<Timestamp>, now: Timestamp) -> i32 {
    const SECOND: i64 = GoDuration::SECOND.0;
    let Some(started_at) = started_at else { return i32::MIN };
    let elapsed = now.since(started_at);
    // `Duration.Seconds` adds the two parts as floats, which can round up to the next second.
    let seconds = (elapsed / SECOND) as f64 + (elapsed % SECOND) as f64 / SECOND as f64;
    if seconds >= f64::from(i32::MAX) + 1.0 { i32::MIN } else { seconds as i32 }
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// The calls on the cache of results, in order.
    pub calls: Vec<Call>,
    /// It saw a container that it did not know.
    pub new_container: Option<NewContainer>,
    /// The result of the probe; `None`: it was not probed.
    pub probe: Option<Conclusion>,
    /// Why it did what it did.
    pub reason: StepReason,
    /// What the kubelet does about it.
    pub action: Option<Action>,
    /// There will be a next step.
    pub continues: bool,
    /// The worker after the step.
    pub state: WorkerState,
}

/// What a worker remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerState {
    /// The container that it saw last.
    pub container_id: ContainerId,
    /// The last result that counted.
    pub last_result: Verdict,
    /// How many of them there were in a row.
    pub run: u64,
    /// Nothing is probed until it sees another container.
    pub on_hold: bool,
}

/// A call on the cache of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase", rename_all_fields = "camelCase", tag = "call")]
pub enum Call {
    /// A result is kept.
    Set {
        /// Of which container.
        container_id: ContainerId,
        result: Verdict,
        /// It is another than before, and the kubelet hears of it.
        published: bool,
    },
    /// The result of a container is forgotten.
    Remove {
        /// Of which container.
        container_id: ContainerId,
    },
}

/// What follows from seeing a container for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain, case = "kebab-case")]
pub enum NewContainer {
    /// Its result begins with that of its type of probe.
    #[text("new container, {0} until probed")]
    Initial(Verdict),
    /// It ran before the kubelet did: nothing is known of it, and nothing is changed.
    #[text("ran before the kubelet started, as it was")]
    KubeletRestart,
}

/// Keeps a result and notes the call.
pub(super) fn set(
    cache: &mut ResultsCache,
    calls: &mut Vec<Call>,
    id: &ContainerId,
    result: Verdict,
) {
    let published = cache.set(id, result);
    calls.push(Call::Set { container_id: id.clone(), result, published });
}

/// Forgets a container and notes the call.
pub(super) fn remove(cache: &mut ResultsCache, calls: &mut Vec<Call>, id: &ContainerId) {
    cache.remove(id);
    calls.push(Call::Remove { container_id: id.clone() });
}
