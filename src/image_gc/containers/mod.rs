//! What container garbage collection removes and what stays: dead containers, sandboxes and the log
//! folders of pods.
//!
//! Rules: `pkg/kubelet/kuberuntime/kuberuntime_gc.go` and `pkg/kubelet/container/container_gc.go`;
//! pinned by `tests/vectors/container_gc.jsonl`. The kubelet does this every minute, and the eviction
//! manager before it removes images.
//!
//! * [`policy`]: the limits.
//! * [`state`]: the state that the kubelet reads.
//! * [`failures`]: the calls that fail, so that the plan is what would happen with them.
//! * [`mod@plan`]: from these to the steps in the kubelet's order, and why everything else stays.
//! * [`reason`]: why a thing goes or stays.
//!
//! The kubelet goes through units, pods and equal ages in random order, kq in the order of their names.
//! Dead links in `/var/log/containers`, which the kubelet removes as well, hold no space and are left
//! out.

mod collect;
pub mod failures;
mod log_directories;
pub mod plan;
pub mod pods;
pub mod policy;
pub mod reason;
mod sandboxes;
pub mod state;

pub use failures::{Call, FailedCall, Failures};
pub use plan::{
    ContainerGcPlan, ContainerStep, LogDirectoryStep, Remaining, SandboxStep, Step, Tie, plan,
};
pub use pods::pod_states;
pub use policy::{ContainerGcPolicy, ContainerGcPolicyError};
pub use reason::{KeepReason, PodRemoval, RemovalReason};
pub use state::{GcContainer, GcPod, GcSandbox, GcState, GcTrigger};

#[cfg(test)]
mod tests;
