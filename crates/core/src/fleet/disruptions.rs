//! The pods of a node that a change disrupts, of the typed answer of `kq what-if`.

use crate::what_if::{PodOutcome, PodResult, RestartCause, WhatIf};
use kq_admission::qualified;
use kq_answer::{MissingFact, Severity};
use kq_facts::snapshot::Snapshot;
use kq_k8s::pod::Pod;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a change does to the kubelet of a node and to its pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeDisruptions {
    pub start: StartOutcome,
    /// The pods that are disrupted; `None`: the outcome of pods is unknown.
    pub pods: Option<Vec<DisruptedPod>>,
}

/// Whether the kubelet runs after the change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartOutcome {
    /// It starts, or keeps running.
    #[default]
    Runs,
    Fails {
        reason: String,
    },
    Unknown,
}

/// A pod that a change disrupts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DisruptedPod {
    pub namespace: String,
    pub name: String,
    /// The kind and the name of its workload.
    pub workload: (String, String),
    /// `None`: unknown.
    pub labels: Option<BTreeMap<String, String>>,
    pub disruption: Disruption,
    /// It counts as healthy for a PodDisruptionBudget.
    pub is_healthy: bool,
}

/// What becomes of the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disruption {
    Ends,
    /// It ends, or something that is unknown keeps it.
    MayEnd,
    /// Containers of it restart, or may.
    Restarts,
}

impl NodeDisruptions {
    /// Returns what an answer about a node says; the snapshot is that of the node before the change. Pods that only the change
    /// brings are no loss.
    pub fn of(before: &Snapshot, answer: &WhatIf) -> Self {
        let start = match (answer.kubelet_restarts, answer.kubelet_starts) {
            (true, Some(false)) => {
                let error = answer.items.iter().find(|it| it.severity == Severity::Error);
                let reason = error.map(|it| it.found.clone()).unwrap_or_default();
                StartOutcome::Fails { reason }
            }
            (true, None) => StartOutcome::Unknown,
            (false, _) | (_, Some(true)) => StartOutcome::Runs,
        };
        let lacks = |fact: MissingFact| answer.basis.missing.iter().any(|it| it.fact == fact);
        let is_known =
            answer.knows_pods && !lacks(MissingFact::Pods) && !lacks(MissingFact::UnreadPod);
        let own = before.pods.value().into_iter().flat_map(|it| &it.pods);
        let own: BTreeMap<String, &Pod> =
            own.map(|loaded| (qualified(&loaded.pod), &*loaded.pod)).collect();
        let disrupted = |outcome: &PodOutcome| {
            let pod = own.get(&outcome.pod)?;
            Some(DisruptedPod::of(pod, outcome.is_static, Disruption::of(outcome)?))
        };
        Self { start, pods: is_known.then(|| answer.pods.iter().filter_map(disrupted).collect()) }
    }
}

impl Disruption {
    fn of(outcome: &PodOutcome) -> Option<Self> {
        let results = || std::iter::once(outcome.result).chain(outcome.or_else.iter().copied());
        if outcome.cause.is_some_and(RestartCause::is_harmless) && outcome.or_else.is_empty() {
            return None;
        }
        match results().filter(|result| result.is_lost()).count() {
            0 => results().any(|it| it == PodResult::Restarts).then_some(Self::Restarts),
            lost if lost == results().count() => Some(Self::Ends),
            _ => Some(Self::MayEnd),
        }
    }
}

impl DisruptedPod {
    pub(super) fn of(pod: &Pod, is_static: bool, disruption: Disruption) -> Self {
        let metadata = &pod.metadata;
        Self {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            workload: workload(pod, is_static),
            labels: metadata.labels.all().cloned(),
            disruption,
            is_healthy: is_healthy(pod),
        }
    }
}

/// Returns the kind and the name of the controller of a pod. The name of a ReplicaSet of a Deployment ends in the hash that
/// its pods have as a label (`generateReplicaSetName`, `pkg/controller/deployment/sync.go`, read in 1.36.2).
fn workload(pod: &Pod, is_static: bool) -> (String, String) {
    const HASH: &str = "pod-template-hash";
    let metadata = &pod.metadata;
    let named = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
    if is_static {
        let own = metadata.name.strip_suffix(pod.spec.node_name.as_str());
        let name = own.and_then(|own| own.strip_suffix('-')).unwrap_or(&metadata.name);
        return named("StaticPod", name);
    }
    let Some(owner) = metadata.owner_references.iter().find(|owner| owner.controller) else {
        return named("Pod", &metadata.name);
    };
    let hash = metadata.labels.all().and_then(|labels| labels.get(HASH));
    let deployment =
        hash.and_then(|hash| owner.name.strip_suffix(hash.as_str())?.strip_suffix('-'));
    match deployment.filter(|_| owner.kind == "ReplicaSet") {
        Some(name) => named("Deployment", name),
        None => named(&owner.kind, &owner.name),
    }
}

