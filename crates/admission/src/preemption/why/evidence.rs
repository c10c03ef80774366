//! What one piece of evidence says, and what it means.
//!
//! What each kind of evidence forces, by the state of the pod that it is about. `-` points to no cause; a phase is
//! final where it is Failed or Succeeded; "soon" is within [`super::sequel`]'s times.
//!
//! | evidence | gone | ended or deleted soon after | ended otherwise | lives, just announced | lives, long ago |
//! |---|---|---|---|---|---|
//! | reason in the status, phase Failed | | certain | certain | | |
//! | reason in the status, another phase | | | | possible | possible |
//! | condition `TerminationByKubelet` (written with a final phase) | | certain | likely | possible | - |
//! | the same on a pod that is being deleted | | likely | - | | |
//! | condition `DeletionByPodGC`, phase Failed (written together) | | certain | certain | | |
//! | any other condition (written before the deletion) | | certain | - | possible | - |
//! | log: killed, evicted, shut down, refused, with the UID | certain | certain | certain | possible | possible |
//! | the same without the UID (it may be an earlier pod's) | certain | likely | likely | - | - |
//! | log: about to be killed | likely | likely | likely | possible | possible |
//! | event of the kubelet: refused (written once it is) | certain | certain | possible | possible | - |
//! | event of the kubelet: about to be killed | likely | likely | possible | possible | - |
//! | event of `default-scheduler`: preempted (written once it is) | certain | certain | - | possible | - |
//! | the same of another scheduler, of a taint controller | likely | likely | - | possible | - |
//! | an event of such words by an unknown component | - | likely | - | - | - |
//!
//! Whether an announcement is long ago is only known of pods that were just read: those of a file may be older than
//! an event.
//! An event without the pod's UID is likely at the most while the pod exists. `each_row_of_the_table` in `tests`
//! holds the rows; what the containers and the phase alone force stands in `termination`.

use super::event_evidence::{kubelet_event, of_event};
use super::meaning::{Interpretation, Meaning, Qualification};
use super::report::{Cause, Evidence, EvidenceSource};
use super::sequel::{Observations, Sequel};
use crate::preemption::{CONDITION_MESSAGE, REASON_PREEMPTING};
use kq_answer::Certainty;
use kq_facts::events::PodEvent;
use kq_facts::kubelet_log::{LogEntry, LogLine};
use kq_facts::timestamp::Timestamp;
use kq_k8s::disruption_target::DisruptionTarget;
use kq_k8s::pod::{ByName, ContainerStatus, Pod, PodCondition, TerminatedState};

/// A piece of evidence, and what it points to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clue {
    pub(super) evidence: Evidence,
    /// `None`: it says something, but not who put an end to the pod.
    pub(super) points_to: Option<(Cause, Certainty)>,
    /// An end of the pod was announced, and did not come.
    pub(super) is_unfulfilled: bool,
}

/// What follows from a piece of evidence, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Inference {
    pub(super) points_to: Option<(Cause, Certainty)>,
    pub(super) means: Interpretation,
    pub(super) is_unfulfilled: bool,
}

impl Inference {
    pub(super) fn new(points_to: Option<(Cause, Certainty)>, meaning: Meaning) -> Self {
        let means = Interpretation { meaning, qualifications: Vec::new() };
        Self { points_to, means, is_unfulfilled: false }
    }

    pub(super) fn qualified(mut self, because: Qualification) -> Self {
        self.means.qualifications.push(because);
        self
    }

    /// Makes it no surer than this, and says why.
    pub(super) fn at_most(self, most: Certainty, because: Qualification) -> Self {
        match self.points_to {
            Some((cause, certainty)) if certainty < most => {
                Self { points_to: Some((cause, most)), ..self.qualified(because) }
            }
            _ => self,
        }
    }

    /// Points to no cause: what was announced did not come, or came otherwise.
    pub(super) fn unfulfilled(self, because: Qualification) -> Self {
        Self { points_to: None, is_unfulfilled: true, ..self.qualified(because) }
    }
}

pub(super) fn refused(observed: &Observations<'_>) -> Inference {
    let had_run = observed.pod.map(|_| observed.has_run);
    certain(Cause::RefusedAtAdmission, Meaning::Refused { had_run })
}

/// How often the same may be said until it is passed over.
const MANY: usize = 50;

