//! The checks of a pod, in the kubelet's order (`predicateAdmitHandler.Admit`).
//!
//! What the device manager decides about a pod before the predicates are asked.
//!
//! The kubelet asks its resource managers first (`GetAllocateResourcesPodAdmitHandler` stands before
//! `NewPredicateAdmitHandler` in `NewMainKubelet`, `pkg/kubelet/kubelet.go`, read in 1.36.2). A pod that gets
//! no devices is refused there, and nobody is killed for it: `HandleAdmissionFailure` belongs to the predicates.
//! For a pod with devices the node counts with at least as many of each resource as are allocated
//! (`UpdatePluginResources`, `sanitizeNodeAllocatable` of `pkg/kubelet/cm/devicemanager/manager.go`).

use super::amounts::{Amounts, RemovedRequest, remove_missing_extended_resources};
use super::explain::ResourceLedger;
use super::filter::{Failure, Filtered, Ledger, Predicate, filter};
use super::occupancy::Occupancy;
use super::reason::CheckReason;
use crate::facts::node_object::NodeObject;
use crate::k8s::feature_gates::Gate;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{OS_LABEL, OsRefusal, Pod, ResourceName};
use crate::k8s::resources::is_pod_level_set;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the answer rests on.
#[derive(Clone, Debug)]
pub struct Facts<'f> {
    /// The pods that are active on the node, without the one in question.
    pub others: &'f Occupancy<'f>,
    /// The node as the kubelet has it in its cache, or why it has none.
    pub cached: Result<&'f NodeObject, &'f str>,
    /// The node as the API server has it now, or why it cannot be had. Asked for only where the labels of
    /// the cached one alone refuse the pod.
    pub fresh: Result<&'f NodeObject, &'f str>,
    /// How many devices of each resource are allocated, where the pod has devices
    /// ([`DeviceDecision::allocated`](super::DeviceDecision)); the node counts with at least so many. Or why the
    /// device manager failed.
    pub given_devices: Result<&'f BTreeMap<ResourceName, i64>, &'f str>,
}

/// What the kubelet says of a pod that it does not take.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Refusal {
    /// The reason in the pod's status and of the event.
    pub reason: String,
    /// The message of the event; in the status it comes after `Pod was rejected: `.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into() }
    }

    pub(crate) fn by(failure: &Failure) -> Self {
        Self::new(failure.status_reason(), failure.to_string())
    }
}

/// Whether a pod is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Admitted,
    /// It is not, and this is what is said of it.
    Refused(Refusal),
    /// It is not, and one of these is said of it: which is left to a hash map.
    RefusedByOneOf(Vec<Refusal>),
}

impl Verdict {
    /// Returns what is said of a pod that is not taken; of several, one.
    pub fn refusals(self) -> Vec<Refusal> {
        match self {
            Self::Admitted => Vec::new(),
            Self::Refused(refusal) => vec![refusal],
            Self::RefusedByOneOf(refusals) => refusals,
        }
    }
}

/// What the checks said, before anybody tries to make room.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examined {
    /// What refused the pod before amounts were compared; then there are no failures.
    pub refusal: Option<Refusal>,
    /// All failures.
    pub filtered: Filtered,
    /// What was compared; `None` when the pod was refused before.
    pub ledger: Option<Ledger>,
    /// Requests that do not count.
    pub removed: Vec<RemovedRequest>,
    /// The second look was taken: at the node as the API server has it.
    pub looked_again: bool,
}

impl Examined {
    fn refused(reason: &str, message: impl Into<String>) -> Self {
        Self { refusal: Some(Refusal::new(reason, message)), ..Self::default() }
    }

    /// Returns the answer when nobody makes room.
    pub fn verdict(&self) -> Verdict {
        if let Some(refusal) = &self.refusal {
            return Verdict::Refused(refusal.clone());
        }
        let Filtered { failures, unordered } = &self.filtered;
        match failures.first() {
            None => Verdict::Admitted,
            Some(_) if unordered.start == 0 && unordered.len() > 1 => {
                let first = failures.get(unordered.clone()).unwrap_or_default();
                Verdict::RefusedByOneOf(first.iter().map(Refusal::by).collect())
            }
            Some(first) => Verdict::Refused(Refusal::by(first)),
        }
    }
}

