//! The machine state of the file against the one that is expected (`areMachineStatesEqual`, `areMemoryStatesEqual`,
//! `areGroupsEqual` in `policy_static.go`).
//!
//! The kubelet goes through NUMA nodes and resources in the order of a hash map. So of several differences, any may be the
//! first, and be logged.

use super::MemoryCrash;
use super::state::{cells, table};
use kq_facts::checkpoint::memory_manager::{MachineState, MemoryTable, NumaNodeState};
use serde::Serialize;
use std::collections::BTreeMap;

/// A difference between the state of the file and the expected one, which the kubelet logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "difference", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum StateDifference {
    /// The number of NUMA nodes.
    NodeCount { in_file: usize, expected: usize },
    /// A NUMA node of the file that the machine does not have.
    UnknownNode { node: i64 },
    /// How many allocations a NUMA node has.
    Assignments { node: i64, in_file: i64, expected: i64 },
    /// The group of a NUMA node.
    Groups { node: i64, in_file: Vec<i64>, expected: Vec<i64> },
    /// The number of types of memory of a NUMA node.
    TypeCount { node: i64, in_file: usize, expected: usize },
    /// A type of memory that the NUMA node does not have.
    UnknownType { node: i64, memory_type: String },
    /// An amount of a NUMA node: `total`, `systemReserved`, `allocatable`.
    Amount { node: i64, memory_type: String, amount: &'static str, in_file: u64, expected: u64 },
    /// An amount of the group of a NUMA node: `free`, `reserved`.
    GroupAmount {
        node: i64,
        memory_type: String,
        amount: &'static str,
        in_file: u64,
        expected: u64,
    },
}

/// The line that the kubelet logs: its message and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedLine {
    pub message: &'static str,
    pub values: BTreeMap<String, String>,
}

impl StateDifference {
    /// Returns the kubelet's line.
    pub fn logged(&self) -> LoggedLine {
        let (message, values) = match self {
            Self::NodeCount { in_file, expected } => (
                "Node states were different",
                lines([
                    ("lengthNode1", in_file.to_string()),
                    ("lengthNode2", expected.to_string()),
                ]),
            ),
            Self::UnknownNode { node } => {
                ("Node state didn't have node ID", lines([("nodeID", node.to_string())]))
            }
            Self::Assignments { in_file, expected, .. } => (
                "Node state had a different number of memory assignments.",
                lines([
                    ("assignment1", in_file.to_string()),
                    ("assignment2", expected.to_string()),
                ]),
            ),
            Self::Groups { .. } => ("Node states had different groups", BTreeMap::new()),
            Self::TypeCount { in_file, expected, .. } => (
                "Node state had memory maps of different lengths",
                lines([
                    ("lengthNode1", in_file.to_string()),
                    ("lengthNode2", expected.to_string()),
                ]),
            ),
            Self::UnknownType { memory_type, .. } => {
                ("Memory state didn't have resource", lines([("resource", memory_type.clone())]))
            }
            Self::Amount { node, memory_type, amount, in_file, expected } => {
                let field = match *amount {
                    "total" => "TotalMemSize",
                    "systemReserved" => "SystemReserved",
                    _ => "Allocatable",
                };
                let mut values = BTreeMap::from([
                    ("field".to_owned(), field.to_owned()),
                    (format!("{field}1"), in_file.to_string()),
                    (format!("{field}2"), expected.to_string()),
                ]);
                // The line about the total says neither the NUMA node nor the type.
                if *amount != "total" {
                    values.insert("node".to_owned(), node.to_string());
                    values.insert("resource".to_owned(), memory_type.clone());
                }
                ("Memory states for the NUMA node and resource are different", values)
            }
            Self::GroupAmount { node, memory_type, amount, in_file, expected } => (
                "NUMA node and resource had different memory states",
                BTreeMap::from([
                    ("field".to_owned(), (*amount).to_owned()),
                    (format!("{amount}1"), in_file.to_string()),
                    (format!("{amount}2"), expected.to_string()),
                    ("node".to_owned(), node.to_string()),
                    ("resource".to_owned(), memory_type.clone()),
                ]),
            ),
        };
        LoggedLine { message, values }
    }

    /// Returns true if the difference may depend on the order in which the kubelet adds up the allocations.
    pub(super) fn may_depend_on_order(&self) -> bool {
        matches!(self, Self::Groups { .. } | Self::GroupAmount { .. })
    }
}

