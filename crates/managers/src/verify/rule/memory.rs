//! The rules for `memory_manager_state`: the comparisons of the static policy.

use super::DELETE;
use crate::memory_manager::{AssignmentProblem, StateDifference};
use kq_answer::{Rule, Sentences, Severity, Wording};
use serde::Serialize;

/// What the static policy does not start with, and what it may not start with. Amounts are in bytes.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in super::super) enum MemoryRule<'a> {
    /// The file has another number of NUMA nodes.
    #[text("has {in_file} NUMA nodes, and the machine has {expected}")]
    NodeCount { in_file: usize, expected: usize },
    /// The machine does not have a NUMA node of the file.
    #[text("is a NUMA node that the machine does not have")]
    UnknownNode,
    /// The number of allocations is not that of the blocks.
    #[text("is {in_file}, and containers have {expected} blocks of it")]
    Assignments { in_file: i64, expected: i64 },
    /// The group of a NUMA node is not that of its last allocation.
    #[text(
        "is {in_file}, and by the allocations it is {expected}",
        in_file = format!("{in_file:?}"),
        expected = format!("{expected:?}")
    )]
    Cells { in_file: &'a [i64], expected: &'a [i64] },
    /// A NUMA node has another number of types of memory.
    #[text("has {in_file} types of memory, and the machine has {expected}")]
    TypeCount { in_file: usize, expected: usize },
    /// The NUMA node of the machine has no memory of a type.
    #[text("is memory that the machine does not have")]
    UnknownType,
    /// An amount of a NUMA node: `total`, `systemReserved`, `allocatable`.
    #[text(amount: "total" => "total is {in_file}, and the machine has {expected}")]
    #[text(
        amount: "systemReserved" => "systemReserved is {in_file}, and reservedMemory is {expected}"
    )]
    #[text("{amount} is {in_file}, and total - systemReserved - huge pages is {expected}")]
    Amount { amount: &'a str, in_file: u64, expected: u64 },
    /// The sum of an amount over the group of a NUMA node: `free`, `reserved`.
    #[text("{amount} adds up to {in_file} in its group, and by the allocations to {expected}")]
    Sum { amount: &'a str, in_file: u64, expected: u64 },
    /// There are allocations and no NUMA nodes.
    #[text("is empty, and there are entries")]
    NoMachineState,
    /// A container has memory that the machine does not have.
    #[text(node_is_unknown: true => "has memory of a NUMA node that is not there")]
    #[text("has memory of a type that its NUMA node does not have")]
    Assignment { node_is_unknown: bool },
    /// The kubelet panics.
    #[text("{reason}")]
    Panic { reason: String },
    /// The kubelet starts, or not, by the order of its hash maps.
    #[text("has NUMA nodes with allocations of several groups")]
    Order,
}

impl<'a> MemoryRule<'a> {
    /// Returns the rule of a difference, and its place in the file.
    pub fn of(difference: &'a StateDifference) -> (String, Self) {
        let node = |node: &i64| format!("machineState.{node}");
        let table = |id: &i64, memory_type: &str| format!("{}.memoryMap.{memory_type}", node(id));
        match difference {
            StateDifference::NodeCount { in_file, expected } => (
                "machineState".to_owned(),
                Self::NodeCount { in_file: *in_file, expected: *expected },
            ),
            StateDifference::UnknownNode { node: id } => (node(id), Self::UnknownNode),
            StateDifference::Assignments { node: id, in_file, expected } => (
                format!("{}.numberOfAssignments", node(id)),
                Self::Assignments { in_file: *in_file, expected: *expected },
            ),
            StateDifference::Groups { node: id, in_file, expected } => {
                (format!("{}.cells", node(id)), Self::Cells { in_file, expected })
            }
            StateDifference::TypeCount { node: id, in_file, expected } => (
                format!("{}.memoryMap", node(id)),
                Self::TypeCount { in_file: *in_file, expected: *expected },
            ),
            StateDifference::UnknownType { node: id, memory_type } => {
                (table(id, memory_type), Self::UnknownType)
            }
            StateDifference::Amount { node: id, memory_type, amount, in_file, expected } => (
                table(id, memory_type),
                Self::Amount { amount, in_file: *in_file, expected: *expected },
            ),
            StateDifference::GroupAmount { node: id, memory_type, amount, in_file, expected } => (
                table(id, memory_type),
                Self::Sum { amount, in_file: *in_file, expected: *expected },
            ),
        }
    }

    /// Returns the rule of a block of memory.
    pub fn of_block(problem: AssignmentProblem) -> Self {
        Self::Assignment { node_is_unknown: problem == AssignmentProblem::UnknownNode }
    }
}

impl Rule for MemoryRule<'_> {
    fn severity(&self) -> Severity {
        if matches!(self, Self::Order) { Severity::Warning } else { Severity::Error }
    }

    fn wording(&self) -> Wording {
        let why = match self {
            Self::Order => {
                "the static policy expects the group of the last allocation, in the order of a hash map: one start fails, \
                 the next one may not"
            }
            _ => {
                "the static policy adds up the machine and what containers have when it starts, and does not start with \
                 anything else"
            }
        };
        self.sentences().because(why).advise(DELETE)
    }
}
