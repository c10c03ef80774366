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
//! Whether an announcement is long ago is only known of pods that were just read: those of a file may be older than an event.
//! An event without the pod's UID is likely at the most while the pod exists. `each_row_of_the_table` in `tests` holds the
//! rows; what the containers and the phase alone force stands in `termination`.

use super::report::{Cause, Evidence, EvidenceSource};
use super::sequel::{Known, Sequel};
use crate::answer::Certainty;
use crate::eviction::DisruptionTarget;
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
    /// An end of the pod was announced, and did not come.
    pub(super) is_unfulfilled: bool,
}

/// What a text means, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
struct Meaning {
    points_to: Option<(Cause, Certainty)>,
    means: String,
    is_unfulfilled: bool,
}

impl Meaning {
    fn new(cause: Cause, certainty: Certainty, means: impl Into<String>) -> Self {
        Self { points_to: Some((cause, certainty)), means: means.into(), is_unfulfilled: false }
    }

    /// Makes it no surer than this, and says why.
    fn at_most(self, most: Certainty, because: &str) -> Self {
        match self.points_to {
            Some((cause, certainty)) if certainty < most => Self {
                points_to: Some((cause, most)),
                means: format!("{}; {because}", self.means),
                ..self
            },
            _ => self,
        }
    }

    /// Points to no cause: what was announced did not come, or came otherwise.
    fn unfulfilled(self, because: &str) -> Self {
        Self { points_to: None, means: format!("{}; {because}", self.means), is_unfulfilled: true }
    }
}

fn refused(known: &Known<'_>, certainty: Certainty) -> Meaning {
    Meaning::new(
        Cause::RefusedAtAdmission,
        certainty,
        match (known.pod.is_some(), known.has_run) {
            (_, true) => {
                "the kubelet refused the pod, which had run here: a kubelet that restarts admits its pods again"
            }
            (true, false) => "the kubelet refused the pod; nothing shows that it had run here",
            (false, false) => {
                "the kubelet refused the pod, at its arrival or when the kubelet restarted"
            }
        },
    )
}

/// How often the same may be said until it is passed over.
const MANY: usize = 50;

/// Returns the signs, the strongest first: the status, conditions, the log, the latest events.
pub(super) fn signs(
    known: &Known<'_>,
    events: &[&PodEvent],
    lines: &[&LogLine],
    now: Timestamp,
) -> Vec<Sign> {
    let mut signs = Vec::new();
    if let Some(pod) = known.pod {
        let of_pod = &known.at(now);
        signs.extend(of_status(pod, known));
        let conditions =
            pod.status.conditions.iter().filter(|it| it.kind == DisruptionTarget::TYPE);
        signs.extend(conditions.map(|condition| of_condition(pod, condition, of_pod)));
        signs.extend(of_metadata(pod));
        signs.extend(of_containers(pod));
    }
    let is_gone = lines.iter().any(|it| it.says == LogEntry::Preempted);
    add_new(&mut signs, lines.iter().map(|line| of_line(line, is_gone, known)));
    let mut latest: Vec<&PodEvent> = events.to_vec();
    latest.sort_by_key(|event| std::cmp::Reverse(event.at));
    // A taint that went away, or is borne now, ends what was announced before.
    let is_taint = |event: &&PodEvent| event.reason.ends_with("TaintManagerEviction");
    if let Some(latest_of_taint) = latest.iter().copied().find(is_taint)
        && latest_of_taint.message.starts_with("Cancelling deletion")
    {
        latest.retain(|event| !is_taint(event) || *event == latest_of_taint);
    }
    add_new(&mut signs, latest.iter().filter_map(|event| of_event(event, known)));
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
    Meaning::new(cause, Certainty::Certain, means)
}

fn likely(cause: Cause, means: &str) -> Meaning {
    Meaning::new(cause, Certainty::Likely, means)
}

fn nothing(means: &str) -> Meaning {
    Meaning { points_to: None, means: means.to_owned(), is_unfulfilled: false }
}

fn time(text: Option<&String>) -> Option<Timestamp> {
    text.and_then(|text| text.parse().ok())
}

fn sign(source: EvidenceSource, at: Option<Timestamp>, says: String, meaning: Meaning) -> Sign {
    let Meaning { points_to, means, is_unfulfilled } = meaning;
    Sign { evidence: Evidence { source, at, says, means }, points_to, is_unfulfilled }
}

