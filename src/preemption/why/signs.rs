//! What one piece of evidence says, and what it means.

use super::report::{Cause, Certainty, Evidence, EvidenceSource};
use crate::facts::events::PodEvent;
use crate::facts::kubelet_log::{LogEntry, LogLine};
use crate::facts::timestamp::Timestamp;
use crate::k8s::pod::{ContainerStatus, Pod, PodCondition, TerminatedState};
use crate::preemption::{CONDITION_MESSAGE, REASON_PREEMPTING};

/// A piece of evidence, and what it points to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sign {
    pub(super) evidence: Evidence,
    /// `None`: it says something, but not who put an end to the pod.
    pub(super) points_to: Option<(Cause, Certainty)>,
}

/// Whether a container of the pod has run here; `None`: nobody knows.
///
/// A kubelet that starts anew asks of each pod whether it takes it in, also of those that run (`HandlePodAdditions`,
/// `pkg/kubelet/kubelet.go`).
type HasRun = Option<bool>;

fn has_run(pod: &Pod) -> bool {
    every_status(pod).any(|status| {
        let states = [&status.state, &status.last_state];
        states.iter().any(|state| state.running.is_some() || state.terminated.is_some())
    })
}

fn refused(has_run: HasRun) -> Meaning {
    certain(
        Cause::RefusedAtAdmission,
        match has_run {
            Some(true) => {
                "a kubelet that started anew did not take the pod in again: it had run here"
            }
            Some(false) => "the kubelet did not take the pod: it never ran here",
            None => "the kubelet did not take the pod, or not again when it started anew",
        },
    )
}

/// What a text means, and how sure that is.
type Meaning = (Option<(Cause, Certainty)>, String);

/// How often the same may be said until it is passed over.
const MANY: usize = 50;

/// Returns the signs, the strongest first: the status, conditions, the log, the latest events.
pub(super) fn signs(pod: Option<&Pod>, events: &[&PodEvent], lines: &[&LogLine]) -> Vec<Sign> {
    let mut signs = Vec::new();
    if let Some(pod) = pod {
        signs.extend(of_status(pod));
        let conditions = pod.status.conditions.iter().filter(|it| it.kind == "DisruptionTarget");
        signs.extend(conditions.map(|condition| of_condition(pod, condition)));
        signs.extend(of_metadata(pod));
        signs.extend(of_containers(pod));
    }
    let is_gone = lines.iter().any(|it| it.says == LogEntry::Preempted);
    let has_run = pod.map(has_run);
    add_new(&mut signs, lines.iter().map(|line| of_line(line, is_gone, has_run)));
    let mut latest: Vec<&PodEvent> = events.to_vec();
    latest.sort_by_key(|event| std::cmp::Reverse(event.at));
    // A taint that went away, or is borne now, ends what was announced before.
    let is_taint = |event: &&PodEvent| event.reason.ends_with("TaintManagerEviction");
    if let Some(latest_of_taint) = latest.iter().copied().find(is_taint)
        && latest_of_taint.message.starts_with("Cancelling deletion")
    {
        latest.retain(|event| !is_taint(event) || *event == latest_of_taint);
    }
    add_new(&mut signs, latest.iter().filter_map(|event| of_event(event, has_run)));
    signs
}

/// Adds what is not there yet, within bounds: a log may say the same a thousand times.
fn add_new(signs: &mut Vec<Sign>, more: impl Iterator<Item = Sign>) {
    let mut added = 0;
    for sign in more {
        if added < MANY && !signs.contains(&sign) {
            signs.push(sign);
            added += 1;
        }
    }
}

fn certain(cause: Cause, means: &str) -> Meaning {
    (Some((cause, Certainty::Certain)), means.to_owned())
}

fn likely(cause: Cause, means: &str) -> Meaning {
    (Some((cause, Certainty::Likely)), means.to_owned())
}

fn nothing(means: &str) -> Meaning {
    (None, means.to_owned())
}

fn time(text: Option<&String>) -> Option<Timestamp> {
    text.and_then(|text| text.parse().ok())
}

fn sign(source: EvidenceSource, at: Option<Timestamp>, says: String, meaning: Meaning) -> Sign {
    let (points_to, means) = meaning;
    Sign { evidence: Evidence { source, at, says, means }, points_to }
}