/// Returns true for a pod that the disruption controller counts (`countHealthyPods`,
/// `pkg/controller/disruption/disruption.go`), and for one of which no source has the status.
fn is_healthy(pod: &Pod) -> bool {
    let ready = pod.status.conditions.iter().find(|it| it.kind == "Ready");
    pod.metadata.deletion_timestamp.is_none()
        && ready.map_or(pod.status.phase.is_empty(), |it| it.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(value: Value) -> Pod {
        serde_json::from_value(value).expect("a pod")
    }

    fn owned(kind: &str, name: &str, labels: Value) -> Pod {
        let owner = json!([{"kind": "Other", "name": "x"}, {"kind": kind, "name": name, "controller": true}]);
        pod(json!({"metadata": {"name": "p", "labels": labels, "ownerReferences": owner}}))
    }

    #[test]
    fn workloads_are_the_controllers_of_pods() {
        let hash = |hash: &str| json!({"pod-template-hash": hash});
        let mut withheld = owned("ReplicaSet", "web-5d4f", hash("5d4f"));
        withheld.metadata.labels.redact();
        let is_static =
            pod(json!({"metadata": {"name": "etcd-node-1"}, "spec": {"nodeName": "node-1"}}));
        for (pod, is_static, expected) in [
            (owned("ReplicaSet", "web-5d4f", hash("5d4f")), false, ("Deployment", "web")),
            (owned("ReplicaSet", "web-5d4f", hash("5d")), false, ("ReplicaSet", "web-5d4f")),
            (owned("ReplicaSet", "web5d4f", hash("5d4f")), false, ("ReplicaSet", "web5d4f")),
            (owned("ReplicaSet", "web-5d4f", json!({})), false, ("ReplicaSet", "web-5d4f")),
            (withheld, false, ("ReplicaSet", "web-5d4f")),
            (owned("StatefulSet", "db-5d4f", hash("5d4f")), false, ("StatefulSet", "db-5d4f")),
            (owned("DaemonSet", "log", json!({})), false, ("DaemonSet", "log")),
            (owned("Job", "backup-28", json!({})), false, ("Job", "backup-28")),
            (pod(json!({"metadata": {"name": "alone"}})), false, ("Pod", "alone")),
            (is_static, true, ("StaticPod", "etcd")),
        ] {
            let (kind, name) = workload(&pod, is_static);
            assert_eq!((kind.as_str(), name.as_str()), expected);
        }
    }

    #[test]
    fn healthy_pods_are_those_that_a_budget_counts() {
        let with = |phase: &str, ready: Option<&str>| {
            let conditions: Vec<Value> = ready
                .map(|status| json!({"type": "Ready", "status": status}))
                .into_iter()
                .collect();
            pod(json!({"status": {"phase": phase, "conditions": conditions}}))
        };
        let mut deleted = with("Running", Some("True"));
        deleted.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        for (name, pod, expected) in [
            ("ready", with("Running", Some("True")), true),
            ("not ready", with("Running", Some("False")), false),
            ("pending", with("Pending", None), false),
            ("no status", with("", None), true),
            ("being deleted", deleted, false),
        ] {
            assert_eq!(is_healthy(&pod), expected, "{name}");
        }
    }

    #[test]
    fn open_outcomes_are_no_certain_ends() {
        use PodResult::{Evicted, Kept, Refused, Restarts};
        let of = |result, or_else: &[PodResult], cause| {
            Disruption::of(&PodOutcome {
                pod: "shop/web".to_owned(),
                is_static: false,
                result,
                reason: None,
                message: None,
                containers: Vec::new(),
                cause,
                place: None,
                grace_seconds: None,
                is_of_manifest: false,
                is_unknown: false,
                or_else: or_else.to_vec(),
                depends_on: None,
            })
        };
        let reboot = Some(RestartCause::Reboot);
        for (result, or_else, cause, expected) in [
            (Kept, &[][..], None, None),
            (Refused, &[], None, Some(Disruption::Ends)),
            (Refused, &[Evicted], None, Some(Disruption::Ends)),
            (Refused, &[Kept], None, Some(Disruption::MayEnd)),
            (Kept, &[Evicted], None, Some(Disruption::MayEnd)),
            (Restarts, &[], reboot, Some(Disruption::Restarts)),
            (Kept, &[Restarts], reboot, Some(Disruption::Restarts)),
            (Restarts, &[], Some(RestartCause::NotRunning), None),
            (Restarts, &[Refused], reboot, Some(Disruption::MayEnd)),
        ] {
            assert_eq!(of(result, or_else, cause), expected, "{result:?} {or_else:?}");
        }
    }
}
