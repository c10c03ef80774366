//! Which pods are critical, and which may take the place of which.
//!
//! Mirrors `IsCriticalPod`, `IsNodeCriticalPod`, `IsStaticPod`, `IsMirrorPod`, `GetPodSource` and
//! `Preemptable` of `pkg/kubelet/types/pod_update.go`, read in 1.36.2; pinned by the vectors
//! `critical.jsonl`.

use crate::k8s::pod::Pod;

/// From this priority on, a pod is critical.
pub const SYSTEM_CRITICAL_PRIORITY: i32 = 2_000_000_000;

/// The class of the pods without which a node does not work.
pub const SYSTEM_NODE_CRITICAL: &str = "system-node-critical";

/// The class of the pods without which a cluster does not work.
pub const SYSTEM_CLUSTER_CRITICAL: &str = "system-cluster-critical";

/// Returns where the kubelet got a pod from, such as `file`; `None` when the pod does not say, as those
/// of the API server before a kubelet read them.
pub fn pod_source(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.config_source.as_deref()
}

/// Tells whether a pod is static: from a source other than the API server, be it an unknown one.
pub fn is_static_pod(pod: &Pod) -> bool {
    pod_source(pod).is_some_and(|source| source != "api")
}

/// Tells whether a pod is what the API server shows of a static one.
pub fn is_mirror_pod(pod: &Pod) -> bool {
    pod.metadata.annotations.config_mirror.is_some()
}

/// Tells whether a pod's priority makes it critical; `None` for a pod without one.
pub fn is_critical_by_priority(pod: &Pod) -> Option<bool> {
    pod.spec.priority.map(|priority| priority >= SYSTEM_CRITICAL_PRIORITY)
}

/// Tells whether a pod is critical: static, the mirror of a static one, or of system priority.
pub fn is_critical_pod(pod: &Pod) -> bool {
    is_static_pod(pod) || is_mirror_pod(pod) || is_critical_by_priority(pod) == Some(true)
}

/// Tells whether the kubelet may kill one pod to make room for another: it is critical and the other is
/// not, or both have a priority, and its own is higher.
///
/// So a pod that is not critical can take the place of a critical one: of a static pod with a small
/// priority.
pub fn is_preemptable(preemptor: &Pod, preemptee: &Pod) -> bool {
    if is_critical_pod(preemptor) && !is_critical_pod(preemptee) {
        return true;
    }
    matches!((preemptor.spec.priority, preemptee.spec.priority), (Some(own), Some(its)) if own > its)
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
