//! The kubelet's order of a node's pods, where it is known.

use anyhow::anyhow;
use kq_admission::preemption::PreemptionExplanation;
use kq_admission::{NodePod, qualified};
use kq_answer::Failure;
use kq_facts::pod_selector::nearest_pod;
use std::collections::{BTreeMap, BTreeSet};

/// Returns an assumption if the unknown order of equal pods decided.
pub fn random_order(preemption: &PreemptionExplanation, order: &[String]) -> Option<String> {
    let order: BTreeSet<&str> = order.iter().map(String::as_str).collect();
    let is_listed = |pod: &str| order.contains(pod);
    let mut tied = preemption.victims.iter().filter(|it| !it.ties.is_empty());
    tied.any(|it| !is_listed(&it.pod) || !it.ties.iter().all(|tie| is_listed(tie))).then(|| {
        "equal pods are in the order of their names; the kubelet's order is random (--order)"
            .to_owned()
    })
}

/// Sorts the pods by the known order, and the others after them by their names.
pub fn sort(pods: &mut [NodePod<'_>], order: &[String]) -> Result<(), Failure> {
    let mut places = BTreeMap::new();
    if !order.is_empty() {
        let names: BTreeSet<String> = pods.iter().map(|it| qualified(it.pod)).collect();
        let near = |name: &str| nearest_pod(name, pods.iter().map(|it| it.pod));
        for (place, name) in order.iter().enumerate() {
            if !names.contains(name) {
                let refuse = anyhow!("--order: no other pod of this node is {name}");
                return Err(Failure::usage(refuse).hint(match near(name) {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => "pods are named NAMESPACE/NAME, as -o wide shows them".to_owned(),
                }));
            }
            if places.insert(name.as_str(), place).is_some() {
                return Err(Failure::usage(anyhow!("--order: {name} is listed twice")));
            }
        }
    }
    pods.sort_by_cached_key(|it| {
        let name = qualified(it.pod);
        (places.get(name.as_str()).copied().unwrap_or(usize::MAX), name)
    });
    Ok(())
}