/// Returns the clues, the strongest first: the status, conditions, the log, the latest events.
pub(super) fn clues(
    observed: &Observations<'_>,
    events: &[&PodEvent],
    lines: &[&LogLine],
    now: Timestamp,
) -> Vec<Clue> {
    let mut clues = Vec::new();
    if let Some(pod) = observed.pod {
        let of_pod = &observed.at(now);
        clues.extend(of_status(pod, observed));
        let conditions =
            pod.status.conditions.iter().filter(|it| it.kind == DisruptionTarget::TYPE);
        clues.extend(conditions.map(|condition| of_condition(pod, condition, of_pod)));
        clues.extend(of_metadata(pod));
        clues.extend(of_containers(pod));
    }
    let is_gone = lines.iter().any(|it| it.says == LogEntry::Preempted);
    add_new(&mut clues, lines.iter().map(|line| of_line(line, is_gone, observed)));
    let mut latest: Vec<&PodEvent> = events.to_vec();
    latest.sort_by_key(|event| std::cmp::Reverse(event.at));
    // A taint that went away, or is borne now, ends what was announced before.
    let is_taint = |event: &&PodEvent| event.reason.ends_with("TaintManagerEviction");
    if let Some(latest_of_taint) = latest.iter().copied().find(is_taint)
        && latest_of_taint.message.starts_with("Cancelling deletion")
    {
        latest.retain(|event| !is_taint(event) || *event == latest_of_taint);
    }
    add_new(&mut clues, latest.iter().filter_map(|event| of_event(event, observed)));
    clues
}

/// Adds what is not there yet, within bounds: a log may say the same a thousand times.
fn add_new(clues: &mut Vec<Clue>, more: impl Iterator<Item = Clue>) {
    let mut added = 0;
    for clue in more {
        if added < MANY && !clues.contains(&clue) {
            clues.push(clue);
            added += 1;
        }
    }
}

pub(super) fn certain(cause: Cause, meaning: Meaning) -> Inference {
    Inference::new(Some((cause, Certainty::Certain)), meaning)
}

pub(super) fn likely(cause: Cause, meaning: Meaning) -> Inference {
    Inference::new(Some((cause, Certainty::Likely)), meaning)
}

pub(super) fn nothing(meaning: Meaning) -> Inference {
    Inference::new(None, meaning)
}

pub(super) fn time(text: Option<&String>) -> Option<Timestamp> {
    text.and_then(|text| text.parse().ok())
}

pub(super) fn clue(
    source: EvidenceSource,
    at: Option<Timestamp>,
    says: String,
    inference: Inference,
) -> Clue {
    let Inference { points_to, means, is_unfulfilled } = inference;
    Clue { evidence: Evidence { source, at, says, means: means.into() }, points_to, is_unfulfilled }
}

/// The status: the kubelet writes its reason once all containers have ended, together with the phase (`mergePodStatus`,
/// `pkg/kubelet/status/status_manager.go`).
fn of_status(pod: &Pod, observed: &Observations<'_>) -> Option<Clue> {
    let status = &pod.status;
    let (phase, reason, message) =
        (status.phase.as_str(), status.reason.as_str(), status.message.as_str());
    if phase.is_empty() && reason.is_empty() {
        return None;
    }
    let says = match (reason, message) {
        ("", _) => format!("phase {phase}"),
        (reason, "") => format!("phase {phase}, {reason}"),
        (reason, message) => format!("phase {phase}, {reason}: {message}"),
    };
    let inference = match reason {
        _ if is_refusal(reason, message) => refused(observed),
        "" => nothing(match phase {
            "Running" | "Pending" => Meaning::NotEnded,
            "Succeeded" => Meaning::SucceededWithoutReason,
            _ => Meaning::NoReason,
        }),
        REASON_PREEMPTING => certain(Cause::PreemptedByKubelet, Meaning::PreemptedByKubelet),
        "Evicted" => certain(Cause::EvictedByKubelet, Meaning::EvictedForResources),
        "Terminated" | "Shutdown" | "NodeShutdown" => {
            let shutdown = certain(Cause::NodeShutdown, Meaning::NodeShutdown);
            match message.contains("shut") {
                true => shutdown,
                false => shutdown.at_most(Certainty::Likely, Qualification::ForeignMessage),
            }
        }
        "DeadlineExceeded" => certain(Cause::DeadlineExceeded, Meaning::DeadlineExceeded),
        "NodeLost" => nothing(Meaning::NodeLost),
        _ => nothing(Meaning::ForeignReason),
    };
    let inference = match phase {
        "Failed" => inference,
        _ => inference.at_most(Certainty::Possible, Qualification::PhaseIsNotFailed),
    };
    Some(clue(EvidenceSource::Status, None, says, inference))
}

/// Returns true if a pod was not admitted at all. What is evicted and what is refused for lack of room have the
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

