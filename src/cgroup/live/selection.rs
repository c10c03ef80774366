//! Planned cgroups of the pods that an answer is about.

use crate::cgroup::plan::{Owner, PlannedCgroup};
use crate::facts::pod_selector::Selection;
use crate::facts::workloads::effective_uid;

/// Leaves of planned cgroups those of the selected pods, and the levels above them.
pub fn select(cgroups: &mut Vec<PlannedCgroup<'_>>, selection: &Selection) {
    if selection.is_all() {
        return;
    }
    cgroups.retain_mut(|cgroup| match cgroup.owner {
        Owner::Pod(pod, _) | Owner::Container { pod, .. } => {
            let metadata = &pod.metadata;
            selection.has(&metadata.namespace, &metadata.name, effective_uid(pod))
        }
        Owner::Node { .. } | Owner::Qos(_) => {
            select(&mut cgroup.children, selection);
            !cgroup.children.is_empty()
        }
    });
}
