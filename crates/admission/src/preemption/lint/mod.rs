//! Which pods of a node are less protected from the kubelet than their priority says.
//!
//! The kubelet takes victims by QoS class and distance; among pods that are not critical their priority plays no part
//! (`getPodsToPreempt`, `pkg/kubelet/preemption/preemption.go`, read in 1.36.2). Nor does it decide about
//! `oom_score_adj`, but for system-node-critical (`GetContainerOOMScoreAdjust`, `pkg/kubelet/qos/policy.go`).

mod rule;

use kq_answer::{Basis, Finding, Headline, Severity, Subject, answer};
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::pod::Pod;
use kq_k8s::priority::{
    is_critical_by_priority, is_critical_pod, is_mirror_pod, is_node_critical_pod, is_static_pod,
};
use kq_k8s::qos::{QosClass, effective_qos_class};
use rule::{NotCritical, PreemptionRule};
use serde::Serialize;
use std::collections::BTreeMap;

/// The findings as a value: what `-o json` and `-o yaml` print.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreemptionLint {
    /// How many findings there are of each severity.
    pub summary: BTreeMap<String, usize>,
    /// The number of checked pods, without ended ones.
    pub pods: usize,
    /// The findings; the worst first, else in the order of the pods.
    pub items: Vec<Finding>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PreemptionLint", PreemptionLint; PreemptionLint::headline);

impl PreemptionLint {
    fn headline(&self) -> Headline {
        Headline::of_findings(&self.items)
    }
}

impl PreemptionLint {
    /// Checks the pods that have not ended.
    pub fn of<'p>(pods: impl IntoIterator<Item = &'p Pod>, gates: FeatureGates) -> Self {
        let has_ended = |pod: &&Pod| pod.status.has_ended();
        let pods: Vec<&Pod> = pods.into_iter().filter(|pod| !has_ended(pod)).collect();
        let mut items: Vec<Finding> = pods.iter().filter_map(|pod| finding(pod, gates)).collect();
        // Stable: within a severity they stay in the order of the pods.
        items.sort_by_key(|finding| finding.severity);
        let summary = Severity::count(&items);
        Self { summary, pods: pods.len(), items, basis: Basis::default() }
    }
}

/// Returns the worst finding of a pod.
fn finding(pod: &Pod, gates: FeatureGates) -> Option<Finding> {
    let (rule, field) = rule(pod, gates)?;
    let metadata = &pod.metadata;
    let subject = Subject::Container {
        pod: metadata.qualified_name(),
        container: String::new(),
        field: field.to_owned(),
    };
    Some(Finding::of(subject, &rule))
}

fn rule(pod: &Pod, gates: FeatureGates) -> Option<(PreemptionRule, &'static str)> {
    const CLASS: &str = "spec.priorityClassName";
    let qos_class = effective_qos_class(pod, gates);
    let priority = pod.spec.priority;
    if is_critical_pod(pod) {
        // The mirror of a static pod has the priority of its class, which the kubelet does not know.
        let own = priority.filter(|_| is_static_pod(pod) && !is_mirror_pod(pod));
        if let Some(priority) = own.filter(|_| is_critical_by_priority(pod) == Some(false)) {
            return Some((PreemptionRule::StaticWithPriority { priority }, "spec.priority"));
        }
        let is_killed_first = qos_class == QosClass::BestEffort && !is_node_critical_pod(pod);
        return is_killed_first
            .then_some((PreemptionRule::CriticalBestEffort { priority }, "spec.containers"));
    }
    let priority_class_name = pod.spec.priority_class_name.clone();
    let described = NotCritical { priority, priority_class_name, qos_class };
    let owners = &pod.metadata.owner_references;
    if owners.iter().any(|owner| owner.controller && owner.kind == "DaemonSet") {
        let is_of_system = pod.metadata.namespace == "kube-system";
        return Some((PreemptionRule::AgentNotCritical { pod: described, is_of_system }, CLASS));
    }
    let is_raised = priority.is_some_and(|priority| priority > 0);
    is_raised.then_some((PreemptionRule::PriorityNotCritical(described), CLASS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{self, Object};
    use kq_k8s::version::KubeletVersion;
    use serde_json::{Value, json};

    fn found(pod: Object) -> Vec<String> {
        let pod: Pod = pod.read();
        let gates = FeatureGates::for_version(KubeletVersion::ASSUMED);
        let lint = PreemptionLint::of([&pod], gates);
        let line = |finding: &Finding| {
            assert!(finding.why.is_some() && finding.advice.is_some(), "{}", finding.id);
            format!("{} {}: {}", finding.severity, finding.id, finding.found)
        };
        lint.items.iter().map(line).collect()
    }

    /// Describes a pod of a class; an empty one is none.
    fn of_class(class: &str, priority: impl Into<Value>) -> Object {
        objects::pod("shop/web").set("/spec/priorityClassName", class).priority(priority)
    }

    #[test]
    fn priorities_protect_where_they_are_critical() {
        let of_daemon_set = |pod: Object, namespace: &str| {
            let owner = json!([{"kind": "DaemonSet", "name": "a", "controller": true}]);
            pod.set("/metadata/namespace", namespace).set("/metadata/ownerReferences", owner)
        };
        let node = of_class("system-node-critical", 2_000_001_000);
        let cluster = of_class("system-cluster-critical", 2_000_000_000);
        let file = of_class("", Value::Null).config("source", "file").requests("cpu=100m");
        for (name, pod, expected) in [
            ("no priority", of_class("", 0), ""),
            (
                "a class of the user's",
                of_class("high", 1000).requests("cpu=100m"),
                "INFO priority-not-critical: priority 1000 (high), Burstable",
            ),
            (
                "a DaemonSet",
                of_daemon_set(of_class("", 0), "shop"),
                "INFO agent-not-critical: a DaemonSet's pod: priority 0, BestEffort",
            ),
            (
                "an agent of the system",
                of_daemon_set(of_class("", Value::Null), "kube-system"),
                "WARNING agent-not-critical: a DaemonSet's pod: no priority, BestEffort",
            ),
            ("a critical agent", of_daemon_set(node.clone(), "kube-system"), ""),
            ("node-critical", node, ""),
            (
                "cluster-critical without requests",
                cluster.clone(),
                "WARNING critical-best-effort: a critical pod of priority 2000000000 without requests: \
                 BestEffort",
            ),
            ("cluster-critical with requests", cluster.requests("cpu=100m"), ""),
            ("static", file.clone(), ""),
            (
                "static with a number",
                file.priority(7),
                "WARNING static-with-priority: a static pod with priority 7 in its manifest",
            ),
        ] {
            let expected: Vec<&str> =
                Some(expected).filter(|it| !it.is_empty()).into_iter().collect();
            assert_eq!(found(pod), expected, "{name}");
        }
    }

    #[test]
    fn ended_pods_are_not_looked_at() {
        assert!(found(of_class("", 1000).phase("Succeeded")).is_empty());
    }
}
