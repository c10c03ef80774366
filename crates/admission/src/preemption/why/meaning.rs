//! What a piece of evidence means, and what makes that less sure.

use kq_answer::reason::Reason;
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
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum Meaning {
    /// The kubelet did not admit the pod.
    #[text(
        had_run: Some(true) =>
        "the kubelet refused the pod, which had run here: a kubelet that restarts admits its pods \
         again"
    )]
    #[text(
        had_run: Some(false) => "the kubelet refused the pod; nothing shows that it had run here"
    )]
    #[text(
        had_run: None =>
        "the kubelet refused the pod, at its arrival or when the kubelet restarted"
    )]
    Refused {
        /// The pod had run on the node; null: not known.
        had_run: Option<bool>,
    },
    /// The kubelet refused the pod, or a resize of it.
    #[text("the kubelet refused the pod, or refused to resize it")]
    RefusedOrNotResized,
    /// The phase is not final.
    #[text("no component has ended it so far")]
    NotEnded,
    /// The phase is Succeeded, without a reason.
    #[text(
        "no reason: the phase of a victim of the kubelet is Succeeded too, without its reason, \
         when all of its containers exit with 0"
    )]
    SucceededWithoutReason,
    /// The status has no reason.
    #[text("no component wrote a reason")]
    NoReason,
    /// The kubelet preempted the pod.
    #[text("the kubelet killed it to admit a critical pod")]
    PreemptedByKubelet,
    /// The kubelet began to preempt the pod.
    #[text("the kubelet was about to kill it to admit a critical pod")]
    PreemptionBegan,
    /// The pod was gone, and the kubelet went on.
    #[text("it was killed, and the kubelet went on with the critical pod")]
    PreemptionDone,
    /// The pod did not stop in time.
    #[text("it did not stop in time; the kubelet still admits the critical pod")]
    PreemptionFailed,
    /// The kubelet evicted the pod.
    #[text("the kubelet evicted it")]
    EvictedByKubelet,
    /// The kubelet evicted the pod for lack of a resource, or for a limit of local storage.
    #[text("the kubelet evicted it: the node ran short, or it exceeded a limit of local storage")]
    EvictedForResources,
    /// The kubelet began to evict the pod.
    #[text("the kubelet was about to evict it: the node ran short, or it exceeded a limit")]
    EvictionBegan,
    /// A program other than the kubelet evicted the pod.
    #[text("it was evicted, by another program than the kubelet")]
    EvictedByAnother,
    #[text("the kubelet stopped it as the node shut down")]
    NodeShutdown,
    /// The pod ran longer than it may.
    #[text("the kubelet ended it: activeDeadlineSeconds were over")]
    DeadlineExceeded,
    /// The node does not answer.
    #[text("its node does not answer: its state is unknown")]
    NodeLost,
    /// The reason in the status is not one of the kubelet's.
    #[text("a reason that the kubelet does not use")]
    ForeignReason,
    /// A condition that is not true.
    #[text("no component is about to disrupt it")]
    NoDisruption,
    /// The scheduler deleted the pod.
    #[text("the scheduler deleted it for a pod of higher priority")]
    PreemptedByScheduler,
    /// A client of the eviction API evicted the pod.
    #[text("a client of the eviction API evicted it: a drain, an autoscaler, a descheduler")]
    EvictedThroughApi,
    /// The pod was deleted for a taint.
    #[text("it was deleted for a NoExecute taint that it does not tolerate")]
    DeletedForTaint,
    /// A deletion for a taint was announced.
    #[text("it was to be deleted for a NoExecute taint that it does not tolerate")]
    MarkedForTaint,
    /// A deletion for a taint was cancelled.
    #[text("it may stay: the taint is gone, or it tolerates it")]
    TaintCancelled,
    /// The node controller deleted the pods of a node that did not answer.
    #[text("its node did not answer, so that it was deleted (before taints did that)")]
    NodeDidNotAnswer,
    /// The pod garbage collector removed the pod.
    #[text("the pod garbage collector removed it: its node is gone or out of service")]
    DeletedByPodGc,
    /// The reason of a condition is unknown to kq.
    #[text("a reason that kq does not know")]
    UnknownReason,
    /// The kubelet ended the pod for a reason that is not in the evidence.
    #[text("the kubelet ended it: a preemption, an eviction or a node shutdown")]
    EndedByKubelet,
    /// The pod has a deletion timestamp.
    #[text("it was deleted, and has to be gone by then")]
    Deleted,
    /// The container was started again.
    #[text("the cause of its earlier end is unknown")]
    RestartedAfterUnknownEnd,
    /// The kernel killed a process of the container.
    #[text("the kernel OOM-killed a process of it")]
    OomKilled,
    /// The end of the container is unknown to the kubelet.
    #[text("the kubelet does not know how it ended")]
    UnknownEnd,
    /// The exit code is 0.
    #[text("it ended without an error")]
    EndedWithoutError,
    /// A signal ended the container.
    #[text(signal: 9 => "SIGKILL ended it; its sender is unknown")]
    #[text(signal: 15 => "SIGTERM ended it, with which the kubelet stops containers, and others")]
    #[text("signal {signal} ended it")]
    EndedBySignal {
        /// Its number.
        signal: i32,
    },
    /// The runtime made the container, and could not start its process.
    #[text("the container runtime could not start its process")]
    NotStarted,
    /// Any other exit code.
    #[text("it ended by itself, with an error")]
    EndedWithError,
    /// A container did not stop in its grace period.
    #[text("it did not stop in the time that it was given")]
    ExceededGracePeriod,
    /// The kubelet stopped a container for its probe.
    #[text("the kubelet stopped container {container} for its {probe} probe")]
    StoppedForProbe {
        container: String,
        /// `liveness` or `startup`.
        probe: &'static str,
    },
    /// The kubelet stopped a container.
    #[text("the kubelet stopped a container of it, for whatever reason")]
    ContainerStopped,
    /// The sandbox of the pod ended.
    #[text("its sandbox had ended: the kubelet stopped its containers and started them again")]
    SandboxChanged,
    #[text("a probe failed; the container is stopped when it does failureThreshold times in a row")]
    ProbeFailed,
    /// A container waits for its next start.
    #[text("a container that ended waits until it is started again")]
    BackOff,
    /// An image was not pulled.
    #[text("the image was not pulled; the kubelet tries again with growing delays")]
    NotPulled,
    /// A step before the start of a container failed.
    #[text("a step before the start of a container failed; the kubelet tries again")]
    StartFailed,
    /// Any other event.
    #[text("")]
    OtherEvent,
}

