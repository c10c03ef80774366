//! The checks of a pod, in the kubelet's order (`predicateAdmitHandler.Admit`).
//!
//! The device manager's decision about a pod before the predicates run.
//!
//! The kubelet runs its resource managers first (`GetAllocateResourcesPodAdmitHandler` stands before
//! `NewPredicateAdmitHandler` in `NewMainKubelet`, `pkg/kubelet/kubelet.go`, read in 1.36.2). A pod that gets
//! no devices is refused there, without preemption: `HandleAdmissionFailure` belongs to the predicates.
//! For a pod with devices the node counts with at least as many of each resource as are allocated
//! (`UpdatePluginResources`, `sanitizeNodeAllocatable` of `pkg/kubelet/cm/devicemanager/manager.go`).

use super::amounts::{RemovedRequest, remove_missing_extended_resources};
use super::explain::EarlierCheck;
use super::filter::{Failure, Filtered, Ledger, Predicate, filter};
use super::occupancy::Occupancy;
use super::reason::CheckReason;
use super::report::CheckName;
use kq_facts::node_object::NodeObject;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{OS_LABEL, OsRefusal, Pod, ResourceName};
use kq_k8s::resources::is_pod_level_set;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The facts behind an answer.
#[derive(Clone, Debug)]
pub struct Facts<'f> {
    /// The pods that are active on the node, without the one in question.
    pub others: &'f Occupancy<'f>,
    /// The node in the kubelet's cache, or why it has none.
    pub cached: Result<&'f NodeObject, &'f str>,
    /// The node in the API server, or why it is unknown. Read only where the labels of the cached one alone refuse
    /// the pod.
    pub fresh: Result<&'f NodeObject, &'f str>,
    /// How many devices of each resource are allocated, where the pod has devices
    /// ([`DeviceDecision::allocated`](super::DeviceDecision)); the node counts with at least so many. Or why the
    /// device manager failed.
    pub allocated_devices: Result<&'f BTreeMap<ResourceName, i64>, &'f str>,
}

/// The refusal of a pod.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Refusal {
    /// The check that fails.
    #[serde(skip)]
    pub check: CheckName,
    /// The reason in the pod's status and of the event.
    pub reason: String,
    /// The message of the event; in the status it comes after `Pod was rejected: `.
    pub message: String,
}

impl Refusal {
    pub fn new(check: CheckName, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { check, reason: reason.into(), message: message.into() }
    }

    /// Returns the refusal of a static pod of whose manifest the kubelet makes no pod: the kubelet's log has the message, and
    /// there is no status with a reason.
    pub fn of_manifest(message: impl Into<String>) -> Self {
        Self::new(CheckName::Manifest, "manifest", message)
    }

    pub(crate) fn by(failure: &Failure) -> Self {
        Self::new(failure.check(), failure.status_reason(), failure.to_string())
    }
}

/// Whether a pod is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    Refused(Refusal),
    /// It is refused with one of these, by the order of a hash map.
    RefusedByOneOf(Vec<Refusal>),
}

impl Verdict {
    /// Returns the refusal; of several, one.
    pub fn refusals(self) -> Vec<Refusal> {
        match self {
            Self::Admitted => Vec::new(),
            Self::Refused(refusal) => vec![refusal],
            Self::RefusedByOneOf(refusals) => refusals,
        }
    }
}

/// The results of the checks before a preemption.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examined {
    /// The refusal before amounts were compared; then there are no failures.
    pub refusal: Option<Refusal>,
    /// All failures.
    pub filtered: Filtered,
    /// The compared amounts; `None`: the pod was refused before.
    pub ledger: Option<Ledger>,
    /// Requests that do not count.
    pub removed: Vec<RemovedRequest>,
    /// The node was read again, from the API server.
    pub looked_again: bool,
}

