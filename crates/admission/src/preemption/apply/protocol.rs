//! The protocol of an executed plan: actions, and observations.

use super::Target;
use crate::preemption::explain::waits;
use crate::preemption::{PreemptionExplanation, PreemptionResult};
use kq_facts::pod_removal::{EvictionResponse, PodPresence, Removal};
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// Options of the execution of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovalOptions {
    /// The request to the API server.
    pub how: Removal,
    /// Goes on to the next victim when one takes too long, as the kubelet does.
    pub goes_on: bool,
    /// The time to wait for each budget.
    pub budget_timeout: Duration,
    /// The time to wait for each victim; `None`: as long as the kubelet waits.
    pub victim_timeout: Option<Duration>,
}

impl RemovalOptions {
    /// Returns the time to wait for a victim.
    pub fn timeout(&self, target: &Target) -> Duration {
        let kubelets = || u64::try_from(waits(target.grace_period_seconds)).unwrap_or_default();
        self.victim_timeout.unwrap_or_else(|| Duration::from_secs(kubelets()))
    }
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the node and its pods, and plan again.
    Refresh,
    /// Request the removal of the victim at an index of the plan.
    Remove(usize),
    /// Read whether it still exists.
    Find(usize),
    /// Wait.
    Pause(Duration),
    /// Nothing.
    End,
}

/// The result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// The node as it is now, or why it is unknown.
    Refreshed(Result<Refreshed, String>),
    /// The API server's response to a removal.
    Answered(EvictionResponse),
    /// Whether the pod exists, or why that is unknown.
    Found(Result<PodPresence, String>),
    /// The wait is over.
    Paused,
    /// A signal was caught: its name.
    Interrupted(&'static str),
}

/// The node, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// The fresh plan.
    pub fresh: ReplanResult,
    /// UIDs of victims of the plan that still take up something: listed and active, or with containers that
    /// run.
    pub there: BTreeSet<String>,
    /// UIDs of victims of the plan that are deleted already, and still there.
    pub going: BTreeSet<String>,
}

/// A fresh plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplanResult {
    /// The pod fits.
    Fits,
    /// These would be killed, as name and UID, in this order: unneeded ones come last.
    Needs(Vec<(String, String)>),
    /// No pod would be killed for it any more, and why.
    NoVictims(String),
}

impl ReplanResult {
    /// Takes it from an answer.
    pub fn of(explanation: &PreemptionExplanation) -> Self {
        match explanation.result {
            PreemptionResult::Fits => Self::Fits,
            PreemptionResult::Preempts => {
                let mut victims: Vec<_> = explanation.victims.iter().collect();
                // The kubelet also kills unneeded ones; once the others are gone, they can stay.
                victims.sort_by_key(|it| it.unneeded);
                Self::Needs(victims.iter().map(|it| (it.pod.clone(), it.uid.clone())).collect())
            }
            PreemptionResult::Refused | PreemptionResult::NotEnough => {
                Self::NoVictims(why_not(explanation))
            }
        }
    }
}

/// Returns the reason for which no pod is killed for a pod.
pub fn why_not(explanation: &PreemptionExplanation) -> String {
    match explanation.refusals.first() {
        Some(refusal) => {
            format!("{} ({}: {})", explanation.because, refusal.reason, refusal.message)
        }
        None => explanation.because.to_string(),
    }
}

/// The result for a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepResult {
    /// It was not requested.
    Left,
    /// It is not needed any more.
    Spared,
    /// It was removed, and is gone.
    Removed,
    /// It ended by itself.
    AlreadyGone,
    /// It was removed, and is still going.
    Going,
    /// It stays: the server refuses.
    Refused,
    /// It is another pod now.
    Replaced,
    /// Whether it is removed is not known.
    Unknown,
}
