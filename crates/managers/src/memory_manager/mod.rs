//! The kubelet's memory manager with the static policy (`pkg/kubelet/cm/memorymanager`), read in 1.36.2 and pinned by
//! `memory_start.jsonl`, `memory_allocate.jsonl`, `memory_hints.jsonl`, and `memory_admit.jsonl` with the topology manager.
//!
//! * `create`: the manager of a configuration and a machine, or why the kubelet does not create it.
//! * `start`: its start with a state file; `compare`: the state of the file against the machine; `judge`: the same with as
//!   much of the machine as is known.
//! * `allocate`, `allocate_pod`: the memory of a container, or of a pod as a whole; `reuse`: memory that init
//!   containers leave to later ones.
//! * `hints`: the NUMA nodes that a container or pod could have.
//! * `request`: the amounts that count. `remove`: the end of containers and pods.
//! * `state`: access to the machine state, as the kubelet does it.
//!
//! Amounts are unsigned 64-bit numbers that wrap, as the kubelet's do.

mod allocate;
mod allocate_pod;
mod compare;
mod create;
mod hints;
mod judge;
mod provider;
mod remove;
mod request;
mod reuse;
mod start;
mod state;

pub use allocate::AllocateError;
pub use compare::{LoggedLine, StateDifference};
pub use create::{HugePages, MemoryManager, MemoryNode, NewError};
pub use hints::MemoryHintError;
pub use judge::{KnownMemory, MemoryJudgement};
pub use provider::MemoryProvider;
pub use remove::ActiveContainers;
pub use request::{NotAnAmount, requested_by_container, requested_by_pod};
pub use reuse::{Reusable, ReusableMemory};
pub use start::{AssignmentProblem, MemoryStartError, MemoryStartOutcome, StartedMemory};
pub use state::MemoryCrash;

use kq_facts::checkpoint::memory_manager::MemoryState;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::resources::has_pod_level_resources;

/// The amounts of memory that something asks for, in bytes, by `memory` or `hugepages-2Mi`.
pub type Amounts = std::collections::BTreeMap<String, u64>;

/// A running memory manager with the static policy: what is allocated, and what earlier init containers leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticMemory {
    /// The machine and the allocations.
    pub state: MemoryState,
    /// What later containers of a pod may reuse; lost when the kubelet restarts.
    pub reusable: ReusableMemory,
    gates: FeatureGates,
}

impl StaticMemory {
    /// Returns a manager that goes on with a state.
    pub fn new(state: MemoryState, gates: FeatureGates) -> Self {
        Self { state, reusable: ReusableMemory::default(), gates }
    }

    /// Returns true if a pod is left alone for its pod-level resources.
    fn skips(&self, pod: &Pod) -> bool {
        KubeletRules { gates: self.gates }.skips_pod_level_resources()
            && has_pod_level_resources(pod)
    }
}
