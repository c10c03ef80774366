//! The creation of the manager: `NewManager`, `getSystemReservedMemory`, `validateReservedMemory` and `convertReserved` in
//! `memory_manager.go`, `NewPolicyStatic` and `getDefaultMachineState` in `policy_static.go`.

use super::Amounts;
use kq_facts::checkpoint::memory_manager::{MachineState, MemoryTable, NumaNodeState};
use kq_facts::kubelet_config::MemoryReservation;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::go_text::quote;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use std::collections::BTreeMap;

/// Huge pages of one size on a NUMA node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePages {
    /// The size of a page, in KiB.
    pub page_size_kib: u64,
    /// How many there are.
    pub count: u64,
}

/// A NUMA node of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryNode {
    pub id: i64,
    /// All of its memory, huge pages among it.
    pub memory_bytes: u64,
    /// Its huge pages; a size without pages counts too.
    pub huge_pages: Vec<HugePages>,
}

/// Why the kubelet does not create the manager, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NewError {
    /// A policy that exists on Windows only.
    #[error("policy {} is not available for platform \"linux\"", quote(policy))]
    OtherPlatform { policy: String },
    /// No kubelet has the policy.
    #[error("unknown policy: {}", quote(policy))]
    UnknownPolicy { policy: String },
    /// `reservedMemory` names a NUMA node that the machine does not have.
    #[error(
        "the reserved memory configuration references a NUMA node {node} that does not exist on this machine"
    )]
    UnknownNode { node: i64 },
    /// `reservedMemory` does not add up to what the node reserves.
    #[error(
        "the total amount \"{given}\" of type {} is not equal to the value \"{needed}\" determined by Node Allocatable \
         feature",
        quote(memory_type)
    )]
    OtherTotal {
        memory_type: String,
        /// The sum of `reservedMemory`.
        given: String,
        /// What `kubeReserved`, `systemReserved` and `evictionHard` reserve.
        needed: String,
    },
    /// An amount is no whole number, or needs more than 64 bits.
    #[error("could not covert a variable of type Quantity to int64")]
    NotAnAmount,
    /// No memory is reserved.
    #[error("[memorymanager] you should specify the system reserved memory")]
    NothingReserved,
}

/// The policy of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    None,
    /// What is reserved for the system, by NUMA node and type.
    Static(BTreeMap<i64, Amounts>),
}

/// A manager that is created and not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryManager {
    pub(super) policy: Policy,
    pub(super) machine: Vec<MemoryNode>,
    pub(super) gates: FeatureGates,
}

impl MemoryManager {
    /// Creates the manager of a configuration on a machine. `reservation` is what the node reserves of each resource, and
    /// `reserved_memory` the configuration's `reservedMemory` in its order.
    /// Fails where the kubelet does. Of several resources with another total, the kubelet may name any.
    pub fn new(
        policy: &str,
        machine: Vec<MemoryNode>,
        reservation: &ResourceList,
        reserved_memory: &[MemoryReservation],
        gates: FeatureGates,
    ) -> Result<Self, NewError> {
        let policy = match policy {
            "None" => Policy::None,
            "Static" => {
                compare_totals(&machine, reservation, reserved_memory)?;
                let reserved = convert(reserved_memory)?;
                let memory = reserved.values().filter_map(|node| node.get("memory"));
                if memory.fold(0_u64, |sum, bytes| sum.wrapping_add(*bytes)) == 0 {
                    return Err(NewError::NothingReserved);
                }
                Policy::Static(reserved)
            }
            "BestEffort" => {
                return Err(NewError::OtherPlatform { policy: policy.to_owned() });
            }
            other => return Err(NewError::UnknownPolicy { policy: other.to_owned() }),
        };
        Ok(Self { policy, machine, gates })
    }

    /// Returns the policy's name, as the state file has it.
    pub fn policy_name(&self) -> &'static str {
        match self.policy {
            Policy::None => "None",
            Policy::Static(_) => "Static",
        }
    }
}

