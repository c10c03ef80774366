//! The reasons for a cause, and for a pod as the preemptor: facts, and their sentences.

use super::meaning::Interpretation;
use super::report::EvidenceSource;
use kq_answer::Worded;
use kq_facts::timestamp::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The reason for a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CauseReason {
    /// A piece of evidence names it.
    Evidence {
        /// Where it is from.
        source: EvidenceSource,
        /// What it means.
        means: Worded<Interpretation>,
    },
    /// Nothing is left that names a cause.
    NoTrace,
    /// The node did not answer.
    NodeLost,
    /// The pod is deleted, without a condition that names a component.
    DeletedWithoutCondition,
    /// The phase says nothing.
    OtherPhase { phase: String },
    /// The containers alone do not lead to the phase.
    ForcedPhase { phase: String, restart_policy: String },
    /// The kernel killed a process of a container.
    OutOfMemory {
        container: String,
        exit_code: i32,
        /// The memory limit in its spec; null: it has none.
        memory_limit: Option<String>,
    },
    /// All containers exited with 0.
    Succeeded {
        /// Whether the pod can end of its own accord is known.
        knows_restart_policy: bool,
    },
    /// The reason in the status is not one of the kubelet's.
    ForeignReason { reason: String },
    /// The phase is Failed, and no container is known to have failed.
    NoneFailed,
    /// The phase is Failed, and a container ended by a signal or in an unknown way.
    ContainerKilled { container: String, exit_code: i32 },
    /// The phase is Failed, and a container exited with an error.
    ContainerFailed {
        container: String,
        exit_code: i32,
        /// What leaves another explanation; null: nothing.
        doubt: Option<FailureDoubt>,
    },
    /// A container was started again.
    Restarted {
        container: String,
        /// Its exit code before; null: not known.
        exit_code: Option<i32>,
        /// The exit code excludes that another process ended it.
        is_own_end: bool,
    },
    /// The kubelet stopped a container for its probe.
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
    Lives {
        phase: String,
        /// A disruption was announced, and did not follow.
        was_announced: bool,
    },
}

/// What leaves another explanation for the failure of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailureDoubt {
    /// It has a probe, for which the kubelet stops it.
    Probe,
    /// Whether the pod can end of its own accord is not known.
    RestartPolicy,
}

/// The reason for a pod as the preemptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PreemptorReason {
    /// The kubelet's log names it.
    KubeletLog {
        /// It names no other.
        is_only: bool,
    },
    /// The scheduler's event names it.
    SchedulerEvent {
        /// How.
        by: NamedBy,
        /// Its `nominatedNodeName` is the node.
        is_nominated: bool,
    },
    /// It is critical, and started after the pod was killed.
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
    CriticalAdmittedAgain {
        /// It is a static pod.
        is_static: bool,
    },
    /// Its priority is higher, and its `nominatedNodeName` is the node.
    HigherNominated,
    /// Its priority is higher, and it started after the pod was killed.
    HigherStartedAfter {
        /// When it started.
        started: Timestamp,
        /// What makes it less sure.
        doubts: Vec<PreemptorDoubt>,
    },
}

/// How the scheduler's event names a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NamedBy {
    /// As its related object.
    Related,
    /// By its UID.
    Uid,
    /// By its name.
    Name,
}

/// What makes a preemptor less sure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PreemptorDoubt {
    /// The kubelet refused it.
    Refused {
        /// The reason in its status.
        reason: String,
    },
    /// The time of the kill is that of the end of the containers.
    TimeIsOfContainers,
    /// The node is not known.
    UnknownNode,
    /// The kubelet restarted, and admitted all pods again.
    KubeletRestarted,
}

