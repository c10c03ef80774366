//! The effect of a change on the pods.

use super::actuation::Actuation;
use super::arrivals::{Arrival, Arrivals, Victim, Written};
use super::described::Described;
use super::resizes::{ResizeAnswer, Resizes};
use super::state::NodeState;
use crate::question::admission::AdmissionNode;
use crate::question::admission::{StartEnd, StartEnds, by_name, lasting_containers};
use crate::question::node_shutdown::{self, ShutdownGroups};
use crate::question::start::no_kubelet;
use crate::what_if::change::Change;
use crate::what_if::{
    Effect, OpenCause, PodFate, PodOutcome, PodResult, ResizeRestart, RestartCause, WhatIfRule,
};
use kq_admission::preemption::{ReadmissionResult, StoppedContainers};
use kq_admission::{qualified, untolerated_taint};
use kq_answer::{Basis, Failure, MissingFact, Subject};
use kq_facts::checkpoint::StateFile;
use kq_facts::workloads::pod_id;
use kq_k8s::pod::{Container, ContainerState, ContainerStatus, Pod};
use kq_k8s::priority::is_static_pod;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The outcomes of the pods, and the findings about them.
#[derive(Default)]
pub struct PodEffects {
    /// Each pod.
    pub outcomes: Vec<PodOutcome>,
    pub findings: Vec<Effect>,
    /// What the kubelet has written down of new pods.
    written: Written,
}

/// A node before and after a change, and the transition between the two.
pub struct Transition<'t> {
    pub before: Described<'t>,
    pub after: Described<'t>,
    pub changes: &'t [Change],
    /// The kubelet restarts.
    pub restarts: bool,
    /// The machine reboots.
    pub reboots: bool,
    pub resizes: Resizes,
}

