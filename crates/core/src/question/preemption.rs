//! Preemption: why a pod was killed, and which pods are less protected than their priority suggests.

use kq_admission::preemption::lint::PreemptionLint;
use kq_admission::preemption::why::{NoTraces, Traces, why_killed};
use kq_answer::Failure;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::pod_selector::{PodSelector, Selection};
use kq_facts::pod_traces::PodTraces;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;
use kq_output::units::first_few;

pub use kq_admission::preemption::why::PreemptionCause;

/// Returns the component that killed a pod, and the preemptor.
///
/// # Errors
///
/// Fails where nothing is known of the pod, and where the name means several.
pub fn preemption_cause(traces: &PodTraces, pod: &PodSelector) -> Result<PreemptionCause, Failure> {
    let pods = traces.pods.as_ref().map(|pods| pods.iter().map(|loaded| &*loaded.pod).collect());
    let left = Traces {
        pods: pods.map_err(Clone::clone),
        events: traces.events.as_deref().map_err(Clone::clone),
        log: traces.log.as_ref(),
        now: traces.now,
        are_current: traces.are_current,
    };
    why_killed(pod, &left, traces.basis.clone()).map_err(|error| match &error {
        NoTraces::Ambiguous { uids, .. } => {
            let hint = match uids.as_slice() {
                [] => "use NAMESPACE/NAME".to_owned(),
                uids => format!("use the UID: {}", first_few(5, uids)),
            };
            Failure::usage(error).hint(hint)
        }
        NoTraces::Nothing { near: Some(near), .. } => {
            let hint = format!("did you mean {near}?");
            Failure::missing(error).hint(hint)
        }
        NoTraces::Nothing { near: None, .. } => Failure::missing(error).of_name().hint(
            "name a kubeconfig with --kubeconfig, or the remaining files: --pods, --events, --kubelet-log; events \
             are kept for an hour by default",
        ),
    })
}

/// Returns the facts that [`preemption_lint`] needs.
pub fn preemption_lint_needs() -> Needs {
    let facts = [FactKey::Node, FactKey::KubeletConfig, FactKey::Pods, FactKey::Sandboxes];
    Needs { only_on_node: false, ..Needs::of(&facts) }
}

/// Checks the selected pods of a node.
pub fn preemption_lint(node: &Node, selection: &Selection) -> PreemptionLint {
    let is_selected = |pod: &&Pod| {
        let metadata = &pod.metadata;
        selection.has(&metadata.namespace, &metadata.name, effective_uid(pod))
    };
    let pods = node.pods().into_iter().filter(is_selected);
    let mut lint = PreemptionLint::of(pods, node.kubelet.rules.gates);
    lint.basis.lack_all(selection.missing());
    lint.basis.lack_all(node.unknown_pods());
    lint.basis.warn_all(node.odd().cloned());
    lint
}
