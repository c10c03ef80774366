//! `memory_manager_state`: which containers have memory of which NUMA nodes.
//!
//! Followed is `pkg/kubelet/cm/memorymanager/state` of Kubernetes 1.36; `state_files.jsonl` pins it.

mod load;
mod read;
mod types;
mod write;

pub use load::{MemoryAttempt, MemoryLoad, MemoryRefusal, MemoryState, load};
pub use types::{
    Block, HashedMemory, LEGACY_TYPE_NAME, MachineState, MemoryCheckpoint, MemoryEntries,
    MemoryLayout, MemoryTable, NumaNodeState, PodMemory, TYPE_NAME,
};
pub use write::encode;
