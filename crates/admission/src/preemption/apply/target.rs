//! The victims of a plan, as requests to the API server name them.

use crate::preemption::explain::grace;
use crate::qualified;
use kq_facts::pod_removal::Target;
use kq_k8s::pod::Pod;
use kq_k8s::priority::{is_mirror_pod, is_static_pod};
use kq_k8s::validation::{is_namespace_name, is_pod_name};

/// What makes a new pod for one that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    /// A DaemonSet: its new pod comes to the same node, and tolerates that the node is cordoned
    /// (`AddOrUpdateDaemonPodTolerations`, `pkg/controller/daemon/util/daemonset_util.go`).
    DaemonSet,
    /// Another controller: the scheduler chooses the node of its new pod.
    Other,
    /// The kubelet: this is the mirror of a static pod.
    Kubelet,
    /// None: the pod is gone for good.
    None,
}

impl Controller {
    fn of(pod: &Pod) -> Self {
        if is_mirror_pod(pod) || is_static_pod(pod) {
            return Self::Kubelet;
        }
        let mut owners = pod.metadata.owner_references.iter();
        match owners.find(|owner| owner.controller).map(|owner| owner.kind.as_str()) {
            None => Self::None,
            Some("DaemonSet") => Self::DaemonSet,
            Some(_) => Self::Other,
        }
    }
}

/// Returns what follows the victims, a note for each kind of controller: which pods come in their place, and where.
pub fn successors(victims: &[&Pod], node: &str) -> Vec<String> {
    let of = |controller: Controller| {
        let pods = victims.iter().filter(|pod| Controller::of(pod) == controller);
        pods.map(|pod| qualified(pod)).collect::<Vec<_>>().join(", ")
    };
    let notes = [
        (
            of(Controller::Other),
            format!(
                ": a controller makes a new pod, which the scheduler may bind to this node again; kubectl cordon \
                 {node} prevents that"
            ),
        ),
        (
            of(Controller::DaemonSet),
            format!(
                ": its DaemonSet makes a new pod on {node} at once, also while the node is cordoned, and that pod may \
                 take the room again"
            ),
        ),
        (
            of(Controller::None),
            ": no controller makes a new pod, so it is gone for good; kubectl get pod -o yaml keeps its manifest"
                .to_owned(),
        ),
    ];
    let some = notes.into_iter().filter(|(pods, _)| !pods.is_empty());
    some.map(|(pods, what)| pods + &what).collect()
}

/// Takes a pod for a victim.
pub fn target_of(pod: &Pod) -> Target {
    Target {
        pod: qualified(pod),
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        grace_period_seconds: grace(pod),
    }
}

/// Returns why the API server cannot be asked to evict a pod.
pub fn unfit(pod: &Pod) -> Option<String> {
    let metadata = &pod.metadata;
    if !is_namespace_name(&metadata.namespace) {
        return Some(format!("metadata.namespace: {:?} is not a namespace", metadata.namespace));
    }
    if !is_pod_name(&metadata.name) {
        return Some(format!("metadata.name: {:?} is not a pod name", metadata.name));
    }
    if metadata.uid.is_empty() {
        return Some(
            "metadata.uid: it has none, so a later pod of that name would look the same".to_owned(),
        );
    }
    if is_mirror_pod(pod) || is_static_pod(pod) {
        return Some(
            "it is static: the API server has its mirror only, and its file must be removed from the kubelet's directory"
                .to_owned(),
        );
    }
    None
}

/// Puts the pods in an order in which the victims of a plan are chosen again, among equals.
///
/// Among equal pods the last one is chosen. So those of the plan come last, the first of them at the end.
pub fn planned_last<P>(pods: &mut [P], plan: &[Target], uid: impl Fn(&P) -> String) {
    pods.sort_by_cached_key(|pod| {
        let uid = uid(pod);
        let place = plan.iter().position(|target| target.uid == uid && !uid.is_empty());
        place.map_or(0, |place| plan.len() - place)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use serde_json::json;

    #[test]
    fn what_follows_a_victim_depends_on_its_controller() {
        let pod = |name: &str, owners: serde_json::Value| -> Pod {
            let pod = objects::pod(&format!("shop/{name}"));
            pod.set("/metadata/ownerReferences", owners).read()
        };
        let owner =
            |kind: &str, controller| json!([{"kind": kind, "name": "x", "controller": controller}]);
        let pods = [
            pod("web", owner("ReplicaSet", true)),
            pod("agent", owner("DaemonSet", true)),
            pod("bare", json!(null)),
            pod("owned", owner("ConfigMap", false)),
        ];
        let notes = successors(&pods.iter().collect::<Vec<_>>(), "n1");
        let starts = [
            "shop/web: a controller makes a new pod, which the scheduler may bind to this node again; kubectl cordon n1",
            "shop/agent: its DaemonSet makes a new pod on n1 at once, also while the node is cordoned",
            "shop/bare, shop/owned: no controller makes a new pod, so it is gone for good",
        ];
        assert_eq!(notes.len(), starts.len(), "{notes:?}");
        for (note, start) in notes.iter().zip(starts) {
            assert!(note.starts_with(start), "{note}");
        }
        assert!(successors(&[&pods[2]], "n1").iter().all(|note| !note.contains("cordon")));
    }
}
