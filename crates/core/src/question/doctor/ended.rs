//! Pods that a component ended, and pods that do not come to run or do not go.

use super::pod_rule::{Ended, Stuck};
use super::rule::{NodeFinding, NodeRule};
use kq_admission::preemption::why::{Cause, PreemptionCause, Traces, why_killed};
use kq_admission::qualified;
use kq_answer::{Basis, Subject};
use kq_facts::events::PodEvent;
use kq_facts::node::Node;
use kq_facts::pod_selector::PodSelector;
use kq_facts::resize::{failed_resize, pending_resize};
use kq_facts::runtime::{ContainerState, Sandbox};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::{ContainerStatus, Pod};
use kq_output::terminal::brief;
use std::collections::{BTreeMap, BTreeSet};

/// The most ended pods that are shown.
const SHOWN: usize = 10;

/// A pod may take as long to get its sandbox.
const SANDBOX_SECONDS: i64 = 120;

/// A pod may take as long to go after its grace period.
const DELETION_SECONDS: i64 = 60;

/// What a container waits for in the ordinary course, and what is reported as a restart.
const NO_ERROR: [&str; 5] =
    ["", "ContainerCreating", "PodInitializing", "Completed", "CrashLoopBackOff"];

/// What a container waits for after a pull of its image failed (`EnsureImageExists`,
/// `pkg/kubelet/images/image_manager.go`).
const NOT_PULLED: [&str; 4] =
    ["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed"];

/// The pods that have ended: phase Failed or Succeeded.
#[derive(Debug, Default)]
pub(super) struct EndedPods<'n> {
    uids: BTreeSet<&'n str>,
    /// As NAMESPACE/NAME, without those of which another pod lives.
    names: BTreeSet<String>,
}

impl EndedPods<'_> {
    pub(super) fn has(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// Returns the pods that have ended.
pub(super) fn ended_pods(node: &Node) -> EndedPods<'_> {
    let loaded = node.snapshot.pods.value().into_iter().flat_map(|pods| &pods.pods);
    let (gone, alive): (Vec<&Pod>, Vec<&Pod>) =
        loaded.map(|loaded| &*loaded.pod).partition(|pod| pod.status.has_ended());
    let alive: BTreeSet<String> = alive.into_iter().map(qualified).collect();
    EndedPods {
        uids: gone.iter().map(|pod| effective_uid(pod)).collect(),
        names: gone.iter().map(|pod| qualified(pod)).filter(|it| !alive.contains(it)).collect(),
    }
}

