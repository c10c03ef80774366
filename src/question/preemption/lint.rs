//! The pods of a node that their priority does not protect from the kubelet.

use crate::node::{FactKey, KubeletNode, Needs};
use crate::preemption::lint::PreemptionLint;

/// Returns the facts that the rules need.
pub fn preemption_lint_needs() -> Needs {
    let facts = [FactKey::Node, FactKey::KubeletConfig, FactKey::Pods, FactKey::Sandboxes];
    Needs { only_on_node: false, ..Needs::of(&facts) }
}

/// Looks at the pods of a node.
pub fn preemption_lint(node: &KubeletNode) -> PreemptionLint {
    let mut lint = PreemptionLint::of(node.pods(), node.kubelet.rules.gates);
    lint.basis.lack_all(node.unknown_pods());
    lint.basis.warn_all(node.odd().cloned());
    lint
}
