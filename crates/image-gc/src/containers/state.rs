//! The state that the kubelet reads when it collects dead containers.
//!
//! The state of pods is that of the kubelet's pod workers, judged from outside. Rules: `ShouldPodRuntimeBeRemoved` and
//! `ShouldPodContentBeRemoved` in `pkg/kubelet/pod_workers.go`. The kubelet uses its own state; a list of pods has the same state a little later.

use kq_facts::runtime::{Container, ContainerState, Sandbox};
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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
    pub pod_uid: String,
    /// Its name in the pod.
    pub name: String,
    /// What it does.
    pub state: ContainerState,
    /// In nanoseconds since 1970.
    pub created_at: i64,
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

/// Calls that fail, with their errors; those that are not named succeed.
///
/// The last six are by id, or by the name of a log folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after its call")]
pub struct Failures {
    /// The list of containers that the container part asks for.
    pub list_containers: Option<String>,
    /// The list of containers that the sandbox part asks for again.
    pub list_containers_again: Option<String>,
    pub list_sandboxes: Option<String>,
    pub read_log_root: Option<String>,
    pub container_status: BTreeMap<String, String>,
    pub stop_container: BTreeMap<String, String>,
    pub remove_container: BTreeMap<String, String>,
    pub stop_sandbox: BTreeMap<String, String>,
    pub remove_sandbox: BTreeMap<String, String>,
    pub remove_log_directory: BTreeMap<String, String>,
}

/// A call that removes something, or that is made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// `ContainerStatus`, which has the path of the log.
    ContainerStatus,
    /// `StopContainer`
    StopContainer,
    /// `RemoveContainer`
    RemoveContainer,
    /// `StopPodSandbox`
    StopSandbox,
    /// `RemovePodSandbox`
    RemoveSandbox,
    /// The deletion of a log folder.
    RemoveLogDirectory,
}

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedCall {
    pub call: Call,
    pub error: String,
}

impl Failures {
    /// Makes calls about one thing in their order, up to the first that fails.
    pub(super) fn first_of(&self, calls: &[Call], about: &str) -> Option<FailedCall> {
        calls.iter().find_map(|call| {
            let errors = match call {
                Call::ContainerStatus => &self.container_status,
                Call::StopContainer => &self.stop_container,
                Call::RemoveContainer => &self.remove_container,
                Call::StopSandbox => &self.stop_sandbox,
                Call::RemoveSandbox => &self.remove_sandbox,
                Call::RemoveLogDirectory => &self.remove_log_directory,
            };
            errors.get(about).map(|error| FailedCall { call: *call, error: error.clone() })
        })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ContainerStatus => "ContainerStatus",
            Self::StopContainer => "StopContainer",
            Self::RemoveContainer => "RemoveContainer",
            Self::StopSandbox => "StopPodSandbox",
            Self::RemoveSandbox => "RemovePodSandbox",
            Self::RemoveLogDirectory => "removal of the folder",
        })
    }
}

impl fmt::Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.call, self.error)
    }
}

/// Returns what the kubelet thinks of each pod that has containers or sandboxes. `uids` are those of
/// the runtime; a pod that no complete list has is gone.
pub fn pod_states<'a>(
    pods: &[&Pod],
    is_complete: bool,
    uids: impl IntoIterator<Item = &'a str>,
    is_running: impl Fn(&str) -> bool,
) -> BTreeMap<String, GcPod> {
    let known: BTreeMap<&str, &Pod> = pods.iter().map(|pod| (effective_uid(pod), *pod)).collect();
    let state = |uid: &str| match known.get(uid) {
        None => {
            GcPod { runtime_should_be_removed: is_complete, content_should_be_removed: is_complete }
        }
        Some(pod) => {
            let has_phase = pod.status.has_ended();
            let is_deleted = pod.metadata.deletion_timestamp.is_some();
            let has_ended = (has_phase || is_deleted) && !is_running(uid);
            let is_evicted = pod.status.phase == "Failed" && pod.status.reason == "Evicted";
            GcPod {
                runtime_should_be_removed: has_ended,
                content_should_be_removed: is_evicted || (is_deleted && has_ended),
            }
        }
    };
    uids.into_iter().map(|uid| (uid.to_owned(), state(uid))).collect()
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

    #[test]
    fn pods_are_judged_by_their_status() {
        let pod = |uid: &str, phase: &str, reason: &str, deleted: bool| {
            let mut pod = Pod::default();
            pod.metadata.uid = uid.to_owned();
            pod.metadata.deletion_timestamp = deleted.then(|| "2026-11-20T12:00:00Z".to_owned());
            pod.status.phase = phase.to_owned();
            pod.status.reason = reason.to_owned();
            pod
        };
        let pods = [
            pod("running", "Running", "", false),
            pod("done", "Succeeded", "", false),
            pod("evicted", "Failed", "Evicted", false),
            pod("deleted", "Running", "", true),
            pod("ending", "Running", "", true),
        ];
        let pods: Vec<&Pod> = pods.iter().collect();
        let uids = ["running", "done", "evicted", "deleted", "ending", "gone"];
        let is_running = |uid: &str| matches!(uid, "running" | "ending");
        for (complete, gone) in [(true, (true, true)), (false, (false, false))] {
            let states = pod_states(&pods, complete, uids, is_running);
            let flags = |uid: &str| {
                let state = states[uid];
                (state.runtime_should_be_removed, state.content_should_be_removed)
            };
            assert_eq!(flags("running"), (false, false));
            assert_eq!(flags("done"), (true, false), "its containers, but not its logs");
            assert_eq!(flags("evicted"), (true, true));
            assert_eq!(flags("deleted"), (true, true));
            assert_eq!(flags("ending"), (false, false), "still running");
            assert_eq!(flags("gone"), gone);
        }
    }
}
