//! The reasons of the steps of a worker.

use super::restart::RestartCause;
use crate::results::Verdict;
use kq_answer::reason::Reason;

/// What decided a step, in the order of the kubelet's checks.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(case = "kebab-case")]
pub enum StepReason {
    /// The kubelet has no worker for the probe.
    #[text("the kubelet has no worker for it")]
    NoWorker,
    /// The kubelet has no status of the pod.
    #[text("the kubelet has no status of the pod yet")]
    NoPodStatus,
    /// The pod has ended.
    #[text("the pod has ended: {phase}")]
    PodEnded {
        /// `Failed` or `Succeeded`.
        phase: String,
    },
    /// There is no container of that name, or it has no id.
    #[text("the container is not created yet")]
    NoContainer,
    /// The threshold was reached for this container before.
    #[text("on hold until the container id changes")]
    OnHold,
    /// The container does not run yet, or not again.
    #[text("the container is waiting: failure")]
    Waiting,
    /// The container ended.
    #[text("the container ended with exit code {exit_code} and {again}: {cause}", again = again(*restarts))]
    Exited {
        /// How.
        exit_code: i32,
        /// It starts again.
        restarts: bool,
        /// Why, or why not.
        cause: RestartCause,
    },
    /// The pod is being deleted.
    #[text("the pod is being deleted: success, and no more probes")]
    PodDeleted,
    /// The container runs, but its status does not say since when: it is never probed.
    #[text("the status does not say when the container started")]
    NoStart,
    /// Too early after the start.
    #[text("initial delay: {elapsed_seconds} s of {of_seconds} s")]
    InitialDelay {
        /// How long it runs.
        elapsed_seconds: i32,
        /// How long it has to.
        of_seconds: i32,
    },
    /// The container has started: the startup probe has ended.
    #[text("the container has started")]
    AlreadyStarted,
    /// It has not started yet: the startup probe comes first.
    #[text("the container has not started: the startup probe first")]
    NotStarted,
    /// A probe was due, and its result is unknown.
    #[text("it would be probed, with an unknown result")]
    NoResult,
    /// The prober failed: the result is ignored.
    #[text("thrown away: {what}", what = what(error))]
    Error {
        /// What it said, in the end.
        error: String,
    },
    /// Not often enough in a row.
    #[text("{result} {run} of {threshold}")]
    BelowThreshold {
        /// What.
        result: Verdict,
        /// How often.
        run: u64,
        /// How often it has to be.
        threshold: i32,
    },
    /// Often enough: it counts.
    #[text("{result} {run} {of}", of = reached(*run, *threshold))]
    ThresholdReached {
        /// What.
        result: Verdict,
        /// How often.
        run: u64,
        /// How often it has to be.
        threshold: i32,
    },
}

fn again(restarts: bool) -> &'static str {
    if restarts { "starts again" } else { "does not start again" }
}

fn what(error: &str) -> &str {
    if error.is_empty() { "the prober failed" } else { error }
}

fn reached(run: u64, threshold: i32) -> String {
    match u64::try_from(threshold).is_ok_and(|threshold| run > threshold) {
        true => "times in a row".to_owned(),
        false => format!("of {threshold}: threshold reached"),
    }
}
