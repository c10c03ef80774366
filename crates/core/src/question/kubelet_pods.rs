//! The pods of a node as its kubelet counts them.

use kq_admission::qualified;
use kq_answer::Basis;
use kq_facts::node::Node;
use kq_facts::resize::{Allocation, RecordedResources, put_allocated};
use kq_facts::snapshot::PodSource;
use kq_k8s::defaults::{apply_api_defaults, apply_placement_defaults, apply_priority};
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::{is_mirror_pod, is_static_pod, mark_static};

/// Sets the pods' resources to the ones that the kubelet allocated, where it counts with those.
pub fn apply_allocations(node: &mut Node, basis: &mut Basis) {
    const NAME: &str = "allocated_pods_state";
    let rules = node.kubelet.rules;
    if !rules.gates.enabled(Gate::InPlacePodVerticalScaling) || !rules.counts_by_allocations() {
        return;
    }
    let Some(found) = &mut node.snapshot.pods.found else { return };
    // Pods from files take precedence over the state files of this machine.
    let files = node.snapshot.state_files.as_ref();
    let files = files.filter(|_| found.value.source != PodSource::Files);
    let recorded = RecordedResources::parse(files.and_then(|files| files.get(NAME)));
    let unreadable = recorded.as_ref().err().map(|reason| {
        let path = files.map(|files| files.path(NAME)).unwrap_or_default();
        format!(" ({path}: {reason})")
    });
    let recorded = recorded.unwrap_or_default();
    for loaded in &mut found.value.pods {
        let allocation = put_allocated(&mut loaded.pod, &recorded, &rules);
        let name = qualified(&loaded.pod);
        match allocation {
            Allocation::AsAsked => {}
            Allocation::Recorded | Allocation::Reported => basis.assume(format!(
                "{name} counts with the resources that the kubelet allocated, which differ from its spec"
            )),
            Allocation::Unknown => basis.assume(format!(
                "{name} waits for a resize, and counts with its new resources: the allocated ones are unknown{}",
                unreadable.as_deref().unwrap_or_default()
            )),
        }
    }
}

/// Turns a pod into what the kubelet has: with the API server's defaults, and with the origin by its real
/// source (`updatePodsFunc` of `pkg/kubelet/config/config.go`). A mirror pod stands for its static pod: the API
/// server shows the priority of a class, the kubelet has none.
pub fn as_of_kubelet(pod: &mut Pod, source: PodSource, rules: &KubeletRules) {
    apply_api_defaults(pod, rules);
    apply_placement_defaults(pod);
    if is_mirror_pod(pod) {
        mark_static(pod);
        pod.spec.priority = None;
        return;
    }
    if source == PodSource::ApiServer {
        pod.metadata.annotations.config_source = Some("api".to_owned());
    }
    if !is_static_pod(pod) {
        apply_priority(pod);
    }
}
