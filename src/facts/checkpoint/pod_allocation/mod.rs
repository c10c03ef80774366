//! `allocated_pods_state` and `actuated_pods_state`: the resources that the kubelet granted to pods, and
//! those that are in effect; apart while a pod is resized in place.
//!
//! Followed is `pkg/kubelet/allocation/state` of Kubernetes 1.36; `state_files.jsonl` pins it. Kubernetes
//! 1.32 had one file, `pod_status_manager_state`, in the same envelope.

mod load;
mod read;
mod types;
mod write;

pub use load::{PodsLoad, PodsRefusal, load, load_v1_32};
pub use types::{PodAllocation, PodAllocations, ResourceClaim, Resources};
pub use write::encode;