/// Returns the findings about pods as a whole.
pub(super) fn pods(node: &Node, source: &str) -> Vec<NodeFinding> {
    let events = node.snapshot.events.value().map_or(&[] as &[PodEvent], Vec::as_slice);
    let mut of_pod: BTreeMap<(&str, &str), Vec<&PodEvent>> = BTreeMap::new();
    for event in events {
        of_pod.entry((&event.pod.namespace, &event.pod.name)).or_default().push(event);
    }
    let (sandboxes, running) = (sandboxes(node), running(node));
    let newest = newest_sandboxes(node);
    let (mut ended, mut stuck, mut health) = (Vec::new(), Vec::new(), Vec::new());
    let loaded = node.snapshot.pods.value().into_iter().flat_map(|pods| &pods.pods);
    for pod in loaded.clone().map(|loaded| &*loaded.pod) {
        let name = (pod.metadata.namespace.as_str(), pod.metadata.name.as_str());
        let own = of_pod.get(&name).map_or(&[] as &[&PodEvent], Vec::as_slice);
        let about = |rule| {
            NodeFinding::new(Subject::Pod { pod: qualified(pod), container: None }, rule)
                .from(source)
        };
        if let Some(end) = end(pod, own, node.now) {
            ended.push(about(NodeRule::EndedPods(end)));
            continue;
        }
        stuck.extend(waiting(pod, own, source));
        let without_sandbox =
            sandboxes.as_ref().and_then(|all| no_sandbox(pod, own, all, node.now));
        let not_ready = sandbox_not_ready(pod, &newest);
        let gone = || running.as_ref().and_then(|all| not_running(pod, all, node.now));
        // Without its sandbox, no container of the pod runs.
        let gone = not_ready.or_else(gone);
        let resize = pending_resize(pod).map(|(waits_for_room, message)| {
            let message = brief(message).into_owned();
            Stuck::Resize { waits_for_room, message }
        });
        let fails = failed_resize(pod).map(|message| {
            let message = brief(message).into_owned();
            Stuck::ResizeFails { message }
        });
        let rules = without_sandbox.into_iter().chain(gone).chain(deleting(pod, node.now));
        let rules = rules.chain(resize).chain(fails);
        stuck.extend(rules.map(|rule| about(NodeRule::StuckPods(rule))));
        health.extend(unhealthy(pod, source));
    }
    // A pod that made place for another, or was deleted by its controller, has left its events alone.
    let known: BTreeSet<_> =
        loaded.map(|it| (&*it.pod.metadata.namespace, &*it.pod.metadata.name)).collect();
    let gone = of_pod.iter().filter(|(name, _)| !known.contains(name));
    ended.extend(gone.filter_map(|(_, events)| gone_end(events, node.now)).map(|(pod, end)| {
        NodeFinding::new(Subject::Pod { pod, container: None }, NodeRule::EndedPods(end))
            .from(source)
    }));
    let more = ended.len().saturating_sub(SHOWN);
    ended.truncate(SHOWN);
    match (ended.is_empty(), more) {
        (true, _) if node.snapshot.events.found.is_none() => {
            let reason = node.snapshot.events.reason();
            ended.push(NodeRule::EndedPods(Ended::Unchecked { reason }).of_node().from(source));
        }
        (true, _) => ended.push(NodeRule::EndedPods(Ended::Ok).of_node().from(source)),
        (false, 0) => {}
        (false, pods) => {
            ended.push(NodeRule::EndedPods(Ended::More { pods }).of_node().from(source));
        }
    }
    if stuck.is_empty() {
        stuck.push(NodeRule::StuckPods(Stuck::Ok).of_node().from(source));
    }
    ended.into_iter().chain(stuck).chain(health).collect()
}

/// Returns the UIDs of the pods of which a container runs; `None`: the runtime did not list them.
fn running(node: &Node) -> Option<BTreeSet<&str>> {
    let containers = node.snapshot.runtime.value()?.containers.value()?;
    let running = containers.into_iter().filter(|it| it.state == ContainerState::Running);
    Some(running.map(|it| &*it.pod_uid).collect())
}

/// Returns the UIDs of the pods that have a sandbox that runs; `None`: the runtime did not list them.
fn sandboxes(node: &Node) -> Option<BTreeSet<&str>> {
    let all = node.snapshot.runtime.value()?.sandboxes.value()?;
    Some(all.iter().filter(|it| it.ready).map(|it| it.uid.as_str()).collect())
}

/// Returns the newest sandbox of each pod, by UID.
fn newest_sandboxes(node: &Node) -> BTreeMap<&str, &Sandbox> {
    let sandboxes = node.snapshot.runtime.value().and_then(|runtime| runtime.sandboxes.value());
    let mut newest: BTreeMap<&str, &Sandbox> = BTreeMap::new();
    for sandbox in sandboxes.into_iter().flatten() {
        let of_pod = newest.entry(&sandbox.uid).or_insert(sandbox);
        if sandbox.created_at > of_pod.created_at {
            *of_pod = sandbox;
        }
    }
    newest
}

/// Returns that a pod runs without a sandbox that is ready: the newest one decides (`PodSandboxChanged`,
/// `pkg/kubelet/kuberuntime/util/util.go`). A new one is made unless no container may be started again
/// (`computePodActions`, `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
fn sandbox_not_ready(pod: &Pod, newest: &BTreeMap<&str, &Sandbox>) -> Option<Stuck> {
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    let is_ready = newest.get(effective_uid(pod))?.ready;
    let starts_again = pod.spec.restart_policy != "Never";
    (pod.status.phase == "Running" && !is_deleted && !is_ready)
        .then_some(Stuck::SandboxNotReady { starts_again })
}

