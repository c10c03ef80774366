//! The victims of a plan, as the API server is asked about them.

use crate::admission::qualified;
use crate::k8s::pod::Pod;
use crate::k8s::priority::{is_mirror_pod, is_static_pod};
use crate::k8s::validation::{is_namespace_name, is_pod_name};
use crate::preemption::explain::grace;

/// A victim of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// NAMESPACE/NAME.
    pub pod: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID: another pod of the same name is another pod.
    pub uid: String,
    /// Its own grace period.
    pub grace_period_seconds: i64,
}

impl Target {
    /// Takes a pod for a victim.
    pub fn of(pod: &Pod) -> Self {
        Self {
            pod: qualified(pod),
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            grace_period_seconds: grace(pod),
        }
    }
}

/// Says why the API server cannot be asked to evict a pod.
pub fn unfit(pod: &Pod) -> Option<String> {
    let metadata = &pod.metadata;
    if !is_namespace_name(&metadata.namespace) {
        return Some(format!("metadata.namespace: {:?} is no namespace", metadata.namespace));
    }
    if !is_pod_name(&metadata.name) {
        return Some(format!("metadata.name: {:?} is no name of a pod", metadata.name));
    }
    if metadata.uid.is_empty() {
        return Some("metadata.uid: it has none, so it cannot be told from a later one".to_owned());
    }
    if is_mirror_pod(pod) || is_static_pod(pod) {
        return Some(
            "it is static: the API server has its mirror only, and its file has to leave the kubelet's folder"
                .to_owned(),
        );
    }
    None
}

/// Puts the pods in an order in which the victims of a plan are chosen again, among equals.
///
/// Among equal pods the last one is chosen. So those of the plan come last, the first of them at the end.
pub fn planned_last<P>(pods: &mut [P], plan: &[Target], uid: impl Fn(&P) -> String) {
    pods.sort_by_cached_key(|pod| {
        let uid = uid(pod);
        let place = plan.iter().position(|target| target.uid == uid && !uid.is_empty());
        place.map_or(0, |place| plan.len() - place)
    });
}