/// Examines a pod.
pub fn examine(pod: &Pod, facts: &Facts<'_>, rules: &KubeletRules) -> Examined {
    let Ok(node) = facts.cached else {
        return Examined::refused("InvalidNodeInfo", "Kubelet cannot get node info.");
    };
    if let Some(refusal) = unfit(pod, node, rules) {
        return Examined { refusal: Some(refusal), ..Examined::default() };
    }
    let labels = with_os_label(&node.metadata.labels);
    let mut allocatable = Amounts::of(&node.status.allocatable);
    let unexpected = |cause: &str| {
        let message =
            format!("Update plugin resources failed due to {cause}, which is unexpected.");
        Refusal::new("UnexpectedAdmissionError", message)
    };
    let refusal = match facts.given_devices {
        Ok(given) => {
            for (name, given) in given {
                let has = allocatable.scalars.entry(name.clone()).or_default();
                *has = (*has).max(*given);
            }
            None
        }
        Err(cause) => Some(unexpected(cause)),
    };
    let (counted, removed) = match refusal {
        Some(_) => (Cow::Borrowed(pod), Vec::new()),
        None => remove_missing_extended_resources(pod, &allocatable, rules),
    };
    let ledger = Ledger::new(&counted, facts.others, allocatable, rules);
    if refusal.is_some() {
        return Examined { refusal, ledger: Some(ledger), ..Examined::default() };
    }
    let filtered = filter(&counted, facts.others, node, &labels, &ledger, rules);
    let mut examined = Examined { filtered, ledger: Some(ledger), removed, ..Examined::default() };
    let failures = &examined.filtered.failures;
    let only_labels = !failures.is_empty()
        && failures.iter().all(|it| *it == Failure::Predicate(Predicate::NodeAffinity));
    if only_labels && rules.looks_at_fresh_node() {
        examined.looked_again = true;
        if let Ok(fresh) = facts.fresh {
            let allocatable = Amounts::of(&fresh.status.allocatable);
            let ledger = Ledger::new(&counted, facts.others, allocatable, rules);
            let labels = &fresh.metadata.labels;
            examined.filtered = filter(&counted, facts.others, fresh, labels, &ledger, rules);
            examined.ledger = Some(ledger);
        }
    }
    examined
}

/// Returns why a pod is refused after others were killed for it (`podFeaturesAdmitHandler`,
/// `pkg/kubelet/lifecycle/handlers.go`): it has resources of its own as a whole, and the gate is off.
pub fn refused_after_all(pod: &Pod, rules: &KubeletRules) -> Option<Refusal> {
    let is_on = rules.gates.enabled(Gate::PodLevelResources);
    let has_own = pod
        .spec
        .resources
        .as_ref()
        .is_some_and(|own| is_pod_level_set(own, false, !rules.pod_level_hugepages()));
    (has_own && !is_on).then(|| {
        Refusal::new("PodLevelResourcesNotSupported", "PodLevelResources feature gate is disabled")
    })
}

/// Returns why a pod is not for such a node at all.
fn unfit(pod: &Pod, node: &NodeObject, rules: &KubeletRules) -> Option<Refusal> {
    if let Some(OsRefusal { reason, message, .. }) = OsRefusal::of(pod) {
        return Some(Refusal::new(reason, message));
    }
    let groups = pod.spec.security_context.as_ref();
    let groups = groups.and_then(|context| context.supplemental_groups_policy.as_deref());
    if rules.refuses_strict_groups()
        && groups == Some("Strict")
        && node.status.features.and_then(|has| has.supplemental_groups_policy) != Some(true)
    {
        return Some(Refusal::new(
            "SupplementalGroupsPolicyNotSupported",
            "SupplementalGroupsPolicy=Strict is not supported in this node",
        ));
    }
    let sidecar = pod.spec.init_containers.iter().find(|container| container.restarts_always());
    if let Some(sidecar) = sidecar
        && !rules.gates.enabled(Gate::SidecarContainers)
    {
        let name = &sidecar.name;
        return Some(Refusal::new(
            "InitContainerRestartPolicyForbidden",
            format!("Init container {name:?} may not have a non-default restartPolicy"),
        ));
    }
    None
}

/// Returns the labels as the kubelet sees them once it admits pods: a node that has labels has the right
/// one for its system.
pub(super) fn with_os_label(
    labels: &BTreeMap<String, String>,
) -> Cow<'_, BTreeMap<String, String>> {
    if labels.is_empty() || labels.get(OS_LABEL).is_some_and(|os| os == "linux") {
        return Cow::Borrowed(labels);
    }
    let mut labels = labels.clone();
    labels.insert(OS_LABEL.to_owned(), "linux".to_owned());
    Cow::Owned(labels)
}

/// What the device manager decides about a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceDecision {
    /// What is said of a pod that it refuses.
    pub refusal: Option<Refusal>,
    /// Why, or why not.
    pub because: CheckReason,
    /// How many devices of each resource are allocated, where the pod has some; else nothing.
    pub allocated: BTreeMap<ResourceName, i64>,
}

impl DeviceDecision {
    /// Returns the check that comes before the predicates.
    pub fn check(&self) -> ResourceLedger {
        ResourceLedger {
            check: "devices",
            refusals: self.refusal.iter().cloned().collect(),
            because: self.because.clone(),
        }
    }
}