/// Returns how a component ended a pod, as `kq preempt why` finds it.
fn end(pod: &Pod, events: &[&PodEvent], now: Timestamp) -> Option<Ended> {
    // A victim whose containers exit with 0 has succeeded, and only its condition shows the end.
    let was_disrupted = || {
        let mut conditions = pod.status.conditions.iter();
        conditions.any(|it| it.kind == DisruptionTarget::TYPE && it.status == "True")
    };
    match pod.status.phase.as_str() {
        "Failed" => {}
        "Succeeded" if was_disrupted() => {}
        _ => return None,
    }
    let cause = cause(&qualified(pod), vec![pod], events, now)?.cause;
    let (reason, message) = (pod.status.reason.clone(), pod.status.message.clone());
    Some(Ended::Pod { cause, reason, message, is_gone: false })
}

/// Returns the name of a pod that only events know, and how a component ended it.
fn gone_end(events: &[&PodEvent], now: Timestamp) -> Option<(String, Ended)> {
    let name = events.first()?.pod.qualified();
    let answer = cause(&name, Vec::new(), events, now)?;
    // The event that decides; without one, the last that says more than that a container was stopped.
    let because = answer.because.evidence();
    let evidence = answer.evidence.iter().rev().find(|it| Some(&*it.means) == because);
    let decides = |event: &&&PodEvent| {
        evidence.is_some_and(|it| it.at == event.at && it.says.starts_with(&event.reason))
    };
    let others = || events.iter().filter(|event| event.reason != "Killing");
    let told = events.iter().find(decides);
    let told = told.or_else(|| others().max_by_key(|event| event.at.map(|at| at.0)))?;
    let (reason, message) = (told.reason.clone(), told.message.clone());
    Some((name, Ended::Pod { cause: answer.cause, reason, message, is_gone: true }))
}

/// Returns by which component a pod was ended; `None`: by none.
fn cause(
    name: &str,
    pods: Vec<&Pod>,
    events: &[&PodEvent],
    now: Timestamp,
) -> Option<PreemptionCause> {
    let events: Vec<PodEvent> = events.iter().copied().cloned().collect();
    let traces = Traces { pods: Ok(pods), events: Ok(&events), log: None, now, are_current: true };
    let answer = why_killed(&PodSelector::new(name), &traces, Basis::default()).ok()?;
    let is_of_component = matches!(
        answer.cause,
        Cause::RefusedAtAdmission
            | Cause::EvictedByKubelet
            | Cause::EvictedThroughApi
            | Cause::PreemptedByKubelet
            | Cause::PreemptedByScheduler
            | Cause::NodeShutdown
            | Cause::DeletedByTaintManager
            | Cause::EndedByKubelet
    );
    is_of_component.then_some(answer)
}

fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.containers_and_init()
}

/// Returns the containers that wait with an error.
fn waiting(pod: &Pod, events: &[&PodEvent], source: &str) -> Vec<NodeFinding> {
    let waiting = statuses(pod).filter_map(|status| {
        let waiting = status.state.waiting.as_ref()?;
        if NO_ERROR.contains(&waiting.reason.as_str()) {
            return None;
        }
        let (reason, message) = (waiting.reason.clone(), waiting.message.clone());
        let subject = Subject::Pod { pod: qualified(pod), container: Some(status.name.clone()) };
        let stuck = match NOT_PULLED.contains(&reason.as_str()) {
            true => {
                let (image, message) = failed_pull(&message, &status.name, events);
                Stuck::NotPulled { image, reason, message }
            }
            false => Stuck::Waiting { reason, message },
        };
        Some(NodeFinding::new(subject, NodeRule::StuckPods(stuck)).from(source))
    });
    waiting.collect()
}

