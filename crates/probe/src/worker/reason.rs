//! The reasons of the steps of a worker.

use super::restart::RestartCause;
use crate::results::Verdict;
use serde::Serialize;
use std::fmt;

/// What decided a step, in the order of the kubelet's checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", tag = "code")]
pub enum StepReason {
    /// The kubelet has no worker for the probe.
    NoWorker,
    /// The kubelet has no status of the pod.
    NoPodStatus,
    /// The pod has ended.
    PodEnded {
        /// `Failed` or `Succeeded`.
        phase: String,
    },
    /// There is no container of that name, or it has no id.
    NoContainer,
    /// The threshold was reached for this container before.
    OnHold,
    /// The container does not run yet, or not again.
    Waiting,
    /// The container ended.
    Exited {
        /// How.
        exit_code: i32,
        /// It starts again.
        restarts: bool,
        /// Why, or why not.
        cause: RestartCause,
    },
    /// The pod is being deleted.
    PodDeleted,
    /// The container runs, but its status does not say since when: it is never probed.
    NoStart,
    /// Too early after the start.
    InitialDelay {
        /// How long it runs.
        elapsed_seconds: i32,
        /// How long it has to.
        of_seconds: i32,
    },
    /// The container has started: the startup probe has ended.
    AlreadyStarted,
    /// It has not started yet: the startup probe comes first.
    NotStarted,
    /// A probe was due, and its result is unknown.
    NoResult,
    /// The prober failed: the result is ignored.
    Error {
        /// What it said, in the end.
        error: String,
    },
    /// Not often enough in a row.
    BelowThreshold {
        /// What.
        result: Verdict,
        /// How often.
        run: u64,
        /// How often it has to be.
        threshold: i32,
    },
    /// Often enough: it counts.
    ThresholdReached {
        /// What.
        result: Verdict,
        /// How often.
        run: u64,
        /// How often it has to be.
        threshold: i32,
    },
}

impl fmt::Display for StepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorker => f.write_str("the kubelet has no worker for it"),
            Self::NoPodStatus => f.write_str("the kubelet has no status of the pod yet"),
            Self::PodEnded { phase } => write!(f, "the pod has ended: {phase}"),
            Self::NoContainer => f.write_str("the container is not created yet"),
            Self::OnHold => f.write_str("on hold until the container id changes"),
            Self::Waiting => f.write_str("the container is waiting: failure"),
            Self::Exited { exit_code, restarts, cause } => {
                let again = if *restarts { "starts again" } else { "does not start again" };
                write!(f, "the container ended with exit code {exit_code} and {again}: {cause}")
            }
            Self::PodDeleted => {
                f.write_str("the pod is being deleted: success, and no more probes")
            }
            Self::NoStart => f.write_str("the status does not say when the container started"),
            Self::InitialDelay { elapsed_seconds, of_seconds } => {
                write!(f, "initial delay: {elapsed_seconds} s of {of_seconds} s")
            }
            Self::AlreadyStarted => f.write_str("the container has started"),
            Self::NotStarted => {
                f.write_str("the container has not started: the startup probe first")
            }
            Self::NoResult => f.write_str("it would be probed, with an unknown result"),
            Self::Error { error } if error.is_empty() => {
                f.write_str("thrown away: the prober failed")
            }
            Self::Error { error } => write!(f, "thrown away: {error}"),
            Self::BelowThreshold { result, run, threshold } => {
                write!(f, "{result} {run} of {threshold}")
            }
            Self::ThresholdReached { result, run, threshold }
                if u64::try_from(*threshold).is_ok_and(|threshold| *run > threshold) =>
            {
                write!(f, "{result} {run} times in a row")
            }
            Self::ThresholdReached { result, run, threshold } => {
                write!(f, "{result} {run} of {threshold}: threshold reached")
            }
        }
    }
}
