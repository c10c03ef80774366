//! Reading the layouts, with Go's rules and errors.

use super::types::{Block, MemoryCheckpoint, MemoryLayout, MemoryTable, NumaNodeState};
use crate::facts::checkpoint::go_read::read_file;
use crate::k8s::go_json::{Field, GoList, GoStruct, GoValue, Int};
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
struct V1(Fields);

/// Layout v2.
#[derive(Default)]
struct V2(Fields);

impl GoStruct for V1 {
    const TYPE: &'static str = "state.MemoryManagerCheckpointV1";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "policyName", read: |it, reader| it.0.policy_name.read(reader) },
        Field {
            name: "machineState",
            read: |it, reader| it.0.machine_state.read_as("state.NUMANodeMap", reader),
        },
        Field {
            name: "entries",
            read: |it, reader| it.0.entries.read_as("state.ContainerMemoryAssignments", reader),
        },
        Field {
            name: "checksum",
            read: |it, reader| it.0.checksum.read_as("checksum.Checksum", reader),
        },
    ];
}

impl GoStruct for V2 {
    const TYPE: &'static str = "state.MemoryManagerCheckpoint";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "policyName", read: |it, reader| it.0.policy_name.read(reader) },
        Field {
            name: "machineState",
            read: |it, reader| it.0.machine_state.read_as("state.NUMANodeMap", reader),
        },
        Field {
            name: "entries",
            read: |it, reader| it.0.entries.read_as("state.ContainerMemoryAssignments", reader),
        },
        Field {
            name: "podEntries",
            read: |it, reader| it.0.pod_entries.read_as("state.PodMemoryAssignments", reader),
        },
        Field {
            name: "checksum",
            read: |it, reader| it.0.checksum.read_as("checksum.Checksum", reader),
        },
    ];
}

/// A NUMA node.
#[derive(Default)]
struct NodeRead {
    assignments: Int,
    memory_map: Option<BTreeMap<String, Option<Box<MemoryTable>>>>,
    cells: GoList<Int>,
}

impl GoStruct for NodeRead {
    const TYPE: &'static str = "state.NUMANodeState";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "numberOfAssignments", read: |it, reader| it.assignments.read(reader) },
        Field {
            name: "memoryMap",
            read: |it, reader| {
                it.memory_map.read_as("map[v1.ResourceName]*state.MemoryTable", reader)
            },
        },
        Field { name: "cells", read: |it, reader| it.cells.read(reader) },
    ];
}

impl GoStruct for MemoryTable {
    const TYPE: &'static str = "state.MemoryTable";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "total", read: |it, reader| it.total.read(reader) },
        Field { name: "systemReserved", read: |it, reader| it.system_reserved.read(reader) },
        Field { name: "allocatable", read: |it, reader| it.allocatable.read(reader) },
        Field { name: "reserved", read: |it, reader| it.reserved.read(reader) },
        Field { name: "free", read: |it, reader| it.free.read(reader) },
    ];
}

/// Memory of a container or pod.
#[derive(Clone, Default)]
struct BlockRead {
    numa_affinity: GoList<Int>,
    memory_type: String,
    size: u64,
}

impl GoStruct for BlockRead {
    const TYPE: &'static str = "state.Block";
    const FIELDS: &'static [Field<Self>] = &[
        Field { name: "numaAffinity", read: |it, reader| it.numa_affinity.read(reader) },
        Field {
            name: "type",
            read: |it, reader| it.memory_type.read_as("v1.ResourceName", reader),
        },
        Field { name: "size", read: |it, reader| it.size.read(reader) },
    ];
}

/// The memory of a pod.
#[derive(Default)]
struct PodRead {
    blocks: GoList<BlockRead>,
}

impl GoStruct for PodRead {
    const TYPE: &'static str = "state.PodEntry";
    const FIELDS: &'static [Field<Self>] =
        &[Field { name: "memoryBlocks", read: |it, reader| it.blocks.read(reader) }];
}

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
            let (V1(read), error) = read_file(bytes);
            (read.into(), error)
        }
        MemoryLayout::V2 => {
            let (V2(read), error) = read_file(bytes);
            (read.into(), error)
        }
    }
}