impl Transition<'_> {
    /// Returns the outcomes of the pods.
    ///
    /// # Errors
    ///
    /// Fails where the pods or the Node object are unknown.
    pub fn pods(&self, basis: &mut Basis) -> Result<PodEffects, Failure> {
        let about = AdmissionNode::with_all_pods(self.after.kubelet()?.clone());
        let about = match self.before.kubelet() {
            Ok(before) => about.start_after(before.clone()),
            Err(_) => about,
        };
        let mut effects = match self.restarts {
            true => self.restarted(&about, basis)?,
            false => self.running(&about, basis)?,
        };
        self.lack_unknown_pods(basis);
        self.resized(&mut effects.outcomes);
        leave_unplaced_open(&mut effects.outcomes, basis);
        self.evictions(&about, &mut effects, basis)?;
        if !self.restarts {
            self.next_start(&mut effects)?;
        }
        effects.outcomes.sort_by_key(|outcome| (!outcome.result.is_lost(), outcome.place));
        let added = &(&self.added() | &self.replaced());
        let findings = effects.outcomes.iter().flat_map(|outcome| self.findings_of(outcome, added));
        effects.findings.extend(findings);
        Ok(effects)
    }

    /// Says which pods run now and are in no list. A restart of the kubelet alone says so with the readmission.
    fn lack_unknown_pods(&self, basis: &mut Basis) {
        let Ok(node) = self.before.kubelet() else { return };
        let runtime = node.snapshot.runtime.value();
        if runtime.is_some_and(|runtime| runtime.sandboxes.value().is_some()) {
            let new = node.unknown_pods().filter(|it| !basis.missing.contains(it));
            basis.lack_all(new);
        }
    }

    /// Puts what becomes of resizes into the outcomes of pods.
    fn resized(&self, outcomes: &mut Vec<PodOutcome>) {
        for (pod, resized) in &self.resizes.pods {
            let own = outcomes.iter_mut().find(|it| it.pod == *pod && !it.result.is_lost());
            if let Some(outcome) = own {
                put_resize(outcome, &resized.answer);
            }
            for victim in &resized.victims {
                outcomes.retain(|it| it.pod != *victim);
                let mut killed = outcome(victim, false, PodResult::Preempted);
                killed.reason = Some("Preempting".to_owned());
                killed.message = Some(pod.clone());
                outcomes.push(killed);
            }
        }
    }

    /// Returns the finding about the resize of a pod; `None`: it keeps its containers, or is not resized.
    fn resize_fate(&self, outcome: &PodOutcome) -> Option<PodFate> {
        if outcome.result.is_lost() {
            return None;
        }
        let reboots = outcome.cause == Some(RestartCause::Reboot);
        let rules = self.after.kubelet().ok().map(|node| node.kubelet.rules);
        let has_conditions = rules.is_none_or(|rules| rules.counts_by_allocations());
        match &self.resizes.pods.get(&outcome.pod)?.answer {
            ResizeAnswer::Refused(refusal) => {
                Some(PodFate::ResizeRefused { refusal: refusal.clone() })
            }
            ResizeAnswer::Pending { reason, message } => Some(PodFate::ResizeWaits {
                reason: *reason,
                message: message.clone(),
                has_conditions,
            }),
            ResizeAnswer::Allocated(_) if reboots => None,
            ResizeAnswer::Allocated(Actuation::Failed { message, is_least }) => {
                let (message, is_least) = (message.clone(), *is_least);
                Some(PodFate::ResizeFails { message, is_least, has_conditions })
            }
            ResizeAnswer::Allocated(Actuation::Open { restarts, limit }) => {
                Some(PodFate::ResizeOpen { limit: *limit, restarts: restarts.clone() })
            }
            ResizeAnswer::Allocated(Actuation::Done { restarts, .. }) => (!restarts.is_empty())
                .then(|| PodFate::ResizeRestarts { restarts: restarts.clone() }),
        }
    }

    /// Readmits the pods, as a starting kubelet does.
    fn restarted(&self, about: &AdmissionNode, basis: &mut Basis) -> Result<PodEffects, Failure> {
        let ends = StartEnds::of(about)?;
        take(basis, ends.usual.basis);
        let pods: BTreeMap<String, &Pod> =
            about.node.allocated_pods().into_iter().map(|pod| (qualified(pod), pod)).collect();
        let (added, replaced) = (self.added(), self.replaced());
        let one = |end: &StartEnd| {
            let mut outcome = outcome(&end.pod, end.is_static, PodResult::Kept);
            let pod = pods.get(&end.pod).copied();
            let kept = match pod {
                _ if added.contains(&end.pod) => PodResult::Starts,
                Some(pod) if !end.ends() => {
                    let stopped = match () {
                        () if replaced.contains(&end.pod) => {
                            Some(StoppedContainers::of(pod, RestartCause::Replaced, names(pod)))
                        }
                        () if pod.metadata.deletion_timestamp.is_some() => end.stopped.clone(),
                        // The pod after the boot is another one, or there is none.
                        () if self.reboots && !end.stopped.as_ref().is_some_and(ends_pod) => {
                            let all = lasting_containers(pod).map(|it| it.name.clone()).collect();
                            Some(StoppedContainers::of(pod, RestartCause::Reboot, all))
                        }
                        () => end.stopped.clone(),
                    };
                    stop(&mut outcome, stopped)
                }
                _ => PodResult::Kept,
            };
            let mut results = end.results.iter().map(|result| result_of(*result, kept));
            outcome.result = results.next().unwrap_or(kept);
            outcome.or_else = results.collect();
            outcome.reason.clone_from(&end.reason);
            outcome.message.clone_from(&end.message);
            outcome.is_of_manifest = end.is_of_manifest;
            outcome.depends_on = end.cause.as_ref().map(ToString::to_string);
            if let Some(resource) = pod.and_then(|pod| self.forgotten_device(pod))
                && !outcome.result.is_lost()
            {
                if !outcome.or_else.contains(&PodResult::Refused) {
                    outcome.or_else.push(PodResult::Refused);
                }
                outcome.depends_on = Some(OpenCause::DeviceForgotten { resource }.to_string());
            }
            outcome
        };
        let mut outcomes: Vec<PodOutcome> = ends.items.iter().map(one).collect();
        if outcomes.iter().any(|it| it.cause == Some(RestartCause::NewUid)) {
            basis.assume(NEW_UID);
            basis.assume(NO_UID_IN_MANIFEST);
        }
        self.shut_down(&pods, &added, &mut outcomes, basis);
        Ok(PodEffects { outcomes, ..PodEffects::default() })
    }

    /// Ends the pods that the kubelet ends before a reboot. Static pods start again with the kubelet.
    fn shut_down(
        &self,
        pods: &BTreeMap<String, &Pod>,
        added: &BTreeSet<String>,
        outcomes: &mut [PodOutcome],
        basis: &mut Basis,
    ) {
        let groups = self.before.kubelet().ok().and_then(|node| ShutdownGroups::of(node));
        let Some(groups) = groups.filter(|_| self.reboots) else { return };
        let ending = outcomes.iter_mut().filter(|it| !it.is_static && !added.contains(&it.pod));
        for outcome in ending {
            let Some(pod) = pods.get(&outcome.pod) else { continue };
            outcome.result = PodResult::Terminated;
            outcome.reason = Some(node_shutdown::REASON.to_owned());
            outcome.message = Some(node_shutdown::MESSAGE.to_owned());
            outcome.grace_seconds = Some(groups.seconds(pod));
            (outcome.cause, outcome.depends_on) = (None, None);
            outcome.containers.clear();
            outcome.or_else.clear();
        }
        basis.assume(node_shutdown::BY_SYSTEMD);
    }

    /// Returns the pods of files that are added to the node.
    fn added(&self) -> BTreeSet<String> {
        missing_in(self.after.state, self.before.state)
    }

    /// Returns the static pods whose manifests are replaced.
    fn replaced(&self) -> BTreeSet<String> {
        let pods = self.before.state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        let before: BTreeMap<String, String> =
            pods.map(|it| (qualified(&it.pod), pod_id(&it.pod))).collect();
        let pods = self.after.state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        let is_other = |pod: &&Pod| {
            is_static_pod(pod) && before.get(&qualified(pod)).is_some_and(|old| *old != pod_id(pod))
        };
        pods.map(|it| &*it.pod).filter(is_other).map(qualified).collect()
    }

    /// Returns the outcomes of pods whose kubelet keeps running.
    fn running(&self, about: &AdmissionNode, basis: &mut Basis) -> Result<PodEffects, Failure> {
        let mut effects = PodEffects::default();
        let (added, replaced) = (self.added(), self.replaced());
        let object = about.object()?;
        let new = &added | &replaced;
        let no_kubelet = match added.is_empty() {
            true => None,
            false => no_kubelet(self.before.kubelet()?),
        };
        let arrivals = match new.is_empty() || no_kubelet.is_some() {
            true => Arrivals::default(),
            false => Arrivals::of(
                &mut AdmissionNode::with_all_pods(self.after.kubelet()?.clone()),
                &new,
                basis,
            )?,
        };
        let old_taints = self.before.state.snapshot.node.value().map(|node| &node.spec.taints);
        for pod in about.node.allocated_pods() {
            if pod.status.has_ended() {
                continue;
            }
            let name = qualified(pod);
            let mut outcome = outcome(&name, is_static_pod(pod), PodResult::Kept);
            let taint = untolerated_taint(pod, object, &about.node.kubelet.rules).filter(|taint| {
                !is_static_pod(pod) && old_taints.is_none_or(|old| !old.contains(taint))
            });
            if let Some(error) = no_kubelet.as_ref().filter(|_| added.contains(&name)) {
                outcome.result = PodResult::Refused;
                outcome.message = Some(error.clone());
            } else if let Some(arrival) = arrivals.new.get(&name) {
                let is_replaced = replaced.contains(&name);
                self::arrive(&mut outcome, arrival, is_replaced.then(|| names(pod)));
            } else if let Some(taint) = taint {
                outcome.result = PodResult::Deleted;
                let value = if taint.value.is_empty() {
                    String::new()
                } else {
                    format!("={}", taint.value)
                };
                outcome.message = Some(format!("{}{value}:{}", taint.key, taint.effect));
            }
            effects.outcomes.push(outcome);
        }
        effects.written.clone_from(&arrivals.written);
        for outcome in &mut effects.outcomes {
            if let Some(victim) = arrivals.victims.get(&outcome.pod) {
                kill(outcome, victim);
            }
        }
        Ok(effects)
    }

    /// Reports the pods that only the next start of the kubelet would reject.
    fn next_start(&self, effects: &mut PodEffects) -> Result<(), Failure> {
        let now =
            by_name(StartEnds::of(&AdmissionNode::with_all_pods(self.before.kubelet()?.clone()))?);
        let outcomes = effects.outcomes.iter().filter(|it| it.result.is_lost());
        let reported: Vec<String> = outcomes.map(|it| it.pod.clone()).collect();
        // A pod that ends with the change takes no room at the next start.
        let is_new = |it: &&PodOutcome| {
            matches!(it.result, PodResult::Starts) || it.or_else.contains(&PodResult::Starts)
        };
        let new = effects.outcomes.iter().filter(is_new);
        let new: BTreeSet<String> = new.map(|it| it.pod.clone()).collect();
        // Whether the kubelet gives them what they ask for is open already.
        let open = effects.outcomes.iter().filter(|it| is_new(it) && !it.or_else.is_empty());
        let open: BTreeSet<String> = open.map(|it| it.pod.clone()).collect();
        let reclaimed = self.after_reclaim();
        let node = match (reclaimed, new.is_empty()) {
            (None, true) => self.after.kubelet()?.clone(),
            (Some(state), true) => Arc::new(state.node()?),
            (reclaimed, false) => {
                let mut state = reclaimed.unwrap_or_else(|| self.after.state.clone());
                state.put_state_files(&effects.written.files);
                let devices = state.snapshot.devices.as_mut();
                if let Some(checkpoint) = devices.and_then(|it| it.checkpoint.found.as_mut()) {
                    checkpoint.value.entries.extend_from_slice(&effects.written.devices);
                }
                run(&mut state, &new);
                Arc::new(state.node()?)
            }
        };
        let about = AdmissionNode::with_flags(node, reported.clone(), None);
        let mut ends: BTreeMap<NextEnd, Vec<String>> = BTreeMap::new();
        for end in StartEnds::of(&about)?.items {
            let is_worse = now.get(&end.pod).is_none_or(|now| match now.may_end() {
                true => end.ends() && !now.ends(),
                false => end.may_end(),
            });
            let is_told = reported.contains(&end.pod) || open.contains(&end.pod);
            if end.may_end() && is_worse && !is_told {
                let pod = end.pod.clone();
                ends.entry(NextEnd::of(end)).or_default().push(pod);
            }
        }
        for (NextEnd { results, reason, message, depends_on }, pods) in ends {
            let subject = match pods.as_slice() {
                [pod] => Subject::Pod { pod: pod.clone(), container: None },
                _ => Subject::Node,
            };
            let rule = WhatIfRule::NextStart { pods, results, reason, message, depends_on };
            effects.findings.push(Effect::new(subject, rule));
        }
        Ok(())
    }

    /// Returns the findings about the outcome of a pod: what becomes of its resize, and of its containers otherwise.
    fn findings_of(&self, outcome: &PodOutcome, added: &BTreeSet<String>) -> Vec<Effect> {
        let resize = self.resize_fate(outcome).map(|fate| {
            let subject = Subject::Pod { pod: outcome.pod.clone(), container: None };
            Effect::new(subject, WhatIfRule::Pod(fate))
        });
        let is_of_resize = resize.is_some()
            && (outcome.cause == Some(RestartCause::Resize) || !outcome.or_else.is_empty());
        let own = self.finding(outcome, added).filter(|_| !is_of_resize);
        resize.into_iter().chain(own).collect()
    }

    /// Returns the finding about what becomes of a pod; `None`: it is kept.
    fn finding(&self, outcome: &PodOutcome, added: &BTreeSet<String>) -> Option<Effect> {
        let reason = || outcome.reason.clone().unwrap_or_default();
        let message = || outcome.message.clone().unwrap_or_default();
        let is_new = added.contains(&outcome.pod);
        let subject = Subject::Pod { pod: outcome.pod.clone(), container: None };
        let fate = match outcome.result {
            result if !outcome.or_else.is_empty() => PodFate::Open {
                outcomes: [result].into_iter().chain(outcome.or_else.iter().copied()).collect(),
                cause: outcome.depends_on.clone().unwrap_or_default(),
                reboots: self.reboots,
                is_unknown: outcome.is_unknown,
            },
            PodResult::Kept | PodResult::Waits => return None,
            PodResult::Refused if is_new && outcome.reason.is_none() => {
                PodFate::NoKubelet { error: message() }
            }
            PodResult::Refused if is_new => {
                PodFate::NotAdmitted { reason: reason(), message: message() }
            }
            PodResult::Refused => {
                let is_of_manifest = outcome.is_of_manifest;
                PodFate::Refused { reason: reason(), message: message(), is_of_manifest }
            }
            PodResult::Preempted => PodFate::Preempted { for_pod: message() },
            PodResult::Evicted => {
                PodFate::Evicted { condition: message(), place: outcome.place.unwrap_or_default() }
            }
            PodResult::Deleted => PodFate::Deleted { taint: message() },
            PodResult::Restarts => PodFate::Restarts {
                containers: outcome.containers.clone(),
                cause: outcome.cause.unwrap_or(RestartCause::NotRunning),
            },
            PodResult::Terminated => {
                PodFate::Terminated { seconds: outcome.grace_seconds, message: message() }
            }
            PodResult::Ends => PodFate::Ends {
                containers: outcome.containers.clone(),
                cause: outcome.cause.unwrap_or(RestartCause::NotRunning),
            },
            PodResult::Starts => PodFate::Starts {},
        };
        Some(Effect::new(subject, WhatIfRule::Pod(fate)))
    }
}

