//! The report of one step of a worker.

use super::action::Action;
use super::reason::StepReason;
use crate::probe::container_id::ContainerId;
use crate::probe::results::{ResultsCache, Verdict};
use crate::probe::retry::Conclusion;
use serde::Serialize;
use std::fmt;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// The calls on the cache of results, in order.
    pub calls: Vec<Call>,
    /// It saw a container that it did not know.
    pub new_container: Option<NewContainer>,
    /// The result of the probe; `None`: it was not probed.
    pub probe: Option<Conclusion>,
    /// Why it did what it did.
    pub reason: StepReason,
    /// What the kubelet does about it.
    pub action: Option<Action>,
    /// There will be a next step.
    pub continues: bool,
    /// The worker after the step.
    pub state: WorkerState,
}

/// What a worker remembers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerState {
    /// The container that it saw last.
    pub container_id: ContainerId,
    /// The last result that counted.
    pub last_result: Verdict,
    /// How many of them there were in a row.
    pub run: u64,
    /// Nothing is probed until it sees another container.
    pub on_hold: bool,
}

/// A call on the cache of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase", rename_all_fields = "camelCase", tag = "call")]
pub enum Call {
    /// A result is kept.
    Set {
        /// Of which container.
        container_id: ContainerId,
        /// The result.
        result: Verdict,
        /// It is another than before, and the kubelet hears of it.
        published: bool,
    },
    /// The result of a container is forgotten.
    Remove {
        /// Of which container.
        container_id: ContainerId,
    },
}

/// What follows from seeing a container for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NewContainer {
    /// Its result begins with that of its type of probe.
    Initial(Verdict),
    /// It ran before the kubelet did: nothing is known of it, and nothing is changed.
    KubeletRestart,
}

/// Keeps a result and notes the call.
pub(super) fn set(
    cache: &mut ResultsCache,
    calls: &mut Vec<Call>,
    id: &ContainerId,
    result: Verdict,
) {
    let published = cache.set(id, result);
    calls.push(Call::Set { container_id: id.clone(), result, published });
}

/// Forgets a container and notes the call.
pub(super) fn remove(cache: &mut ResultsCache, calls: &mut Vec<Call>, id: &ContainerId) {
    cache.remove(id);
    calls.push(Call::Remove { container_id: id.clone() });
}

impl fmt::Display for NewContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial(result) => write!(f, "new container, {result} until probed"),
            Self::KubeletRestart => f.write_str("ran before the kubelet started, as it was"),
        }
    }
}