/// What makes the meaning of a piece of evidence less sure, or excludes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain)]
pub enum Qualification {
    /// The message is not the kubelet's.
    #[text("the message is not the kubelet's")]
    ForeignMessage,
    /// The kubelet writes the reason with the phase Failed.
    #[text("the kubelet writes this with the phase Failed")]
    PhaseIsNotFailed,
    /// The kubelet writes the condition with a final phase.
    #[text("the kubelet writes this with a final phase")]
    PhaseIsNotFinal,
    /// A container ended after the condition.
    #[text("but a container of it ended later")]
    ContainerEndedLater,
    /// The deletion was announced, and the pod exists.
    #[text("but it is not deleted yet")]
    NotDeletedYet,
    /// The deletion was announced, and the pod ended or was deleted at another time.
    #[text("but the pod ended, or was deleted, at another time")]
    OtherEndOrDeletion,
    /// The deletion was announced, and the pod was not deleted in time.
    #[text("but the pod was not deleted, and lives")]
    NeverDeleted,
    /// The end was announced, and the pod has not ended.
    #[text("but it has not ended yet")]
    NotEndedYet,
    /// The end was announced, and the pod ended at another time.
    #[text("but the pod ended at another time")]
    OtherEnd,
    /// The condition announced the end, and the pod did not end in time.
    #[text("but the pod lives")]
    NeverEnded,
    /// The pod lives.
    #[text("but it lives")]
    Lives,
    /// The pod lives, and the evidence has no UID.
    #[text("but it lives: without a UID, this may be about an earlier pod of the name")]
    LivesWithoutUid,
    /// The evidence has no UID.
    #[text("without a UID, this may be about an earlier pod of the name")]
    NoUid,
    /// The log does not have the end of the preemption.
    #[text("that it is gone is not in the log")]
    EndIsNotLogged,
    /// The refusal may be that of a resize.
    #[text("or it refused to resize the pod")]
    MaybeResize,
    /// The reporting component may be no scheduler.
    #[text("if that component is a scheduler")]
    MaybeNoScheduler,
    /// The reporting component is unknown.
    #[text("if the report of an unknown component is true")]
    UnknownComponent,
}

impl fmt::Display for Interpretation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meaning.fmt(f)?;
        self.qualifications.iter().try_for_each(|it| write!(f, "; {it}"))
    }
}
