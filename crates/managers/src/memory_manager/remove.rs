//! The end of containers and pods: `RemoveContainer` and `releaseMemory` in `policy_static.go`, `AddContainer`,
//! `removeStaleState` and `GetMemoryNUMANodes` in `memory_manager.go`.

use super::state::{node_mut, table_mut};
use super::{MemoryCrash, StaticMemory};
use kq_facts::checkpoint::memory_manager::{Block, MachineState};
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{Container, Pod};
use std::collections::{BTreeMap, BTreeSet};

/// The containers of active pods, by the pod's UID.
pub type ActiveContainers = BTreeMap<String, BTreeSet<String>>;

impl StaticMemory {
    /// Releases the memory of containers that no active pod has. The kubelet does so before each allocation and each
    /// hint.
    /// Fails where the kubelet crashes.
    pub fn remove_stale(&mut self, active: &ActiveContainers) -> Result<(), MemoryCrash> {
        let is_active = |pod: &String, container: &String| {
            active.get(pod).is_some_and(|containers| containers.contains(container))
        };
        let all = self.state.containers.iter();
        let stale: Vec<(String, String)> = all
            .flat_map(|(pod, containers)| containers.keys().map(move |name| (pod, name)))
            .filter(|(pod, name)| !is_active(pod, name))
            .map(|(pod, name)| (pod.clone(), name.clone()))
            .collect();
        stale.iter().try_for_each(|(pod, container)| self.remove_container(pod, container))
    }

    /// Releases the memory of a container. That of a pod as a whole is released with its last container.
    /// Fails where the kubelet crashes.
    pub fn remove_container(&mut self, pod: &str, container: &str) -> Result<(), MemoryCrash> {
        if self.gates.enabled(Gate::PodLevelResourceManagers)
            && let Some(blocks) = self.state.pods.as_ref().and_then(|pods| pods.get(pod))
        {
            let blocks = blocks.clone().unwrap_or_default();
            self.forget(pod, container);
            if self.state.containers.get(pod).is_none_or(BTreeMap::is_empty) {
                release(&mut self.state.machine_state, &blocks)?;
                self.state.pods.get_or_insert_default().remove(pod);
            }
            return Ok(());
        }
        let of_pod = self.state.containers.get(pod);
        if of_pod.is_none_or(|containers| !containers.contains_key(container)) {
            return Ok(());
        }
        let blocks = self.forget(pod, container).unwrap_or_default();
        release(&mut self.state.machine_state, &blocks)
    }

    /// Takes a container out of the allocations, and its pod with the last of them.
    fn forget(&mut self, pod: &str, container: &str) -> Option<Vec<Block>> {
        let of_pod = self.state.containers.get_mut(pod)?;
        let blocks = of_pod.remove(container);
        if of_pod.is_empty() {
            self.state.containers.remove(pod);
        }
        blocks
    }

    /// Notes that a container was created: init containers before it have ended, and their memory is released.
    /// Fails where the kubelet crashes.
    pub fn add_container(&mut self, pod: &Pod, container: &Container) -> Result<(), MemoryCrash> {
        let earlier = pod.spec.init_containers.iter();
        let mut earlier = earlier.take_while(|init| init.name != container.name);
        earlier
            .by_ref()
            .filter(|init| !init.restarts_always())
            .try_for_each(|init| self.remove_container(&pod.metadata.uid, &init.name))
    }

    /// Returns the NUMA nodes of a container's memory; `None`: there are none.
    pub fn numa_nodes(&self, pod: &Pod, container: &str) -> Option<BTreeSet<i64>> {
        let blocks = self.blocks(pod, container)?;
        let nodes: BTreeSet<i64> = blocks
            .iter()
            .filter_map(|block| block.numa_affinity.as_ref())
            .flatten()
            .copied()
            .collect();
        (!nodes.is_empty()).then_some(nodes)
    }
}

/// Gives memory back, from the first NUMA node of a block on, as much as is reserved there.
fn release(machine: &mut MachineState, blocks: &[Block]) -> Result<(), MemoryCrash> {
    for block in blocks {
        let mut left = block.size;
        for number in block.numa_affinity.iter().flatten() {
            let node = node_mut(machine, *number)?;
            node.number_of_assignments = node.number_of_assignments.wrapping_sub(1);
            if node.number_of_assignments == 0 {
                node.cells = Some(vec![*number]);
            }
            if left == 0 {
                continue;
            }
            let table = table_mut(machine, *number, &block.memory_type)?;
            let released = table.reserved.min(left);
            table.free = table.free.wrapping_add(released);
            table.reserved -= released;
            left -= released;
        }
    }
    Ok(())
}