/// The condition: written before the pod is disrupted (since 1.26); the kubelet's own, together with a final phase.
fn of_condition(pod: &Pod, condition: &PodCondition, observed: &Observations<'_>) -> Clue {
    let PodCondition { kind, reason, status, message, .. } = condition;
    let at = time(condition.last_transition_time.as_ref());
    let says = format!("{kind} {status}, {reason}: {message}");
    let deletes = |cause, meaning| of_deletion(certain(cause, meaning), observed, at);
    let inference = match reason.as_str() {
        _ if status != "True" => nothing(Meaning::NoDisruption),
        "PreemptionByScheduler" => {
            deletes(Cause::PreemptedByScheduler, Meaning::PreemptedByScheduler)
        }
        "EvictionByEvictionAPI" => deletes(Cause::EvictedThroughApi, Meaning::EvictedThroughApi),
        "DeletionByTaintManager" | "DeletionByDeviceTaintManager" => {
            deletes(Cause::DeletedByTaintManager, Meaning::DeletedForTaint)
        }
        "DeletionByPodGC" => match pod.status.phase.as_str() {
            // The collector writes the phase with the condition (`pkg/controller/podgc/gc_controller.go`).
            "Failed" => certain(Cause::DeletedByPodGc, Meaning::DeletedByPodGc),
            _ => deletes(Cause::DeletedByPodGc, Meaning::DeletedByPodGc),
        },
        "TerminationByKubelet" => by_kubelet(pod, message, observed, at),
        _ => nothing(Meaning::UnknownReason),
    };
    clue(EvidenceSource::Condition, at, says, inference)
}

/// Compares a deletion that was announced with the state of the pod.
pub(super) fn of_deletion(
    inference: Inference,
    observed: &Observations<'_>,
    at: Option<Timestamp>,
) -> Inference {
    match observed.after_deletion(at) {
        Sequel::Gone | Sequel::Followed => inference,
        Sequel::Otherwise => inference.unfulfilled(Qualification::OtherEndOrDeletion),
        Sequel::Open => inference.at_most(Certainty::Possible, Qualification::NotDeletedYet),
        Sequel::NotCarriedOut => inference.unfulfilled(Qualification::NeverDeleted),
    }
}

/// The kubelet has one reason for all of its own; the status or the message has the exact one.
fn by_kubelet(
    pod: &Pod,
    message: &str,
    observed: &Observations<'_>,
    at: Option<Timestamp>,
) -> Inference {
    // `pkg/kubelet/eviction/helpers.go`
    const EVICTIONS: [&str; 5] = [
        "The node was low on resource: ",
        "The node had condition: ",
        "Container ",
        "Pod ephemeral local storage usage exceeds ",
        "Usage of EmptyDir volume ",
    ];
    let reason = pod.status.reason.as_str();
    let inference = if reason == REASON_PREEMPTING || message == CONDITION_MESSAGE {
        certain(Cause::PreemptedByKubelet, Meaning::PreemptedByKubelet)
    } else if reason == "Evicted" || EVICTIONS.iter().any(|it| message.starts_with(it)) {
        certain(Cause::EvictedByKubelet, Meaning::EvictedByKubelet)
    } else if message.contains("node shutdown") {
        certain(Cause::NodeShutdown, Meaning::NodeShutdown)
    } else {
        certain(Cause::EndedByKubelet, Meaning::EndedByKubelet)
    };
    if observed.is_final() {
        return match observed.was_running_after(at) {
            false => inference,
            true => inference.at_most(Certainty::Likely, Qualification::ContainerEndedLater),
        };
    }
    match (observed.is_being_deleted(), observed.after_kill(at)) {
        (true, _) => inference.at_most(Certainty::Likely, Qualification::PhaseIsNotFinal),
        (false, Sequel::NotCarriedOut) => inference.unfulfilled(Qualification::NeverEnded),
        (false, _) => inference.at_most(Certainty::Possible, Qualification::PhaseIsNotFinal),
    }
}

fn of_metadata(pod: &Pod) -> Option<Clue> {
    let deletion = pod.metadata.deletion_timestamp.as_ref()?;
    let says = format!("deletionTimestamp {deletion}");
    Some(clue(EvidenceSource::Metadata, time(Some(deletion)), says, nothing(Meaning::Deleted)))
}

pub(super) fn every_status(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.containers_and_init()
}

/// The containers: how each ended, and how often it was started again.
fn of_containers(pod: &Pod) -> Vec<Clue> {
    // That an init container is done is no news.
    let regular = ByName::first_of(pod.status.container_statuses.iter());
    let is_news = |status: &ContainerStatus, end: &TerminatedState| {
        end.exit_code != 0 || regular.get(&status.name).is_some()
    };
    let of_container = |status: &ContainerStatus| {
        let name = &status.name;
        let now = status.state.terminated.as_ref().filter(|end| is_news(status, end));
        let now = now.map(|end| of_end(end, format!("{name}: {}", end_text(end))));
        let waits =
            if status.state.waiting.is_some() { ", and waits for the next time" } else { "" };
        let times = match status.restart_count {
            1 => format!("started again once{waits}"),
            times => format!("started again {times} times{waits}"),
        };
        let before = match &status.last_state.terminated {
            Some(end) => Some(of_end(end, format!("{name}: before: {}; {times}", end_text(end)))),
            None if status.restart_count > 0 => {
                let inference = nothing(Meaning::RestartedAfterUnknownEnd);
                Some(clue(EvidenceSource::Container, None, format!("{name}: {times}"), inference))
            }
            None => None,
        };
        [before, now]
    };
    every_status(pod).flat_map(of_container).flatten().collect()
}

