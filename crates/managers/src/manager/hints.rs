//! The NUMA nodes on which devices are available (`topology_hints.go` of the device manager), pinned by `topology_hints.jsonl`.

use super::allocate::has_topology;
use super::lifecycle::{Device, ManagerState, with_devices};
pub use crate::topology_manager::{Hint, Hints, NumaNodes, ResourceHints};
use crate::topology_manager::{has_bit, subsets};
use kq_facts::checkpoint::device::{DeviceSet, PodDevice};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod};
use kq_k8s::resources::{ResourceOptions, pod_limits};
use serde::Serialize;
use std::collections::BTreeMap;

/// Which NUMA nodes a kubelet tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HintNodes {
    /// Those of the devices of the resource (since 1.36).
    #[default]
    OfDevices,
    /// All of the machine (1.34 and 1.35).
    OfMachine,
    /// All of the machine; a device that is not listed is one without NUMA node (before 1.34).
    OfMachineAndUnlisted,
}

impl HintNodes {
    /// Returns which NUMA nodes a kubelet with these rules tries.
    pub fn of(rules: &KubeletRules) -> Self {
        if rules.hints_of_device_nodes() {
            Self::OfDevices
        } else if rules.gates.version().panics_at_unlisted_devices() {
            Self::OfMachine
        } else {
            Self::OfMachineAndUnlisted
        }
    }
}

/// Why there are no hints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HintError {
    /// This kubelet crashes: a device that the pod has is not listed by its plugin any more.
    #[error(
        "the kubelet crashes: device {id:?} of {resource} is recorded and its plugin does not list it \
         any more (runtime error: invalid memory address or nil pointer dereference)"
    )]
    VanishedDevice {
        resource: String,
        /// The device.
        id: String,
    },
    /// Kubelets crash: they have no bit for a NUMA node.
    #[error("the kubelet crashes: NUMA node {_0} is {} 63", if *_0 < 0 { "not 0 to" } else { "above" })]
    NodeOutOfRange(i64),
    /// There are too many sets.
    #[error(
        "{nodes} NUMA nodes make too many sets to go through: kq stops at {MAX_NODES}, the kubelet \
         normally starts on at most 8"
    )]
    TooManyNodes {
        /// How many.
        nodes: usize,
    },
    /// There are too many combinations.
    #[error("the hints have too many different combinations to go through")]
    TooManyHints,
}

impl HintError {
    /// Returns true if the kubelet crashes.
    pub fn is_crash(&self) -> bool {
        !matches!(self, Self::TooManyNodes { .. } | Self::TooManyHints)
    }
}

/// How many NUMA nodes are gone through: each doubles the work.
pub const MAX_NODES: usize = NumaNodes::MOST;

/// The inputs of hints other than the devices.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The NUMA nodes, as they were discovered.
    pub numa_nodes: Vec<i64>,
    /// Which of them the kubelet tries.
    pub hint_nodes: HintNodes,
}

/// Devices by the NUMA nodes that they are on.
struct Groups {
    groups: BTreeMap<NumaNodes, usize>,
}

impl Groups {
    fn of<'d>(devices: impl Iterator<Item = &'d Device>) -> Self {
        let mut groups = BTreeMap::new();
        for device in devices {
            *groups.entry(nodes_of(device)).or_default() += 1;
        }
        Self { groups }
    }

    fn touching(&self, nodes: NumaNodes) -> i64 {
        let touching = self.groups.iter().filter(|(group, _)| group.touches(nodes));
        i64::try_from(touching.map(|(_, count)| count).sum::<usize>()).unwrap_or(i64::MAX)
    }
}

fn nodes_of(device: &Device) -> NumaNodes {
    NumaNodes::of(device.numa_nodes.iter().flatten().copied())
}

impl ManagerState {
    /// Returns what the resources of a container say (`GetTopologyHints`). Devices of pods that are not
    /// active are to be reclaimed before.
    /// Fails where the kubelet would not survive, or there are too many NUMA nodes.
    pub fn container_hints(
        &self,
        pod: &Pod,
        container: &Container,
        machine: &Machine,
    ) -> Result<Hints, HintError> {
        let uid = pod.metadata.uid.as_str();
        let none = DeviceSet::new();
        let mut hints = Hints::new();
        for (name, quantity) in container.resources.limits.iter() {
            let (resource, requested) = (name.as_str(), quantity.value());
            if !self.is_device_resource(resource) {
                continue;
            }
            let recorded = self.pod_devices.of_container(uid, &container.name);
            let recorded = recorded.filter(|(key, _)| key.resource_name == resource);
            let recorded: DeviceSet = recorded.flat_map(|(_, device)| device.ids()).collect();
            let reusable = self.reusable.get(uid).and_then(|sets| sets.get(resource));
            let reusable = reusable.unwrap_or(&none);
            let of_resource =
                self.resource_hints(resource, requested, &recorded, reusable, machine)?;
            hints.insert(resource.to_owned(), of_resource);
        }
        Ok(hints)
    }

    /// Returns what the resources of a pod as a whole say (`GetPodTopologyHints`). What init containers
    /// leave behind is not counted in advance.
    pub fn pod_hints(&self, pod: &Pod, machine: &Machine) -> Result<Hints, HintError> {
        let uid = pod.metadata.uid.as_str();
        let options = ResourceOptions { exclude_overhead: true, ..ResourceOptions::default() };
        let none = DeviceSet::new();
        let mut hints = Hints::new();
        for (name, quantity) in pod_limits(pod, &options).total.iter() {
            let (resource, requested) = (name.as_str(), quantity.value());
            if !self.is_device_resource(resource) {
                continue;
            }
            let recorded = self.pod_devices.of_pod(uid);
            let recorded = recorded.filter(|(key, _)| key.resource_name == resource);
            let recorded: DeviceSet =
                recorded.flat_map(|(_, device): (_, &PodDevice)| device.ids()).collect();
            let of_resource =
                self.resource_hints(resource, requested, &recorded, &none, machine)?;
            hints.insert(resource.to_owned(), of_resource);
        }
        Ok(hints)
    }