/// Returns the state of a machine without allocations (`getDefaultMachineState`).
pub(super) fn default_machine_state(
    machine: &[MemoryNode],
    reserved: &BTreeMap<i64, Amounts>,
) -> MachineState {
    let mut state = MachineState::new();
    let mut huge_pages: BTreeMap<i64, u64> = BTreeMap::new();
    for node in machine {
        let of_system = |memory_type: &str| {
            reserved.get(&node.id).and_then(|amounts| amounts.get(memory_type)).copied()
        };
        let mut tables = BTreeMap::new();
        for pages in &node.huge_pages {
            let name = resource_name(pages.page_size_kib);
            let total = pages.count.wrapping_mul(pages.page_size_kib).wrapping_mul(1024);
            let system_reserved = of_system(&name).unwrap_or_default();
            let all = huge_pages.entry(node.id).or_default();
            *all = all.wrapping_add(total);
            tables.insert(name, Some(empty_table(total, system_reserved, 0)));
        }
        let pages = huge_pages.get(&node.id).copied().unwrap_or_default();
        let system_reserved = of_system("memory").unwrap_or_default();
        let memory = empty_table(node.memory_bytes, system_reserved, pages);
        tables.insert("memory".to_owned(), Some(memory));
        let of_node = NumaNodeState {
            number_of_assignments: 0,
            memory_map: Some(tables),
            cells: Some(vec![node.id]),
        };
        state.insert(node.id, Some(of_node));
    }
    state
}

fn empty_table(total: u64, system_reserved: u64, huge_pages: u64) -> MemoryTable {
    let allocatable = total.wrapping_sub(system_reserved).wrapping_sub(huge_pages);
    MemoryTable { total, system_reserved, allocatable, reserved: 0, free: allocatable }
}

/// Returns the resource of a page size (`HugePageResourceName`).
fn resource_name(page_size_kib: u64) -> String {
    let bytes = page_size_kib.cast_signed().wrapping_mul(1024);
    format!("hugepages-{}", Quantity::from_units(bytes, Format::BinarySi).canonical())
}

/// Compares `reservedMemory` with what the node reserves, resource by resource (`validateReservedMemory`).
fn compare_totals(
    machine: &[MemoryNode],
    reservation: &ResourceList,
    reserved_memory: &[MemoryReservation],
) -> Result<(), NewError> {
    let nodes: std::collections::BTreeSet<i64> = machine.iter().map(|node| node.id).collect();
    let mut given = ResourceList::default();
    for entry in reserved_memory {
        let node = i64::from(entry.numa_node);
        if !nodes.contains(&node) {
            return Err(NewError::UnknownNode { node });
        }
        for (name, amount) in &entry.limits {
            let (name, mut sum) = (ResourceName::from(name.as_str()), amount.clone());
            if let Some(earlier) = given.get(&name) {
                sum += earlier;
            }
            given.insert(name, sum);
        }
    }
    let counts =
        |name: &ResourceName| *name == ResourceName::Memory || name.hugepage_size().is_some();
    let reserved = reservation.iter().map(|(name, _)| name).filter(|name| counts(name));
    let mut names: Vec<&ResourceName> =
        given.iter().map(|(name, _)| name).chain(reserved).collect();
    names.sort_unstable();
    names.dedup();
    let of = |list: &ResourceList, name: &ResourceName| {
        let mut amount = Quantity::from_units(0, Format::DecimalSi);
        if let Some(set) = list.get(name) {
            amount += set;
        }
        amount
    };
    for name in names {
        let (needed, given) = (of(reservation, name), of(&given, name));
        if needed.compare(&given).is_ne() {
            return Err(NewError::OtherTotal {
                memory_type: name.to_string(),
                given: given.canonical(),
                needed: needed.canonical(),
            });
        }
    }
    Ok(())
}

/// Returns what is reserved on each NUMA node; of several entries for one resource, the last counts (`convertReserved`).
pub(super) fn convert(
    reserved_memory: &[MemoryReservation],
) -> Result<BTreeMap<i64, Amounts>, NewError> {
    let mut reserved: BTreeMap<i64, Amounts> = BTreeMap::new();
    for entry in reserved_memory {
        for (name, amount) in &entry.limits {
            let bytes = amount.as_int64().ok_or(NewError::NotAnAmount)?;
            let of_node = reserved.entry(entry.numa_node.into()).or_default();
            of_node.insert(name.clone(), bytes.cast_unsigned());
        }
    }
    Ok(reserved)
}
