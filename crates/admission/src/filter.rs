//! The general filter: the compared amounts, and the ledger behind the sums.
//!
//! Its failures.

use super::amounts::Amounts;
use super::occupancy::Occupancy;
use super::placement::{first_conflict, first_unmet, untolerated_taint};
use super::report::CheckName;
use kq_facts::node_object::NodeObject;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceList, ResourceName};
use kq_k8s::priority::is_static_pod;
use kq_k8s::resources::{ResourceOptions, pod_requests};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The amounts that the filter compares; of scalar resources only those that the pod requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// The node's amounts for pods.
    pub allocatable: Amounts,
    /// The amounts of the other pods; `pods` is their number.
    pub used: Amounts,
    /// The amounts of the pod.
    pub requested: Amounts,
}

/// The result of the filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filtered {
    /// All failures, in the kubelet's order.
    pub failures: Vec<Failure>,
    /// The part of them whose order is random in the kubelet, since it comes from a hash map; here in the order
    /// of the names.
    pub unordered: Range<usize>,
}

impl Ledger {
    /// Adds up a node.
    pub fn new(
        pod: &Pod,
        others: &Occupancy<'_>,
        allocatable: &ResourceList,
        devices: &BTreeMap<ResourceName, i64>,
        rules: &KubeletRules,
    ) -> Self {
        let requested = requested(pod, rules);
        Self {
            allocatable: Amounts::of_requested(allocatable, devices, &requested),
            used: others.used().only_requested(&requested),
            requested,
        }
    }
}

/// Returns the requests of a new pod: by its spec, and by its resource claims.
pub(super) fn requested(pod: &Pod, rules: &KubeletRules) -> Amounts {
    Amounts::of(&pod_requests(pod, &options_of_wanted(rules)).total)
}

/// Returns the requests of an existing pod: the maximum of the spec's, the actual and the allocated ones, of each container
/// or, since 1.37, of the sums.
pub(super) fn taken(pod: &Pod, rules: &KubeletRules) -> Amounts {
    Amounts::of(&pod_requests(pod, &options_of_taken(rules)).total)
}

/// Returns how an existing pod is added up (`PodInfo.CalculateResource`, `pkg/scheduler/framework/types.go`).
pub(super) fn options_of_taken(rules: &KubeletRules) -> ResourceOptions {
    let gate = |gate| rules.gates.enabled(gate);
    ResourceOptions {
        use_status_resources: gate(Gate::InPlacePodVerticalScaling),
        resizes_without_conditions: !rules.counts_by_allocations(),
        takes_largest_sum: rules.takes_largest_sum(),
        in_place_pod_level_resources_vertical_scaling: gate(
            Gate::InPlacePodLevelResourcesVerticalScaling,
        ),
        ..options_of_wanted(rules)
    }
}

/// Returns how a new pod is added up (`AdmissionCheck` of `pkg/scheduler/eventhandlers.go`,
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

/// Runs every predicate, also after a failure (`generalFilter`).
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
    fails(Predicate::NodePorts, first_conflict(pod, others, rules).is_some());
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

/// A predicate that is not about amounts (`PredicateFailureError`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// The labels or the name of the node do not match the pod's.
    NodeAffinity,
    /// The pod is for another node.
    NodeName,
    /// A host port is taken.
    NodePorts,
    /// A taint that the pod does not tolerate.
    TaintToleration,
    /// Any other, by name and reason.
    Other { name: String, reason: String },
}

impl Predicate {
    /// Returns the name, which becomes the reason in the pod's status.
    pub fn name(&self) -> &str {
        match self {
            Self::NodeAffinity => "NodeAffinity",
            Self::NodeName => "NodeName",
            Self::NodePorts => "NodePorts",
            Self::TaintToleration => "TaintToleration",
            Self::Other { name, .. } => name,
        }
    }

    /// Returns the kubelet's message.
    pub fn reason(&self) -> &str {
        match self {
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::NodeName => "node(s) didn't match the requested node name",
            Self::NodePorts => "node(s) didn't have free ports for the requested pod ports",
            Self::TaintToleration => "node(s) had taints that the pod didn't tolerate",
            Self::Other { reason, .. } => reason,
        }
    }
}

/// Why a pod is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The node is short of something (`InsufficientResourceError`): thousandths of a CPU, bytes, pods,
    /// or whole units.
    Resource {
        resource: ResourceName,
        /// The amount that the pod requests.
        requested: i64,
        /// The amount that the other pods request.
        used: i64,
        /// The node's amount for pods.
        capacity: i64,
    },
    /// Another predicate failed.
    Predicate(Predicate),
}

impl Failure {
    /// Returns the check that fails.
    pub fn check(&self) -> CheckName {
        match self {
            Self::Resource { .. } => CheckName::Resources,
            Self::Predicate(Predicate::NodeAffinity) => CheckName::NodeAffinity,
            Self::Predicate(Predicate::NodeName) => CheckName::NodeName,
            Self::Predicate(Predicate::NodePorts) => CheckName::NodePorts,
            Self::Predicate(Predicate::TaintToleration) => CheckName::TaintToleration,
            Self::Predicate(Predicate::Other { .. }) => CheckName::Node,
        }
    }

    /// Returns the shortfall; `None`: not a resource. On an over-committed node it is more than the pod requests.
    pub fn missing(&self) -> Option<i64> {
        match self {
            Self::Resource { requested, used, capacity, .. } => {
                Some(requested.wrapping_sub(capacity.wrapping_sub(*used)))
            }
            Self::Predicate(_) => None,
        }
    }

    /// Returns the reason that identifies the failure: `Insufficient cpu`.
    pub fn reason(&self) -> String {
        match self {
            Self::Resource { resource, .. } => format!("Insufficient {resource}"),
            Self::Predicate(predicate) => predicate.reason().to_owned(),
        }
    }

    /// Returns the reason in the pod's status if this is the first failure: `OutOfcpu`.
    pub fn status_reason(&self) -> String {
        match self {
            Self::Resource { resource, .. } => format!("OutOf{resource}"),
            Self::Predicate(predicate) => predicate.name().to_owned(),
        }
    }
}

/// Returns the kubelet's message (`InsufficientResourceError.Error` in `pkg/kubelet/lifecycle/predicate.go`).
pub(crate) fn shortage(
    resource: impl fmt::Display,
    requested: i64,
    used: impl fmt::Display,
    capacity: i64,
) -> String {
    format!(
        "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, \
         capacity: {capacity}"
    )
}

impl fmt::Display for Failure {
    /// Writes the kubelet's message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource { resource, requested, used, capacity } => {
                f.write_str(&shortage(resource, *requested, used, *capacity))
            }
            Self::Predicate(predicate) => {
                write!(f, "Predicate {} failed: {}", predicate.name(), predicate.reason())
            }
        }
    }
}
