//! The NUMA nodes on which a container or a pod could have its CPUs (`GetTopologyHints` and `GetPodTopologyHints` in
//! `policy_static.go`), pinned by `cpu_hints.jsonl`.

use super::eligible::{exclusive_cpus, exclusive_cpus_of_pod};
use super::static_policy::StaticPolicy;
use super::topology::count;
use crate::manager::allocate::in_order;
use crate::topology_manager::{Hint, Hints, NotComputed, NumaNodes, has_bit, subsets};
use kq_facts::checkpoint::cpu_manager::CpuState;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::pod::{Container, Pod};
use kq_k8s::resources::has_pod_level_resources;
use std::collections::BTreeMap;

/// No opinion.
fn none() -> Hints {
    Hints::new()
}

fn cpu(hints: Vec<Hint>) -> Hints {
    [("cpu".to_owned(), Some(hints))].into()
}

/// What cannot be satisfied.
fn impossible() -> Hints {
    cpu(Vec::new())
}

impl StaticPolicy {
    /// Returns the hints for a container. One that has its CPUs already has hints of these alone.
    /// Fails for too many NUMA nodes, and where the kubelet crashes.
    pub fn container_hints(
        &self,
        state: &CpuState,
        pod: &Pod,
        container: &Container,
    ) -> Result<Hints, NotComputed> {
        let Ok(wanted) = self.exclusive_cpus(pod, container) else { return Ok(none()) };
        let uid = &pod.metadata.uid;
        if let Some(cpus) = state.containers.get(uid).and_then(|it| it.get(&container.name)) {
            if count(cpus) != wanted {
                return Ok(impossible());
            }
            return Ok(cpu(self.hints_of(cpus, &CpuSet::default(), wanted)?));
        }
        let reuse = self.reuse.get(uid).cloned().unwrap_or_default();
        Ok(cpu(self.hints_of(&self.available(state), &reuse, wanted)?))
    }

    /// Returns the hints for a pod as a whole.
    /// Fails for too many NUMA nodes, and where the kubelet crashes.
    pub fn pod_hints(&self, state: &CpuState, pod: &Pod) -> Result<Hints, NotComputed> {
        let wanted = exclusive_cpus_of_pod(self.rules, pod);
        let has_pod_level = has_pod_level_resources(pod);
        if wanted == 0 || self.rules.skips_pod_level_resources() && has_pod_level {
            return Ok(none());
        }
        if has_pod_level
            && self.rules.manages_pod_level_resources()
            && self.check_shared_pool(pod).is_err()
        {
            return Ok(impossible());
        }
        let uid = &pod.metadata.uid;
        let mut assigned = CpuSet::default();
        for (_, container) in in_order(pod) {
            let cpus = state.containers.get(uid).and_then(|it| it.get(&container.name));
            let Some(cpus) = cpus else { continue };
            if count(cpus) != exclusive_cpus(self.rules, pod, container).unwrap_or(0) {
                return Ok(impossible());
            }
            assigned = assigned.union(cpus);
        }
        if count(&assigned) == wanted {
            return Ok(cpu(self.hints_of(&assigned, &CpuSet::default(), wanted)?));
        }
        let reuse = self.reuse.get(uid).cloned().unwrap_or_default().union(&assigned);
        Ok(cpu(self.hints_of(&self.available(state), &reuse, wanted)?))
    }

    /// Returns the sets of NUMA nodes that hold all CPUs to be reused and enough CPUs (`generateCPUTopologyHints`). A CPU
    /// that is free and to be reused counts twice.
    fn hints_of(
        &self,
        available: &CpuSet,
        reuse: &CpuSet,
        wanted: i64,
    ) -> Result<Vec<Hint>, NotComputed> {
        let nodes: Vec<i64> = self.topology.numa_nodes().collect();
        if let Some(node) = nodes.iter().find(|node| !has_bit(**node)) {
            return Err(NotComputed::NodeOutOfRange(*node));
        }
        if nodes.len() > NumaNodes::MOST {
            return Err(NotComputed::TooManyNodes { nodes: nodes.len() });
        }
        let size = |node: &i64| (*node, count(&self.topology.cpus_in_numa_node(*node)));
        let sizes: BTreeMap<i64, i64> = nodes.iter().map(size).collect();
        let mut free: BTreeMap<i64, i64> = BTreeMap::new();
        for cpu in available.iter() {
            *free.entry(self.node_of(cpu)).or_default() += 1;
        }
        let reused_on = NumaNodes::of(reuse.iter().map(|cpu| self.node_of(cpu)));
        let sum = |of: &BTreeMap<i64, i64>, set: NumaNodes| -> i64 {
            set.iter().filter_map(|node| of.get(&node)).sum()
        };
        let mut smallest = nodes.len();
        let mut sets = Vec::new();
        for set in subsets(&nodes) {
            if sum(&sizes, set) >= wanted {
                smallest = smallest.min(set.len());
            }
            let has_reused = reused_on.and(set) == reused_on;
            if has_reused && count(reuse) + sum(&free, set) >= wanted {
                sets.push(set);
            }
        }
        let hint = |set: NumaNodes| {
            let preferred = set.len() == smallest || self.is_on_fewest_sockets(set, smallest);
            Hint { numa_nodes: set, preferred }
        };
        Ok(sets.into_iter().map(hint).collect())
    }

    /// Returns the NUMA node of a CPU; of one that the machine does not have, the kubelet takes node 0.
    fn node_of(&self, cpu: i64) -> i64 {
        self.topology.numa_node_of(cpu).unwrap_or(0)
    }

    /// Returns true with `align-by-socket` if the nodes lie on exactly as many sockets as are needed
    /// (`isHintSocketAligned`).
    fn is_on_fewest_sockets(&self, set: NumaNodes, smallest: usize) -> bool {
        let per_socket = self.topology.count_nodes() / self.topology.count_sockets().max(1);
        if !self.options.align_by_socket || per_socket == 0 {
            return false;
        }
        let sockets = self.topology.sockets_of(|node| set.contains(node));
        sockets.len() == smallest.div_ceil(per_socket)
    }
}