fn lines<const N: usize>(values: [(&str, String); N]) -> BTreeMap<String, String> {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What the comparison may come to first.
#[derive(Clone, Debug, Default)]
pub(super) struct Compared {
    pub differences: Vec<StateDifference>,
    pub crash: Option<MemoryCrash>,
}

impl Compared {
    fn of(difference: StateDifference) -> Self {
        Self { differences: vec![difference], crash: None }
    }
}

/// How many differences are kept.
const MOST_DIFFERENCES: usize = 64;

/// Compares the state of the file with the expected one, in which the groups of NUMA nodes are those of a function.
pub(super) fn compare<'g>(
    in_file: &MachineState,
    expected: &MachineState,
    group: &impl Fn(i64) -> Option<&'g [i64]>,
) -> Compared {
    if in_file.len() != expected.len() {
        return Compared::of(StateDifference::NodeCount {
            in_file: in_file.len(),
            expected: expected.len(),
        });
    }
    let mut all = Compared::default();
    for (number, state) in in_file {
        let of_node = match (state, expected.get(number)) {
            (_, None) => Compared::of(StateDifference::UnknownNode { node: *number }),
            (Some(state), Some(Some(other))) => {
                let group = group(*number).unwrap_or_else(|| cells(other));
                match node_difference(*number, state, other, group) {
                    Some(difference) => Compared::of(difference),
                    None => compare_tables(*number, state, in_file, expected),
                }
            }
            _ => Compared {
                crash: Some(MemoryCrash::NoNode { node: *number }),
                ..Compared::default()
            },
        };
        let left = MOST_DIFFERENCES.saturating_sub(all.differences.len());
        all.differences.extend(of_node.differences.into_iter().take(left));
        all.crash = all.crash.or(of_node.crash);
    }
    all
}

/// Returns the difference of two NUMA nodes, apart from amounts.
fn node_difference(
    node: i64,
    state: &NumaNodeState,
    other: &NumaNodeState,
    group: &[i64],
) -> Option<StateDifference> {
    let (in_file, expected) = (state.number_of_assignments, other.number_of_assignments);
    if in_file != expected {
        return Some(StateDifference::Assignments { node, in_file, expected });
    }
    let sorted = |group: &[i64]| {
        let mut group = group.to_vec();
        group.sort_unstable();
        group
    };
    // The lengths first: a long list is sorted for an equally long one of the file only.
    if cells(state).len() != group.len() || sorted(cells(state)) != sorted(group) {
        let (in_file, expected) = (sorted(cells(state)), sorted(group));
        return Some(StateDifference::Groups { node, in_file, expected });
    }
    let count = |state: &NumaNodeState| state.memory_map.as_ref().map_or(0, BTreeMap::len);
    let (in_file, expected) = (count(state), count(other));
    (in_file != expected).then_some(StateDifference::TypeCount { node, in_file, expected })
}

/// Compares the amounts of a NUMA node.
fn compare_tables(
    node: i64,
    state: &NumaNodeState,
    in_file: &MachineState,
    expected: &MachineState,
) -> Compared {
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    for cell in cells(state) {
        *counts.entry(*cell).or_default() += 1;
    }
    let mut all = Compared::default();
    for memory_type in state.memory_map.iter().flatten().map(|(name, _)| name) {
        match compare_table(node, memory_type, &counts, in_file, expected) {
            Ok(None) => {}
            Ok(Some(difference)) => all.differences.push(difference),
            Err(crash) => {
                all.crash.get_or_insert(crash);
            }
        }
    }
    all
}

/// Compares the amounts of one type of a NUMA node, and the sums of its group.
fn compare_table(
    node: i64,
    memory_type: &str,
    group: &BTreeMap<i64, u64>,
    in_file: &MachineState,
    expected: &MachineState,
) -> Result<Option<StateDifference>, MemoryCrash> {
    let owned = || memory_type.to_owned();
    let Ok(other) = table(expected, node, memory_type) else {
        return Ok(Some(StateDifference::UnknownType { node, memory_type: owned() }));
    };
    let state = table(in_file, node, memory_type)?;
    for (amount, in_file, expected) in [
        ("total", state.total, other.total),
        ("systemReserved", state.system_reserved, other.system_reserved),
        ("allocatable", state.allocatable, other.allocatable),
    ] {
        if in_file != expected {
            let memory_type = owned();
            return Ok(Some(StateDifference::Amount {
                node,
                memory_type,
                amount,
                in_file,
                expected,
            }));
        }
    }
    let sums = |state: &MachineState| -> Result<(u64, u64), MemoryCrash> {
        let (mut free, mut reserved) = (0_u64, 0_u64);
        for (cell, count) in group {
            let MemoryTable { free: one_free, reserved: one_reserved, .. } =
                table(state, *cell, memory_type)?;
            free = free.wrapping_add(one_free.wrapping_mul(*count));
            reserved = reserved.wrapping_add(one_reserved.wrapping_mul(*count));
        }
        Ok((free, reserved))
    };
    let (in_file, expected) = (sums(in_file)?, sums(expected)?);
    for (amount, in_file, expected) in
        [("free", in_file.0, expected.0), ("reserved", in_file.1, expected.1)]
    {
        if in_file != expected {
            let memory_type = owned();
            return Ok(Some(StateDifference::GroupAmount {
                node,
                memory_type,
                amount,
                in_file,
                expected,
            }));
        }
    }
    Ok(None)
}
