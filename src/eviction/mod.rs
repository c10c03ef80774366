//! What the kubelet does when the node runs short: which thresholds are crossed, what it clears away,
//! and whom it evicts. Pure.
//!
//! Mirrors `pkg/kubelet/eviction/`, read in 1.36.2; pinned by the vectors `eviction.jsonl` and
//! `eviction_rank.jsonl`.
//!
//! * `observation`: what the stats say of each signal.
//! * `crossing`: thresholds held against observations.
//! * `layout`, `container_fs`: how the filesystems lie, and which thresholds follow from that.
//! * `reclaim`: what is cleared away before a pod has to go.

mod container_fs;
mod crossing;
mod layout;
mod observation;
mod reclaim;

pub use container_fs::{ContainerFsWarning, add_container_fs_thresholds};
pub use crossing::{Comparison, Crossing, compare, node_conditions};
pub use layout::{Disks, Layout};
pub use observation::{Observation, Observations, observe};
pub use reclaim::{ReclaimFunction, reclaim_functions};