/// Returns the image that was not pulled, and why: by the message of the waiting container, or where that has only the
/// back-off, by the newest event of a pull that failed. A pod is kept without the names of its images.
fn failed_pull(
    message: &str,
    container: &str,
    events: &[&PodEvent],
) -> (Option<String>, Option<String>) {
    let is_of = |event: &&&PodEvent| {
        let is_its = event.container.as_deref().is_none_or(|it| it == container);
        is_its && event.reason == "Failed" && event.message.starts_with(FAILED_PULL)
    };
    let newest = events.iter().filter(is_of).max_by_key(|event| event.at.map(|at| at.0));
    let of_event = newest.map(|event| event.message.as_str());
    let (image, words) = match quoted_after(message, BACK_OFF) {
        Some((image, words)) => (Some(image), words.trim_start_matches(": ")),
        None => (of_event.and_then(|it| quoted_after(it, FAILED_PULL)).map(|it| it.0), message),
    };
    let words = Some(words).filter(|it| !it.is_empty()).or(of_event);
    (image.map(str::to_owned), words.map(|it| brief(it).into_owned()))
}

/// The kubelet's words before the name of an image (`EnsureImageExists`, `pkg/kubelet/images/image_manager.go`).
const BACK_OFF: &str = "Back-off pulling image ";
const FAILED_PULL: &str = "Failed to pull image ";

/// Returns the quoted name behind a beginning, and what follows it.
fn quoted_after<'t>(text: &'t str, start: &str) -> Option<(&'t str, &'t str)> {
    text.strip_prefix(start)?.strip_prefix('"')?.split_once('"')
}

/// Returns that a pod has had no sandbox for long.
fn no_sandbox(
    pod: &Pod,
    events: &[&PodEvent],
    sandboxes: &BTreeSet<&str>,
    now: Timestamp,
) -> Option<Stuck> {
    let is_here = !pod.spec.node_name.is_empty() && pod.metadata.deletion_timestamp.is_none();
    if pod.status.phase != "Pending" || !is_here || sandboxes.contains(effective_uid(pod)) {
        return None;
    }
    let seconds = since(pod.status.start_time.as_deref()?, now)?;
    let failure = events
        .iter()
        .filter(|event| event.reason.starts_with("Failed"))
        .max_by_key(|event| event.at.map(|at| at.0));
    let event = failure.map(|event| format!("{}: {}", event.reason, event.message));
    (seconds > SANDBOX_SECONDS).then_some(Stuck::NoSandbox { seconds, event })
}

/// Returns that no container of a pod runs whose status has had running ones for long.
fn not_running(pod: &Pod, running: &BTreeSet<&str>, now: Timestamp) -> Option<Stuck> {
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    if pod.status.phase != "Running" || is_deleted || running.contains(effective_uid(pod)) {
        return None;
    }
    let had = statuses(pod).filter(|status| !status.container_id.is_empty());
    let starts = had.filter_map(|it| since(it.state.running.as_ref()?.started_at.as_deref()?, now));
    starts.min().filter(|seconds| *seconds > SANDBOX_SECONDS).map(|_| Stuck::NotRunning)
}

/// Returns that a pod should have been gone for long. Its `deletionTimestamp` includes the grace period.
fn deleting(pod: &Pod, now: Timestamp) -> Option<Stuck> {
    let seconds = since(pod.metadata.deletion_timestamp.as_deref()?, now)?;
    (seconds > DELETION_SECONDS).then_some(Stuck::Deleting { seconds })
}

fn since(text: &str, now: Timestamp) -> Option<i64> {
    let then: Timestamp = text.parse().ok()?;
    Some(now.since(then) / GoDuration::SECOND.0)
}

/// Returns the devices and claims of a pod that are not healthy.
fn unhealthy(pod: &Pod, source: &str) -> Vec<NodeFinding> {
    let mut found = Vec::new();
    for status in statuses(pod) {
        for resource in &status.allocated_resources_status {
            let sick = resource.resources.iter();
            for unit in sick.filter(|unit| !matches!(unit.health.as_str(), "" | "Healthy")) {
                let subject =
                    Subject::Pod { pod: qualified(pod), container: Some(status.name.clone()) };
                let rule = NodeRule::ResourceHealth {
                    resource: resource.name.clone(),
                    device: unit.resource_id.clone(),
                    health: unit.health.clone(),
                    message: unit.message.clone(),
                };
                found.push(NodeFinding::new(subject, rule).from(source));
            }
        }
    }
    found
}