/// Leaves open whether pods are refused whose CPUs and NUMA nodes are not known.
fn leave_unplaced_open(outcomes: &mut [PodOutcome], basis: &Basis) {
    for missing in basis.missing.iter().filter(|it| it.fact == MissingFact::Placement) {
        let is_of = |it: &&mut PodOutcome| missing.about.as_deref() == Some(&*it.pod);
        let stays = |it: &&mut PodOutcome| !it.result.is_lost() && it.or_else.is_empty();
        for outcome in outcomes.iter_mut().filter(is_of).filter(stays) {
            outcome.or_else.push(PodResult::Refused);
            outcome.depends_on = Some(missing.text.clone());
            outcome.is_unknown = true;
        }
    }
}

/// Puts what becomes of a resize into the outcome of its pod.
fn put_resize(outcome: &mut PodOutcome, answer: &ResizeAnswer) {
    // What else happens to the containers is worse than waiting.
    let waits = outcome.result == PodResult::Kept;
    let mut restart = |restarts: &[ResizeRestart]| {
        if !restarts.is_empty() && outcome.result == PodResult::Kept {
            outcome.result = PodResult::Restarts;
            outcome.cause = Some(RestartCause::Resize);
            outcome.containers = restarts.iter().map(|it| it.container.clone()).collect();
        }
    };
    match answer {
        ResizeAnswer::Refused(refusal) => outcome.message = Some(refusal.to_string()),
        ResizeAnswer::Pending { reason, message } if waits => {
            outcome.result = PodResult::Waits;
            outcome.reason = Some(reason.to_string());
            outcome.message = Some(message.clone());
        }
        ResizeAnswer::Allocated(Actuation::Done { restarts, .. }) => restart(restarts),
        ResizeAnswer::Allocated(Actuation::Failed { message, .. }) if waits => {
            outcome.result = PodResult::Waits;
            outcome.reason = Some("Error".to_owned());
            outcome.message = Some(message.clone());
        }
        ResizeAnswer::Allocated(Actuation::Open { restarts, .. }) => {
            restart(restarts);
            outcome.or_else.push(PodResult::Waits);
            outcome.depends_on = Some(OpenCause::MemoryInUse.to_string());
        }
        ResizeAnswer::Pending { .. } | ResizeAnswer::Allocated(Actuation::Failed { .. }) => {}
    }
}

