//! Which pods are critical.
//!
//! Mirrors `IsCriticalPod`, `IsNodeCriticalPod` and `IsStaticPod` of
//! `pkg/kubelet/types/pod_update.go`, read in 1.36.2.

use crate::k8s::pod::Pod;

/// From this priority on, a pod is critical.
pub const SYSTEM_CRITICAL_PRIORITY: i32 = 2_000_000_000;

/// The class of the pods without which a node does not work.
pub const SYSTEM_NODE_CRITICAL: &str = "system-node-critical";

/// The class of the pods without which a cluster does not work.
pub const SYSTEM_CLUSTER_CRITICAL: &str = "system-cluster-critical";

/// Tells whether a pod is critical: static, the mirror of a static one, or of system priority.
pub fn is_critical_pod(pod: &Pod) -> bool {
    let annotations = &pod.metadata.annotations;
    annotations.config_source.as_deref().is_some_and(|source| source != "api")
        || annotations.config_mirror.is_some()
        || pod.spec.priority.is_some_and(|priority| priority >= SYSTEM_CRITICAL_PRIORITY)
}

/// Tells whether the node does not work without this pod.
pub fn is_node_critical_pod(pod: &Pod) -> bool {
    is_critical_pod(pod) && pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL
}

/// Marks a pod as one that the kubelet reads from its folder, unless it says where it is from.
pub fn mark_static(pod: &mut Pod) {
    pod.metadata.annotations.config_source.get_or_insert_with(|| "file".to_owned());
}

/// Returns the priority that admission gives the built-in classes.
pub fn priority_of_class(name: &str) -> Option<i32> {
    match name {
        SYSTEM_NODE_CRITICAL => Some(SYSTEM_CRITICAL_PRIORITY + 1000),
        SYSTEM_CLUSTER_CRITICAL => Some(SYSTEM_CRITICAL_PRIORITY),
        _ => None,
    }
}
