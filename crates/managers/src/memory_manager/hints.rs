//! The NUMA nodes that a container or pod could have: `GetTopologyHints`, `GetPodTopologyHints`, `calculateHints`,
//! `regenerateHints` and `findBestHint` in `policy_static.go`, `IterateBitMasks` in `topologymanager/bitmask`.

use super::request::{
    counts_as_whole, requested_by_container, requested_by_pod, validate_pod_scope,
};
use super::reuse::mask;
use super::state::{cells, is_group, node, node_mut, table};
use super::{Amounts, MemoryCrash, StaticMemory};
use crate::manager::allocate::in_order;
use crate::manager::hints::{Hint, Hints, MAX_NODES, NumaNodes};
use crate::topology_manager::has_bit;
use kq_facts::checkpoint::memory_manager::{Block, MachineState};
use kq_k8s::pod::{Container, Pod};
use kq_k8s::qos::{QosClass, effective_qos_class};

/// Why there are no hints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryHintError {
    /// The kubelet crashes.
    #[error("{0}")]
    Crash(#[from] MemoryCrash),
    /// There are too many sets of NUMA nodes.
    #[error(
        "{nodes} NUMA nodes make too many sets to go through: kq stops at {MAX_NODES}, the kubelet normally starts on at \
         most 8"
    )]
    TooManyNodes { nodes: usize },
}

impl StaticMemory {
    /// Returns the hints of a container; `None`: NUMA nodes do not matter. Memory of pods that are not active is to be
    /// released before.
    /// Fails where the kubelet crashes, or where there are too many NUMA nodes.
    pub fn container_hints(
        &self,
        pod: &Pod,
        container: &Container,
    ) -> Result<Option<Hints>, MemoryHintError> {
        if !self.is_guaranteed(pod) {
            return Ok(None);
        }
        let Ok(requested) = requested_by_container(pod, container, self.gates) else {
            return Ok(None);
        };
        if self.skips(pod) {
            return Ok(None);
        }
        match self.blocks(pod, &container.name) {
            Some(blocks) => Ok(regenerate(blocks, &requested)),
            None => self.hints_of(pod, &requested).map(Some),
        }
    }

    /// Returns the hints of a pod as a whole; `None`: NUMA nodes do not matter.
    pub fn pod_hints(&self, pod: &Pod) -> Result<Option<Hints>, MemoryHintError> {
        if !self.is_guaranteed(pod) {
            return Ok(None);
        }
        let Ok(requested) = requested_by_pod(pod, self.gates) else { return Ok(None) };
        if self.skips(pod) {
            return Ok(None);
        }
        if counts_as_whole(pod, self.gates) && validate_pod_scope(pod, self.gates).is_err() {
            return Ok(Some(impossible(&requested)));
        }
        if requested.is_empty() {
            return Ok(None);
        }
        let mut allocated =
            in_order(pod).filter_map(|(_, container)| self.blocks(pod, &container.name));
        match allocated.next() {
            Some(blocks) => Ok(regenerate(blocks, &requested)),
            None => self.hints_of(pod, &requested).map(Some),
        }
    }

    pub(super) fn is_guaranteed(&self, pod: &Pod) -> bool {
        effective_qos_class(pod, self.gates) == QosClass::Guaranteed
    }

    /// Returns the blocks of a container; an empty list is one too.
    pub(super) fn blocks(&self, pod: &Pod, container: &str) -> Option<&[Block]> {
        let of_pod = self.state.containers.get(&pod.metadata.uid)?;
        Some(of_pod.get(container)?.as_slice())
    }

    fn hints_of(&self, pod: &Pod, requested: &Amounts) -> Result<Hints, MemoryHintError> {
        let mut machine = self.state.machine_state.clone();
        let sets = self.calculate(&mut machine, pod, requested)?;
        // Without a placement, no resource has a list.
        let names = requested.keys().filter(|_| !sets.is_empty());
        Ok(names.map(|name| (name.clone(), Some(sets.clone()))).collect())
    }

