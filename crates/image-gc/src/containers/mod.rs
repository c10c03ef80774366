//! What container garbage collection removes and what stays: dead containers, sandboxes and the log
//! folders of pods.
//!
//! Rules: `pkg/kubelet/kuberuntime/kuberuntime_gc.go` and `pkg/kubelet/container/container_gc.go`;
//! pinned by `tests/vectors/container_gc.jsonl`. The kubelet does this every minute, and the eviction
//! manager before it removes images.
//!
//! * [`state`]: the state that the kubelet reads, and the calls that fail.
//! * [`mod@plan`]: the limits, and the steps in the kubelet's order, and why everything else stays.
//! * [`reason`]: why a thing goes or stays.
//!
//! The kubelet goes through units, pods and equal ages in random order, kq in the order of their names.
//! Dead links in `/var/log/containers`, which the kubelet removes as well, hold no space and are left
//! out.

mod collect;
pub mod plan;
pub mod reason;
pub mod state;

pub use plan::{
    ContainerGcPlan, ContainerGcPolicy, ContainerGcPolicyError, ContainerStep, LogDirectoryStep,
    Remaining, SandboxStep, Step, Tie, plan,
};
pub use reason::{KeepReason, PodRemoval, RemovalReason};
pub use state::{
    Call, FailedCall, Failures, GcContainer, GcPod, GcSandbox, GcState, GcTrigger, pod_states,
};

#[cfg(test)]
mod tests;
