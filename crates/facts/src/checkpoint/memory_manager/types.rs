//! The layouts of the file, the texts of their checksums, and reading the file, with Go's
//! errors, and writing it (`storeState` in `state_checkpoint.go`).

use super::load::MemoryState;
use crate::checkpoint::Encoded;
use crate::checkpoint::go_dump::{GoDump, PreImage};
use crate::checkpoint::layout::{KnownLayouts, Layered, dump_checkpoint, read_file};
use kq_k8s::go_json::to_go_json;
use kq_k8s::go_json::{GoList, Int, go_struct};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The layouts, as `pkg/kubelet/cm/memorymanager/state/checkpoint.go` counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryLayout {
    /// Memory by pod and container.
    V1,
    /// With the memory of pods as a whole: written with the gate PodLevelResourceManagers.
    V2,
}

impl fmt::Display for MemoryLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        })
    }
}

/// An amount of memory of one kind (`MemoryTable`), in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryTable {
    /// All that the NUMA node has.
    pub total: u64,
    /// Set aside for the system.
    pub system_reserved: u64,
    /// The amount available to containers.
    pub allocatable: u64,
    /// The amount allocated to containers.
    pub reserved: u64,
    /// The rest.
    pub free: u64,
}

/// A NUMA node (`NUMANodeState`). `None` is Go's nil.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NumaNodeState {
    /// The number of allocations, counted by kind of memory.
    pub number_of_assignments: i64,
    /// By kind: `memory`, `hugepages-2Mi`.
    pub memory_map: Option<BTreeMap<String, Option<MemoryTable>>>,
    /// The NUMA nodes that allocate together with this one, itself among them.
    pub cells: Option<Vec<i64>>,
}

/// Memory that a container or pod has (`Block`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// The NUMA nodes.
    pub numa_affinity: Option<Vec<i64>>,
    /// `memory`, `hugepages-2Mi`.
    #[serde(rename = "type")]
    pub memory_type: String,
    /// In bytes.
    pub size: u64,
}

/// The NUMA nodes of the machine.
pub type MachineState = BTreeMap<i64, Option<NumaNodeState>>;

/// The memory of containers, by pod.
pub type MemoryEntries = BTreeMap<String, Option<BTreeMap<String, Option<Vec<Block>>>>>;

/// The memory of pods (`PodEntry`).
pub type PodMemory = BTreeMap<String, Option<Vec<Block>>>;

/// The file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryCheckpoint {
    /// `None`, `Static`
    pub policy_name: String,
    /// The NUMA nodes.
    pub machine_state: Option<MachineState>,
    /// The memory of containers.
    pub entries: Option<MemoryEntries>,
    /// v2: the memory of pods.
    pub pod_entries: Option<PodMemory>,
    pub checksum: u64,
}

impl Default for MemoryCheckpoint {
    /// Returns what the kubelet reads a file into: maps that are there and empty.
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

impl Layered for MemoryCheckpoint {
    type Layout = MemoryLayout;
    const TYPE_NAME: &'static str = "MemoryManagerCheckpoint";
    const LEGACY_TYPE_NAME: &'static str = "MemoryManagerCheckpointV1";

    fn checksum_in_file(&self) -> u64 {
        self.checksum
    }