    /// Returns the sets of NUMA nodes that have enough of everything, in the kubelet's order: small sets first, then low
    /// nodes (`calculateHints`). Sorts the groups that it compares, as the kubelet does.
    pub(super) fn calculate(
        &self,
        machine: &mut MachineState,
        pod: &Pod,
        requested: &Amounts,
    ) -> Result<Vec<Hint>, MemoryHintError> {
        let nodes: Vec<i64> = machine.keys().copied().collect();
        if let Some(node) = nodes.iter().find(|node| !has_bit(**node)) {
            return Err(MemoryCrash::NoBit { node: *node }.into());
        }
        if nodes.len() > MAX_NODES {
            return Err(MemoryHintError::TooManyNodes { nodes: nodes.len() });
        }
        let mut found = Vec::new();
        let mut smallest = nodes.len();
        for size in 1..=nodes.len() {
            subsets(&nodes, size, &mut Vec::new(), &mut |set| {
                match self.fits(machine, pod, requested, set)? {
                    Fit::TooSmall => return Ok(()),
                    Fit::Taken => {}
                    Fit::Fits => found.push(NumaNodes::of(set.iter().copied())),
                }
                smallest = smallest.min(size);
                Ok(())
            })?;
        }
        // Nothing that is asked for has a list of hints.
        if requested.is_empty() {
            found.clear();
        }
        let hint =
            |numa_nodes: NumaNodes| Hint { numa_nodes, preferred: numa_nodes.len() == smallest };
        Ok(found.into_iter().map(hint).collect())
    }

    /// Judges a set of NUMA nodes.
    fn fits(
        &self,
        machine: &mut MachineState,
        pod: &Pod,
        requested: &Amounts,
        set: &[i64],
    ) -> Result<Fit, MemoryCrash> {
        let mut free = Vec::with_capacity(requested.len());
        let mut is_large_enough = true;
        for (name, amount) in requested {
            let (mut of_free, mut of_all) = (0_u64, 0_u64);
            for number in set {
                let table = table(machine, *number, name)?;
                of_free = of_free.wrapping_add(table.free);
                of_all = of_all.wrapping_add(table.allocatable);
            }
            is_large_enough &= of_all >= *amount;
            free.push(of_free);
        }
        if !is_large_enough {
            return Ok(Fit::TooSmall);
        }
        match set {
            [single] => {
                if cells(node(machine, *single)?).len() > 1 {
                    return Ok(Fit::Taken);
                }
            }
            group => {
                for number in group {
                    let of_node = node_mut(machine, *number)?;
                    if of_node.number_of_assignments > 0
                        && (cells(of_node).len() == 1 || !is_group(of_node, group))
                    {
                        return Ok(Fit::Taken);
                    }
                }
            }
        }
        let nodes = NumaNodes::of(set.iter().copied());
        let mut amounts = requested.iter().zip(free);
        let is_free = amounts.all(|((name, amount), free)| {
            free.wrapping_add(self.reusable(pod, nodes, name)) >= *amount
        });
        Ok(if is_free { Fit::Fits } else { Fit::Taken })
    }
}

/// Whether a set of NUMA nodes could serve a request.
enum Fit {
    /// Its allocatable memory is less.
    TooSmall,
    /// Other allocations are in the way.
    Taken,
    Fits,
}

/// Calls a function with each subset of a size, in ascending order.
fn subsets(
    nodes: &[i64],
    size: usize,
    begun: &mut Vec<i64>,
    found: &mut impl FnMut(&[i64]) -> Result<(), MemoryCrash>,
) -> Result<(), MemoryCrash> {
    if begun.len() == size {
        return found(begun);
    }
    for (at, node) in nodes.iter().enumerate() {
        begun.push(*node);
        subsets(nodes.get(at + 1..).unwrap_or_default(), size, begun, found)?;
        begun.pop();
    }
    Ok(())
}

/// Returns hints that rule out every placement.
fn impossible(requested: &Amounts) -> Hints {
    requested.keys().map(|name| (name.clone(), Some(Vec::new()))).collect()
}

/// Returns the hints of memory that is allocated already: the same again; `None`: the blocks are not what is requested.
fn regenerate(blocks: &[Block], requested: &Amounts) -> Option<Hints> {
    if blocks.len() != requested.len() {
        return None;
    }
    let mut hints = impossible(requested);
    for block in blocks {
        if requested.get(&block.memory_type) != Some(&block.size) {
            return None;
        }
        let hint = Hint { numa_nodes: mask(block).ok()?, preferred: true };
        hints.get_mut(&block.memory_type)?.get_or_insert_default().push(hint);
    }
    Some(hints)
}

/// Returns the best of some hints: a preferred one, then the narrowest; the first of equals.
pub(super) fn best(hints: impl IntoIterator<Item = Hint>) -> Option<Hint> {
    hints.into_iter().reduce(|best, hint| {
        let is_better = hint.preferred && !best.preferred
            || hint.preferred == best.preferred
                && hint.numa_nodes.is_narrower_than(best.numa_nodes);
        if is_better { hint } else { best }
    })
}
