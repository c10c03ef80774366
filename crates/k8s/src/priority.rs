//! Critical pods, and the pods that they may preempt.
//!
//! Mirrors `IsCriticalPod`, `IsNodeCriticalPod`, `IsStaticPod`, `IsMirrorPod`, `GetPodSource` and
//! `Preemptable` of `pkg/kubelet/types/pod_update.go`, read in 1.36.2; pinned by the vectors
//! `critical.jsonl`.

use crate::pod::Pod;

/// From this priority on, a pod is critical.
pub const SYSTEM_CRITICAL_PRIORITY: i32 = 2_000_000_000;

/// The class of the pods without which a node does not work.
pub const SYSTEM_NODE_CRITICAL: &str = "system-node-critical";

/// The class of the pods without which a cluster does not work.
pub const SYSTEM_CLUSTER_CRITICAL: &str = "system-cluster-critical";

/// Returns the source of a pod, such as `file`; `None`: the pod does not name it, as those
/// of the API server before a kubelet read them.
pub fn pod_source(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.config_source.as_deref()
}

/// Returns true if a pod is static: from a source other than the API server, even an unknown one.
pub fn is_static_pod(pod: &Pod) -> bool {
    pod_source(pod).is_some_and(|source| source != "api")
}

/// Returns true if a pod is the mirror pod of a static pod.
pub fn is_mirror_pod(pod: &Pod) -> bool {
    pod.metadata.annotations.config_mirror.is_some()
}

/// Returns true if a pod's priority makes it critical; `None` for a pod without one.
pub fn is_critical_by_priority(pod: &Pod) -> Option<bool> {
    pod.spec.priority.map(|priority| priority >= SYSTEM_CRITICAL_PRIORITY)
}

/// Returns true if a pod is critical: static, a mirror pod, or of system priority.
pub fn is_critical_pod(pod: &Pod) -> bool {
    is_static_pod(pod) || is_mirror_pod(pod) || is_critical_by_priority(pod) == Some(true)
}

/// Returns true if the kubelet may kill one pod to make room for another: it is critical and the other is
/// not, or both have a priority, and its own is higher.
///
/// So a pod that is not critical can preempt a critical one: a static pod with a small
/// priority.
pub fn is_preemptable(preemptor: &Pod, preemptee: &Pod) -> bool {
    if is_critical_pod(preemptor) && !is_critical_pod(preemptee) {
        return true;
    }
    matches!((preemptor.spec.priority, preemptee.spec.priority), (Some(own), Some(its)) if own > its)
}

/// Returns true if the node does not work without this pod.
pub fn is_node_critical_pod(pod: &Pod) -> bool {
    is_critical_pod(pod) && pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL
}

/// Marks a pod as read from the kubelet's folder, unless it has a source.
pub fn mark_static(pod: &mut Pod) {
    pod.metadata.annotations.config_source.get_or_insert_with(|| "file".to_owned());
}

/// Returns the priority that the admission plugin gives the built-in classes.
pub fn priority_of_class(name: &str) -> Option<i32> {
    match name {
        SYSTEM_NODE_CRITICAL => Some(SYSTEM_CRITICAL_PRIORITY + 1000),
        SYSTEM_CLUSTER_CRITICAL => Some(SYSTEM_CRITICAL_PRIORITY),
        _ => None,
    }
}
