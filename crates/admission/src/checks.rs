//! The checks of a pod one by one, each with its reason.

use super::examine::{Examined, Facts, refused_after_all, with_os_label};
use super::explain::{EarlierCheck, qualified, refused_before};
use super::filter::{Failure, Ledger};
use super::placement::{counted_host_ports, first_conflict, first_unmet, untolerated_taint};
use super::reason::{CheckReason, ShortReason};
use super::report::{Check, CheckName, CheckResult};
use kq_facts::node_object::NodeObject;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::priority::is_static_pod;
use std::collections::BTreeMap;

/// The checks before amounts are compared, in their order; a refusal names the first that fails.
const EARLY: [CheckName; 5] = [
    CheckName::Node,
    CheckName::OsLabel,
    CheckName::Os,
    CheckName::SupplementalGroups,
    CheckName::Sidecars,
];

/// The predicates of the general filter, in its order.
const LATE: [CheckName; 6] = [
    CheckName::DevicePlugins,
    CheckName::Resources,
    CheckName::NodeAffinity,
    CheckName::NodeName,
    CheckName::NodePorts,
    CheckName::TaintToleration,
];

/// Returns every check with its reason; `before` are the checks before the predicates, in their order.
pub(super) fn checks(
    pod: &Pod,
    examined: &Examined,
    before: &[EarlierCheck],
    facts: &Facts<'_>,
    rules: &KubeletRules,
) -> Vec<Check> {
    let refused_before = refused_before(before).and_then(<[_]>::first);
    let refused_by = refused_before.or(examined.refusal.as_ref());
    let refused_by = refused_by.map(|refusal| refusal.check);
    let mut over = false;
    let mut checks = Vec::new();
    let mut add = |check, fails: bool, because: CheckReason| {
        let result = match (over, fails) {
            (true, _) => CheckResult::Skipped,
            (false, true) => CheckResult::Fail,
            (false, false) if because.is_unknown() => CheckResult::Unknown,
            (false, false) => CheckResult::Pass,
        };
        let because = if over { CheckReason::RefusedBefore } else { because }.into();
        checks.push(Check { check, result, because });
        over |= fails && refused_by.is_some();
    };
    for it in before {
        add(it.check, !it.refusals.is_empty(), it.because.clone());
    }
    for check in EARLY {
        let has_rule = match check {
            CheckName::SupplementalGroups => rules.refuses_strict_groups(),
            CheckName::Sidecars => !rules.gates.enabled(Gate::SidecarContainers),
            _ => true,
        };
        if has_rule {
            add(check, refused_by == Some(check), early(check, pod, facts));
        }
    }
    for check in LATE {
        let because = late(check, pod, examined, facts, rules);
        let fails = match check {
            CheckName::DevicePlugins => facts.allocated_devices.is_err(),
            check => examined.filtered.failures.iter().any(|it| it.check() == check),
        };
        add(check, fails, because);
    }
    if !rules.gates.enabled(Gate::PodLevelResources) && rules.refuses_pod_level_resources() {
        let fails = refused_after_all(pod, rules).is_some();
        let because = match fails {
            true => CheckReason::PodLevelResourcesOff,
            false => CheckReason::NoPodLevelResources,
        };
        add(CheckName::PodLevelResources, fails, because);
    }
    checks
}

fn early(check: CheckName, pod: &Pod, facts: &Facts<'_>) -> CheckReason {
    match (check, facts.cached) {
        (CheckName::Node, Ok(node)) => CheckReason::Node { node: node.metadata.name.clone() },
        (CheckName::Node, Err(error)) => CheckReason::NodeUnknown { error: error.to_owned() },
        (CheckName::OsLabel, _) => match pod.metadata.labels.os() {
            None => CheckReason::NoOsLabel,
            Some(os) => CheckReason::OsLabel { os: os.to_owned() },
        },
        (CheckName::Os, _) => match &pod.spec.os {
            None => CheckReason::NoOs,
            Some(os) => CheckReason::Os { os: os.name.clone() },
        },
        (CheckName::SupplementalGroups, node) => {
            let context = pod.spec.security_context.as_ref();
            let policy = context.and_then(|it| it.supplemental_groups_policy.as_deref());
            let features = node.ok().and_then(|it| it.status.features);
            let has = features.and_then(|it| it.supplemental_groups_policy);
            match policy {
                Some("Strict") => CheckReason::StrictGroups { is_supported: has == Some(true) },
                _ => CheckReason::NoStrictGroups,
            }
        }
        _ => {
            let mut init = pod.spec.init_containers.iter();
            match init.find(|container| container.restarts_always()) {
                Some(sidecar) => CheckReason::SidecarsOff { container: sidecar.name.clone() },
                None => CheckReason::NoSidecars,
            }
        }
    }
}

