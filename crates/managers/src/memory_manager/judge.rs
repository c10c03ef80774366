//! Whether the static policy starts with a state, as far as the machine and the configuration are known. The state itself
//! stands in for what is not known, so that what contradicts itself is found in any case.

use super::create::{convert, default_machine_state};
use super::start::{Validated, validate};
use super::{Amounts, HugePages, MemoryNode, MemoryStartError};
use kq_facts::checkpoint::memory_manager::{MemoryState, MemoryTable, NumaNodeState};
use kq_facts::host::HostFacts;
use kq_facts::kubelet_config::MemoryReservation;
use kq_k8s::quantity::Quantity;
use std::collections::BTreeMap;

/// What is known of the machine and the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownMemory {
    /// The memory of each NUMA node of the machine, in bytes.
    pub numa_memory: Option<BTreeMap<i64, i64>>,
    /// The huge pages of each NUMA node: the number by the size in KiB.
    pub huge_pages: Option<BTreeMap<i64, BTreeMap<u64, u64>>>,
    /// The configuration's `reservedMemory`.
    pub reserved_memory: Option<Vec<MemoryReservation>>,
}

/// The judgement of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryJudgement {
    pub result: Result<(), MemoryStartError>,
    /// Another start may end otherwise ([`super::MemoryStartOutcome`]).
    pub depends_on_order: bool,
}

impl KnownMemory {
    /// Returns what a host's files say about the machine.
    pub fn of_host(host: &HostFacts) -> Self {
        let nodes = host.numa_nodes().ok();
        let memory = |nodes: Vec<kq_facts::host::NumaNode>| {
            nodes.into_iter().map(|node| (node.id, node.memory_bytes)).collect()
        };
        Self {
            numa_memory: nodes.map(memory),
            huge_pages: host.numa_huge_pages().ok(),
            reserved_memory: None,
        }
    }

    /// Returns the NUMA nodes of the machine; `None`: they are not known.
    pub fn machine(&self) -> Option<Vec<MemoryNode>> {
        self.has_machine().then(|| self.nodes(&MemoryState::default()))
    }

    /// Returns true if the whole machine is known.
    pub fn has_machine(&self) -> bool {
        self.numa_memory.is_some() && self.huge_pages.is_some()
    }

    /// Judges a state of the static policy.
    pub fn judge(&self, state: &MemoryState) -> MemoryJudgement {
        let reserved = self.reserved_memory.as_deref().map(convert);
        let reserved = match reserved {
            Some(Ok(reserved)) => reserved,
            // An amount that the kubelet does not take stops it before it reads the state.
            Some(Err(_)) | None => reserved_in(state),
        };
        let default = default_machine_state(&self.nodes(state), &reserved);
        let Validated { result, depends_on_order, .. } = validate(state, default);
        MemoryJudgement { result, depends_on_order }
    }

    /// Returns the machine: what is not known of it is as in the state.
    fn nodes(&self, state: &MemoryState) -> Vec<MemoryNode> {
        let in_file = |id: &i64| state.machine_state.get(id).and_then(Option::as_ref);
        let ids: Vec<i64> = match &self.numa_memory {
            Some(nodes) => nodes.keys().copied().collect(),
            None => state.machine_state.keys().copied().collect(),
        };
        let node = |id: i64| {
            let memory = self.numa_memory.as_ref().map(|nodes| nodes.get(&id).copied());
            let memory_bytes = match memory {
                Some(bytes) => bytes.unwrap_or_default().unsigned_abs(),
                None => {
                    in_file(&id).and_then(|node| table(node, "memory")).map_or(0, |it| it.total)
                }
            };
            let pages = |pages: &BTreeMap<i64, BTreeMap<u64, u64>>| -> Vec<HugePages> {
                let of_node = pages.get(&id).into_iter().flatten();
                let pages =
                    |(size, count): (&u64, &u64)| HugePages { page_size_kib: *size, count: *count };
                of_node.map(pages).collect()
            };
            let huge_pages = match &self.huge_pages {
                Some(known) => pages(known),
                None => in_file(&id).map(pages_in).unwrap_or_default(),
            };
            MemoryNode { id, memory_bytes, huge_pages }
        };
        ids.into_iter().map(node).collect()
    }
}

fn table<'n>(node: &'n NumaNodeState, memory_type: &str) -> Option<&'n MemoryTable> {
    node.memory_map.as_ref()?.get(memory_type)?.as_ref()
}

/// Returns the huge pages that a NUMA node of the state has. A size that no machine has is left out.
fn pages_in(node: &NumaNodeState) -> Vec<HugePages> {
    let tables = node.memory_map.iter().flatten();
    let pages = tables.filter_map(|(name, table)| {
        let size: Quantity = name.strip_prefix("hugepages-")?.parse().ok()?;
        let bytes = u64::try_from(size.as_int64()?).ok()?;
        let count = table.as_ref()?.total.checked_div(bytes)?;
        (bytes % 1024 == 0).then_some(HugePages { page_size_kib: bytes / 1024, count })
    });
    pages.collect()
}

/// Returns what the state says is reserved for the system.
fn reserved_in(state: &MemoryState) -> BTreeMap<i64, Amounts> {
    let amounts = |node: &NumaNodeState| -> Amounts {
        let tables = node.memory_map.iter().flatten();
        let reserved = tables
            .filter_map(|(name, table)| Some((name.clone(), table.as_ref()?.system_reserved)));
        reserved.collect()
    };
    let nodes = state.machine_state.iter();
    nodes.filter_map(|(id, node)| Some((*id, amounts(node.as_ref()?)))).collect()
}
