//! `cpu_manager_state`: the exclusive CPUs of containers.
//!
//! Followed is `pkg/kubelet/cm/cpumanager/state` of Kubernetes 1.36; `state_files.jsonl` pins it.

mod load;
mod types;

pub use load::{CpuLoad, CpuRefusal, CpuState, KnownContainers, load};
pub use types::{CpuCheckpoint, CpuCheckpointV1, CpuEntries, CpuLayout, Parsed, encode};
