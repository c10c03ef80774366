//! The start of the manager with a state file: `Start` in `memory_manager.go`, `validateState` and
//! `updateExpectedMachineState` in `policy_static.go`.

use super::compare::compare;
use super::create::{MemoryManager, Policy, default_machine_state};
use super::state::{node_mut, take};
use super::{MemoryCrash, StateDifference, StaticMemory};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::checkpoint::memory_manager::{
    Block, MachineState, MemoryRefusal, MemoryState, encode, load,
};
use kq_k8s::kubelet_rules::KubeletRules;
use std::collections::{BTreeMap, BTreeSet};

/// The problem of a block of memory in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignmentProblem {
    /// Its NUMA node is not there.
    UnknownNode,
    /// The NUMA node has no memory of its type.
    UnknownType,
}

impl std::fmt::Display for AssignmentProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::UnknownNode => "the NUMA that does not exist",
            Self::UnknownType => "memory resource that does not exist",
        })
    }
}

/// Why the manager does not start. The text is the kubelet's, but for the file ([`MemoryStartError::text`]) and a crash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryStartError {
    /// The file is not read, or is of another policy.
    #[error("{0}")]
    File(MemoryRefusal),
    /// The file has allocations and no machine.
    #[error("[memorymanager] machine state can not be empty when it has memory assignments")]
    NoMachineState,
    /// A block of memory is of something that the machine does not have. Of several, the kubelet may name any.
    #[error(
        "[memorymanager] (pod: {pod}, container: {container}) the memory assignment uses {problem}"
    )]
    Assignment {
        pod: String,
        /// Empty: the block is of the pod as a whole.
        container: String,
        problem: AssignmentProblem,
    },
    /// The state of the file is not the expected one.
    #[error("[memorymanager] the expected machine state is different from the real one")]
    Differs {
        /// The differences that the kubelet may log: one of them.
        differences: Vec<StateDifference>,
        /// The kubelet may crash instead, if it compares other NUMA nodes first.
        crash: Option<MemoryCrash>,
    },
    /// The kubelet crashes.
    #[error("{0}")]
    Crash(MemoryCrash),
}

impl MemoryStartError {
    /// Returns the kubelet's text, which names the file in the kubelet's folder.
    pub fn text(&self, folder: &str) -> String {
        match self {
            Self::File(refusal) => StateFile::Memory.refusal(&refusal.to_string(), folder),
            _ => self.to_string(),
        }
    }

    /// Returns Go's text of a panic, if the kubelet crashes.
    pub fn panic_text(&self) -> Option<&'static str> {
        match self {
            Self::Crash(crash) => Some(crash.go_text()),
            _ => None,
        }
    }
}

/// A started manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedMemory {
    /// The state with which it goes on.
    pub memory: StaticMemory,
    /// The allocatable memory of each NUMA node, without types that have none.
    pub allocatable: Vec<Block>,
    /// The text of the file that it writes; `None`: it leaves the file alone.
    pub written: Option<String>,
}

/// The result of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryStartOutcome {
    pub result: Result<StartedMemory, MemoryStartError>,
    /// Another start with the same file may end otherwise: a NUMA node has allocations of several groups, and the kubelet
    /// takes the group of the last one in the order of a hash map.
    pub depends_on_order: bool,
}

