//! What a piece of evidence means, and what makes that less sure.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// What a piece of evidence means, and what makes that less sure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interpretation {
    #[serde(flatten)]
    pub meaning: Meaning,
    /// What makes it less sure, or excludes it.
    pub qualifications: Vec<Qualification>,
}

/// What a piece of evidence means by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Meaning {
    /// The kubelet did not admit the pod.
    Refused {
        /// The pod had run on the node; null: not known.
        had_run: Option<bool>,
    },
    /// The kubelet refused the pod, or a resize of it.
    RefusedOrNotResized,
    /// The phase is not final.
    NotEnded,
    /// The phase is Succeeded, without a reason.
    SucceededWithoutReason,
    /// The status has no reason.
    NoReason,
    /// The kubelet preempted the pod.
    PreemptedByKubelet,
    /// The kubelet began to preempt the pod.
    PreemptionBegan,
    /// The pod was gone, and the kubelet went on.
    PreemptionDone,
    /// The pod did not stop in time.
    PreemptionFailed,
    /// The kubelet evicted the pod.
    EvictedByKubelet,
    /// The kubelet evicted the pod for lack of a resource, or for a limit of local storage.
    EvictedForResources,
    /// The kubelet began to evict the pod.
    EvictionBegan,
    /// A program other than the kubelet evicted the pod.
    EvictedByAnother,
    NodeShutdown,
    /// The pod ran longer than it may.
    DeadlineExceeded,
    /// The node does not answer.
    NodeLost,
    /// The reason in the status is not one of the kubelet's.
    ForeignReason,
    /// A condition that is not true.
    NoDisruption,
    /// The scheduler deleted the pod.
    PreemptedByScheduler,
    /// A client of the eviction API evicted the pod.
    EvictedThroughApi,
    /// The pod was deleted for a taint.
    DeletedForTaint,
    /// A deletion for a taint was announced.
    MarkedForTaint,
    /// A deletion for a taint was cancelled.
    TaintCancelled,
    /// The node controller deleted the pods of a node that did not answer.
    NodeDidNotAnswer,
    /// The pod garbage collector removed the pod.
    DeletedByPodGc,
    /// The reason of a condition is unknown to kq.
    UnknownReason,
    /// The kubelet ended the pod for a reason that is not in the evidence.
    EndedByKubelet,
    /// The pod has a deletion timestamp.
    Deleted,
    /// The container was started again.
    RestartedAfterUnknownEnd,
    /// The kernel killed a process of the container.
    OomKilled,
    /// The end of the container is unknown to the kubelet.
    UnknownEnd,
    /// The exit code is 0.
    EndedWithoutError,
    /// A signal ended the container.
    EndedBySignal {
        /// Its number.
        signal: i32,
    },
    /// Any other exit code.
    EndedWithError,
    /// A container did not stop in its grace period.
    ExceededGracePeriod,
    /// The kubelet stopped a container for its probe.
    StoppedForProbe {
        container: String,
        /// `liveness` or `startup`.
        probe: &'static str,
    },
    /// The kubelet stopped a container.
    ContainerStopped,
    /// The sandbox of the pod ended.
    SandboxChanged,
    ProbeFailed,
    /// A container waits for its next start.
    BackOff,
    /// Any other event.
    OtherEvent,
}

/// What makes the meaning of a piece of evidence less sure, or excludes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Qualification {
    /// The message is not the kubelet's.
    ForeignMessage,
    /// The kubelet writes the reason with the phase Failed.
    PhaseIsNotFailed,
    /// The kubelet writes the condition with a final phase.
    PhaseIsNotFinal,
    /// A container ended after the condition.
    ContainerEndedLater,
    /// The deletion was announced, and the pod exists.
    NotDeletedYet,
    /// The deletion was announced, and the pod ended or was deleted at another time.
    OtherEndOrDeletion,
    /// The deletion was announced, and the pod was not deleted in time.
    NeverDeleted,
    /// The end was announced, and the pod has not ended.
    NotEndedYet,
    /// The end was announced, and the pod ended at another time.
    OtherEnd,
    /// The condition announced the end, and the pod did not end in time.
    NeverEnded,
    /// The pod lives.
    Lives,
    /// The pod lives, and the evidence has no UID.
    LivesWithoutUid,
    /// The evidence has no UID.
    NoUid,
    /// The log does not have the end of the preemption.
    EndIsNotLogged,
    /// The refusal may be that of a resize.
    MaybeResize,
    /// The reporting component may be no scheduler.
    MaybeNoScheduler,
    /// The reporting component is unknown.
    UnknownComponent,
}

