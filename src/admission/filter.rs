//! The general filter: what is compared, and the ledger behind the sums.

use super::amounts::Amounts;
use super::failure::{Failure, Predicate};
use super::occupancy::Occupancy;
use super::placement::{first_unmet, untolerated_taint};
use super::ports::first_conflict;
use crate::facts::node_object::NodeObject;
use crate::k8s::feature_gates::Gate;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{Pod, ResourceName};
use crate::k8s::priority::is_static_pod;
use crate::k8s::resources::{ResourceOptions, pod_requests};
use std::collections::BTreeMap;
use std::ops::Range;

/// What the filter compares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// What the node has for pods.
    pub allocatable: Amounts,
    /// What the other pods take; `pods` is how many they are.
    pub used: Amounts,
    /// What the pod takes.
    pub requested: Amounts,
}

/// What the filter says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filtered {
    /// All that is wrong, in the kubelet's order.
    pub failures: Vec<Failure>,
    /// The part of them that the kubelet has in a random order, as it comes from a hash map; here in the
    /// order of the names.
    pub unordered: Range<usize>,
}

impl Ledger {
    /// Adds up a node.
    pub fn new(
        pod: &Pod,
        others: &Occupancy<'_>,
        allocatable: Amounts,
        rules: &KubeletRules,
    ) -> Self {
        Self { allocatable, used: others.used().clone(), requested: requested(pod, rules) }
    }
}

/// Returns what a pod that is to be taken requests: by its spec, and by what claims account to it.
pub(super) fn requested(pod: &Pod, rules: &KubeletRules) -> Amounts {
    Amounts::of(&pod_requests(pod, &options_of_wanted(rules)).total)
}

/// Returns what a pod that is there takes: the most of what it wants, what is in effect and what the
/// kubelet gave it.
pub(super) fn taken(pod: &Pod, rules: &KubeletRules) -> Amounts {
    Amounts::of(&pod_requests(pod, &options_of_taken(rules)).total)
}

/// Returns how a pod that is there is added up (`PodInfo.CalculateResource`, `pkg/scheduler/framework/types.go`).
pub(super) fn options_of_taken(rules: &KubeletRules) -> ResourceOptions {
    let gate = |gate| rules.gates.enabled(gate);
    ResourceOptions {
        use_status_resources: gate(Gate::InPlacePodVerticalScaling),
        resizes_without_conditions: !rules.counts_by_allocations(),
        in_place_pod_level_resources_vertical_scaling: gate(
            Gate::InPlacePodLevelResourcesVerticalScaling,
        ),
        ..options_of_wanted(rules)
    }
}

/// Returns how a pod that is to be taken is added up (`AdmissionCheck` of `pkg/scheduler/eventhandlers.go`,
/// `computePodResourceRequest` of `pkg/scheduler/framework/plugins/noderesources/fit.go`).
pub(super) fn options_of_wanted(rules: &KubeletRules) -> ResourceOptions {
    let gate = |gate| rules.gates.enabled(gate);
    ResourceOptions {
        skip_pod_level_resources: !gate(Gate::PodLevelResources),
        skip_pod_level_hugepages: !rules.pod_level_hugepages(),
        use_dra_node_allocatable_resource_claim_status: gate(Gate::DraNodeAllocatableResources),
        ..ResourceOptions::default()
    }
}

/// Asks every predicate, whatever those before it said (`generalFilter`).
pub fn filter(
    pod: &Pod,
    others: &Occupancy<'_>,
    node: &NodeObject,
    labels: &BTreeMap<String, String>,
    ledger: &Ledger,
    rules: &KubeletRules,
) -> Filtered {
    let Filtered { mut failures, unordered } = shortages(ledger);
    let mut fails = |predicate, fails: bool| {
        if fails {
            failures.push(Failure::Predicate(predicate));
        }
    };
    let name = node.metadata.name.as_str();
    fails(Predicate::NodeAffinity, first_unmet(pod, name, labels).is_some());
    let wanted = pod.spec.node_name.as_str();
    fails(Predicate::NodeName, !wanted.is_empty() && wanted != name);
    fails(Predicate::NodePorts, first_conflict(pod, others).is_some());
    let bears = is_static_pod(pod) || untolerated_taint(pod, node, rules).is_none();
    fails(Predicate::TaintToleration, !bears);
    Filtered { failures, unordered }
}

/// Returns what the node is short of (`fitsRequest`,
/// `pkg/scheduler/framework/plugins/noderesources/fit.go`).
fn shortages(ledger: &Ledger) -> Filtered {
    let Ledger { allocatable, used, requested, .. } = ledger;
    let short = |resource, requested, used, capacity| Failure::Resource {
        resource,
        requested,
        used,
        capacity,
    };
    let mut failures = Vec::new();
    if used.pods.wrapping_add(1) > allocatable.pods {
        failures.push(short(ResourceName::from("pods"), 1, used.pods, allocatable.pods));
    }
    if requested.is_nothing() {
        return Filtered { failures, unordered: 0..0 };
    }
    for (resource, requested, used, capacity) in [
        ("cpu", requested.milli_cpu, used.milli_cpu, allocatable.milli_cpu),
        ("memory", requested.memory, used.memory, allocatable.memory),
        (
            "ephemeral-storage",
            requested.ephemeral_storage,
            used.ephemeral_storage,
            allocatable.ephemeral_storage,
        ),
    ] {
        if requested > 0 && requested > capacity.wrapping_sub(used) {
            failures.push(short(ResourceName::from(resource), requested, used, capacity));
        }
    }
    let ordered = failures.len();
    for (name, requested) in &requested.scalars {
        let (used, capacity) = (used.scalar(name), allocatable.scalar(name));
        if *requested != 0 && *requested > capacity.wrapping_sub(used) {
            failures.push(short(name.clone(), *requested, used, capacity));
        }
    }
    let unordered = ordered..failures.len();
    Filtered { failures, unordered }
}
