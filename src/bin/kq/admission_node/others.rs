//! Who is on the node, and counts.

use super::AdmissionNode;
use crate::exit::Failure;
use anyhow::anyhow;
use kq::admission::{NodePod, qualified};
use kq::device::pods::{NodePods, Standing};
use kq::facts::basis::Basis;
use kq::facts::pod_selector::PodSelector;
use kq::facts::snapshot::PodSource;
use kq::facts::workloads::effective_uid;
use kq::k8s::manifest::LoadedPod;
use kq::k8s::nearest::nearest;
use kq::k8s::pod::Pod;

impl AdmissionNode {
    /// Returns the other pods of the node, and whether they count. Says what that rests on.
    pub fn others(
        &self,
        new: Option<&Pod>,
        basis: &mut Basis,
    ) -> Result<Vec<NodePod<'_>>, Failure> {
        let snapshot = &self.node.snapshot;
        let Some(recorded) = snapshot.pods.value() else {
            let error =
                anyhow!("the pods of the node could not be had: {}", snapshot.pods.reason());
            return Err(Failure::missing(error)
                .hint("run as root on the node, or give its pods with --pods FILE"));
        };
        let node_name = &self.object()?.metadata.name;
        let standings = NodePods::of(snapshot);
        let without = self.without(&recorded.pods)?;
        let mut without_uid = 0;
        let (mut ended, mut leaving) = (0, 0);
        let mut elsewhere = Vec::new();
        let mut others = Vec::new();
        for pod in recorded.pods.iter().map(|loaded| &loaded.pod) {
            let uid = effective_uid(pod);
            let bound_to = &pod.spec.node_name;
            let is_same = new.is_some_and(|new| {
                let is_same = uid == effective_uid(new) && !uid.is_empty();
                is_same || qualified(pod) == qualified(new)
            });
            let phase = pod.status.phase.as_str();
            let (counts, why) = if is_same {
                (false, "it is the pod in question".to_owned())
            } else if without
                .iter()
                .any(|it| it.matches(&pod.metadata.namespace, &pod.metadata.name, uid))
            {
                (false, "taken away (--without)".to_owned())
            } else if !bound_to.is_empty() && bound_to != node_name {
                elsewhere.push(bound_to);
                (false, format!("it is on node {bound_to}"))
            } else if bound_to.is_empty() && phase == "Pending" {
                (false, "it is on no node yet".to_owned())
            } else if uid.is_empty() {
                without_uid += 1;
                match phase {
                    "" => (true, "it has no status".to_owned()),
                    "Succeeded" | "Failed" => (false, format!("its phase is {phase}")),
                    _ => (true, format!("its phase is {phase}")),
                }
            } else {
                let standing = standings.standing(uid);
                if standings.depends_on_runtime(uid) {
                    match standing {
                        Standing::Active(_) => leaving += 1,
                        _ => ended += 1,
                    }
                }
                match standing {
                    Standing::Active(why) => (true, why),
                    Standing::Ended(why) | Standing::Gone(why) => (false, why),
                    Standing::Unknown(why) => {
                        basis.assumptions.push(format!("{} counts: {why}", qualified(pod)));
                        (true, why)
                    }
                }
            };
            others.push(NodePod { pod, counts, why });
        }
        if without_uid > 0 {
            let pods = if without_uid == 1 { "pod" } else { "pods" };
            basis.assumptions.push(format!(
                "{without_uid} {pods} without a UID: on the node, unless the phase is Succeeded or Failed"
            ));
        }
        let unknown = "the container runtime did not say whether it still stops";
        if ended > 0 {
            let (pods, them) = if ended == 1 { ("pod", "it") } else { ("pods", "them") };
            basis
                .assumptions
                .push(format!("{ended} {pods} in a final phase count no more: {unknown} {them}"));
        }
        if leaving > 0 {
            let (pods, them) = if leaving == 1 { ("pod", "it") } else { ("pods", "them") };
            basis
                .assumptions
                .push(format!("{leaving} deleted {pods} still count: {unknown} {them}"));
        }
        if let Some(first) = elsewhere.first().filter(|_| elsewhere.len() == recorded.pods.len()) {
            basis.missing.push(format!(
                "the pods of {node_name}: all that were read are on other nodes, such as {first} (--pods)"
            ));
        }
        if let PodSource::StaticManifests | PodSource::Runtime = recorded.source {
            basis.missing.push(
                "the pods of the API server: what they use is not in the sums (--pods, --kubeconfig)"
                    .to_owned(),
            );
        }
        for problem in &recorded.left_out {
            basis.missing.push(format!("a pod that could not be read: {problem}"));
        }
        Ok(others)
    }

    /// Returns who is taken for gone, and is there.
    fn without(&self, pods: &[LoadedPod]) -> Result<Vec<PodSelector>, Failure> {
        let selector = |name: &String| {
            let selector = PodSelector::new(name);
            let mut all = pods.iter().map(|loaded| &loaded.pod);
            let is_there = all.any(|pod| {
                selector.matches(&pod.metadata.namespace, &pod.metadata.name, effective_uid(pod))
            });
            if is_there {
                return Ok(selector);
            }
            let names: Vec<String> = pods.iter().map(|loaded| qualified(&loaded.pod)).collect();
            let error = Failure::usage(anyhow!("--without {name}: no such pod on this node"));
            Err(match nearest(name, names.iter().map(String::as_str)) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error,
            })
        };
        self.without.iter().map(selector).collect()
    }
}
