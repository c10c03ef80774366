//! The devices of a whole pod, in the order of its containers (`Admit` in the topology manager's scopes).

use super::allocate::{AllocationContext, ContainerAllocation, ContainerKind, in_order};
use super::hints::{HintError, NumaNodes};
use super::lifecycle::ManagerState;
use super::plugins::Plugins;
use super::topology::{TopologyDecision, TopologyManager, TopologyPolicy, TopologyScope};
use kq_facts::checkpoint::device::DeviceSet;
use kq_k8s::pod::Pod;
use serde::Serialize;
use std::collections::BTreeMap;

/// Where the NUMA nodes of containers come from.
pub enum Affinities<'a> {
    /// They are given, by the name of the container.
    Given(&'a BTreeMap<String, NumaNodes>),
    Decided(&'a TopologyManager),
}

/// What became of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodAdmission {
    /// The device manager admits it.
    pub admitted: bool,
    /// The reason that its status gets.
    pub reason: Option<&'static str>,
    /// The message that its status gets.
    pub message: Option<String>,
    /// What was decided for the pod as a whole.
    pub topology: Option<TopologyDecision>,
    /// Its containers, up to the one for which it was refused.
    pub containers: Vec<Step>,
}

/// What became of one container.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub kind: ContainerKind,
    /// What was decided for it.
    pub topology: Option<TopologyDecision>,
    /// What it got.
    #[serde(flatten)]
    pub allocation: ContainerAllocation,
    /// What is recorded for it afterwards, by resource.
    pub devices_after: BTreeMap<String, DeviceSet>,
    /// The devices left to the next container, by resource; empty sets are omitted.
    pub reusable_after: BTreeMap<String, DeviceSet>,
}

/// What the topology manager says of what it refuses (`TopologyAffinityError`).
const NO_LOCALITY: &str = "Resources cannot be allocated with Topology locality";

impl PodAdmission {
    fn refuse(&mut self, reason: &'static str, message: String) {
        (self.admitted, self.reason, self.message) = (false, Some(reason), Some(message));
    }
}

impl ManagerState {
    /// Gives a pod its devices, container by container, until one gets none.
    /// Fails where the topology manager has no hints to go by.
    pub fn admit(
        &mut self,
        pod: &Pod,
        affinities: &Affinities<'_>,
        circumstances: &AllocationContext,
        plugins: &mut dyn Plugins,
    ) -> Result<PodAdmission, HintError> {
        let mut admission = PodAdmission { admitted: true, ..PodAdmission::default() };
        let manager = match affinities {
            Affinities::Decided(manager) if manager.policy != TopologyPolicy::None => {
                Some(*manager)
            }
            _ => None,
        };
        let by_pod = manager.filter(|manager| manager.scope == TopologyScope::Pod);
        if let Some(manager) = by_pod {
            self.reclaim(circumstances);
            let decision = manager.of_pod(self, pod)?;
            let admitted = decision.admitted;
            admission.topology = Some(decision);
            if !admitted {
                admission.refuse("TopologyAffinityError", NO_LOCALITY.to_owned());
                return Ok(admission);
            }
        }
        let by_container = manager.filter(|manager| manager.scope == TopologyScope::Container);
        for (kind, container) in in_order(pod) {
            let topology = match by_container {
                Some(manager) => {
                    self.reclaim(circumstances);
                    Some(manager.of_container(self, pod, container)?)
                }
                None => None,
            };
            if topology.as_ref().is_some_and(|decision| !decision.admitted) {
                let name = container.name.clone();
                let allocation = ContainerAllocation { container: name, ..Default::default() };
                let step = self.step(pod, kind, topology, allocation, circumstances);
                admission.containers.push(step);
                admission.refuse("TopologyAffinityError", NO_LOCALITY.to_owned());
                return Ok(admission);
            }
            let affinity = match affinities {
                Affinities::Given(given) => given.get(&container.name).copied(),
                Affinities::Decided(_) => {
                    let decision = topology.as_ref().or(admission.topology.as_ref());
                    decision.and_then(|decision| decision.numa_nodes)
                }
            };
            let container = (kind, container);
            let allocation =
                self.allocate_container(pod, container, affinity, circumstances, plugins);
            let error = allocation.error.as_ref().map(ToString::to_string);
            admission.containers.push(self.step(pod, kind, topology, allocation, circumstances));
            if let Some(error) = error {
                let message = format!("Allocate failed due to {error}, which is unexpected");
                admission.refuse("UnexpectedAdmissionError", message);
                break;
            }
        }
        Ok(admission)
    }

    /// Returns what became of a container, with what is recorded now.
    fn step(
        &self,
        pod: &Pod,
        kind: ContainerKind,
        topology: Option<TopologyDecision>,
        allocation: ContainerAllocation,
        circumstances: &AllocationContext,
    ) -> Step {
        let uid = pod.metadata.uid.as_str();
        let recorded = self.pod_devices.of_container(uid, &allocation.container);
        let devices_after =
            recorded.map(|(key, device)| (key.resource_name.clone(), device.ids())).collect();
        let left = self.reusable.get(uid).filter(|_| !circumstances.brief).into_iter().flatten();
        let reusable_after = left
            .filter(|(_, ids)| !ids.is_empty())
            .map(|(name, ids)| (name.clone(), ids.clone()))
            .collect();
        Step { kind, topology, allocation, devices_after, reusable_after }
    }
}