/// Returns true if the pod as a whole ends, and not its containers alone.
fn ends_pod(stopped: &StoppedContainers) -> bool {
    matches!(stopped.cause, RestartCause::NewUid | RestartCause::NoManifest)
}

/// What the new UIDs of static pods rest on.
const NEW_UID: &str = "a static pod without metadata.uid in its manifest has another UID under a kubelet of another minor version: \
                       read in the kubelet's source (applyDefaults, pkg/kubelet/config/common.go), not seen on a node";

const NO_UID_IN_MANIFEST: &str = "a static pod whose UID has 32 hexadecimal digits has no metadata.uid in its manifest: its mirror \
                                  pod does not show that";

/// Returns the names of the containers of a pod.
fn names(pod: &Pod) -> Vec<String> {
    pod.spec.containers.iter().map(|container| container.name.clone()).collect()
}

/// Writes down which containers of an admitted pod end. Returns what becomes of it.
fn stop(outcome: &mut PodOutcome, stopped: Option<StoppedContainers>) -> PodResult {
    let Some(StoppedContainers { names, cause, start_again }) = stopped else {
        return PodResult::Kept;
    };
    outcome.cause = Some(cause);
    outcome.containers = names;
    if start_again { PodResult::Restarts } else { PodResult::Ends }
}

