//! The order in which the kubelet has the pods of a node, where it is known.

use crate::admission::{NodePod, qualified};
use crate::answer::Failure;
use crate::facts::pod_selector::nearest_pod;
use crate::preemption::PreemptionExplanation;
use anyhow::anyhow;
use std::collections::{BTreeMap, BTreeSet};

/// Returns what is to be said where the order of pods decided that nobody told.
pub fn random_order(preemption: &PreemptionExplanation, order: &[String]) -> Option<String> {
    let order: BTreeSet<&str> = order.iter().map(String::as_str).collect();
    let is_told = |pod: &str| order.contains(pod);
    let mut tied = preemption.victims.iter().filter(|it| !it.ties.is_empty());
    tied.any(|it| !is_told(&it.pod) || !it.ties.iter().all(|tie| is_told(tie))).then(|| {
        "among equals the pods are in the order of their names; the kubelet's is random (--order)".to_owned()
    })
}

/// Puts the pods in the order that is known, and those that are not named in that of their
/// names.
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
                return Err(Failure::usage(anyhow!("--order: {name} is there twice")));
            }
        }
    }
    pods.sort_by_cached_key(|it| {
        let name = qualified(it.pod);
        (places.get(name.as_str()).copied().unwrap_or(usize::MAX), name)
    });
    Ok(())
}
