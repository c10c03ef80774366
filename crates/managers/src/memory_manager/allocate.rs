//! The allocation of a container's memory: `Allocate`, `getDefaultHint`, `extendTopologyManagerHint` and
//! `isAffinitySatisfyRequest` in `policy_static.go`.

use super::hints::{MemoryHintError, best};
use super::request::{NotAnAmount, requested_by_container};
use super::state::{cells, is_group, node, node_mut, table, table_mut, take};
use super::{Amounts, MemoryCrash, StaticMemory};
use crate::manager::hints::{Hint, NumaNodes};
use crate::topology_manager::TopologyHint;
use kq_facts::checkpoint::memory_manager::{Block, MachineState};
use kq_k8s::pod::{Container, Pod};

/// Why memory is not allocated. The text is the kubelet's, but for a crash and what is not computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocateError {
    /// An amount is no whole number, or needs more than 64 bits.
    #[error("{0}")]
    NotAnAmount(#[from] NotAnAmount),
    /// The same, where the kubelet looks for memory that containers of the pod share.
    #[error("{0}")]
    NotAnAmountOfShared(NotAnAmount),
    /// No NUMA nodes have enough.
    #[error(
        "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
    )]
    NoNodes,
    /// The topology manager has a preferred choice without NUMA nodes, and the best one is not preferred.
    #[error("[memorymanager] failed to find the default preferred hint")]
    DefaultNotPreferred,
    /// The chosen nodes have too little, and no larger set has enough.
    #[error("[memorymanager] failed to find NUMA nodes to extend the current topology hint")]
    NotExtendable,
    /// The same, and the best larger set is not preferred.
    #[error("[memorymanager] failed to find the extended preferred hint")]
    ExtendedNotPreferred,
    /// One of several nodes serves single allocations, or another group.
    #[error("[memorymanager] preferred hint violates NUMA node allocation")]
    ViolatesGroups,
    /// Sidecars have all of the pod's memory, and an init container shares it.
    #[error("pod rejected, pod has shared init containers but no {memory_type} available for them")]
    NothingForInit { memory_type: String },
    /// Containers have all of the pod's memory, and others share it.
    #[error(
        "pod rejected, sum of exclusive container {memory_type} requests equals pod budget, leaving no memory for shared \
         containers"
    )]
    NothingForShared { memory_type: String },
    /// The kubelet crashes.
    #[error("{0}")]
    Crash(#[from] MemoryCrash),
    /// There are too many sets of NUMA nodes.
    #[error("{0}")]
    NotComputed(MemoryHintError),
}

impl From<MemoryHintError> for AllocateError {
    fn from(error: MemoryHintError) -> Self {
        match error {
            MemoryHintError::Crash(crash) => Self::Crash(crash),
            MemoryHintError::TooManyNodes { .. } => Self::NotComputed(error),
        }
    }
}

impl AllocateError {
    /// Returns the reason and the message with which the kubelet rejects the pod (`GetPodAdmitResult` in
    /// `pkg/kubelet/cm/admission`); `None`: it crashes, or the result is not known.
    pub fn rejection(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Crash(_) | Self::NotComputed(_) => None,
            Self::NotAnAmountOfShared(_)
            | Self::NothingForInit { .. }
            | Self::NothingForShared { .. } => Some(("EmptyPodSharedPoolError", self.to_string())),
            _ => Some((
                "UnexpectedAdmissionError",
                format!("Allocate failed due to {self}, which is unexpected"),
            )),
        }
    }
}

impl StaticMemory {
    /// Allocates the memory of a container. Memory of pods that are not active is to be released before
    /// ([`StaticMemory::remove_stale`]). Where it fails, earlier containers of the pod keep theirs.
    /// Fails where the kubelet does, where it crashes, and where there are too many NUMA nodes.
    pub fn allocate(
        &mut self,
        pod: &Pod,
        container: &Container,
        affinity: TopologyHint,
    ) -> Result<(), AllocateError> {
        if !self.is_guaranteed(pod) {
            return Ok(());
        }
        if self.skips(pod) {
            return Ok(());
        }
        if let Some(blocks) = self.blocks(pod, &container.name) {
            let blocks = blocks.to_vec();
            return Ok(self.update_reusable(pod, container, &blocks)?);
        }
        let requested = requested_by_container(pod, container, self.gates)?;
        let mut machine = self.state.machine_state.clone();
        let nodes = self.choose(&mut machine, pod, &requested, affinity)?;
        let mut blocks = Vec::new();
        for (memory_type, size) in &requested {
            let reusable = self.reusable(pod, nodes, memory_type);
            reserve(&mut machine, nodes, memory_type, size.saturating_sub(reusable))?;
            blocks.push(block(nodes, memory_type, *size));
        }
        self.update_reusable(pod, container, &blocks)?;
        self.state.machine_state = machine;
        self.set_blocks(pod, container, blocks.clone());
        self.shrink_init_blocks(pod, container, &blocks);
        Ok(())
    }

