//! Unknown facts of a node, and the parts of a plan that do not depend on them.

use super::{AdmissionContext, Failure, asked_resources};
use crate::manager::allocate::AllocationContext;
use crate::manager::hints::{HintError, HintNodes};
use crate::manager::topology::{TopologyManager, TopologyPolicy};
use crate::manager::{Affinities, ManagerState, SilentPlugins};
use crate::reconstruct::{NOT_LISTED, some};
use kq_k8s::pod::Pod;
use std::collections::BTreeSet;

/// What is not sure about a node, where it can decide everything.
#[derive(Clone, Debug, Default)]
pub struct UnknownFacts {
    /// Why other devices than the known ones may exist.
    pub devices: Option<String>,
    /// The NUMA nodes of the machine are taken for granted.
    pub numa_nodes: bool,
    /// The version of the kubelet is taken for granted.
    pub kubelet_version: bool,
}

impl UnknownFacts {
    /// Returns why nothing can be said of a pod, before it is tried.
    pub(super) fn before(
        &self,
        state: &ManagerState,
        pod: &Pod,
        turn: &AdmissionContext<'_>,
    ) -> Option<Failure> {
        if let Some(reason) = &self.devices {
            let unknown = asked_resources(pod).find(|name| !state.healthy.contains_key(*name))?;
            return Some(Failure::unknown(format!(
                "the devices of {unknown} are unknown: {reason}"
            )));
        }
        let (resource, id) = perhaps_vanished(state, pod, turn.manager, turn.circumstances)?;
        Some(Failure::unknown(format!(
            "not known: {id} of {resource} is recorded for the pod and is not among the healthy devices; \
             if its plugin does not list it any more, the kubelet crashes (GetTopologyHints, nil \
             pointer), if it lists it as unhealthy, the kubelet does not; --devices says what the \
             plugin lists, --unhealthy {resource}={id} that it does"
        )))
    }

    /// Returns what an error of the topology manager means: a crash is none where it follows from what is
    /// taken for granted.
    pub(super) fn judge(&self, error: &HintError) -> Failure {
        let open = match error {
            HintError::NodeOutOfRange(_) if self.numa_nodes => {
                "which NUMA nodes the machine has (--numa-nodes)"
            }
            HintError::VanishedDevice { .. } if self.kubelet_version => {
                "the version of the kubelet (--kubelet-version)"
            }
            HintError::NodeOutOfRange(_) | HintError::VanishedDevice { .. } => {
                return Failure { kubelet_crashes: true, ..Failure::unknown(error.to_string()) };
            }
            HintError::TooManyNodes { .. } | HintError::TooManyHints => {
                return Failure::unknown(error.to_string());
            }
        };
        Failure::unknown(format!(
            "not known: it depends on {open}, which is assumed, whether {error}"
        ))
    }
}

/// Returns a device of the pod with which the kubelet crashes if its plugin does not list it any more.
fn perhaps_vanished(
    state: &ManagerState,
    pod: &Pod,
    manager: &TopologyManager,
    circumstances: &AllocationContext,
) -> Option<(String, String)> {
    let is_affected = manager.policy != TopologyPolicy::None
        && manager.machine.hint_nodes != HintNodes::OfMachineAndUnlisted
        && state.pod_devices.of_pod(&pod.metadata.uid).any(|(key, record)| {
            let listed = state.devices.get(&key.resource_name);
            let device = |id: &String| listed.and_then(|listed| listed.get(id));
            let mut ids = record.devices.values().flatten();
            ids.any(|id| device(id).is_some_and(|device| device.health == NOT_LISTED))
        });
    if !is_affected {
        return None;
    }
    let mut without = state.clone();
    for devices in without.devices.values_mut() {
        let known = devices.values().find_map(|device| device.numa_nodes.clone());
        devices.retain(|_, device| device.health != NOT_LISTED);
        // A plugin that gave one device a NUMA node gives others one, which may be unreported.
        let has_none = devices.values().all(|device| device.numa_nodes.is_none());
        if let Some(device) = devices.values_mut().next().filter(|_| has_none) {
            device.numa_nodes = known;
        }
    }
    match without.admit(pod, &Affinities::Decided(manager), circumstances, &mut SilentPlugins) {
        Err(HintError::VanishedDevice { resource, id }) => Some((resource, id)),
        _ => None,
    }
}

/// Returns the devices of a resource of which it is not known whether its plugin still lists them.
fn not_listed<'a>(state: &'a ManagerState, resource: &str) -> Vec<&'a str> {
    let devices = state.devices.get(resource).into_iter().flatten();
    let devices = devices.filter(|(_, device)| device.health == NOT_LISTED);
    devices.map(|(id, _)| id.as_str()).collect()
}

/// Returns the assumptions, as sentences, about devices that are counted into NUMA hints though no source lists them.
pub(super) fn listing_assumptions<'a>(
    state: &ManagerState,
    manager: &TopologyManager,
    pods: impl Iterator<Item = &'a Pod>,
) -> Vec<String> {
    if manager.policy == TopologyPolicy::None {
        return Vec::new();
    }
    let asked: BTreeSet<&str> = pods.flat_map(asked_resources).collect();
    let assumed = |resource: &str| {
        let ids = not_listed(state, resource);
        (!ids.is_empty()).then(|| {
            format!(
                "the plugin of {resource} still lists {} as unhealthy, on the NUMA nodes that are \
                 recorded, and NUMA hints count that; without, a kubelet may decide otherwise \
                 (--devices)",
                some(&ids)
            )
        })
    };
    asked.into_iter().filter_map(assumed).collect()
}
