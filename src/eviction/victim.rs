//! Evicting one pod: who is spared, and what is written and told.
//!
//! Mirrors `evictPod` of `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2.

use crate::k8s::pod::Pod;
use crate::k8s::priority::is_critical_pod;
use std::collections::BTreeMap;

/// The reason of events and of the status.
pub const REASON_EVICTED: &str = "Evicted";

/// The grace of a pod that has to go at once.
pub const IMMEDIATE_GRACE_SECONDS: i64 = 1;

/// Whether a pod is evicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is critical: the kubelet only logs that it cannot evict it, and goes on.
    SparedAsCritical,
    /// It goes. It counts as evicted even if killing it fails.
    Evicted(Eviction),
}

/// What the kubelet does to a pod that goes: an event of type `Warning` and reason `Evicted`, then the
/// kill, with the phase `Failed` and the reason `Evicted` written to the status.
#[derive(Clone, Debug, PartialEq)]
pub struct Eviction {
    /// How long the pod may take, whatever it asked for.
    pub grace_seconds: i64,
    /// The message of the event, of the status and of the condition.
    pub message: String,
    /// The annotations of the event; `None` for one that never has any.
    pub annotations: Option<BTreeMap<String, String>>,
    /// The condition that is added to the status, if any.
    pub condition: Option<DisruptionTarget>,
}

/// The condition `DisruptionTarget`: status `True`, reason `TerminationByKubelet`.
#[derive(Clone, Debug, PartialEq)]
pub struct DisruptionTarget {
    /// The message.
    pub message: String,
    /// The generation that was seen, where the API server counted.
    pub observed_generation: Option<i64>,
}

impl DisruptionTarget {
    /// The type of the condition.
    pub const TYPE: &'static str = "DisruptionTarget";
    /// The reason of the condition.
    pub const REASON: &'static str = "TerminationByKubelet";
}

/// Decides whether a pod is evicted.
pub fn evict_pod(pod: &Pod, eviction: Eviction) -> Verdict {
    if is_critical_pod(pod) { Verdict::SparedAsCritical } else { Verdict::Evicted(eviction) }
}
