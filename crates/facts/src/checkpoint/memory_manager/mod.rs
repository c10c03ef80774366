//! `memory_manager_state`: the memory and NUMA nodes of containers.
//!
//! Followed is `pkg/kubelet/cm/memorymanager/state` of Kubernetes 1.36; `state_files.jsonl` pins it.

mod load;
mod types;

pub use load::{MemoryLoad, MemoryRefusal, MemoryState, load};
pub use types::{
    Block, MachineState, MemoryCheckpoint, MemoryEntries, MemoryLayout, MemoryTable, NumaNodeState,
    PodMemory, encode,
};
