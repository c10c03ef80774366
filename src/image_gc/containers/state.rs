//! The state that the kubelet reads when it collects dead containers.

use crate::facts::runtime::{Container, ContainerState, Sandbox};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The containers and pods of a node at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcState {
    /// The time, in nanoseconds since 1970.
    pub now: i64,
    /// All containers, in the runtime's order, which decides between equal ages.
    pub containers: Vec<GcContainer>,
    /// All sandboxes, in the runtime's order.
    pub sandboxes: Vec<GcSandbox>,
    /// What the kubelet thinks of pods, by UID; one that is not there stays as it is.
    pub pods: BTreeMap<String, GcPod>,
    /// The kubelet has heard from every source of pods, so that it knows what is gone.
    pub all_sources_ready: bool,
    /// The folder of the pods' logs: `/var/log/pods`.
    pub log_root: String,
    /// The names in that folder.
    pub log_directories: Vec<String>,
}

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcContainer {
    /// The runtime's id of it.
    pub id: String,
    /// The UID of its pod.
    pub pod_uid: String,
    /// Its name in the pod.
    pub name: String,
    /// What it does.
    pub state: ContainerState,
    /// In nanoseconds since 1970.
    pub created_at: i64,
    /// The id of its sandbox.
    pub sandbox_id: String,
    /// `deletionGracePeriodSeconds` of its pod, which the kubelet notes on the container.
    pub deletion_grace_period_seconds: Option<i64>,
    /// `terminationGracePeriodSeconds` of its pod, which the kubelet notes on the container.
    pub termination_grace_period_seconds: Option<i64>,
}

impl GcContainer {
    /// The shortest time that the kubelet gives a container to end.
    const SHORTEST_STOP: i64 = 2;

    /// Returns how long it may take to end when it is stopped (`killContainer` in
    /// `pkg/kubelet/kuberuntime/kuberuntime_container.go`).
    pub fn stop_timeout_seconds(&self) -> i64 {
        let noted = self.deletion_grace_period_seconds.or(self.termination_grace_period_seconds);
        noted.unwrap_or(Self::SHORTEST_STOP).max(Self::SHORTEST_STOP)
    }
}

impl From<&Container> for GcContainer {
    /// Takes what the runtime said; of grace periods it says nothing in its lists.
    fn from(container: &Container) -> Self {
        Self {
            id: container.id.clone(),
            pod_uid: container.pod_uid.clone(),
            name: container.name.clone(),
            state: container.state,
            created_at: container.created_at,
            sandbox_id: container.sandbox_id.clone(),
            deletion_grace_period_seconds: None,
            termination_grace_period_seconds: None,
        }
    }
}

/// A pod's sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcSandbox {
    /// The runtime's id of it.
    pub id: String,
    /// The UID of its pod.
    pub pod_uid: String,
    /// It runs.
    pub ready: bool,
    /// In nanoseconds since 1970.
    pub created_at: i64,
}

impl From<&Sandbox> for GcSandbox {
    fn from(sandbox: &Sandbox) -> Self {
        Self {
            id: sandbox.id.clone(),
            pod_uid: sandbox.uid.clone(),
            ready: sandbox.ready,
            created_at: sandbox.created_at,
        }
    }
}

/// What the kubelet's pod workers think of a pod.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct GcPod {
    /// All its containers have ended for good, or the pod is unknown (`ShouldPodRuntimeBeRemoved`).
    pub runtime_should_be_removed: bool,
    /// It was evicted, or deleted and has ended, or is unknown (`ShouldPodContentBeRemoved`).
    pub content_should_be_removed: bool,
}

/// The trigger of the removal of dead containers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum GcTrigger {
    /// The kubelet's loop (`GarbageCollect`).
    #[default]
    Loop,
    /// The eviction manager (`DeleteAllUnusedContainers`): pods that have ended lose everything, whether
    /// they are deleted or not.
    Eviction,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_at_least_two_seconds_to_stop() {
        for (name, deletion, termination, expected) in [
            ("nothing noted", None, None, 2),
            ("too short", None, Some(0), 2),
            ("the pod's", None, Some(30), 30),
            ("the deletion's goes first", Some(5), Some(30), 5),
            ("and may be too short as well", Some(1), Some(30), 2),
            ("negative", Some(-7), None, 2),
        ] {
            let container = GcContainer {
                deletion_grace_period_seconds: deletion,
                termination_grace_period_seconds: termination,
                ..GcContainer::default()
            };
            assert_eq!(container.stop_timeout_seconds(), expected, "{name}");
        }
    }
}