impl MemoryManager {
    /// Starts the manager with the bytes of the state file; `None`: there is no file.
    pub fn start(&self, file: Option<&[u8]>) -> MemoryStartOutcome {
        let certain = |result| MemoryStartOutcome { result, depends_on_order: false };
        let layouts = KnownLayouts::of(&KubeletRules { gates: self.gates });
        let loaded = match file {
            Some(bytes) => load(bytes, layouts, Some(self.policy_name())).outcome,
            None => Ok(MemoryState {
                policy_name: self.policy_name().to_owned(),
                pods: layouts.has_pods().then(BTreeMap::new),
                ..MemoryState::default()
            }),
        };
        let mut state = match loaded {
            Ok(state) => state,
            Err(MemoryRefusal::Panic { node, memory_type }) => {
                let crash = MemoryCrash::NoTable { node, memory_type };
                return certain(Err(MemoryStartError::Crash(crash)));
            }
            Err(refusal) => return certain(Err(MemoryStartError::File(refusal))),
        };
        let Policy::Static(reserved) = &self.policy else {
            return certain(Ok(self.started(state, file.is_none())));
        };
        let default = default_machine_state(&self.machine, reserved);
        let is_empty = state.machine_state.is_empty();
        let Validated { result, depends_on_order, compared } = validate(&state, default.clone());
        if is_empty {
            state.machine_state = default;
        } else {
            sort_compared(&mut state, &compared);
        }
        let result = result.map(|()| self.started(state, is_empty));
        MemoryStartOutcome { result, depends_on_order }
    }

    fn started(&self, state: MemoryState, is_written: bool) -> StartedMemory {
        let written = is_written.then(|| encode(&state).text);
        let allocatable = match self.policy {
            Policy::None => Vec::new(),
            Policy::Static(_) => allocatable(&state.machine_state),
        };
        StartedMemory { memory: StaticMemory::new(state, self.gates), allocatable, written }
    }
}

/// The result of a validation.
pub(super) struct Validated {
    pub result: Result<(), MemoryStartError>,
    pub depends_on_order: bool,
    /// The blocks whose NUMA nodes were compared.
    compared: Vec<Place>,
}

/// Compares the state of the file with a machine without allocations, and with the allocations.
pub(super) fn validate(state: &MemoryState, default: MachineState) -> Validated {
    let certain = |result| Validated { result, depends_on_order: false, compared: Vec::new() };
    if state.machine_state.is_empty() {
        return certain(match state.containers.is_empty() {
            true => Ok(()),
            false => Err(MemoryStartError::NoMachineState),
        });
    }
    let mut expected = Expected::new(default);
    if let Err(error) = expected.add_all(state) {
        return certain(Err(error));
    }
    let Expected { machine, groups, of_node, last } = expected;
    let found =
        compare(&state.machine_state, &machine, &|node| last.get(&node).map(|block| block.nodes));
    let is_mixed = of_node.values().any(|ids| ids.len() > 1);
    let is_open = |difference: &StateDifference| {
        difference.may_depend_on_order() && !no_group_fits(difference, &groups, &of_node)
    };
    let depends_on_order = is_mixed && found.differences.iter().all(is_open);
    let compared = last.into_values().map(|block| block.place.owned()).collect();
    let result = match (found.differences, found.crash) {
        (differences, None) if differences.is_empty() => Ok(()),
        (differences, Some(crash)) if differences.is_empty() => Err(MemoryStartError::Crash(crash)),
        (differences, crash) => Err(MemoryStartError::Differs { differences, crash }),
    };
    Validated { result, depends_on_order, compared }
}

/// Returns true if a NUMA node of the file has a group that none of its allocations has.
fn no_group_fits(
    difference: &StateDifference,
    groups: &BTreeMap<Vec<i64>, usize>,
    of_node: &BTreeMap<i64, BTreeSet<usize>>,
) -> bool {
    let StateDifference::Groups { node, in_file, .. } = difference else { return false };
    let is_one = |ids: &BTreeSet<usize>| groups.get(in_file).is_some_and(|id| ids.contains(id));
    !of_node.get(node).is_some_and(is_one)
}

/// Returns the allocatable memory of each NUMA node (`GetAllocatableMemory`).
fn allocatable(machine: &MachineState) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (number, node) in machine {
        let tables = node.iter().filter_map(|node| node.memory_map.as_ref()).flatten();
        for (memory_type, table) in tables {
            let size = table.as_ref().map_or(0, |table| table.allocatable);
            if size != 0 {
                let (numa_affinity, memory_type) = (Some(vec![*number]), memory_type.clone());
                blocks.push(Block { numa_affinity, memory_type, size });
            }
        }
    }
    blocks
}