/// Returns the pods that one state has and another one lacks.
pub(super) fn missing_in(has: &NodeState, lacks: &NodeState) -> BTreeSet<String> {
    let names = |state: &NodeState| -> BTreeSet<String> {
        let pods = state.snapshot.pods.value().into_iter().flat_map(|it| &it.pods);
        pods.map(|loaded| qualified(&loaded.pod)).collect()
    };
    names(has).difference(&names(lacks)).cloned().collect()
}

/// Takes back the CPUs of pods that are removed: the CPU manager of the kubelet that runs rewrites its state file within
/// seconds (`reconcileState` in `cpu_manager.go`). The memory manager does so when it admits a pod.
pub(super) fn take_back(before: &NodeState, after: &mut NodeState) {
    let removed = missing_in(before, after);
    if removed.is_empty() {
        return;
    }
    let Ok(node) = before.node() else { return };
    // What is not known of the managers changes nothing.
    let removed = removed.into_iter().collect();
    let managers = AdmissionNode::with_flags(node, removed, None).managers();
    if let Ok(managers) = managers {
        let mut files = managers.state_files();
        files.retain(|(file, _)| *file == StateFile::Cpu);
        after.put_state_files(&files);
    }
}

/// Lets the containers of new pods run.
fn run(state: &mut NodeState, new: &BTreeSet<String>) {
    let pods = state.snapshot.pods.found.iter_mut().flat_map(|found| &mut found.value.pods);
    for pod in pods.map(|loaded| &mut *loaded.pod).filter(|pod| new.contains(&qualified(pod))) {
        let running = |container: &Container| ContainerStatus {
            name: container.name.clone(),
            state: ContainerState { running: Some(Default::default()), ..Default::default() },
            ..ContainerStatus::default()
        };
        pod.status.phase = "Running".to_owned();
        pod.status.container_statuses = pod.spec.containers.iter().map(running).collect();
        let sidecars = pod.spec.sidecars();
        pod.status.init_container_statuses = sidecars.map(running).collect();
    }
}