impl Examined {
    fn refused(refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..Self::default() }
    }

    /// Returns the answer without a preemption.
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
        let message = "Kubelet cannot get node info.";
        return Examined::refused(Refusal::new(CheckName::Node, "InvalidNodeInfo", message));
    };
    if let Some(refusal) = unfit(pod, node, rules) {
        return Examined::refused(refusal);
    }
    let labels = with_os_label(&node.metadata.labels);
    let unexpected = |cause: &str| {
        let message =
            format!("Update plugin resources failed due to {cause}, which is unexpected.");
        Refusal::new(CheckName::DevicePlugins, "UnexpectedAdmissionError", message)
    };
    let (given, refusal) = match facts.allocated_devices {
        Ok(given) => (given, None),
        Err(cause) => (const { &BTreeMap::new() }, Some(unexpected(cause))),
    };
    let allocatable = &node.status.allocatable;
    let on_node = |name: &ResourceName| allocatable.contains(name) || given.contains_key(name);
    let (counted, removed) = match refusal {
        Some(_) => (Cow::Borrowed(pod), Vec::new()),
        None => remove_missing_extended_resources(pod, on_node, rules),
    };
    let ledger = Ledger::new(&counted, facts.others, allocatable, given, rules);
    if refusal.is_some() {
        return Examined { refusal, ledger: Some(ledger), ..Examined::default() };
    }
    let filtered = filter(&counted, facts.others, node, &labels, &ledger, rules);
    let mut examined = Examined { filtered, ledger: Some(ledger), removed, ..Examined::default() };
    let failures = &examined.filtered.failures;
    let only_labels = !failures.is_empty()
        && failures.iter().all(|it| *it == Failure::Predicate(Predicate::NodeAffinity));
    if only_labels && rules.reads_node_again() {
        examined.looked_again = true;
        if let Ok(fresh) = facts.fresh {
            let allocatable = &fresh.status.allocatable;
            let none = BTreeMap::new();
            let ledger = Ledger::new(&counted, facts.others, allocatable, &none, rules);
            let labels = &fresh.metadata.labels;
            examined.filtered = filter(&counted, facts.others, fresh, labels, &ledger, rules);
            examined.ledger = Some(ledger);
        }
    }
    examined
}

/// Returns the refusal of a pod after a preemption (`podFeaturesAdmitHandler`,
/// `pkg/kubelet/lifecycle/handlers.go`): it has pod-level resources, and the gate is off.
pub fn refused_after_all(pod: &Pod, rules: &KubeletRules) -> Option<Refusal> {
    let is_on = rules.gates.enabled(Gate::PodLevelResources);
    let has_own = pod
        .spec
        .resources
        .as_ref()
        .is_some_and(|own| is_pod_level_set(own, false, !rules.pod_level_hugepages()));
    (has_own && !is_on && rules.refuses_pod_level_resources()).then(|| {
        Refusal::new(
            CheckName::PodLevelResources,
            "PodLevelResourcesNotSupported",
            "PodLevelResources feature gate is disabled",
        )
    })
}

/// Returns why a pod cannot run on such a node at all.
fn unfit(pod: &Pod, node: &NodeObject, rules: &KubeletRules) -> Option<Refusal> {
    if let Some(OsRefusal { is_of_label, reason, message, .. }) = OsRefusal::of(pod) {
        let check = if is_of_label { CheckName::OsLabel } else { CheckName::Os };
        return Some(Refusal::new(check, reason, message));
    }
    let groups = pod.spec.security_context.as_ref();
    let groups = groups.and_then(|context| context.supplemental_groups_policy.as_deref());
    if rules.refuses_strict_groups()
        && groups == Some("Strict")
        && node.status.features.and_then(|has| has.supplemental_groups_policy) != Some(true)
    {
        return Some(Refusal::new(
            CheckName::SupplementalGroups,
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
            CheckName::Sidecars,
            "InitContainerRestartPolicyForbidden",
            format!("Init container {name:?} may not have a non-default restartPolicy"),
        ));
    }
    None
}

/// Returns the labels as the kubelet has them once it admits pods: a node with labels has the right one for
/// its system.
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

/// The device manager's decision about a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceDecision {
    pub refusal: Option<Refusal>,
    pub because: CheckReason,
    /// How many devices of each resource are allocated; nothing for a pod without devices.
    pub allocated: BTreeMap<ResourceName, i64>,
}

impl DeviceDecision {
    /// Returns the check before the predicates.
    pub fn check(&self) -> EarlierCheck {
        EarlierCheck {
            check: CheckName::Devices,
            refusals: self.refusal.iter().cloned().collect(),
            because: self.because.clone(),
        }
    }
}
