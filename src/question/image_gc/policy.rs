//! The policy of image garbage collection in force.

use crate::image_gc::policy_report::{GcPolicy, PolicySources};
use crate::node::{KubeletNode, Needs};

/// Returns the facts that the policy needs.
pub fn gc_policy_needs() -> Needs {
    Needs::GC_POLICY
}

/// Returns the policy of a node's kubelet.
pub fn gc_policy(node: &KubeletNode) -> GcPolicy {
    let flags = node.snapshot.kubelet.value().map(|process| process.interpreted().container_gc);
    let mut policy = GcPolicy::of(PolicySources {
        config: &node.kubelet.config,
        gates: node.kubelet.rules.gates,
        origins: &node.kubelet.origins,
        container_flags: flags.as_ref(),
    });
    policy.basis.lack_all(node.missing_config());
    policy.basis.warn_all(node.warnings());
    policy
}