/// The place of a block in the state; without a container it is the pod's.
#[derive(Clone, Copy)]
struct PlaceOf<'s> {
    pod: &'s str,
    container: Option<&'s str>,
    index: usize,
}

/// The same, owned.
struct Place {
    pod: String,
    container: Option<String>,
    index: usize,
}

impl PlaceOf<'_> {
    fn owned(self) -> Place {
        let (pod, container) = (self.pod.to_owned(), self.container.map(str::to_owned));
        Place { pod, container, index: self.index }
    }
}

/// The last block that a NUMA node got.
struct LastBlock<'s> {
    nodes: &'s [i64],
    place: PlaceOf<'s>,
}

/// The expected state: the machine with all allocations.
struct Expected<'s> {
    machine: MachineState,
    /// The groups of allocations, sorted, each with a number.
    groups: BTreeMap<Vec<i64>, usize>,
    /// The numbers of the groups of each NUMA node.
    of_node: BTreeMap<i64, BTreeSet<usize>>,
    last: BTreeMap<i64, LastBlock<'s>>,
}

impl<'s> Expected<'s> {
    fn new(machine: MachineState) -> Self {
        Self { machine, groups: BTreeMap::new(), of_node: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Adds the allocations. Of a pod that has memory as a whole, its containers do not count.
    fn add_all(&mut self, state: &'s MemoryState) -> Result<(), MemoryStartError> {
        for (pod, containers) in &state.containers {
            let of_pod = state.pods.as_ref().and_then(|pods| pods.get(pod)?.as_deref());
            if let Some(blocks) = of_pod.filter(|blocks| !blocks.is_empty()) {
                self.add(blocks, pod, None)?;
                continue;
            }
            for (container, blocks) in containers {
                self.add(blocks, pod, Some(container))?;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        blocks: &'s [Block],
        pod: &'s str,
        container: Option<&'s str>,
    ) -> Result<(), MemoryStartError> {
        for (index, block) in blocks.iter().enumerate() {
            let nodes = block.numa_affinity.as_deref().unwrap_or_default();
            let mut group = nodes.to_vec();
            group.sort_unstable();
            let next = self.groups.len();
            let id = *self.groups.entry(group).or_insert(next);
            let mut left = block.size;
            for number in nodes {
                let refuse = |problem| MemoryStartError::Assignment {
                    pod: pod.to_owned(),
                    container: container.unwrap_or_default().to_owned(),
                    problem,
                };
                let node = node_mut(&mut self.machine, *number)
                    .map_err(|_| refuse(AssignmentProblem::UnknownNode))?;
                node.number_of_assignments = node.number_of_assignments.wrapping_add(1);
                let tables = node.memory_map.as_mut();
                let table = tables.and_then(|tables| tables.get_mut(&block.memory_type)?.as_mut());
                let table = table.ok_or_else(|| refuse(AssignmentProblem::UnknownType))?;
                left = take(table, left);
                self.of_node.entry(*number).or_default().insert(id);
                let place = PlaceOf { pod, container, index };
                self.last.insert(*number, LastBlock { nodes, place });
            }
        }
        Ok(())
    }
}

/// Sorts the NUMA nodes of the blocks whose lists were compared: the kubelet sorts them in place.
fn sort_compared(state: &mut MemoryState, places: &[Place]) {
    for Place { pod, container, index } in places {
        let blocks = match container {
            Some(container) => {
                state.containers.get_mut(pod).and_then(|containers| containers.get_mut(container))
            }
            None => state.pods.as_mut().and_then(|pods| pods.get_mut(pod)?.as_mut()),
        };
        let block = blocks.and_then(|blocks| blocks.get_mut(*index));
        if let Some(nodes) = block.and_then(|block| block.numa_affinity.as_mut()) {
            nodes.sort_unstable();
        }
    }
}