fn late(
    check: CheckName,
    pod: &Pod,
    examined: &Examined,
    facts: &Facts<'_>,
    rules: &KubeletRules,
) -> CheckReason {
    let (Ok(cached), Some(ledger)) = (facts.cached, &examined.ledger) else {
        let error = facts.allocated_devices.err().unwrap_or_default().to_owned();
        return CheckReason::DevicesUnknown { error };
    };
    let read_again = examined.looked_again;
    let node = match facts.fresh {
        Ok(fresh) if read_again => fresh,
        _ => cached,
    };
    match check {
        CheckName::DevicePlugins => match facts.allocated_devices {
            Err(error) => CheckReason::DevicesUnknown { error: error.to_owned() },
            Ok(given) => more_allocated(given, cached),
        },
        CheckName::Resources => shortages(examined, ledger),
        CheckName::NodeAffinity => {
            let labels = with_os_label(&node.metadata.labels);
            let labels = if read_again { &node.metadata.labels } else { labels.as_ref() };
            match first_unmet(pod, &node.metadata.name, labels) {
                Some(unmet) => CheckReason::LabelsMissing { unmet, read_again },
                None if requires_labels(pod) => CheckReason::Labels { read_again },
                None => CheckReason::NoLabels { read_again },
            }
        }
        CheckName::NodeName => match pod.spec.node_name.as_str() {
            "" => CheckReason::NoNodeName,
            name => CheckReason::NodeName {
                node_name: name.to_owned(),
                node: node.metadata.name.clone(),
            },
        },
        CheckName::NodePorts => match first_conflict(pod, facts.others, rules) {
            Some((port, other)) => CheckReason::HostPortTaken {
                port: port.port.into(),
                protocol: port.protocol.to_owned(),
                address: port.address.to_owned(),
                pod: qualified(other),
            },
            None => CheckReason::HostPortsFree { ports: counted_host_ports(pod, rules).count() },
        },
        _ if is_static_pod(pod) => CheckReason::StaticPod,
        _ => match untolerated_taint(pod, node, rules) {
            Some(taint) => CheckReason::Taint {
                key: taint.key.clone(),
                value: taint.value.clone(),
                effect: taint.effect.clone(),
            },
            None => CheckReason::TaintsTolerated {
                taints: node.spec.taints.iter().filter(|it| it.effect == "NoExecute").count(),
            },
        },
    }
}

fn requires_labels(pod: &Pod) -> bool {
    let affinity = pod.spec.affinity.as_ref().and_then(|it| it.node_affinity.as_ref());
    !pod.spec.node_selector.is_empty() || affinity.is_some_and(|it| it.required.is_some())
}

fn more_allocated(given: &BTreeMap<ResourceName, i64>, node: &NodeObject) -> CheckReason {
    let has = |name: &ResourceName| node.status.allocatable.get(name).map_or(0, |it| it.value());
    let more = given.iter().filter(|(name, given)| **given > has(name));
    let allocated: BTreeMap<String, i64> =
        more.map(|(name, given)| (name.to_string(), *given)).collect();
    match allocated.is_empty() {
        true if given.is_empty() => CheckReason::AllocatedUnknown,
        true => CheckReason::AllocatedWithinNode,
        false => CheckReason::MoreAllocated { allocated },
    }
}

fn shortages(examined: &Examined, ledger: &Ledger) -> CheckReason {
    let short = |failure: &Failure| match failure {
        Failure::Resource { resource, requested, used, capacity } => Some(ShortReason {
            resource: resource.to_string(),
            requested: *requested,
            used: *used,
            allocatable: *capacity,
        }),
        Failure::Predicate(_) => None,
    };
    let shortages: Vec<_> = examined.filtered.failures.iter().filter_map(short).collect();
    match shortages.is_empty() {
        true if ledger.requested.is_nothing() => CheckReason::NothingRequested,
        true => CheckReason::Enough,
        false => CheckReason::Short { shortages },
    }
}