    fn resource_hints(
        &self,
        resource: &str,
        requested: i64,
        recorded: &DeviceSet,
        reusable: &DeviceSet,
        machine: &Machine,
    ) -> Result<ResourceHints, HintError> {
        let none = DeviceSet::new();
        let Some(devices) = self.devices.get(resource).filter(|devices| has_topology(devices))
        else {
            return Ok(None);
        };
        let counted = |ids: usize| i64::try_from(ids).unwrap_or(i64::MAX);
        let search = Search { resource, devices, requested, machine };
        if !recorded.is_empty() {
            if counted(recorded.len()) != requested {
                return Ok(Some(Vec::new()));
            }
            return search.hints(recorded.iter(), &none).map(Some);
        }
        let healthy = self.healthy.get(resource).unwrap_or(&none);
        let used = self.allocated.get(resource).unwrap_or(&none);
        let available = || healthy.difference(used);
        let reusable_only =
            reusable.iter().filter(|id| !healthy.contains(*id) || used.contains(*id));
        if counted(available().count() + reusable_only.count()) < requested {
            return Ok(Some(Vec::new()));
        }
        search.hints(available(), reusable).map(Some)
    }
}

/// The search for sets of NUMA nodes (`generateDeviceTopologyHints`).
struct Search<'a> {
    resource: &'a str,
    devices: &'a BTreeMap<String, Device>,
    requested: i64,
    machine: &'a Machine,
}

impl Search<'_> {
    fn hints<'i>(
        &'i self,
        available: impl Iterator<Item = &'i String>,
        reusable: &'i DeviceSet,
    ) -> Result<Vec<Hint>, HintError> {
        let nodes = self.nodes();
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        if nodes.len() > MAX_NODES {
            return Err(HintError::TooManyNodes { nodes: nodes.len() });
        }
        if let Some(node) = nodes.iter().find(|node| !has_bit(**node)) {
            return Err(HintError::NodeOutOfRange(*node));
        }
        let all = Groups::of(self.devices.values());
        let reusable: Vec<NumaNodes> = self
            .listed(reusable.iter())?
            .into_iter()
            .filter(|device| device.numa_nodes.is_some())
            .map(nodes_of)
            .collect();
        let available = Groups::of(self.listed(available)?.into_iter());
        let reused = i64::try_from(reusable.len()).unwrap_or(i64::MAX);

        let mut smallest = nodes.len();
        let mut sets = Vec::new();
        for set in subsets(&nodes) {
            if all.touching(set) >= self.requested {
                smallest = smallest.min(set.len());
            }
            // What was reused is kept whole, so every device of it has to be on one of the nodes.
            let keeps_reused = reusable.iter().all(|nodes| nodes.touches(set));
            if keeps_reused && reused + available.touching(set) >= self.requested {
                sets.push(set);
            }
        }
        let hint = |set: NumaNodes| Hint { numa_nodes: set, preferred: set.len() == smallest };
        Ok(sets.into_iter().map(hint).collect())
    }

    /// Returns the devices with these ids. A kubelet since 1.34 trips over one that is not there; before, it
    /// was a device without NUMA node.
    fn listed<'i>(
        &'i self,
        ids: impl Iterator<Item = &'i String>,
    ) -> Result<Vec<&'i Device>, HintError> {
        let mut listed = Vec::new();
        for (id, device) in with_devices(ids.map(String::as_str), self.devices) {
            match (device, self.machine.hint_nodes) {
                (Some(device), _) => listed.push(device),
                (None, HintNodes::OfMachineAndUnlisted) => {}
                (None, _) => {
                    let (resource, id) = (self.resource.to_owned(), id.to_owned());
                    return Err(HintError::VanishedDevice { resource, id });
                }
            }
        }
        Ok(listed)
    }

    /// Returns the NUMA nodes to go through.
    fn nodes(&self) -> Vec<i64> {
        let machine = &self.machine.numa_nodes;
        if self.machine.hint_nodes != HintNodes::OfDevices {
            return machine.clone();
        }
        let nodes = self.devices.values().flat_map(|device| device.numa_nodes.iter().flatten());
        let mut nodes: Vec<i64> = nodes.copied().filter(|node| machine.contains(node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.is_empty() { machine.clone() } else { nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_nodes_are_refused_and_not_gone_through() {
        let mut state = ManagerState::default();
        let device = |node: i64| Device {
            id: node.to_string(),
            health: "Healthy".to_owned(),
            numa_nodes: Some(vec![node]),
        };
        state.update("example.com/r", (0..17).map(device));
        let limits = [(
            "example.com/r".into(),
            kq_k8s::quantity::Quantity::from_units(1, Default::default()),
        )];
        let mut container = Container { name: "c".to_owned(), ..Container::default() };
        container.resources.limits = limits.into_iter().collect();
        let machine = Machine { numa_nodes: (0..17).collect(), ..Machine::default() };
        let hints = state.container_hints(&Pod::default(), &container, &machine);
        assert_eq!(hints, Err(HintError::TooManyNodes { nodes: 17 }));
    }
}