impl CauseReason {
    /// Returns the container that ended or was started again, where it is about one.
    pub fn container(&self) -> Option<&str> {
        match self {
            Self::OutOfMemory { container, .. }
            | Self::ContainerKilled { container, .. }
            | Self::ContainerFailed { container, .. }
            | Self::Restarted { container, .. }
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

impl fmt::Display for CauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FAILED: &str = "its phase is Failed, without a reason";
        match self {
            Self::Evidence { source, means } => write!(f, "{means} ({source})"),
            Self::NoTrace => f.write_str(
                "no object of the pod is known, and no remaining event or log line gives the cause of its end",
            ),
            Self::NodeLost => f.write_str(
                "its node did not answer (NodeLost): the state of the pod is unknown",
            ),
            Self::DeletedWithoutCondition => f.write_str(
                "it is deleted, and a component that disrupts a pod writes a condition first (since Kubernetes \
                 1.26): a person or the pod's controller deleted it",
            ),
            Self::OtherPhase { phase } => {
                write!(f, "its phase is {phase:?}, and its status has no more")
            }
            Self::ForcedPhase { phase, restart_policy } => write!(
                f,
                "its phase is {phase}, which a pod with restartPolicy {restart_policy} does not reach of its own \
                 accord: the kubelet refused, preempted or evicted it, or its node shut down, and the status does \
                 not say which"
            ),
            Self::OutOfMemory { container, exit_code, memory_limit } => {
                write!(f, "the kernel killed a process of container {container} for lack of memory: ")?;
                match memory_limit {
                    Some(limit) => write!(f, "the container, limited to {limit}, its pod or the node had none left")?,
                    None => f.write_str("its pod or the node had none left; the container has no limit")?,
                }
                match exit_code {
                    137 => Ok(()),
                    code => write!(f, "; the container itself ended with exit code {code}"),
                }
            }
            Self::Succeeded { knows_restart_policy } => {
                f.write_str("its phase is Succeeded: all of its containers exited with 0; ")?;
                f.write_str(match knows_restart_policy {
                    true => "so do containers that the kubelet stops, when they end well on SIGTERM",
                    false => UNKNOWN_POLICY,
                })
            }
            Self::ForeignReason { reason } => {
                write!(f, "its status has the reason {reason}, which the kubelet does not use")
            }
            Self::NoneFailed => {
                write!(f, "{FAILED}; but its status lists no failed container")
            }
            Self::ContainerKilled { container, exit_code } => write!(
                f,
                "{FAILED}; the cause of the end of container {container} (exit code {exit_code}) is unknown"
            ),
            Self::ContainerFailed { container, exit_code, doubt } => {
                write!(f, "{FAILED}: container {container} ended with exit code {exit_code}")?;
                doubt.iter().try_for_each(|doubt| write!(f, "; {doubt}"))
            }
            Self::Restarted { container, exit_code: None, .. } => {
                write!(f, "container {container} was started again; the cause of its earlier end is unknown")
            }
            Self::Restarted { container, exit_code: Some(code), is_own_end: true } => {
                write!(f, "container {container} ended with exit code {code}, and was started again")
            }
            Self::Restarted { container, exit_code: Some(code), is_own_end: false } => write!(
                f,
                "container {container} ended with exit code {code} and was started again; the cause is unknown"
            ),
            Self::StoppedForProbe { container, probe, restarts, source } => {
                write!(f, "container {container} was stopped for its {probe} probe")?;
                match restarts {
                    None => Ok(()),
                    Some(0) => f.write_str(", and is not started again yet"),
                    Some(1) => f.write_str(", and was started again once"),
                    Some(times) => write!(f, "; it was started again {times} times in all"),
                }?;
                write!(f, " ({source})")
            }
            Self::Lives { phase, was_announced } => {
                write!(f, "its phase is {phase}, and it is not being deleted")?;
                match was_announced {
                    true => f.write_str("; a disruption was announced, and did not follow"),
                    false => Ok(()),
                }
            }
        }
    }
}

const UNKNOWN_POLICY: &str = "whether it can end by itself is unknown without its restartPolicy";

impl fmt::Display for FailureDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probe => {
                "its probe may have stopped it, which only an event or the kubelet's log shows"
            }
            Self::RestartPolicy => UNKNOWN_POLICY,
        })
    }
}

impl fmt::Display for PreemptorReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = |is_static: bool| if is_static { "static" } else { "critical" };
        let doubted = |f: &mut fmt::Formatter<'_>, doubts: &[PreemptorDoubt]| {
            f.write_str("; nothing names it")?;
            doubts.iter().try_for_each(|doubt| write!(f, "; {doubt}"))
        };
        match self {
            Self::KubeletLog { is_only: true } => f.write_str("the kubelet's log names it"),
            Self::KubeletLog { is_only: false } => f.write_str(
                "the kubelet's log names it, among others: pods of one name were killed more than once",
            ),
            Self::SchedulerEvent { by, is_nominated } => {
                f.write_str(match by {
                    NamedBy::Related => "the scheduler's event is related to it",
                    NamedBy::Uid => "the scheduler's event names its UID",
                    NamedBy::Name => "the scheduler's event names it",
                })?;
                f.write_str(match is_nominated {
                    true => "; and its nominatedNodeName is this node",
                    false => "",
                })
            }
            Self::CriticalStartedAfter { is_static, started, within_seconds, is_only, doubts } => {
                let only = if *is_only { "the only critical pod" } else { "one of several critical pods" };
                let time = if *within_seconds < 60 { "ten seconds" } else { "ten minutes" };
                let what = what(*is_static);
                write!(f, "{what}, started {started}: {only} that started in the {time} after")?;
                doubted(f, doubts)
            }
            Self::CriticalAdmittedAgain { is_static } => write!(
                f,
                "{}, and the kubelet, which restarted, admitted it again; nothing names it",
                what(*is_static)
            ),
            Self::HigherNominated => {
                f.write_str("of higher priority, and its nominatedNodeName is this node")
            }
            Self::HigherStartedAfter { started, doubts } => {
                write!(f, "of higher priority, started here {started}")?;
                doubted(f, doubts)
            }
        }
    }
}

impl fmt::Display for PreemptorDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused { reason } => {
                return write!(
                    f,
                    "it was refused itself ({reason}), which can be after others were killed for it"
                );
            }
            Self::TimeIsOfContainers => {
                "when the pod was killed is taken from the end of its containers"
            }
            Self::UnknownNode => "on which node it was is not known",
            Self::KubeletRestarted => {
                "the kubelet restarted, and admitted all pods again, also those that ran before"
            }
        })
    }
}