    fn dump<P: PreImage + ?Sized>(&self, layout: MemoryLayout, type_name: &str, out: &mut P) {
        dump_checkpoint(out, type_name, &self.policy_name, |dump| {
            dump.mark(" MachineState:");
            dump.map("state.NUMANodeMap", self.machine_state.as_ref(), |dump, node| {
                dump.pointer("state.NUMANodeState", node.as_ref(), numa_node);
            });
            dump.mark(" Entries:");
            let entries = self.entries.as_ref();
            dump.map("state.ContainerMemoryAssignments", entries, |dump, pod| {
                dump.map("map[string][]state.Block", pod.as_ref(), |dump, it| {
                    blocks(dump, it.as_ref());
                });
            });
            if layout == MemoryLayout::V2 {
                dump.mark(" PodEntries:");
                dump.map("state.PodMemoryAssignments", self.pod_entries.as_ref(), |dump, pod| {
                    dump.scalar("state.PodEntry", "{");
                    dump.mark("MemoryBlocks:");
                    blocks(dump, pod.as_ref());
                    dump.mark("}");
                });
            }
        });
    }
}

fn numa_node<P: PreImage + ?Sized>(dump: &mut GoDump<'_, P>, node: &NumaNodeState) {
    dump.scalar("state.NUMANodeState", "{");
    dump.mark("NumberOfAssignments:");
    dump.number("int", node.number_of_assignments);
    dump.mark(" MemoryMap:");
    let tables = node.memory_map.as_ref();
    dump.map("map[v1.ResourceName]*state.MemoryTable", tables, |dump, table| {
        dump.pointer("state.MemoryTable", table.as_ref(), |dump, table| {
            dump.scalar("state.MemoryTable", "{");
            for (at, (name, bytes)) in [
                ("TotalMemSize:", table.total),
                ("SystemReserved:", table.system_reserved),
                ("Allocatable:", table.allocatable),
                ("Reserved:", table.reserved),
                ("Free:", table.free),
            ]
            .into_iter()
            .enumerate()
            {
                if at > 0 {
                    dump.mark(" ");
                }
                dump.mark(name);
                dump.number("uint64", bytes);
            }
            dump.mark("}");
        });
    });
    dump.mark(" Cells:");
    dump.list("[]int", node.cells.as_ref(), |dump, cell| dump.number("int", cell));
    dump.mark("}");
}

fn blocks<P: PreImage + ?Sized>(dump: &mut GoDump<'_, P>, blocks: Option<&Vec<Block>>) {
    dump.list("[]state.Block", blocks, |dump, block| {
        dump.scalar("state.Block", "{");
        dump.mark("NUMAAffinity:");
        dump.list("[]int", block.numa_affinity.as_ref(), |dump, node| dump.number("int", node));
        dump.mark(" Type:");
        dump.scalar("v1.ResourceName", &block.memory_type);
        dump.mark(" Size:");
        dump.number("uint64", block.size);
        dump.mark("}");
    });
}

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

/// Layout v1 as kubelets before 1.36 read it, where it is the only one.
#[derive(Default)]
struct OnlyV1 {
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

go_struct!(OnlyV1 = "state.MemoryManagerCheckpoint" {
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

fn blocks_of(list: Vec<BlockRead>) -> Vec<Block> {
    list.into_iter().map(Block::from).collect()
}

impl From<Fields> for MemoryCheckpoint {
    fn from(read: Fields) -> Self {
        let node = |(number, node): (Int, Option<Box<NodeRead>>)| {
            (number.0, node.map(|node| NumaNodeState::from(*node)))
        };
        let containers = |(pod, containers): (String, Option<BTreeMap<_, Option<_>>>)| {
            let each = |(name, list): (String, Option<Vec<_>>)| (name, list.map(blocks_of));
            (pod, containers.map(|containers| containers.into_iter().map(each).collect()))
        };
        let pods = |(pod, read): (String, PodRead)| (pod, read.blocks.into_option().map(blocks_of));
        Self {
            policy_name: read.policy_name,
            machine_state: read.machine_state.map(|map| map.into_iter().map(node).collect()),
            entries: read.entries.map(|map| map.into_iter().map(containers).collect()),
            pod_entries: read.pod_entries.map(|map| map.into_iter().map(pods).collect()),
            checksum: read.checksum,
        }
    }
}

/// Reads a file in a layout, and returns why it is incomplete.
pub(super) fn read_checkpoint(
    bytes: &[u8],
    layout: MemoryLayout,
    known: KnownLayouts,
) -> (MemoryCheckpoint, Option<String>) {
    match layout {
        MemoryLayout::V1 if known == KnownLayouts::BeforePods => {
            let (OnlyV1 { read }, error) = read_file(bytes);
            (read.into(), error)
        }
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

/// The file, in the order of its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'c> {
    policy_name: &'c str,
    /// Sorted as texts: "10" comes before "2".
    machine_state: BTreeMap<String, &'c Option<NumaNodeState>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    entries: &'c BTreeMap<String, BTreeMap<String, Vec<Block>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pod_entries: BTreeMap<&'c str, PodEntry<'c>>,
    checksum: u32,
}

/// The memory of a pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodEntry<'c> {
    #[serde(skip_serializing_if = "<[Block]>::is_empty")]
    memory_blocks: &'c [Block],
}

/// Writes the file: with the memory of pods in layout v2, else in v1.
pub fn encode(state: &MemoryState) -> Encoded {
    let entries = state.containers.iter().map(|(pod, containers)| {
        let containers = containers.iter().map(|(name, it)| (name.clone(), Some(it.clone())));
        (pod.clone(), Some(containers.collect()))
    });
    let checkpoint = MemoryCheckpoint {
        policy_name: state.policy_name.clone(),
        machine_state: Some(state.machine_state.clone()),
        entries: Some(entries.collect()),
        pod_entries: state.pods.clone(),
        checksum: 0,
    };
    let layout = if state.pods.is_some() { MemoryLayout::V2 } else { MemoryLayout::V1 };
    let checksum = checkpoint.checksum(layout, MemoryCheckpoint::TYPE_NAME);
    let nodes = state.machine_state.iter().map(|(node, state)| (node.to_string(), state));
    let pods = state.pods.iter().flatten().map(|(pod, blocks)| {
        (pod.as_str(), PodEntry { memory_blocks: blocks.as_deref().unwrap_or_default() })
    });
    let text = to_go_json(&File {
        policy_name: &state.policy_name,
        machine_state: nodes.collect(),
        entries: &state.containers,
        pod_entries: pods.collect(),
        checksum,
    });
    Encoded { text, pre_image: checkpoint.pre_image(layout), checksum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_table_takes_the_type_off_what_follows() {
        let node = NumaNodeState {
            memory_map: Some([("memory".to_owned(), None)].into()),
            cells: Some(vec![0]),
            ..NumaNodeState::default()
        };
        let rows = [
            ("node", None, "map[0:<nil>] Entries:map[] Checksum:(checksum.Checksum)0}"),
            (
                "table",
                Some(node),
                "map[0:<*>{NumberOfAssignments:(int)0 MemoryMap:(map[v1.ResourceName]*state.MemoryTable)\
                 map[memory:<nil>] Cells:[0]}] Entries:(state.ContainerMemoryAssignments)map[] \
                 Checksum:(checksum.Checksum)0}",
            ),
        ];
        for (name, node, expected) in rows {
            let checkpoint = MemoryCheckpoint {
                machine_state: Some([(0, node)].into()),
                ..MemoryCheckpoint::default()
            };
            let begin = "(*state.MemoryManagerCheckpoint){PolicyName:(string) MachineState:(state.NUMANodeMap)";
            assert_eq!(
                checkpoint.pre_image(MemoryLayout::V1),
                format!("{begin}{expected}"),
                "{name}"
            );
        }
    }
}
