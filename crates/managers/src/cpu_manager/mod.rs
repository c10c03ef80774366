//! The kubelet's CPU manager (`pkg/kubelet/cm/cpumanager`), read in 1.32, 1.33, 1.34 and 1.36: exclusive CPUs of containers.
//! Pinned by `cpu_allocate.jsonl`, `cpu_hints.jsonl`, `cpu_start.jsonl` and `cpu_admit.jsonl`.
//!
//! * `topology`: the CPUs of the machine. `options`: those of the static policy.
//! * `static_policy`: reservation, allocation, release. `eligible`: who gets exclusive CPUs. `pod_level`: pods as a whole.
//! * `accumulator`, `distributed`, `combinations`: which CPUs are taken.
//! * `hints`: NUMA nodes for the topology manager. `manager`: all of it, from the start.
//! * `errors`: in the kubelet's words.
//!
//! | version | what differs |
//! |---|---|
//! | options | `KubeletVersion::cpu_policy_option` |
//! | 1.32 | a part of an uncore cache holds whole cores only, rounded down |
//! | to 1.33 | pods with pod-level resources get exclusive CPUs by their containers' requests |
//! | to 1.35 | the amount is that of the container's status, if resizing in place is on |
//! | 1.36 | pods as a whole, with the gate `PodLevelResourceManagers` |

mod accumulator;
mod combinations;
mod distributed;
mod eligible;
mod errors;
mod hints;
mod manager;
mod options;
mod pod_level;
mod static_policy;
mod topology;

#[cfg(test)]
mod tests;

pub use accumulator::TakeError;
pub(crate) use eligible::counted_requests;
pub use eligible::{SharedBecause, has_exclusive_cpus};
pub use errors::{
    AllocateError, EmptySharedPool, NewError, StartError, StateError, StaticPolicyError,
};
pub use manager::{ActiveContainers, Allocation, CpuAllocation, CpuManager, CpuManagerConfig};
pub use options::{OptionError, StaticPolicyOptions};
pub use pod_level::PodCpus;
pub use static_policy::{Allocated, CpuOutcome, Exclusive, StaticPolicy};
pub use topology::{CpuTopology, TopologyError};
