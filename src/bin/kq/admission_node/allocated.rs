//! What the kubelet has given away already to pods that are resized.

use crate::kubelet_node::KubeletNode;
use kq::admission::qualified;
use kq::facts::basis::Basis;
use kq::facts::resize::{Allocation, RecordedResources, put_allocated};
use kq::facts::snapshot::PodSource;
use kq::k8s::feature_gates::Gate;

/// Puts into the pods what the kubelet allocated to them, where it counts with that.
pub fn put_allocations(node: &mut KubeletNode, basis: &mut Basis) {
    const NAME: &str = "allocated_pods_state";
    let rules = node.kubelet.rules;
    if !rules.gates.enabled(Gate::InPlacePodVerticalScaling) || !rules.counts_by_allocations() {
        return;
    }
    let Some(found) = &mut node.snapshot.pods.found else { return };
    // What was given by hand wins over the files of this machine.
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
            Allocation::Recorded | Allocation::Reported => basis.assumptions.push(format!(
                "{name} counts with what the kubelet allocated to it, which is not what its spec asks for"
            )),
            Allocation::Unknown => basis.assumptions.push(format!(
                "{name} waits for a resize, and counts with what it is to get: what the kubelet allocated to \
                 it is not known{}",
                unreadable.as_deref().unwrap_or_default()
            )),
        }
    }
}
