//! What the kubelet takes a pod to request when it picks whom to evict or to preempt.
//!
//! Mirrors `GetResourceRequestQuantity` of `pkg/api/v1/resource/helpers.go`, read in 1.36.2; pinned by
//! the vectors `eviction_rank.jsonl`. It is not what the scheduler counts: a pod with resources of its
//! own counts with those alone, and the overhead is added only to something.

use crate::k8s::feature_gates::Gate;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{Pod, ResourceList, ResourceName};
use crate::k8s::quantity::Quantity;
use crate::k8s::resources::{ResourceOptions, add, is_pod_level_set, max, pod_requests};

/// Returns how much of a resource a pod requests.
pub fn kubelet_request(pod: &Pod, name: &ResourceName, rules: &KubeletRules) -> Quantity {
    kubelet_requests(pod, rules).get(name).cloned().unwrap_or_default()
}

/// Returns how much a pod requests of every resource that it names.
pub fn kubelet_requests(pod: &Pod, rules: &KubeletRules) -> ResourceList {
    let mut requests = if rules.ranks_by_pod_level_resources() {
        let options = ResourceOptions {
            skip_container_level_resources: rules.gates.enabled(Gate::PodLevelResources)
                && has_pod_level_resources(pod),
            exclude_overhead: true,
            ..ResourceOptions::default()
        };
        pod_requests(pod, &options).total
    } else {
        of_containers_alone(pod)
    };
    for (name, overhead) in pod.spec.overhead.iter().flat_map(ResourceList::iter) {
        if let Some(request) = requests.get_mut(name).filter(|request| !request.is_zero()) {
            *request += overhead;
        }
    }
    requests
}

/// Tells whether a pod has a resource of its own, in requests or limits
/// (`IsPodLevelResourcesSet`, `component-helpers/resource/helpers.go`).
pub fn has_pod_level_resources(pod: &Pod) -> bool {
    pod.spec.resources.as_ref().is_some_and(|resources| is_pod_level_set(resources, false, false))
}

/// The rule before 1.34: the containers, or one init container that asks for more; sidecars are init
/// containers like the others.
fn of_containers_alone(pod: &Pod) -> ResourceList {
    let mut requests = ResourceList::default();
    for container in &pod.spec.containers {
        add(&mut requests, &container.resources.requests);
    }
    for container in &pod.spec.init_containers {
        max(&mut requests, &container.resources.requests);
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::version::KubeletVersion;

    #[test]
    fn overhead_pod_level_and_sidecars_count_by_version_and_gate() {
        const SIDECAR: &str = r#"{"containers":[{"name":"a","resources":{"requests":{"memory":"2"}}}],
            "initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"memory":"3"}}},
                {"name":"i","resources":{"requests":{"memory":"4"}}}],"overhead":{"memory":"10"}}"#;
        const POD_LEVEL: &str = r#"{"containers":[{"name":"a","resources":{"requests":{"memory":"2","ephemeral-storage":"5"}}}],
            "resources":{"requests":{"memory":"7"}}}"#;
        const LIMITS: &str = r#"{"containers":[{"name":"a","resources":{"requests":{"memory":"2"}}}],
            "resources":{"limits":{"cpu":"1"}},"overhead":{"memory":"10"}}"#;
        const EMPTY: &str = r#"{"containers":[{"name":"a"}],"overhead":{"memory":"10"}}"#;
        // Spec, resource; in 1.32, in the newest, in the newest without the gate.
        let rows = [
            ("sidecars add up", SIDECAR, "memory", [14, 17, 17]),
            ("pod level replaces", POD_LEVEL, "memory", [2, 7, 7]),
            ("pod level hides the rest", POD_LEVEL, "ephemeral-storage", [5, 0, 5]),
            ("pod-level limits hide requests", LIMITS, "memory", [12, 0, 12]),
            ("overhead is not added to nothing", EMPTY, "memory", [0, 0, 0]),
        ];
        let old = KubeletRules::for_version("1.32".parse().unwrap());
        let new = KubeletRules::for_version(KubeletVersion::NEWEST);
        let off = KubeletRules { gates: new.gates.with(Gate::PodLevelResources, false) };
        for (name, spec, resource, expected) in rows {
            let pod: Pod = serde_json::from_str(&format!(r#"{{"spec":{spec}}}"#)).unwrap();
            let got = [old, new, off]
                .map(|rules| kubelet_request(&pod, &ResourceName::from(resource), &rules).value());
            assert_eq!(got, expected, "{name}");
        }
    }
}