/// The status: who ends a pod on its node writes a reason.
fn of_status(pod: &Pod) -> Option<Sign> {
    let status = &pod.status;
    let (reason, message) = (status.reason.as_str(), status.message.as_str());
    if status.phase.is_empty() && reason.is_empty() {
        return None;
    }
    let says = match (reason, message) {
        ("", _) => format!("phase {}", status.phase),
        (reason, "") => format!("phase {}, {reason}", status.phase),
        (reason, message) => format!("phase {}, {reason}: {message}", status.phase),
    };
    let meaning = match reason {
        _ if is_refusal(reason, message) => refused(Some(has_run(pod))),
        "" => nothing(match status.phase.as_str() {
            "Running" | "Pending" => "nobody ended it so far",
            _ => "nobody wrote a reason into it",
        }),
        REASON_PREEMPTING => {
            certain(Cause::PreemptedByKubelet, "the kubelet killed it to take in a critical pod")
        }
        "Evicted" => certain(
            Cause::EvictedByKubelet,
            "the kubelet evicted it: the node ran short, or it exceeded a limit of local storage",
        ),
        "Terminated" | "Shutdown" | "NodeShutdown" => {
            certain(Cause::NodeShutdown, "the kubelet stopped it as the node shut down")
        }
        "DeadlineExceeded" => certain(
            Cause::DeadlineExceeded,
            "the kubelet ended it: activeDeadlineSeconds were over",
        ),
        "NodeLost" => nothing("its node does not answer: what became of it is not known"),
        _ => nothing("no reason of one who puts an end to pods"),
    };
    Some(sign(EvidenceSource::Status, None, says, meaning))
}

/// Tells whether a pod was not taken at all. What is evicted and what is refused for want of room have the
/// same reason.
pub(super) fn is_refusal(reason: &str, message: &str) -> bool {
    const REASONS: [&str; 21] = [
        "UnexpectedAdmissionError",
        "InvalidNodeInfo",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "TaintToleration",
        "TopologyAffinityError",
        "SysctlForbidden",
        "AppArmor",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "PodOSNotSupported",
        "SupplementalGroupsPolicyNotSupported",
        "InitContainerRestartPolicyForbidden",
        "PodLevelResourcesNotSupported",
        "PodFeatureUnsupported",
        "UnknownReason",
        "UnexpectedPredicateFailureType",
        "SMTAlignmentError",
        "inconsistentCPUAllocationError",
        "prohibitedCPUAllocationError",
        "VolumeAttachmentLimitExceeded",
    ];
    // Older kubelets put "Pod " before the message, and nothing else.
    let says_so = ["Pod was rejected: ", "Pod The node had condition", "The node had condition"];
    says_so.iter().any(|start| message.starts_with(start))
        || REASONS.contains(&reason)
        || reason.strip_prefix("OutOf").is_some_and(|resource| !resource.is_empty())
        || (reason == "NodeShutdown" && message.contains("rejected"))
}

/// The condition: who is about to disrupt a pod writes it first (since 1.26).
fn of_condition(pod: &Pod, condition: &PodCondition) -> Sign {
    let PodCondition { kind, reason, status, message, .. } = condition;
    let at = time(condition.last_transition_time.as_ref());
    let says = format!("{kind} {status}, {reason}: {message}");
    let is_going = pod.metadata.deletion_timestamp.is_some()
        || matches!(pod.status.phase.as_str(), "Failed" | "Succeeded");
    // It is written before the pod is deleted, which may fail.
    let announced = |cause, means: &str| match is_going {
        true => certain(cause, means),
        false => likely(cause, &format!("{means}; but it is not deleted yet")),
    };
    let meaning = match reason.as_str() {
        _ if status != "True" => nothing("nobody is about to disrupt it"),
        "PreemptionByScheduler" => announced(
            Cause::PreemptedByScheduler,
            "the scheduler deleted it for a pod of higher priority",
        ),
        "EvictionByEvictionAPI" => announced(
            Cause::EvictedThroughApi,
            "somebody asked the API server to evict it: a drain, an autoscaler, a descheduler",
        ),
        "DeletionByTaintManager" | "DeletionByDeviceTaintManager" => announced(
            Cause::DeletedByTaintManager,
            "it was deleted for a NoExecute taint that it does not bear",
        ),
        "DeletionByPodGC" => announced(
            Cause::DeletedByPodGc,
            "the pod garbage collector removed it: its node is gone or out of service",
        ),
        "TerminationByKubelet" => by_kubelet(pod, message),
        _ => nothing("a reason that kq does not know"),
    };
    sign(EvidenceSource::Condition, at, says, meaning)
}