/// The end of pods at the next start of the kubelet.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NextEnd {
    results: Vec<PodResult>,
    reason: String,
    message: String,
    depends_on: Option<String>,
}

impl NextEnd {
    fn of(end: StartEnd) -> Self {
        let results = end.results.iter().map(|result| result_of(*result, PodResult::Kept));
        Self {
            results: results.collect(),
            reason: end.reason.unwrap_or_default(),
            message: end.message.unwrap_or_default(),
            depends_on: end.cause.map(|cause| cause.to_string()),
        }
    }
}

/// Writes down what becomes of a new pod. `containers`: of one that takes the place of another.
fn arrive(outcome: &mut PodOutcome, arrival: &Arrival, containers: Option<Vec<String>>) {
    let starts = match containers {
        Some(containers) => {
            outcome.cause = Some(RestartCause::Replaced);
            outcome.containers = containers;
            PodResult::Restarts
        }
        None => PodResult::Starts,
    };
    let [first, second] = match arrival.is_admitted {
        true => [starts, PodResult::Refused],
        false => [PodResult::Refused, starts],
    };
    outcome.result = first;
    outcome.or_else = arrival.is_open.then_some(second).into_iter().collect();
    outcome.depends_on = arrival.cause.as_ref().map(ToString::to_string);
    outcome.is_unknown = matches!(arrival.cause, Some(OpenCause::Unknown { .. }));
    (outcome.reason, outcome.message) = arrival.refusal.clone().unzip();
}

/// Writes down that a pod is killed for a new one, or may be.
fn kill(outcome: &mut PodOutcome, victim: &Victim) {
    let stays = outcome.result;
    outcome.reason = Some("Preempting".to_owned());
    outcome.message = Some(victim.killer.clone());
    (outcome.result, outcome.or_else) = match (&victim.cause, victim.is_chosen) {
        (None, _) => (PodResult::Preempted, Vec::new()),
        (Some(_), true) => (PodResult::Preempted, vec![stays]),
        (Some(_), false) => (stays, vec![PodResult::Preempted]),
    };
    outcome.depends_on = victim.cause.as_ref().map(ToString::to_string);
}

/// Returns the result for a pod; `kept`: that of one that is admitted.
fn result_of(result: ReadmissionResult, kept: PodResult) -> PodResult {
    match result {
        ReadmissionResult::Admitted => kept,
        ReadmissionResult::Refused => PodResult::Refused,
        ReadmissionResult::Killed => PodResult::Preempted,
    }
}

fn outcome(pod: &str, is_static: bool, result: PodResult) -> PodOutcome {
    PodOutcome {
        pod: pod.to_owned(),
        is_static,
        result,
        reason: None,
        message: None,
        containers: Vec::new(),
        cause: None,
        place: None,
        grace_seconds: None,
        or_else: Vec::new(),
        depends_on: None,
        is_of_manifest: false,
        is_unknown: false,
    }
}

/// Adds the basis of another answer to the basis of this one.
pub(super) fn take(basis: &mut Basis, other: Basis) {
    basis.assume_all(other.assumptions);
    basis.warn_all(other.warnings);
    basis.lack_all(other.missing);
}
