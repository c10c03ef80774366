//! The effect of a restart or of unhealthy devices on the pods of the node.

use super::what_if::devices_named;
use super::{DevicePlan, PlannedPod, PodToPlan, WhatIf};
use crate::manager::ManagerState;
use crate::manager::allocate::{ContainerKind, in_order};
use kq_answer::{Warning, WarningCode};
use kq_facts::checkpoint::device::{DeviceSet, PodDevices};
use serde::Serialize;
use std::collections::BTreeSet;

/// What becomes of a pod that is on the node already.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestartEffect {
    /// In a word.
    pub verdict: Verdict,
    /// What its containers have, in the order in which they get devices.
    pub held: Vec<HeldDevices>,
}

/// What becomes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Nothing happens to it.
    Keeps,
    /// It keeps running; if it were admitted again (a container does not run when the kubelet starts), it
    /// would be refused.
    RefusedAnew,
    /// It survives the start of the kubelet.
    Survives,
    /// It survives, and the kubelet does not know of its devices any more.
    Forgotten,
    /// The kubelet that starts refuses it: its phase is Failed, and what runs of it is stopped.
    Refused,
    /// It keeps running; the kubelet crashes when it is admitted again, or at a pod before it.
    CrashesAnew,
    /// It keeps running; what happens when it is admitted again is unknown.
    Unknown,
}

/// What a container has of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldDevices {
    pub container: String,
    /// What it is in its pod.
    pub kind: ContainerKind,
    pub resource: String,
    pub devices: DeviceSet,
    pub numa_nodes: Vec<i64>,
    /// The container runs.
    pub runs: bool,
    /// Those of the devices that are not healthy.
    pub unhealthy: DeviceSet,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of the devices of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// The container keeps them.
    Keeps,
    /// The kubelet no longer knows that they are in use, and allocates them to another pod.
    Forgotten,
    /// The pod is refused: its containers are stopped, and the devices are free.
    Lost,
}

/// The node before the question.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// Who has what, as the running kubelet sees it.
    pub records: PodDevices,
    /// UID of the pod and name of each container that runs.
    pub running: BTreeSet<(String, String)>,
}

/// Adds what becomes of the pods that have devices now. `state` is that of before they were admitted.
pub fn foresee(planned: &mut DevicePlan, pods: &[PodToPlan], now: &Now, state: &ManagerState) {
    let restart = planned.kubelet_restart;
    for (planned, to_plan) in planned.pods.iter_mut().zip(pods) {
        planned.outlook = outlook(planned, to_plan, now, state, restart);
    }
    let is_stopped = |pod: &PlannedPod| {
        pod.outlook.as_ref().is_some_and(|outlook| {
            outlook.verdict == Verdict::Refused && outlook.held.iter().any(|held| held.runs)
        })
    };
    if planned.pods.iter().any(is_stopped) {
        planned.basis.assume(
            "a pod that runs is refused where one of its containers with devices has ended and no \
             plugin is back: this follows from the kubelet's source, it is not from a recording"
                .to_owned(),
        );
        planned.basis.warn(Warning::new(
            WarningCode::StopsRunningPods,
            "pods that run are refused, and stopped: drain them, or let them end, before the kubelet \
             restarts",
        ));
    }
}

fn outlook(
    planned: &PlannedPod,
    PodToPlan { pod, .. }: &PodToPlan,
    now: &Now,
    state: &ManagerState,
    restart: bool,
) -> Option<RestartEffect> {
    let uid = pod.metadata.uid.as_str();
    let failure = planned.failure.as_ref();
    let is_refused = failure.is_none() && !planned.admission.admitted;
    let mut held = Vec::new();
    for (kind, container) in in_order(pod) {
        for (key, record) in now.records.of_container(uid, &container.name) {
            let devices = record.ids();
            let healthy = state.healthy.get(&key.resource_name);
            let known = state.pod_devices.entries.get(key).map(|record| record.ids());
            let is_known = known.is_some_and(|known| devices.is_subset(&known));
            let fate = match () {
                () if restart && is_refused => Fate::Lost,
                () if restart && !is_known => Fate::Forgotten,
                () => Fate::Keeps,
            };
            let nodes: BTreeSet<i64> =
                record.devices.keys().copied().filter(|node| *node >= 0).collect();
            held.push(HeldDevices {
                container: container.name.clone(),
                kind,
                resource: key.resource_name.clone(),
                numa_nodes: nodes.into_iter().collect(),
                runs: now.running.contains(&(uid.to_owned(), container.name.clone())),
                // A kubelet that starts calls none healthy; that says nothing about a device.
                unhealthy: match restart {
                    true => DeviceSet::new(),
                    false => devices
                        .iter()
                        .filter(|id| !healthy.is_some_and(|healthy| healthy.contains(*id)))
                        .cloned()
                        .collect(),
                },
                devices,
                fate,
            });
        }
    }
    if held.is_empty() {
        return None;
    }
    let is_forgotten = held.iter().any(|held| held.fate == Fate::Forgotten);
    let verdict = match (restart, is_refused) {
        _ if failure.is_some_and(|failure| !failure.is_undetermined()) => Verdict::CrashesAnew,
        _ if failure.is_some() => Verdict::Unknown,
        (true, true) => Verdict::Refused,
        (true, false) if is_forgotten => Verdict::Forgotten,
        (true, false) => Verdict::Survives,
        (false, true) => Verdict::RefusedAnew,
        (false, false) => Verdict::Keeps,
    };
    Some(RestartEffect { verdict, held })
}

/// A change of what the node offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub resource: String,
    /// How many devices are healthy before.
    pub allocatable_before: usize,
    /// How many are then.
    pub allocatable_after: usize,
}

/// Returns what the node offers less, from the healthy devices of before.
pub fn changes(before: &ManagerState, after: &ManagerState) -> Vec<Change> {
    let changes = before.healthy.iter().filter_map(|(resource, ids)| {
        let now = after.healthy.get(resource).map_or(0, BTreeSet::len);
        (now != ids.len()).then(|| Change {
            resource: resource.clone(),
            allocatable_before: ids.len(),
            allocatable_after: now,
        })
    });
    changes.collect()
}

/// A device that is assumed to be unhealthy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyDevice {
    pub resource: String,
    /// Its id.
    pub device: String,
    /// Its NUMA nodes; none where none are known.
    pub numa_nodes: Vec<i64>,
    /// It was healthy before.
    pub was_healthy: bool,
    /// The UIDs of the pods for which it is recorded.
    pub pods: BTreeSet<String>,
}

/// Returns the devices that a question assumes to be unhealthy, as they were before.
pub fn unhealthy(before: &ManagerState, question: &WhatIf) -> Vec<UnhealthyDevice> {
    let named: BTreeSet<(String, String)> = question
        .unhealthy
        .iter()
        .flat_map(|text| devices_named(before, text).unwrap_or_default())
        .collect();
    let device = |(resource, device): (String, String)| {
        let listed = before.devices.get(&resource).and_then(|devices| devices.get(&device));
        let nodes = listed.and_then(|device| device.numa_nodes.as_ref());
        let healthy = before.healthy.get(&resource);
        let has_it = before.pod_devices.entries.iter().filter(|(key, record)| {
            key.resource_name == resource && record.ids().contains(&device)
        });
        UnhealthyDevice {
            numa_nodes: nodes.into_iter().flatten().copied().collect(),
            was_healthy: healthy.is_some_and(|healthy| healthy.contains(&device)),
            pods: has_it.map(|(key, _)| key.pod_uid.clone()).collect(),
            resource,
            device,
        }
    };
    named.into_iter().map(device).collect()
}
