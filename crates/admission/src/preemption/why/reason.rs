//! The reasons for a cause, and for a pod as the preemptor: facts, and their sentences.

use super::meaning::Interpretation;
use super::report::EvidenceSource;
use kq_answer::Worded;
use kq_answer::reason::Reason;
use kq_facts::timestamp::Timestamp;

/// The reason for a cause.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum CauseReason {
    /// A piece of evidence names it.
    #[text("{means} ({source})")]
    Evidence {
        /// Where it is from.
        source: EvidenceSource,
        /// What it means.
        means: Worded<Interpretation>,
    },
    /// Nothing is left that names a cause.
    #[text(
        "no object of the pod is known, and no remaining event or log line gives the cause of its \
         end"
    )]
    NoTrace,
    /// The node did not answer.
    #[text("its node did not answer (NodeLost): the state of the pod is unknown")]
    NodeLost,
    /// The pod is deleted, without a condition that names a component.
    #[text(
        "it is deleted, and a component that disrupts a pod writes a condition first (since \
         Kubernetes 1.26): a person or the pod's controller deleted it"
    )]
    DeletedWithoutCondition,
    /// The phase says nothing.
    #[text("its phase is {phase}, and its status has no more", phase = format!("{phase:?}"))]
    OtherPhase { phase: String },
    /// The containers alone do not lead to the phase.
    #[text(
        "its phase is {phase}, which a pod with restartPolicy {restart_policy} does not reach of \
         its own accord: the kubelet refused, preempted or evicted it, or its node shut down, and \
         the status does not say which"
    )]
    ForcedPhase { phase: String, restart_policy: String },
    /// The kernel killed a process of a container.
    #[text(
        memory_limit: Some(memory_limit) =>
        "the kernel killed a process of container {container} for lack of memory: the container, \
         limited to {memory_limit}, its pod or the node had none left{exit}",
        exit = other_exit_code(*exit_code)
    )]
    #[text(
        "the kernel killed a process of container {container} for lack of memory: its pod or the \
         node had none left; the container has no limit{exit}",
        exit = other_exit_code(*exit_code)
    )]
    OutOfMemory {
        container: String,
        exit_code: i32,
        /// The memory limit in its spec; null: it has none.
        memory_limit: Option<String>,
    },
    /// All containers exited with 0.
    #[text(
        knows_restart_policy: true =>
        "its phase is Succeeded: all of its containers exited with 0; so do containers that the \
         kubelet stops, when they end well on SIGTERM"
    )]
    #[text(
        "its phase is Succeeded: all of its containers exited with 0; {unknown}",
        unknown = FailureDoubt::RestartPolicy
    )]
    Succeeded {
        /// Whether the pod can end of its own accord is known.
        knows_restart_policy: bool,
    },
    /// The reason in the status is not one of the kubelet's.
    #[text("its status has the reason {reason}, which the kubelet does not use")]
    ForeignReason { reason: String },
    /// The phase is Failed, and no container is known to have failed.
    #[text("its phase is Failed, without a reason; but its status lists no failed container")]
    NoneFailed,
    /// The phase is Failed, and the kubelet knows no end of a container.
    #[text(
        "its phase is Failed, without a reason; the kubelet does not know how container {container} \
         ended (ContainerStatusUnknown)"
    )]
    ContainerUnknown { container: String },
    /// The phase is Failed, and a container ended by a signal.
    #[text(
        "its phase is Failed, without a reason; the cause of the end of container {container} \
         (exit code {exit_code}) is unknown"
    )]
    ContainerKilled { container: String, exit_code: i32 },
    /// The phase is Failed, and a container exited with an error.
    #[text(
        doubt: Some(doubt) =>
        "its phase is Failed, without a reason: container {container} ended with exit code \
         {exit_code}; {doubt}"
    )]
    #[text(
        "its phase is Failed, without a reason: container {container} ended with exit code \
         {exit_code}"
    )]
    ContainerFailed {
        container: String,
        exit_code: i32,
        /// What leaves another explanation; null: nothing.
        doubt: Option<FailureDoubt>,
    },
    /// A container was started again.
    #[text(
        exit_code: None =>
        "container {container} was started again; the cause of its earlier end is unknown"
    )]
    #[text(
        exit_code: Some(exit_code), is_own_end: true =>
        "container {container} ended with exit code {exit_code}, and was started again"
    )]
    #[text(
        exit_code: Some(exit_code) =>
        "container {container} ended with exit code {exit_code} and was started again; the cause \
         is unknown"
    )]
    Restarted {
        container: String,
        /// Its exit code before; null: not known.
        exit_code: Option<i32>,
        /// The exit code excludes that another process ended it.
        is_own_end: bool,
    },
    /// A container ended, and was not started again.
    #[text(
        is_own_end: true =>
        "container {container} ended with exit code {exit_code}, and {next}",
        next = next_start(*waits)
    )]
    #[text(
        "container {container} ended with exit code {exit_code}, and {next}; the cause is unknown",
        next = next_start(*waits)
    )]
    ContainerEnded {
        container: String,
        exit_code: i32,
        /// The exit code excludes that another process ended it.
        is_own_end: bool,
        /// The kubelet waits with its next start.
        waits: bool,
    },
    /// The runtime could not start the process of a container.
    #[text(
        "the container runtime could not start the process of container {container} ({reason}, \
         exit code {exit_code})"
    )]
    ContainerNotStarted { container: String, reason: String, exit_code: i32 },
    /// The kubelet stopped a container for its probe.
    #[text(restarts: None => "container {container} was stopped for its {probe} probe ({source})")]
    #[text(
        restarts: Some(0) =>
        "container {container} was stopped for its {probe} probe, and is not started again yet \
         ({source})"
    )]
    #[text(
        restarts: Some(1) =>
        "container {container} was stopped for its {probe} probe, and was started again once \
         ({source})"
    )]
    #[text(
        restarts: Some(restarts) =>
        "container {container} was stopped for its {probe} probe; it was started again {restarts} \
         times in all ({source})"
    )]
    StoppedForProbe {
        container: String,
        /// `liveness` or `startup`.
        probe: &'static str,
        /// How often it was started again in all; null: the pod has ended.
        restarts: Option<i32>,
        /// What says so.
        source: EvidenceSource,
    },
    /// The pod lives.
    #[text(
        was_announced: true =>
        "its phase is {phase}, and it is not being deleted; a disruption was announced, and did \
         not follow"
    )]
    #[text("its phase is {phase}, and it is not being deleted")]
    Lives {
        phase: String,
        /// A disruption was announced, and did not follow.
        was_announced: bool,
    },
}

