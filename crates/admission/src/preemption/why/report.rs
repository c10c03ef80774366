//! The answer about the end of a pod, in the fields of its JSON.

use super::meaning::Interpretation;
use super::reason::{CauseReason, PreemptorReason};
use kq_answer::{Basis, Certainty, Headline, Worded, answer};
use kq_facts::timestamp::Timestamp;
use serde::Serialize;
use std::fmt;

/// `kq preempt why`
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreemptionCause {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// Its UID, where it is known.
    pub uid: Option<String>,
    /// There is an object of it still.
    pub exists: bool,
    /// The node, where it is known.
    pub node: Option<String>,
    /// What happened to it.
    pub cause: Cause,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why.
    pub because: Worded<CauseReason>,
    /// The container of it that ended or was started again, where it is about one.
    pub container: Option<String>,
    /// The probe for which it was stopped: `liveness` or `startup`.
    pub probe: Option<&'static str>,
    /// The pods for which it was preempted; several if the evidence does not decide.
    pub preemptors: Vec<Preemptor>,
    /// The evidence by time; entries without a comparable time come last.
    pub evidence: Vec<Evidence>,
    #[serde(flatten)]
    pub basis: Basis,
    /// The message of the pod's status; empty: it has none.
    #[serde(skip)]
    pub status_message: String,
    /// The moment that ages are counted from.
    #[serde(skip)]
    pub now: Timestamp,
}

answer!("PreemptionCause", PreemptionCause; PreemptionCause::headline);

impl PreemptionCause {
    /// Returns what happened to the pod.
    pub fn headline(&self) -> Headline {
        let node = self.node.iter().map(|node| format!(" on {node}"));
        let who: String = std::iter::once(self.pod.clone()).chain(node).collect();
        Headline::of(&self.cause, format!("{who}: {} ({})", self.what(), self.certainty))
    }
}

impl PreemptionCause {
    /// Returns whether it was preempted, with the container and the probe that it is about.
    pub fn what(&self) -> String {
        self.about(&self.cause.to_string())
    }

    /// Returns what happened, with the container and the probe that it is about.
    pub fn what_happened(&self) -> String {
        self.about(self.cause.words())
    }

    fn about(&self, words: &str) -> String {
        let mut what = words.to_owned();
        if let Some(container) = &self.container {
            what = what.replace("a container", &format!("container {container}"));
        }
        match self.probe {
            Some(probe) => what.replace("its probe", &format!("its {probe} probe")),
            None => what,
        }
    }
}

/// What happened to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The scheduler deleted it for another of higher priority.
    PreemptedByScheduler,
    /// The kubelet killed it for a critical one.
    PreemptedByKubelet,
    /// The kubelet evicted it: the node ran short, or the pod exceeded a limit of local storage.
    EvictedByKubelet,
    /// A client of the API server evicted it.
    EvictedThroughApi,
    /// It does not bear a taint.
    DeletedByTaintManager,
    /// Its node is gone, or it was never scheduled.
    DeletedByPodGc,
    /// The kubelet did not take it.
    RefusedAtAdmission,
    NodeShutdown,
    /// The kernel killed a container of it.
    OutOfMemory,
    /// It ran longer than it may.
    DeadlineExceeded,
    /// The kubelet ended it, and does not say why.
    EndedByKubelet,
    /// It was deleted by an unknown client.
    Deleted,
    /// Its containers ended.
    Ended,
    /// The kubelet stopped a container of it for a probe, and nothing starts that again.
    EndedByProbe,
    /// The kubelet stopped a container of it for a probe, and started it again.
    RestartedByProbe,
    /// A container of it ended, and was started again.
    Restarted,
    /// A container of it ended, and was not started again.
    ContainerEnded,
    /// It lives.
    NotKilled,
    Unknown,
}

impl Cause {
    /// Returns true if it made room for another pod.
    pub fn is_preemption(self) -> bool {
        matches!(self, Self::PreemptedByScheduler | Self::PreemptedByKubelet)
    }

    /// Returns true if preemption can be neither confirmed nor excluded.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Unknown | Self::EndedByKubelet)
    }

    /// Returns true if the kubelet ended the pod, or may have.
    pub(super) fn may_be_the_kubelets(self) -> bool {
        matches!(
            self,
            Self::PreemptedByKubelet
                | Self::EvictedByKubelet
                | Self::RefusedAtAdmission
                | Self::NodeShutdown
                | Self::DeadlineExceeded
                | Self::EndedByKubelet
                | Self::EndedByProbe
                | Self::RestartedByProbe
                | Self::Ended
                | Self::Restarted
                | Self::ContainerEnded
                | Self::Unknown
        )
    }

    /// Returns true if a component ended the pod.
    pub(super) fn is_an_end(self) -> bool {
        !matches!(
            self,
            Self::Unknown
                | Self::NotKilled
                | Self::Ended
                | Self::OutOfMemory
                | Self::RestartedByProbe
                | Self::Restarted
                | Self::ContainerEnded
        )
    }
}

impl Cause {
    /// Returns what happened, whoever asks.
    pub fn words(self) -> &'static str {
        match self {
            Self::PreemptedByScheduler => "preempted by the scheduler",
            Self::PreemptedByKubelet => "preempted by the kubelet",
            Self::EvictedByKubelet => "evicted by the kubelet",
            Self::EvictedThroughApi => "evicted through the eviction API",
            Self::DeletedByTaintManager => "deleted for a taint that it does not bear",
            Self::DeletedByPodGc => "removed by the pod garbage collector",
            Self::RefusedAtAdmission => "refused by the kubelet",
            Self::NodeShutdown => "stopped as the node shut down",
            Self::OutOfMemory => "a container was OOM-killed",
            Self::EndedByProbe => "a container was ended by its probe",
            Self::RestartedByProbe => "a container was restarted by its probe",
            Self::Restarted => "a container ended, and was started again",
            Self::ContainerEnded => "a container ended, and was not started again",
            Self::DeadlineExceeded => "it ran longer than it may",
            Self::EndedByKubelet => "ended by the kubelet, for an unknown reason",
            Self::Deleted => "deleted",
            Self::Ended => "it ended by itself",
            Self::NotKilled => "not killed",
            Self::Unknown => "not known",
        }
    }

    /// Returns true if something happened, and it was no preemption.
    fn is_another_end(self) -> bool {
        !self.is_preemption() && !self.is_open() && self != Self::NotKilled
    }
}

/// As an answer to the question of a preemption.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.is_another_end() { "not preempted: " } else { "" };
        write!(f, "{not}{}", self.words())
    }
}

/// A pod for which another was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preemptor {
    /// NAMESPACE/NAME, or another name; null: only its UID is known.
    pub pod: Option<String>,
    /// Its UID, where it is known.
    pub uid: Option<String>,
    /// Its priority, where it is known.
    pub priority: Option<i32>,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why.
    pub because: Worded<PreemptorReason>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Where from.
    pub source: EvidenceSource,
    /// The time; null: not reported, or not comparable.
    pub at: Option<Timestamp>,
    /// What it says.
    pub says: String,
    /// What that means.
    pub means: Worded<Interpretation>,
}

/// Where evidence is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EvidenceSource {
    /// The pod's status.
    Status,
    /// A condition in it.
    Condition,
    Metadata,
    /// The status of a container.
    Container,
    Event,
    /// The kubelet's log.
    KubeletLog,
}

impl fmt::Display for EvidenceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Status => "status",
            Self::Condition => "condition",
            Self::Metadata => "metadata",
            Self::Container => "container",
            Self::Event => "event",
            Self::KubeletLog => "kubelet log",
        })
    }
}
