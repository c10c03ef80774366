//! Whether a pod is admitted, with every check, the sums and the ledger behind them.

use super::amounts::without_requests;
use super::checks::checks;
use super::derivation::{Derivation, rounded};
use super::examine::{Examined, Facts, Refusal, examine, refused_after_all};
use super::filter::{Failure, Ledger, options_of_taken, options_of_wanted, taken};
use super::reason::{AmountReason, CheckReason, RemovedReason};
use super::report::{
    CheckName, Compared, Explanation, LedgerAmount, LedgerLine, Removed, admitted,
};
use kq_answer::Worded;
use kq_facts::node_pods::StandingReason;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use std::collections::BTreeMap;

/// A pod of the node.
#[derive(Clone, Debug)]
pub struct NodePod<'p> {
    pub pod: &'p Pod,
    /// It is active, so its requests count.
    pub counts: bool,
    pub why: StandingReason,
}

/// A check that the kubelet makes before the predicates.
#[derive(Clone, Debug, Default)]
pub struct EarlierCheck {
    /// What is checked.
    pub check: CheckName,
    /// The refusals; of several the kubelet picks one by the order of a hash map.
    pub refusals: Vec<Refusal>,
    pub because: CheckReason,
}

/// Examines a pod, with reasons. The ledger lists `pods`, which may be empty where it is not shown.
pub fn explain(
    pod: &Pod,
    pods: &[NodePod<'_>],
    before: &[EarlierCheck],
    facts: &Facts<'_>,
    rules: &KubeletRules,
) -> (Explanation, Examined) {
    let examined = examine(pod, facts, rules);
    let refusals = match refused_before(before) {
        Some(refusals) => refusals.to_vec(),
        None => examined.verdict().refusals(),
    };
    let refusals = finally(pod, refusals, rules);
    let compared = compared(pod, &examined, facts, rules);
    let checks = checks(pod, &examined, before, facts, rules);
    let explanation = Explanation {
        pod: qualified(pod),
        node: facts.cached.map(|node| node.metadata.name.clone()).unwrap_or_default(),
        admitted: admitted(&refusals, &checks),
        refusals,
        kills: Vec::new(),
        checks,
        ledger: ledger(pods, &compared, rules),
        resources: compared,
        removed_requests: examined
            .removed
            .iter()
            .map(|it| Removed {
                container: it.container.clone(),
                resource: it.resource.clone(),
                because: match it.claimed {
                    true => RemovedReason::ResourceClaim.into(),
                    false => RemovedReason::NotOnNode.into(),
                },
            })
            .collect(),
    };
    (explanation, examined)
}

/// Returns the refusals of the first check before the predicates that refuses the pod.
pub fn refused_before(before: &[EarlierCheck]) -> Option<&[Refusal]> {
    before.iter().map(|it| it.refusals.as_slice()).find(|refusals| !refusals.is_empty())
}

/// Returns the final refusals of a pod: those given, or those of the checks after an admission.
pub fn finally(pod: &Pod, refusals: Vec<Refusal>, rules: &KubeletRules) -> Vec<Refusal> {
    match refusals.is_empty() {
        true => refused_after_all(pod, rules).into_iter().collect(),
        false => refusals,
    }
}

/// Returns NAMESPACE/NAME.
pub fn qualified(pod: &Pod) -> String {
    let metadata = &pod.metadata;
    let namespace = if metadata.namespace.is_empty() { "default" } else { &metadata.namespace };
    format!("{namespace}/{}", metadata.name)
}

fn compared(
    pod: &Pod,
    examined: &Examined,
    facts: &Facts<'_>,
    rules: &KubeletRules,
) -> Vec<Compared> {
    let Some(Ledger { allocatable, used, requested, .. }) = &examined.ledger else {
        return Vec::new();
    };
    let shortages = examined.filtered.failures.iter().filter_map(|failure| match failure {
        Failure::Resource { resource, .. } => Some((resource, failure.missing()?)),
        Failure::Predicate(_) => None,
    });
    let shortages: BTreeMap<&ResourceName, i64> = shortages.collect();
    let node = match (facts.cached, facts.fresh) {
        (_, Ok(fresh)) if examined.looked_again => Some(fresh),
        (cached, _) => cached.ok(),
    };
    let capacities = node.map(|node| &node.status.capacity);
    let line = |resource: ResourceName, requested: i64, used: i64, allocatable: i64, because| {
        let capacity = capacities.and_then(|all| all.get(&resource));
        let capacity = capacity.map(|it| rounded(&resource, it));
        Compared {
            missing: shortages.get(&resource).copied().unwrap_or(0),
            resource,
            requested,
            because: Worded(because),
            used,
            capacity,
            reserved: capacity.map(|capacity| capacity.wrapping_sub(allocatable)),
            allocatable,
            free: allocatable.wrapping_sub(used),
        }
    };
    let counted = without_requests(pod, &examined.removed);
    let derivation = Derivation::of(&counted, &options_of_wanted(rules));
    let pods = ResourceName::from("pods");
    let mut lines = vec![line(pods, 1, used.pods, allocatable.pods, AmountReason::Pod)];
    let named = ["cpu", "memory", "ephemeral-storage"].map(ResourceName::from);
    for resource in named.into_iter().chain(requested.scalars.keys().cloned()) {
        let amounts = [requested, used, allocatable].map(|amounts| amounts.get(&resource));
        let because = derivation.because(&resource);
        lines.push(line(resource, amounts[0], amounts[1], amounts[2], because));
    }
    lines
}

fn ledger(pods: &[NodePod<'_>], compared: &[Compared], rules: &KubeletRules) -> Vec<LedgerLine> {
    let options = options_of_taken(rules);
    let of_pod = |it: &NodePod<'_>| {
        let amounts = taken(it.pod, rules);
        let derivation = Derivation::of(it.pod, &options);
        let amount = |line: &Compared| {
            let is_pods = line.resource.as_str() == "pods";
            LedgerAmount {
                amount: if is_pods { 1 } else { amounts.get(&line.resource) },
                because: match is_pods {
                    true => AmountReason::Pod.into(),
                    false => derivation.because(&line.resource).into(),
                },
                resource: line.resource.clone(),
            }
        };
        LedgerLine {
            pod: qualified(it.pod),
            phase: it.pod.status.phase.clone(),
            counts: it.counts,
            why: Worded(it.why.clone()),
            amounts: compared.iter().map(amount).collect(),
        }
    };
    pods.iter().map(of_pod).collect()
}
