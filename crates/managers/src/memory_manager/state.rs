//! Access to the machine state. Where a NUMA node or a table is missing, the kubelet's own access crashes.

use kq_facts::checkpoint::memory_manager::{MachineState, MemoryTable, NumaNodeState};

/// The kubelet crashes: it follows a nil pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryCrash {
    /// A NUMA node is not in the machine state, or is null there.
    #[error("the kubelet crashes: NUMA node {node} is not in the machine state ({GO_TEXT})")]
    NoNode { node: i64 },
    /// A NUMA node has no memory of a type.
    #[error("the kubelet crashes: NUMA node {node} has no {memory_type} ({GO_TEXT})")]
    NoTable { node: i64, memory_type: String },
    /// The kubelet's masks have no bit for a NUMA node.
    #[error("the kubelet crashes: NUMA node {node} is not within 0 to 63 ({GO_TEXT})")]
    NoBit { node: i64 },
    /// No NUMA nodes were chosen, because nothing asks for `memory`.
    #[error("the kubelet crashes: no NUMA nodes were chosen ({GO_TEXT})")]
    NoMask,
    /// The pod has no containers.
    #[error(
        "the kubelet crashes: the pod has no containers (runtime error: index out of range [0] with length 0)"
    )]
    NoContainers,
}

/// Go's text of a nil pointer.
const GO_TEXT: &str = "runtime error: invalid memory address or nil pointer dereference";

impl MemoryCrash {
    /// Returns Go's text of the panic.
    pub fn go_text(&self) -> &'static str {
        match self {
            Self::NoContainers => "runtime error: index out of range [0] with length 0",
            _ => GO_TEXT,
        }
    }
}

/// Returns a NUMA node.
pub(super) fn node(state: &MachineState, node: i64) -> Result<&NumaNodeState, MemoryCrash> {
    state.get(&node).and_then(Option::as_ref).ok_or(MemoryCrash::NoNode { node })
}

/// Returns a NUMA node for changing it.
pub(super) fn node_mut(
    state: &mut MachineState,
    node: i64,
) -> Result<&mut NumaNodeState, MemoryCrash> {
    state.get_mut(&node).and_then(Option::as_mut).ok_or(MemoryCrash::NoNode { node })
}

/// Returns the memory of a type that a NUMA node has.
pub(super) fn table<'s>(
    state: &'s MachineState,
    number: i64,
    memory_type: &str,
) -> Result<&'s MemoryTable, MemoryCrash> {
    let tables = node(state, number)?.memory_map.as_ref();
    tables
        .and_then(|tables| tables.get(memory_type)?.as_ref())
        .ok_or_else(|| MemoryCrash::NoTable { node: number, memory_type: memory_type.to_owned() })
}

/// Returns the memory of a type that a NUMA node has, for changing it.
pub(super) fn table_mut<'s>(
    state: &'s mut MachineState,
    number: i64,
    memory_type: &str,
) -> Result<&'s mut MemoryTable, MemoryCrash> {
    let tables = node_mut(state, number)?.memory_map.as_mut();
    tables
        .and_then(|tables| tables.get_mut(memory_type)?.as_mut())
        .ok_or_else(|| MemoryCrash::NoTable { node: number, memory_type: memory_type.to_owned() })
}

/// Returns the group of a NUMA node.
pub(super) fn cells(node: &NumaNodeState) -> &[i64] {
    node.cells.as_deref().unwrap_or_default()
}

/// Returns true if a NUMA node's group is this one (`areGroupsEqual`). The kubelet sorts the group where it is stored.
pub(super) fn is_group(node: &mut NumaNodeState, group: &[i64]) -> bool {
    let cells = node.cells.get_or_insert_default();
    cells.sort_unstable();
    cells == group
}

/// Takes what a table has free of an amount, and returns the rest (`updateMachineState`).
pub(super) fn take(table: &mut MemoryTable, amount: u64) -> u64 {
    let taken = table.free.min(amount);
    table.reserved = table.reserved.wrapping_add(taken);
    table.free -= taken;
    amount - taken
}