fn next_start(waits: bool) -> &'static str {
    if waits { "waits for its next start" } else { "has not been started since" }
}

/// What leaves another explanation for the failure of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain)]
pub enum FailureDoubt {
    /// It has a probe, for which the kubelet stops it.
    #[text("its probe may have stopped it, which only an event or the kubelet's log shows")]
    Probe,
    /// Whether the pod can end of its own accord is not known.
    #[text("whether it can end by itself is unknown without its restartPolicy")]
    RestartPolicy,
}

/// The reason for a pod as the preemptor.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum PreemptorReason {
    /// The kubelet's log names it.
    #[text(is_only: true => "the kubelet's log names it")]
    #[text(
        is_only: false =>
        "the kubelet's log names it, among others: pods of one name were killed more than once"
    )]
    KubeletLog {
        /// It names no other.
        is_only: bool,
    },
    /// The scheduler's event names it.
    #[text(is_nominated: true => "{by}; and its nominatedNodeName is this node")]
    #[text("{by}")]
    SchedulerEvent {
        /// How.
        by: NamedBy,
        /// Its `nominatedNodeName` is the node.
        is_nominated: bool,
    },
    /// It is critical, and started after the pod was killed.
    #[text(
        "{kind}, started {started}: {only} that started in the {time} after; nothing names \
         it{doubts}",
        kind = kind(*is_static),
        only = if *is_only { "the only critical pod" } else { "one of several critical pods" },
        time = if *within_seconds < 60 { "ten seconds" } else { "ten minutes" },
        doubts = doubts_text(doubts)
    )]
    CriticalStartedAfter {
        /// It is a static pod.
        is_static: bool,
        /// When it started.
        started: Timestamp,
        /// In which time after that it started.
        within_seconds: i64,
        /// No other critical pod started in that time.
        is_only: bool,
        /// What makes it less sure.
        doubts: Vec<PreemptorDoubt>,
    },
    /// It is critical, and a kubelet that restarted admitted it again.
    #[text(
        "{kind}, and the kubelet, which restarted, admitted it again; nothing names it",
        kind = kind(*is_static)
    )]
    CriticalAdmittedAgain {
        /// It is a static pod.
        is_static: bool,
    },
    /// Its priority is higher, and its `nominatedNodeName` is the node.
    #[text("of higher priority, and its nominatedNodeName is this node")]
    HigherNominated,
    /// Its priority is higher, and it started after the pod was killed.
    #[text(
        "of higher priority, started here {started}; nothing names it{doubts}",
        doubts = doubts_text(doubts)
    )]
    HigherStartedAfter {
        /// When it started.
        started: Timestamp,
        /// What makes it less sure.
        doubts: Vec<PreemptorDoubt>,
    },
}