    pub(super) fn set_blocks(&mut self, pod: &Pod, container: &Container, blocks: Vec<Block>) {
        let of_pod = self.state.containers.entry(pod.metadata.uid.clone()).or_default();
        of_pod.insert(container.name.clone(), blocks);
    }

    /// Returns the NUMA nodes for a request.
    pub(super) fn choose(
        &self,
        machine: &mut MachineState,
        pod: &Pod,
        requested: &Amounts,
        affinity: TopologyHint,
    ) -> Result<NumaNodes, AllocateError> {
        let mut chosen = match affinity.numa_nodes {
            Some(numa_nodes) => Hint { numa_nodes, preferred: affinity.preferred },
            None => {
                let hints = self.calculate(machine, pod, requested)?;
                if hints.is_empty() {
                    return Err(AllocateError::NoNodes);
                }
                // The kubelet looks at the hints of memory alone.
                let best = best(hints).filter(|_| requested.contains_key("memory"));
                if affinity.preferred && !best.is_some_and(|hint| hint.preferred) {
                    return Err(AllocateError::DefaultNotPreferred);
                }
                best.ok_or(MemoryCrash::NoMask)?
            }
        };
        if !is_enough(machine, chosen.numa_nodes, requested)? {
            let hints = self.calculate(machine, pod, requested)?;
            let wider = hints.into_iter().filter(|hint| {
                requested.contains_key("memory")
                    && hint.numa_nodes.and(chosen.numa_nodes) == chosen.numa_nodes
            });
            let extended = best(wider).ok_or(AllocateError::NotExtendable)?;
            if chosen.preferred && !extended.preferred {
                return Err(AllocateError::ExtendedNotPreferred);
            }
            chosen = extended;
        }
        if violates_groups(machine, chosen.numa_nodes)? {
            return Err(AllocateError::ViolatesGroups);
        }
        Ok(chosen.numa_nodes)
    }
}

/// Returns a block of memory.
pub(super) fn block(nodes: NumaNodes, memory_type: &str, size: u64) -> Block {
    let numa_affinity = (!nodes.is_empty()).then(|| nodes.iter().collect());
    Block { numa_affinity, memory_type: memory_type.to_owned(), size }
}

/// Returns true if NUMA nodes have enough free memory; what may be reused does not count.
fn is_enough(
    machine: &MachineState,
    nodes: NumaNodes,
    requested: &Amounts,
) -> Result<bool, MemoryCrash> {
    let mut is_enough = true;
    for (memory_type, size) in requested {
        let mut free = 0_u64;
        for node in nodes.iter() {
            free = free.wrapping_add(table(machine, node, memory_type)?.free);
        }
        is_enough &= free >= *size;
    }
    Ok(is_enough)
}

/// Returns true if a set of several NUMA nodes has a member in use that is not in this very group
/// (`isAffinityViolatingNUMAAllocations`).
fn violates_groups(machine: &mut MachineState, nodes: NumaNodes) -> Result<bool, MemoryCrash> {
    let group: Vec<i64> = nodes.iter().collect();
    for number in &group {
        if node(machine, *number)?.number_of_assignments == 0 || group.len() == 1 {
            continue;
        }
        let of_node = node_mut(machine, *number)?;
        if cells(of_node).len() == 1 || !is_group(of_node, &group) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reserves an amount on NUMA nodes, in ascending order, and counts one allocation on each (`updateMachineState`).
pub(super) fn reserve(
    machine: &mut MachineState,
    nodes: NumaNodes,
    memory_type: &str,
    amount: u64,
) -> Result<(), MemoryCrash> {
    let group: Vec<i64> = nodes.iter().collect();
    let mut left = amount;
    for number in &group {
        let node = node_mut(machine, *number)?;
        node.number_of_assignments = node.number_of_assignments.wrapping_add(1);
        node.cells = Some(group.clone());
        if left > 0 {
            left = take(table_mut(machine, *number, memory_type)?, left);
        }
    }
    Ok(())
}
