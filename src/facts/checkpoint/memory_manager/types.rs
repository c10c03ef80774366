//! What the layouts of the file hold, and the text that their checksums are made of.

use crate::facts::checkpoint::checksum::PreImage;
use crate::facts::checkpoint::go_dump::GoDump;
use crate::facts::checkpoint::layout::{Layered, dump_checkpoint};
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
    /// What containers may have.
    pub allocatable: u64,
    /// What containers have.
    pub reserved: u64,
    /// What is left.
    pub free: u64,
}

/// A NUMA node (`NUMANodeState`). `None` is Go's nil.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NumaNodeState {
    /// How many allocations there are, each kind of memory counted by itself.
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
    /// What the file says.
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