/// How the scheduler's event names a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain)]
pub enum NamedBy {
    /// As its related object.
    #[text("the scheduler's event is related to it")]
    Related,
    /// By its UID.
    #[text("the scheduler's event names its UID")]
    Uid,
    /// By its name.
    #[text("the scheduler's event names it")]
    Name,
}

/// What makes a preemptor less sure.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum PreemptorDoubt {
    /// The kubelet refused it.
    #[text("it was refused itself ({reason}), which can be after others were killed for it")]
    Refused {
        /// The reason in its status.
        reason: String,
    },
    /// The time of the kill is that of the end of the containers.
    #[text("when the pod was killed is taken from the end of its containers")]
    TimeIsOfContainers,
    /// The node is not known.
    #[text("on which node it was is not known")]
    UnknownNode,
    /// The kubelet restarted, and admitted all pods again.
    #[text("the kubelet restarted, and admitted all pods again, also those that ran before")]
    KubeletRestarted,
}

impl CauseReason {
    /// Returns the meaning of the piece of evidence that decides, where one does.
    pub fn evidence(&self) -> Option<&Interpretation> {
        match self {
            Self::Evidence { means, .. } => Some(means),
            _ => None,
        }
    }

    /// Returns the container that ended or was started again, where it is about one.
    pub fn container(&self) -> Option<&str> {
        match self {
            Self::OutOfMemory { container, .. }
            | Self::ContainerKilled { container, .. }
            | Self::ContainerUnknown { container }
            | Self::ContainerFailed { container, .. }
            | Self::Restarted { container, .. }
            | Self::ContainerEnded { container, .. }
            | Self::ContainerNotStarted { container, .. }
            | Self::StoppedForProbe { container, .. } => Some(container),
            _ => None,
        }
    }

    /// Returns the probe for which the container was stopped: `liveness` or `startup`.
    pub fn probe(&self) -> Option<&'static str> {
        match self {
            Self::StoppedForProbe { probe, .. } => Some(probe),
            _ => None,
        }
    }
}

fn other_exit_code(exit_code: i32) -> String {
    match exit_code {
        137 => String::new(),
        code => format!("; the container itself ended with exit code {code}"),
    }
}

fn kind(is_static: bool) -> &'static str {
    if is_static { "static" } else { "critical" }
}

fn doubts_text(doubts: &[PreemptorDoubt]) -> String {
    doubts.iter().map(|doubt| format!("; {doubt}")).collect()
}
