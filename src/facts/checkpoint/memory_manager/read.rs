//! Reading the layouts, with Go's rules and errors.

use super::types::{Block, MemoryCheckpoint, MemoryLayout, MemoryTable, NumaNodeState};
use crate::facts::checkpoint::layout::read_file;
use crate::k8s::go_json::{GoList, Int, go_struct};
use std::collections::BTreeMap;

type Nodes = Option<BTreeMap<Int, Option<Box<NodeRead>>>>;
type Entries = Option<BTreeMap<String, Option<BTreeMap<String, Option<Vec<BlockRead>>>>>>;

/// A file as it is read.
struct Fields {
    policy_name: String,
    machine_state: Nodes,
    entries: Entries,
    pod_entries: Option<BTreeMap<String, PodRead>>,
    checksum: u64,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            policy_name: String::new(),
            machine_state: Some(BTreeMap::new()),
            entries: Some(BTreeMap::new()),
            pod_entries: Some(BTreeMap::new()),
            checksum: 0,
        }
    }
}

/// Layout v1.
#[derive(Default)]
struct V1 {
    read: Fields,
}

/// Layout v2.
#[derive(Default)]
struct V2 {
    read: Fields,
}

go_struct!(V1 = "state.MemoryManagerCheckpointV1" {
    "policyName" => read.policy_name,
    "machineState" => read.machine_state: "state.NUMANodeMap",
    "entries" => read.entries: "state.ContainerMemoryAssignments",
    "checksum" => read.checksum: "checksum.Checksum",
});

go_struct!(V2 = "state.MemoryManagerCheckpoint" {
    "policyName" => read.policy_name,
    "machineState" => read.machine_state: "state.NUMANodeMap",
    "entries" => read.entries: "state.ContainerMemoryAssignments",
    "podEntries" => read.pod_entries: "state.PodMemoryAssignments",
    "checksum" => read.checksum: "checksum.Checksum",
});

/// A NUMA node.
#[derive(Default)]
struct NodeRead {
    assignments: Int,
    memory_map: Option<BTreeMap<String, Option<Box<MemoryTable>>>>,
    cells: GoList<Int>,
}

go_struct!(NodeRead = "state.NUMANodeState" {
    "numberOfAssignments" => assignments,
    "memoryMap" => memory_map: "map[v1.ResourceName]*state.MemoryTable",
    "cells" => cells,
});

go_struct!(MemoryTable = "state.MemoryTable" {
    "total" => total,
    "systemReserved" => system_reserved,
    "allocatable" => allocatable,
    "reserved" => reserved,
    "free" => free,
});

/// Memory of a container or pod.
#[derive(Clone, Default)]
struct BlockRead {
    numa_affinity: GoList<Int>,
    memory_type: String,
    size: u64,
}

go_struct!(BlockRead = "state.Block" {
    "numaAffinity" => numa_affinity,
    "type" => memory_type: "v1.ResourceName",
    "size" => size,
});

/// The memory of a pod.
#[derive(Default)]
struct PodRead {
    blocks: GoList<BlockRead>,
}

go_struct!(PodRead = "state.PodEntry" {
    "memoryBlocks" => blocks,
});

impl From<NodeRead> for NumaNodeState {
    fn from(read: NodeRead) -> Self {
        let tables = |map: BTreeMap<String, Option<Box<MemoryTable>>>| {
            map.into_iter().map(|(name, table)| (name, table.map(|table| *table))).collect()
        };
        Self {
            number_of_assignments: read.assignments.0,
            memory_map: read.memory_map.map(tables),
            cells: numbers(read.cells),
        }
    }
}

impl From<BlockRead> for Block {
    fn from(read: BlockRead) -> Self {
        Self {
            numa_affinity: numbers(read.numa_affinity),
            memory_type: read.memory_type,
            size: read.size,
        }
    }
}

fn numbers(list: GoList<Int>) -> Option<Vec<i64>> {
    Some(list.into_option()?.into_iter().map(|number| number.0).collect())
}

fn blocks(list: Vec<BlockRead>) -> Vec<Block> {
    list.into_iter().map(Block::from).collect()
}

impl From<Fields> for MemoryCheckpoint {
    fn from(read: Fields) -> Self {
        let node = |(number, node): (Int, Option<Box<NodeRead>>)| {
            (number.0, node.map(|node| NumaNodeState::from(*node)))
        };
        let containers = |(pod, containers): (String, Option<BTreeMap<_, Option<_>>>)| {
            let each = |(name, list): (String, Option<Vec<_>>)| (name, list.map(blocks));
            (pod, containers.map(|containers| containers.into_iter().map(each).collect()))
        };
        let pods = |(pod, read): (String, PodRead)| (pod, read.blocks.into_option().map(blocks));
        Self {
            policy_name: read.policy_name,
            machine_state: read.machine_state.map(|map| map.into_iter().map(node).collect()),
            entries: read.entries.map(|map| map.into_iter().map(containers).collect()),
            pod_entries: read.pod_entries.map(|map| map.into_iter().map(pods).collect()),
            checksum: read.checksum,
        }
    }
}

/// Reads a file in a layout, and tells why it is not whole.
pub(super) fn read_checkpoint(
    bytes: &[u8],
    layout: MemoryLayout,
) -> (MemoryCheckpoint, Option<String>) {
    match layout {
        MemoryLayout::V1 => {
            let (V1 { read }, error) = read_file(bytes);
            (read.into(), error)
        }
        MemoryLayout::V2 => {
            let (V2 { read }, error) = read_file(bytes);
            (read.into(), error)
        }
    }
}