impl fmt::Display for Interpretation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meaning.fmt(f)?;
        self.qualifications.iter().try_for_each(|it| write!(f, "; {it}"))
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused { had_run: Some(true) } => {
                "the kubelet refused the pod, which had run here: a kubelet that restarts admits its pods again"
            }
            Self::Refused { had_run: Some(false) } => {
                "the kubelet refused the pod; nothing shows that it had run here"
            }
            Self::Refused { had_run: None } => {
                "the kubelet refused the pod, at its arrival or when the kubelet restarted"
            }
            Self::RefusedOrNotResized => "the kubelet refused the pod, or refused to resize it",
            Self::NotEnded => "no component has ended it so far",
            Self::SucceededWithoutReason => {
                "no reason: the phase of a victim of the kubelet is Succeeded too, without its reason, when all of \
                 its containers exit with 0"
            }
            Self::NoReason => "no component wrote a reason",
            Self::PreemptedByKubelet => "the kubelet killed it to admit a critical pod",
            Self::PreemptionBegan => "the kubelet was about to kill it to admit a critical pod",
            Self::PreemptionDone => "it was killed, and the kubelet went on with the critical pod",
            Self::PreemptionFailed => {
                "it did not stop in time; the kubelet still admits the critical pod"
            }
            Self::EvictedByKubelet => "the kubelet evicted it",
            Self::EvictedForResources => {
                "the kubelet evicted it: the node ran short, or it exceeded a limit of local storage"
            }
            Self::EvictionBegan => {
                "the kubelet was about to evict it: the node ran short, or it exceeded a limit"
            }
            Self::EvictedByAnother => "it was evicted, by another program than the kubelet",
            Self::NodeShutdown => "the kubelet stopped it as the node shut down",
            Self::DeadlineExceeded => "the kubelet ended it: activeDeadlineSeconds were over",
            Self::NodeLost => "its node does not answer: its state is unknown",
            Self::ForeignReason => "a reason that the kubelet does not use",
            Self::NoDisruption => "no component is about to disrupt it",
            Self::PreemptedByScheduler => "the scheduler deleted it for a pod of higher priority",
            Self::EvictedThroughApi => {
                "a client of the eviction API evicted it: a drain, an autoscaler, a descheduler"
            }
            Self::DeletedForTaint => {
                "it was deleted for a NoExecute taint that it does not tolerate"
            }
            Self::MarkedForTaint => {
                "it was to be deleted for a NoExecute taint that it does not tolerate"
            }
            Self::TaintCancelled => "it may stay: the taint is gone, or it tolerates it",
            Self::NodeDidNotAnswer => {
                "its node did not answer, so that it was deleted (before taints did that)"
            }
            Self::DeletedByPodGc => {
                "the pod garbage collector removed it: its node is gone or out of service"
            }
            Self::UnknownReason => "a reason that kq does not know",
            Self::EndedByKubelet => {
                "the kubelet ended it: a preemption, an eviction or a node shutdown"
            }
            Self::Deleted => "it was deleted, and has to be gone by then",
            Self::RestartedAfterUnknownEnd => "the cause of its earlier end is unknown",
            Self::OomKilled => "the kernel OOM-killed a process of it",
            Self::UnknownEnd => "the kubelet does not know how it ended",
            Self::EndedWithoutError => "it ended without an error",
            Self::EndedBySignal { signal: 9 } => "SIGKILL ended it; its sender is unknown",
            Self::EndedBySignal { signal: 15 } => {
                "SIGTERM ended it, with which the kubelet stops containers, and others"
            }
            Self::EndedBySignal { signal } => return write!(f, "signal {signal} ended it"),
            Self::EndedWithError => "it ended by itself, with an error",
            Self::ExceededGracePeriod => "it did not stop in the time that it was given",
            Self::StoppedForProbe { container, probe } => {
                return write!(
                    f,
                    "the kubelet stopped container {container} for its {probe} probe"
                );
            }
            Self::ContainerStopped => {
                "the kubelet stopped a container of it, for whatever reason"
            }
            Self::SandboxChanged => {
                "its sandbox had ended: the kubelet stopped its containers and started them again"
            }
            Self::ProbeFailed => {
                "a probe failed; the container is stopped when it does failureThreshold times in a row"
            }
            Self::BackOff => "a container that ended waits until it is started again",
            Self::OtherEvent => "",
        })
    }
}

impl fmt::Display for Qualification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ForeignMessage => "the message is not the kubelet's",
            Self::PhaseIsNotFailed => "the kubelet writes this with the phase Failed",
            Self::PhaseIsNotFinal => "the kubelet writes this with a final phase",
            Self::ContainerEndedLater => "but a container of it ended later",
            Self::NotDeletedYet => "but it is not deleted yet",
            Self::OtherEndOrDeletion => "but the pod ended, or was deleted, at another time",
            Self::NeverDeleted => "but the pod was not deleted, and lives",
            Self::NotEndedYet => "but it has not ended yet",
            Self::OtherEnd => "but the pod ended at another time",
            Self::NeverEnded => "but the pod lives",
            Self::Lives => "but it lives",
            Self::LivesWithoutUid => {
                "but it lives: without a UID, this may be about an earlier pod of the name"
            }
            Self::NoUid => "without a UID, this may be about an earlier pod of the name",
            Self::EndIsNotLogged => "that it is gone is not in the log",
            Self::MaybeResize => "or it refused to resize the pod",
            Self::MaybeNoScheduler => "if that component is a scheduler",
            Self::UnknownComponent => "if the report of an unknown component is true",
        })
    }
}