/// The kubelet has one reason for all of its own; the status or the message tells which it is.
fn by_kubelet(pod: &Pod, message: &str) -> Meaning {
    let reason = pod.status.reason.as_str();
    if reason == REASON_PREEMPTING || message == CONDITION_MESSAGE {
        certain(Cause::PreemptedByKubelet, "the kubelet killed it to take in a critical pod")
    } else if reason == "Evicted" || message.starts_with("The node was low on resource: ") {
        certain(Cause::EvictedByKubelet, "the kubelet evicted it")
    } else if message.contains("node shutdown") {
        certain(Cause::NodeShutdown, "the kubelet stopped it as the node shut down")
    } else {
        let means = "the kubelet ended it: preempted, evicted or shut down, which is not said";
        certain(Cause::EndedByKubelet, means)
    }
}

fn of_metadata(pod: &Pod) -> Option<Sign> {
    let deletion = pod.metadata.deletion_timestamp.as_ref()?;
    let says = format!("deletionTimestamp {deletion}");
    let means = "somebody deleted it, and by then it has to be gone";
    Some(sign(EvidenceSource::Metadata, time(Some(deletion)), says, nothing(means)))
}

pub(super) fn every_status(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses)
}

/// The containers: how each ended, and how often it was started again.
fn of_containers(pod: &Pod) -> Vec<Sign> {
    // That an init container is done is no news.
    let is_news = |status: &ContainerStatus, end: &TerminatedState| {
        end.exit_code != 0 || pod.status.container_statuses.iter().any(|it| it.name == status.name)
    };
    let of_container = |status: &ContainerStatus| {
        let name = &status.name;
        let now = status.state.terminated.as_ref().filter(|end| is_news(status, end));
        let now = now.map(|end| of_end(end, format!("{name}: {}", said_of_end(end))));
        let waits =
            if status.state.waiting.is_some() { ", and waits for the next time" } else { "" };
        let times = match status.restart_count {
            1 => format!("started again once{waits}"),
            times => format!("started again {times} times{waits}"),
        };
        let before = match &status.last_state.terminated {
            Some(end) => {
                Some(of_end(end, format!("{name}: before: {}; {times}", said_of_end(end))))
            }
            None if status.restart_count > 0 => {
                let means = nothing("how it ended before is not said");
                Some(sign(EvidenceSource::Container, None, format!("{name}: {times}"), means))
            }
            None => None,
        };
        [before, now]
    };
    every_status(pod).flat_map(of_container).flatten().collect()
}

fn of_end(end: &TerminatedState, says: String) -> Sign {
    let meaning = match (end.reason.as_str(), end.exit_code) {
        ("OOMKilled", _) => "the kernel killed a process of it for want of memory".to_owned(),
        ("ContainerStatusUnknown", _) => "the kubelet does not know how it ended".to_owned(),
        (_, 0) => "it ended without an error".to_owned(),
        (_, 137) => "SIGKILL ended it; who sent that is not said".to_owned(),
        (_, 143) => {
            "SIGTERM ended it, with which the kubelet stops containers, and others".to_owned()
        }
        (_, code @ 129..=192) => format!("signal {} ended it", code - 128),
        _ => "it ended by itself, with an error".to_owned(),
    };
    sign(EvidenceSource::Container, time(end.finished_at.as_ref()), says, (None, meaning))
}

fn said_of_end(end: &TerminatedState) -> String {
    let reason = if end.reason.is_empty() { "ended" } else { end.reason.as_str() };
    format!("{reason}, exit code {}", end.exit_code)
}

/// Returns the container and the probe for which the kubelet stopped it (`computePodActions`,
/// `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
pub(super) fn probe_kill<'m>(reason: &str, message: &'m str) -> Option<(&'m str, &'static str)> {
    let message = message.strip_suffix(", will be restarted").unwrap_or(message);
    let what = ["Container ", "Init container "].iter().find_map(|it| message.strip_prefix(it))?;
    let (container, probe) = what.split_once(" failed ")?;
    let probe =
        ["liveness", "startup"].into_iter().find(|it| probe.strip_prefix(it) == Some(" probe"));
    probe.filter(|_| reason == "Killing").map(|probe| (container, probe))
}