fn of_end(end: &TerminatedState, says: String) -> Clue {
    let meaning = match (end.reason.as_str(), end.exit_code) {
        ("OOMKilled", _) => Meaning::OomKilled,
        ("ContainerStatusUnknown", _) => Meaning::UnknownEnd,
        _ if never_ran(end) => Meaning::NotStarted,
        (_, 0) => Meaning::EndedWithoutError,
        (_, code @ 129..=192) => Meaning::EndedBySignal { signal: code - 128 },
        _ => Meaning::EndedWithError,
    };
    clue(EvidenceSource::Container, time(end.finished_at.as_ref()), says, nothing(meaning))
}

/// Returns true if the runtime could not start the process: containerd's reason, and that of cri-dockerd.
pub(super) fn never_ran(end: &TerminatedState) -> bool {
    matches!(end.reason.as_str(), "StartError" | "ContainerCannotRun")
}

fn end_text(end: &TerminatedState) -> String {
    let reason = if end.reason.is_empty() { "ended" } else { end.reason.as_str() };
    format!("{reason}, exit code {}", end.exit_code)
}

/// Returns the container and the probe for which the kubelet stopped it (`computePodActions`,
/// `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
pub fn probe_kill<'m>(reason: &str, message: &'m str) -> Option<(&'m str, &'static str)> {
    let message = message.strip_suffix(", will be restarted").unwrap_or(message);
    let what = ["Container ", "Init container "].iter().find_map(|it| message.strip_prefix(it))?;
    let (container, probe) = what.split_once(" failed ")?;
    let probe =
        ["liveness", "startup"].into_iter().find(|it| probe.strip_prefix(it) == Some(" probe"));
    probe.filter(|_| reason == "Killing").map(|probe| (container, probe))
}

fn of_line(line: &LogLine, is_gone: bool, observed: &Observations<'_>) -> Clue {
    let (says, inference) = match &line.says {
        LogEntry::Preempting { requester, missing } => {
            let preemptor = requester.as_deref().unwrap_or("an unnamed pod");
            let lacks = match missing.as_str() {
                "" => String::new(),
                missing => format!(", which lacks {missing}"),
            };
            let inference = certain(Cause::PreemptedByKubelet, Meaning::PreemptedByKubelet);
            let inference = match is_gone {
                true => inference,
                false => inference.at_most(Certainty::Likely, Qualification::EndIsNotLogged),
            };
            (format!("Preempting pod for {preemptor}{lacks}"), inference)
        }
        LogEntry::Preempted => {
            ("Pod evicted successfully".to_owned(), nothing(Meaning::PreemptionDone))
        }
        LogEntry::NotPreempted => {
            ("Failed to evict pod".to_owned(), nothing(Meaning::PreemptionFailed))
        }
        LogEntry::Evicted => (
            "Eviction manager: pod is evicted successfully".to_owned(),
            certain(Cause::EvictedByKubelet, Meaning::EvictedByKubelet),
        ),
        LogEntry::Shutdown => (
            "Shutdown manager killing pod".to_owned(),
            certain(Cause::NodeShutdown, Meaning::NodeShutdown),
        ),
        LogEntry::Denied { reason, message, is_addition } => (
            format!("Pod admission denied, {reason}: {message}"),
            match (is_addition, observed.is_final() || !observed.has_run) {
                (true, _) => refused(observed),
                (false, true) => {
                    refused(observed).at_most(Certainty::Likely, Qualification::MaybeResize)
                }
                (false, false) => nothing(Meaning::RefusedOrNotResized),
            },
        ),
        LogEntry::Event { reason, message } => (
            format!("Event occurred, {reason}: {message}"),
            kubelet_event(reason, message, observed)
                .unwrap_or_else(|| nothing(Meaning::OtherEvent)),
        ),
    };
    // The pod lives that the line says to be gone: its times cannot be compared.
    let inference = match observed.pod {
        Some(_) if !observed.is_final() => match observed.log_names_uid {
            true => inference.at_most(Certainty::Possible, Qualification::Lives),
            false if inference.points_to.is_some() => {
                inference.unfulfilled(Qualification::LivesWithoutUid)
            }
            false => inference,
        },
        Some(_) if !observed.log_names_uid => {
            inference.at_most(Certainty::Likely, Qualification::NoUid)
        }
        _ => inference,
    };
    clue(EvidenceSource::KubeletLog, None, format!("{} {says}", line.stamp), inference)
}
