//! The allocation of a pod's memory as a whole, with the gate PodLevelResourceManagers and the topology manager's scope
//! `pod`: `AllocatePod` in `policy_static.go`.

use super::allocate::{block, reserve};
use super::request::{requested_by_container, requested_by_pod, validate_pod_scope};
use super::{AllocateError, Amounts, MemoryCrash, StaticMemory};
use crate::manager::allocate::in_order;
use crate::manager::hints::NumaNodes;
use crate::topology_manager::TopologyHint;
use kq_facts::checkpoint::memory_manager::Block;
use kq_k8s::pod::Pod;
use std::collections::BTreeMap;

impl StaticMemory {
    /// Allocates the memory of a pod as a whole, and divides it among its containers. `affinity` is the choice for its
    /// first container.
    pub fn allocate_pod(&mut self, pod: &Pod, affinity: TopologyHint) -> Result<(), AllocateError> {
        if !self.is_guaranteed(pod) {
            return Ok(());
        }
        // The kubelet logs an amount that it does not take, and goes on.
        let Ok(total) = requested_by_pod(pod, self.gates) else { return Ok(()) };
        validate_pod_scope(pod, self.gates).map_err(|error| match error {
            AllocateError::NotAnAmount(amount) => AllocateError::NotAnAmountOfShared(amount),
            error => error,
        })?;
        if in_order(pod).next().is_none() {
            return Err(MemoryCrash::NoContainers.into());
        }
        let mut machine = self.state.machine_state.clone();
        let nodes = self.choose(&mut machine, pod, &total, affinity)?;
        let Parts { own, shared } = self.divide(pod, &total, nodes)?;
        for (memory_type, amount) in &total {
            reserve(&mut machine, nodes, memory_type, *amount)?;
        }
        let budget = total.iter().map(|(name, size)| block(nodes, name, *size)).collect();
        let pods = self.state.pods.get_or_insert_default();
        pods.insert(pod.metadata.uid.clone(), Some(budget));
        for (_, container) in in_order(pod) {
            let blocks = own.get(container.name.as_str()).unwrap_or(&shared).clone();
            self.set_blocks(pod, container, blocks);
        }
        self.state.machine_state = machine;
        Ok(())
    }

    /// Divides a pod's memory: what containers have for themselves, and what the others share.
    fn divide<'p>(
        &self,
        pod: &'p Pod,
        total: &Amounts,
        nodes: NumaNodes,
    ) -> Result<Parts<'p>, AllocateError> {
        let blocks_of = |amounts: &Amounts| -> Vec<Block> {
            let positive = amounts.iter().filter(|(_, size)| **size > 0);
            positive.map(|(name, size)| block(nodes, name, *size)).collect()
        };
        let mut own = BTreeMap::new();
        let mut left = total.clone();
        for container in &pod.spec.init_containers {
            let requested = requested_by_container(pod, container, self.gates)?;
            match (container.restarts_always(), requested.is_empty()) {
                // It shares what the app containers share.
                (true, true) => {}
                // It ends before they start, and has everything but what the sidecars before it have.
                (false, true) => {
                    own.insert(container.name.as_str(), blocks_of(&left));
                }
                (restarts, false) => {
                    own.insert(container.name.as_str(), blocks_of(&requested));
                    if restarts {
                        subtract(&mut left, &requested, false);
                    }
                }
            }
        }
        for container in &pod.spec.containers {
            let requested = requested_by_container(pod, container, self.gates)?;
            if !requested.is_empty() {
                own.insert(container.name.as_str(), blocks_of(&requested));
                subtract(&mut left, &requested, true);
            }
        }
        Ok(Parts { own, shared: blocks_of(&left) })
    }
}

/// The parts of a pod's memory.
struct Parts<'p> {
    own: BTreeMap<&'p str, Vec<Block>>,
    shared: Vec<Block>,
}

/// Subtracts amounts, which wrap. A resource of which nothing was there is added if the kubelet writes it into its map.
fn subtract(left: &mut Amounts, less: &Amounts, adds: bool) {
    for (name, amount) in less.iter().filter(|(_, amount)| **amount > 0) {
        match left.get_mut(name) {
            Some(left) => *left = left.wrapping_sub(*amount),
            None if adds => {
                left.insert(name.clone(), amount.wrapping_neg());
            }
            None => {}
        }
    }
}