fn of_line(line: &LogLine, is_gone: bool, has_run: HasRun) -> Sign {
    let gone = |cause, means: &str| match is_gone {
        true => certain(cause, means),
        false => likely(cause, &format!("{means}; that it is gone is not in the log")),
    };
    let (says, meaning) = match &line.says {
        LogEntry::Preempting { requester, missing } => {
            let whom = requester.as_deref().unwrap_or("a pod that is not named");
            let lacks = match missing.as_str() {
                "" => String::new(),
                missing => format!(", which lacks {missing}"),
            };
            (
                format!("Preempting pod for {whom}{lacks}"),
                gone(Cause::PreemptedByKubelet, "the kubelet killed it to take in a critical pod"),
            )
        }
        LogEntry::Preempted => (
            "Pod evicted successfully".to_owned(),
            nothing("it was killed, and the kubelet went on with the pod that lacked room"),
        ),
        LogEntry::NotPreempted => (
            "Failed to evict pod".to_owned(),
            nothing("it did not stop in time; the kubelet takes the critical pod in all the same"),
        ),
        LogEntry::Evicted => (
            "Eviction manager: pod is evicted successfully".to_owned(),
            certain(Cause::EvictedByKubelet, "the kubelet evicted it"),
        ),
        LogEntry::Shutdown => (
            "Shutdown manager killing pod".to_owned(),
            certain(Cause::NodeShutdown, "the kubelet stopped it as the node shut down"),
        ),
        LogEntry::Denied { reason, message, is_addition } => (
            format!("Pod admission denied, {reason}: {message}"),
            match (is_addition, has_run) {
                (true, _) => refused(has_run),
                (false, Some(true)) => {
                    nothing("the kubelet did not take it in again, or refused to resize it")
                }
                (false, _) => likely(
                    Cause::RefusedAtAdmission,
                    "the kubelet did not take the pod, or refused to resize it",
                ),
            },
        ),
        LogEntry::Event { reason, message } => (
            format!("Event occurred, {reason}: {message}"),
            meaning_of_event("kubelet", reason, message, has_run).unwrap_or((None, String::new())),
        ),
    };
    sign(EvidenceSource::KubeletLog, None, format!("{} {says}", line.stamp), meaning)
}

fn of_event(event: &PodEvent, has_run: HasRun) -> Option<Sign> {
    let PodEvent { reason, message, reporter, count, .. } = event;
    let meaning = meaning_of_event(reporter, reason, message, has_run)?;
    let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
    let says = format!("{reason} by {reporter}{times}: {message}");
    Some(sign(EvidenceSource::Event, event.at, says, meaning))
}

/// Says what an event means; `None`: it is about something else, as most are.
fn meaning_of_event(
    reporter: &str,
    reason: &str,
    message: &str,
    has_run: HasRun,
) -> Option<Meaning> {
    Some(match reason {
        REASON_PREEMPTING if reporter == "kubelet" => likely(
            Cause::PreemptedByKubelet,
            "the kubelet set out to kill it to take in a critical pod",
        ),
        "Preempted" if reporter.contains("scheduler") => certain(
            Cause::PreemptedByScheduler,
            "the scheduler deleted it for a pod of higher priority",
        ),
        // Schedulers can have any name, and others can use the word.
        "Preempted" => likely(
            Cause::PreemptedByScheduler,
            "a scheduler, if that is one, deleted it for another pod",
        ),
        "Evicted" if reporter != "kubelet" => {
            nothing("it was evicted, by another program than the kubelet")
        }
        "Evicted" if is_refusal(reason, message) => refused(has_run),
        "Evicted" => likely(
            Cause::EvictedByKubelet,
            "the kubelet set out to evict it: the node ran short, or it exceeded a limit",
        ),
        "TaintManagerEviction" | "DeviceTaintManagerEviction"
            if message.starts_with("Marking for deletion") =>
        {
            likely(
                Cause::DeletedByTaintManager,
                "it was deleted for a NoExecute taint that it does not bear",
            )
        }
        "TaintManagerEviction" | "DeviceTaintManagerEviction" => {
            nothing("it may stay: the taint is gone, or it bears it")
        }
        "NodeControllerEviction" => {
            nothing("its node did not answer, so that it was deleted (before taints did that)")
        }
        "ExceededGracePeriod" => nothing("it did not stop in the time that it was given"),
        "Killing" => match probe_kill(reason, message) {
            Some((container, probe)) => {
                (None, format!("the kubelet stopped container {container} for its {probe} probe"))
            }
            None => nothing("a container of it was stopped, for whatever reason"),
        },
        "Unhealthy" if ["Liveness", "Startup"].iter().any(|it| message.starts_with(it)) => nothing(
            "a probe failed; the container is stopped when it does failureThreshold times in a row",
        ),
        "BackOff" if message.contains("restarting failed container") => {
            nothing("a container that ended waits until it is started again")
        }
        // Others write events with such names as well.
        _ if reporter == "kubelet" && is_refusal(reason, message) => refused(has_run),
        _ => return None,
    })
}