/// The status: the kubelet writes its reason once all containers have ended, together with the phase (`mergePodStatus`,
/// `pkg/kubelet/status/status_manager.go`).
fn of_status(pod: &Pod, known: &Known<'_>) -> Option<Sign> {
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
    let meaning = match reason {
        _ if is_refusal(reason, message) => refused(known, Certainty::Certain),
        "" => nothing(match phase {
            "Running" | "Pending" => "no component has ended it so far",
            "Succeeded" => {
                "no reason: the phase of a victim of the kubelet is Succeeded too, without its reason, when all of \
                 its containers exit with 0"
            }
            _ => "no component wrote a reason",
        }),
        REASON_PREEMPTING => {
            certain(Cause::PreemptedByKubelet, "the kubelet killed it to admit a critical pod")
        }
        "Evicted" => certain(
            Cause::EvictedByKubelet,
            "the kubelet evicted it: the node ran short, or it exceeded a limit of local storage",
        ),
        "Terminated" | "Shutdown" | "NodeShutdown" => {
            let shutdown =
                certain(Cause::NodeShutdown, "the kubelet stopped it as the node shut down");
            match message.contains("shut") {
                true => shutdown,
                false => shutdown.at_most(Certainty::Likely, "the message is not the kubelet's"),
            }
        }
        "DeadlineExceeded" => certain(
            Cause::DeadlineExceeded,
            "the kubelet ended it: activeDeadlineSeconds were over",
        ),
        "NodeLost" => nothing("its node does not answer: its state is not known"),
        _ => nothing("a reason that the kubelet does not use"),
    };
    let meaning = match phase {
        "Failed" => meaning,
        _ => meaning.at_most(Certainty::Possible, "the kubelet writes this with the phase Failed"),
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

/// The condition: written before the pod is disrupted (since 1.26); the kubelet's own, together with a final phase.
fn of_condition(pod: &Pod, condition: &PodCondition, known: &Known<'_>) -> Sign {
    let PodCondition { kind, reason, status, message, .. } = condition;
    let at = time(condition.last_transition_time.as_ref());
    let says = format!("{kind} {status}, {reason}: {message}");
    let deletes = |cause, means: &str| of_deletion(certain(cause, means), known, at);
    let meaning = match reason.as_str() {
        _ if status != "True" => nothing("no component is about to disrupt it"),
        "PreemptionByScheduler" => deletes(
            Cause::PreemptedByScheduler,
            "the scheduler deleted it for a pod of higher priority",
        ),
        "EvictionByEvictionAPI" => deletes(
            Cause::EvictedThroughApi,
            "a client of the eviction API evicted it: a drain, an autoscaler, a descheduler",
        ),
        "DeletionByTaintManager" | "DeletionByDeviceTaintManager" => deletes(
            Cause::DeletedByTaintManager,
            "it was deleted for a NoExecute taint that it does not tolerate",
        ),
        "DeletionByPodGC" => {
            let means = "the pod garbage collector removed it: its node is gone or out of service";
            match pod.status.phase.as_str() {
                // The collector writes the phase with the condition (`pkg/controller/podgc/gc_controller.go`).
                "Failed" => certain(Cause::DeletedByPodGc, means),
                _ => deletes(Cause::DeletedByPodGc, means),
            }
        }
        "TerminationByKubelet" => by_kubelet(pod, message, known, at),
        _ => nothing("a reason that kq does not know"),
    };
    sign(EvidenceSource::Condition, at, says, meaning)
}

/// Compares a deletion that was announced to what became of the pod.
fn of_deletion(meaning: Meaning, known: &Known<'_>, at: Option<Timestamp>) -> Meaning {
    match known.after_deletion(at) {
        Sequel::Gone | Sequel::Followed => meaning,
        Sequel::Otherwise => {
            meaning.unfulfilled("but the pod ended, or was deleted, at another time")
        }
        Sequel::Open => meaning.at_most(Certainty::Possible, "but it is not deleted yet"),
        Sequel::NotCarriedOut => meaning.unfulfilled("but the pod was not deleted, and lives"),
    }
}

/// The kubelet has one reason for all of its own; the status or the message tells which it is.
fn by_kubelet(pod: &Pod, message: &str, known: &Known<'_>, at: Option<Timestamp>) -> Meaning {
    // `pkg/kubelet/eviction/helpers.go`
    const EVICTIONS: [&str; 5] = [
        "The node was low on resource: ",
        "The node had condition: ",
        "Container ",
        "Pod ephemeral local storage usage exceeds ",
        "Usage of EmptyDir volume ",
    ];
    let reason = pod.status.reason.as_str();
    let meaning = if reason == REASON_PREEMPTING || message == CONDITION_MESSAGE {
        certain(Cause::PreemptedByKubelet, "the kubelet killed it to admit a critical pod")
    } else if reason == "Evicted" || EVICTIONS.iter().any(|it| message.starts_with(it)) {
        certain(Cause::EvictedByKubelet, "the kubelet evicted it")
    } else if message.contains("node shutdown") {
        certain(Cause::NodeShutdown, "the kubelet stopped it as the node shut down")
    } else {
        let means = "the kubelet ended it: preempted, evicted or shut down, which is not said";
        certain(Cause::EndedByKubelet, means)
    };
    if known.is_final() {
        return match known.was_running_after(at) {
            false => meaning,
            true => meaning.at_most(Certainty::Likely, "but a container of it ended later"),
        };
    }
    let because = "the kubelet writes this with a final phase";
    match known.is_being_deleted() {
        true => meaning.at_most(Certainty::Likely, because),
        false => match known.after_kill(at) {
            Sequel::NotCarriedOut => meaning.unfulfilled("but the pod lives"),
            _ => meaning.at_most(Certainty::Possible, because),
        },
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
        ("OOMKilled", _) => "the kernel OOM-killed a process of it".to_owned(),
        ("ContainerStatusUnknown", _) => "the kubelet does not know how it ended".to_owned(),
        (_, 0) => "it ended without an error".to_owned(),
        (_, 137) => "SIGKILL ended it; who sent that is not said".to_owned(),
        (_, 143) => {
            "SIGTERM ended it, with which the kubelet stops containers, and others".to_owned()
        }
        (_, code @ 129..=192) => format!("signal {} ended it", code - 128),
        _ => "it ended by itself, with an error".to_owned(),
    };
    sign(EvidenceSource::Container, time(end.finished_at.as_ref()), says, nothing(&meaning))
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

fn of_line(line: &LogLine, is_gone: bool, known: &Known<'_>) -> Sign {
    let (says, meaning) = match &line.says {
        LogEntry::Preempting { requester, missing } => {
            let whom = requester.as_deref().unwrap_or("a pod that is not named");
            let lacks = match missing.as_str() {
                "" => String::new(),
                missing => format!(", which lacks {missing}"),
            };
            let means = "the kubelet killed it to admit a critical pod";
            let meaning = match is_gone {
                true => certain(Cause::PreemptedByKubelet, means),
                false => certain(Cause::PreemptedByKubelet, means)
                    .at_most(Certainty::Likely, "that it is gone is not in the log"),
            };
            (format!("Preempting pod for {whom}{lacks}"), meaning)
        }
        LogEntry::Preempted => (
            "Pod evicted successfully".to_owned(),
            nothing("it was killed, and the kubelet went on with the critical pod"),
        ),
        LogEntry::NotPreempted => (
            "Failed to evict pod".to_owned(),
            nothing("it did not stop in time; the kubelet admits the critical pod all the same"),
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
            match (is_addition, known.is_final() || !known.has_run) {
                (true, _) => refused(known, Certainty::Certain),
                (false, true) => refused(known, Certainty::Certain)
                    .at_most(Certainty::Likely, "or it refused to resize the pod"),
                (false, false) => nothing("the kubelet refused the pod, or refused to resize it"),
            },
        ),
        LogEntry::Event { reason, message } => (
            format!("Event occurred, {reason}: {message}"),
            kubelet_event(reason, message, known).unwrap_or_else(|| nothing("")),
        ),
    };
    // The pod lives that the line says to be gone: its times cannot be compared.
    let meaning = match known.pod {
        Some(_) if !known.is_final() => match known.log_names_uid {
            true => meaning.at_most(Certainty::Possible, "but it lives"),
            false if meaning.points_to.is_some() => meaning.unfulfilled(
                "but it lives: without a UID, this may be about an earlier pod of the name",
            ),
            false => meaning,
        },
        Some(_) if !known.log_names_uid => meaning.at_most(
            Certainty::Likely,
            "without a UID, this may be about an earlier pod of the name",
        ),
        _ => meaning,
    };
    sign(EvidenceSource::KubeletLog, None, format!("{} {says}", line.stamp), meaning)
}

fn of_event(event: &PodEvent, known: &Known<'_>) -> Option<Sign> {
    let PodEvent { reason, message, reporter, count, .. } = event;
    let meaning = meaning_of_event(event, known)?;
    let meaning = match known.pod {
        Some(_) if event.pod.uid.is_empty() => meaning.at_most(
            Certainty::Likely,
            "without a UID, this may be about an earlier pod of the name",
        ),
        _ => meaning,
    };
    let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
    let by = if reporter.is_empty() { "an unknown component" } else { reporter };
    let says = format!("{reason} by {by}{times}: {message}");
    Some(sign(EvidenceSource::Event, event.at, says, meaning))
}

/// The taint controllers of kube-controller-manager, today's and those before.
const TAINT_CONTROLLERS: [&str; 4] =
    ["taint-eviction-controller", "device-taint-eviction", "taint-controller", "node-controller"];

/// Says what an event means; `None`: it is about something else, as most are.
fn meaning_of_event(event: &PodEvent, known: &Known<'_>) -> Option<Meaning> {
    let PodEvent { reason, message, reporter, at, .. } = event;
    Some(match (reason.as_str(), reporter.as_str()) {
        ("Preempted", _) => {
            let means = "the scheduler deleted it for a pod of higher priority";
            let meaning = of_deletion(certain(Cause::PreemptedByScheduler, means), known, *at);
            match scheduler_certainty(event) {
                Certainty::Possible => of_unknown(meaning, known.after_deletion(*at)),
                most => meaning.at_most(most, "if that component is a scheduler"),
            }
        }
        ("TaintManagerEviction" | "DeviceTaintManagerEviction", _)
            if message.starts_with("Marking for deletion") =>
        {
            let means = "it was to be deleted for a NoExecute taint that it does not tolerate";
            let meaning = of_deletion(likely(Cause::DeletedByTaintManager, means), known, *at);
            match TAINT_CONTROLLERS.contains(&reporter.as_str()) {
                true => meaning,
                false => of_unknown(meaning, known.after_deletion(*at)),
            }
        }
        ("TaintManagerEviction" | "DeviceTaintManagerEviction", _) => {
            nothing("it may stay: the taint is gone, or it tolerates it")
        }
        ("NodeControllerEviction", _) => {
            nothing("its node did not answer, so that it was deleted (before taints did that)")
        }
        (_, "kubelet" | "") => {
            let meaning = kubelet_event(reason, message, known)?;
            if meaning.points_to.is_none() {
                return Some(meaning);
            }
            let sequel = known.after_kill(*at);
            let meaning = match sequel {
                Sequel::Gone | Sequel::Followed => meaning,
                Sequel::Otherwise => {
                    meaning.at_most(Certainty::Possible, "but the pod ended at another time")
                }
                Sequel::Open => meaning.at_most(Certainty::Possible, "but it has not ended yet"),
                Sequel::NotCarriedOut => meaning.unfulfilled("but it lives"),
            };
            match reporter.as_str() {
                "" => of_unknown(meaning, sequel),
                _ => meaning,
            }
        }
        ("Evicted", _) => nothing("it was evicted, by another program than the kubelet"),
        _ => return None,
    })
}

/// Weighs what an unknown component says: only where the pod ended accordingly it points to a cause.
fn of_unknown(meaning: Meaning, sequel: Sequel) -> Meaning {
    const BECAUSE: &str = "if an unknown component is believed";
    match sequel {
        Sequel::Followed => meaning.at_most(Certainty::Likely, BECAUSE),
        _ => Meaning { points_to: None, means: format!("{}; {BECAUSE}", meaning.means), ..meaning },
    }
}

/// Returns how sure it is that the scheduler wrote an event: its profiles can have any name.
pub(super) fn scheduler_certainty(event: &PodEvent) -> Certainty {
    match event.reporter.as_str() {
        "default-scheduler" => Certainty::Certain,
        other if other.ends_with("scheduler") && !other.contains("descheduler") => {
            Certainty::Likely
        }
        _ => Certainty::Possible,
    }
}

/// Says what an event of the kubelet means, whenever it was.
fn kubelet_event(reason: &str, message: &str, known: &Known<'_>) -> Option<Meaning> {
    Some(match reason {
        REASON_PREEMPTING => likely(
            Cause::PreemptedByKubelet,
            "the kubelet was about to kill it to admit a critical pod",
        ),
        _ if is_refusal(reason, message) => refused(known, Certainty::Certain),
        "Evicted" => likely(
            Cause::EvictedByKubelet,
            "the kubelet was about to evict it: the node ran short, or it exceeded a limit",
        ),
        "ExceededGracePeriod" => nothing("it did not stop in the time that it was given"),
        "Killing" => match probe_kill(reason, message) {
            Some((container, probe)) => {
                nothing(&format!("the kubelet stopped container {container} for its {probe} probe"))
            }
            None => nothing("the kubelet stopped a container of it, for whatever reason"),
        },
        "SandboxChanged" => nothing(
            "its sandbox had ended: the kubelet stopped its containers and started them again",
        ),
        "Unhealthy" if ["Liveness", "Startup"].iter().any(|it| message.starts_with(it)) => nothing(
            "a probe failed; the container is stopped when it does failureThreshold times in a row",
        ),
        "BackOff" if message.contains("restarting failed container") => {
            nothing("a container that ended waits until it is started again")
        }
        _ => return None,
    })
}
