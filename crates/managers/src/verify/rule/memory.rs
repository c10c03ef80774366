//! The rules for `memory_manager_state`.

use super::DELETE;
use kq_answer::{Rule, Severity, Wording};
use serde::{Serialize, Serializer};

/// A contradiction under a policy; with another policy than the static one the amounts of the file do not matter.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct MemoryRule<'a> {
    /// `memoryManagerPolicy`, or that of the file.
    pub policy: &'a str,
    #[serde(flatten)]
    pub contradiction: MemoryContradiction<'a>,
}

/// Amounts are in bytes.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in super::super) enum MemoryContradiction<'a> {
    /// The allocatable amount of a NUMA node is not what is left of the total.
    Allocatable {
        allocatable: u64,
        total: u64,
        system_reserved: u64,
        /// The huge pages of the NUMA node, which are taken out of its memory.
        #[serde(serialize_with = "amount")]
        huge_pages: u128,
    },
    /// What is reserved and what is free are not the allocatable amount.
    ReservedAndFree { reserved: u64, free: u64, allocatable: u64 },
    /// A group of NUMA nodes is not that of its member.
    Cells {
        /// The group.
        cells: &'a [i64],
        /// The member.
        node: i64,
        /// The group of the member; null: the member is not in `machineState`.
        cells_of_node: Option<&'a [i64]>,
    },
    /// A container has memory of a NUMA node that is not in the file.
    UnknownNode { node: i64 },
    /// A container has memory of no NUMA node.
    NoNode { memory_type: &'a str },
    /// What is reserved is not what containers have.
    Sum {
        #[serde(serialize_with = "amount")]
        reserved: u128,
        /// What containers have.
        #[serde(serialize_with = "amount")]
        given: u128,
    },
}

/// Writes a sum as a number, or as a text where it needs more than 64 bits, which JSON values do not hold.
fn amount<S: Serializer>(sum: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    match u64::try_from(*sum) {
        Ok(sum) => serializer.serialize_u64(sum),
        Err(_) => serializer.collect_str(sum),
    }
}

impl Rule for MemoryRule<'_> {
    fn severity(&self) -> Severity {
        if self.policy == "Static" { Severity::Error } else { Severity::Warning }
    }

    fn wording(&self) -> Wording {
        let found = match &self.contradiction {
            MemoryContradiction::Allocatable {
                allocatable,
                total,
                system_reserved: system,
                huge_pages,
            } => {
                let less = match huge_pages {
                    0 => String::new(),
                    pages => format!(" - huge pages {pages}"),
                };
                format!(
                    "allocatable {allocatable} is not total {total} - systemReserved {system}{less}"
                )
            }
            MemoryContradiction::ReservedAndFree { reserved, free, allocatable } => {
                format!("reserved {reserved} + free {free} is not allocatable {allocatable}")
            }
            MemoryContradiction::Cells { node, cells_of_node: None, .. } => {
                format!("names NUMA node {node}, which is not in machineState")
            }
            MemoryContradiction::Cells { cells, node, cells_of_node: Some(other) } => {
                format!("is {cells:?}, and that of NUMA node {node} {other:?}")
            }
            MemoryContradiction::UnknownNode { node } => {
                format!("has memory of NUMA node {node}, which is not there")
            }
            MemoryContradiction::NoNode { memory_type } => {
                format!("has {memory_type} of no NUMA node")
            }
            MemoryContradiction::Sum { reserved, given } => {
                format!("{reserved} are reserved, and containers have {given} of them")
            }
        };
        let why = match self.severity() {
            Severity::Error => {
                "the static policy adds up what containers have when it starts, and does not start \
                 with anything else"
            }
            _ => "this policy does not use these amounts",
        };
        Wording::new(found).because(why).advise(DELETE)
    }
}
