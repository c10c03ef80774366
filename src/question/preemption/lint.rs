//! The pods of a node that their priority does not protect from the kubelet.

use crate::answer::Missing;
use crate::facts::pod_selector::Selection;
use crate::facts::workloads::effective_uid;
use crate::k8s::pod::Pod;
use crate::node::{FactKey, KubeletNode, Needs};
use crate::preemption::lint::PreemptionLint;

/// Returns the facts that the rules need.
pub fn preemption_lint_needs() -> Needs {
    let facts = [FactKey::Node, FactKey::KubeletConfig, FactKey::Pods, FactKey::Sandboxes];
    Needs { only_on_node: false, ..Needs::of(&facts) }
}

/// Looks at the selected pods of a node.
pub fn preemption_lint(node: &KubeletNode, selection: &Selection) -> PreemptionLint {
    let is_selected = |pod: &&Pod| {
        let metadata = &pod.metadata;
        selection.has(&metadata.namespace, &metadata.name, effective_uid(pod))
    };
    let pods = node.pods().into_iter().filter(is_selected);
    let mut lint = PreemptionLint::of(pods, node.kubelet.rules.gates);
    lint.basis.lack_all(Missing::of_selection(selection));
    lint.basis.lack_all(node.unknown_pods());
    lint.basis.warn_all(node.odd().cloned());
    lint
}
