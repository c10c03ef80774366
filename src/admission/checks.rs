//! The checks of a pod one by one, each with its reason in words.

use super::derivation::shown;
use super::examine::{Examined, Facts, refused_after_all, with_os_label};
use super::explain::{ResourceLedger, qualified, refused_before};
use super::filter::{Failure, Ledger};
use super::placement::{first_conflict, first_unmet, host_ports, untolerated_taint};
use super::report::{Check, CheckResult};
use crate::facts::node_object::NodeObject;
use crate::k8s::feature_gates::Gate;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{OS_LABEL, Pod, ResourceName};
use crate::k8s::priority::is_static_pod;

/// The checks before amounts are compared, in their order; a refusal names the first that fails.
const EARLY: [(&str, &str); 5] = [
    ("node", "InvalidNodeInfo"),
    ("osLabel", "PodOSSelectorNodeLabelDoesNotMatch"),
    ("os", "PodOSNotSupported"),
    ("supplementalGroups", "SupplementalGroupsPolicyNotSupported"),
    ("sidecars", "InitContainerRestartPolicyForbidden"),
];

/// What the general filter asks, in its order.
const LATE: [&str; 6] =
    ["devicePlugins", "resources", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration"];

/// Returns every check with its reason; `before` are those that come before the predicates, in their order.
pub(super) fn checks(
    pod: &Pod,
    examined: &Examined,
    before: &[ResourceLedger],
    facts: &Facts<'_>,
    rules: &KubeletRules,
) -> Vec<Check> {
    let refused_before = refused_before(before).and_then(<[_]>::first);
    let refused_by = refused_before.or(examined.refusal.as_ref());
    let refused_by = refused_by.map(|refusal| refusal.reason.as_str());
    let mut over = false;
    let mut checks = Vec::new();
    let mut add = |check, fails: bool, because: String| {
        let result = match (over, fails) {
            (true, _) => CheckResult::Skipped,
            (false, true) => CheckResult::Fail,
            (false, false) => CheckResult::Pass,
        };
        let because = if over { "refused before".to_owned() } else { because };
        checks.push(Check { check, result, because });
        over |= fails && refused_by.is_some();
    };
    for it in before {
        add(it.check, !it.refusals.is_empty(), it.because.clone());
    }
    for (check, reason) in EARLY {
        let has_rule = match check {
            "supplementalGroups" => rules.refuses_strict_groups(),
            "sidecars" => !rules.gates.enabled(Gate::SidecarContainers),
            _ => true,
        };
        if has_rule {
            add(check, refused_by == Some(reason), early(check, pod, facts));
        }
    }
    for check in LATE {
        let because = late(check, pod, examined, facts, rules);
        let fails = match check {
            "devicePlugins" => facts.given_devices.is_err(),
            "resources" => {
                examined.filtered.failures.iter().any(|it| matches!(it, Failure::Resource { .. }))
            }
            name => {
                examined.filtered.failures.iter().any(
                    |it| matches!(it, Failure::Predicate(predicate) if predicate.name() == name),
                )
            }
        };
        add(check, fails, because);
    }
    if !rules.gates.enabled(Gate::PodLevelResources) {
        let fails = refused_after_all(pod, rules).is_some();
        let because = match fails {
            true => "the pod as a whole has resources, and PodLevelResources is off",
            false => "the pod as a whole has no resources of its own",
        };
        add("podLevelResources", fails, because.to_owned());
    }
    checks
}

fn early(check: &str, pod: &Pod, facts: &Facts<'_>) -> String {
    match (check, facts.cached) {
        ("node", Ok(node)) => format!("the kubelet knows node {}", node.metadata.name),
        ("node", Err(error)) => error.to_owned(),
        ("osLabel", _) => match &pod.metadata.labels.os {
            None => format!("the pod has no label {OS_LABEL}"),
            Some(os) => format!("the pod's label {OS_LABEL} is {os:?}, the kubelet runs on linux"),
        },
        ("os", _) => match &pod.spec.os {
            None => "spec.os is not set".to_owned(),
            Some(os) => format!("spec.os.name is {:?}, the kubelet runs on linux", os.name),
        },
        ("supplementalGroups", node) => {
            let context = pod.spec.security_context.as_ref();
            let policy = context.and_then(|it| it.supplemental_groups_policy.as_deref());
            let has = node.ok().and_then(|it| it.status.features);
            let has = has.and_then(|it| it.supplemental_groups_policy) == Some(true);
            let has = if has { "has" } else { "does not have" };
            match policy {
                Some("Strict") => format!("Strict is wanted; the runtime {has} it"),
                _ => "Strict is not wanted".to_owned(),
            }
        }
        _ => {
            let mut init = pod.spec.init_containers.iter();
            match init.find(|container| container.restarts_always()) {
                Some(sidecar) => {
                    format!("{} restarts always, and SidecarContainers is off", sidecar.name)
                }
                None => "no init container restarts always".to_owned(),
            }
        }
    }
}

fn late(
    check: &str,
    pod: &Pod,
    examined: &Examined,
    facts: &Facts<'_>,
    rules: &KubeletRules,
) -> String {
    let (Ok(cached), Some(ledger)) = (facts.cached, &examined.ledger) else {
        return facts.given_devices.err().unwrap_or_default().to_owned();
    };
    let node = match facts.fresh {
        Ok(fresh) if examined.looked_again => fresh,
        _ => cached,
    };
    match check {
        "devicePlugins" => match facts.given_devices {
            Err(error) => error.to_owned(),
            Ok(given) => raised(given, cached),
        },
        "resources" => shortages(examined, ledger),
        "NodeAffinity" => {
            let labels = with_os_label(&node.metadata.labels);
            let labels =
                if examined.looked_again { &node.metadata.labels } else { labels.as_ref() };
            let again = match examined.looked_again {
                true => "; asked for the node once more, as only its labels were wrong",
                false => "",
            };
            let unmet = first_unmet(pod, &node.metadata.name, labels);
            unmet.unwrap_or_else(|| wanted(pod)) + again
        }
        "NodeName" => match pod.spec.node_name.as_str() {
            "" => "spec.nodeName is not set".to_owned(),
            name => format!("spec.nodeName is {name}, the node is {}", node.metadata.name),
        },
        "NodePorts" => match first_conflict(pod, facts.others) {
            Some((port, other)) => format!(
                "{}/{} on {} is taken by {}",
                port.port,
                port.protocol,
                port.address,
                qualified(other)
            ),
            None => match host_ports(pod).count() {
                0 => "no port of the node is wanted".to_owned(),
                1 => "the port of the node is free".to_owned(),
                count => format!("{count} ports of the node are free"),
            },
        },
        _ if is_static_pod(pod) => "a static pod bears every taint".to_owned(),
        _ => match untolerated_taint(pod, node, rules) {
            Some(taint) => {
                let value = match taint.value.as_str() {
                    "" => String::new(),
                    value => format!("={value}"),
                };
                format!("{}{value}:{} is not tolerated", taint.key, taint.effect)
            }
            None => match node.spec.taints.iter().filter(|it| it.effect == "NoExecute").count() {
                0 => "the node has no taint NoExecute".to_owned(),
                count => format!("the {count} taints NoExecute of the node are tolerated"),
            },
        },
    }
}

fn wanted(pod: &Pod) -> String {
    let affinity = pod.spec.affinity.as_ref().and_then(|it| it.node_affinity.as_ref());
    match (pod.spec.node_selector.len(), affinity.and_then(|it| it.required.as_ref())) {
        (0, None) => "it asks for no labels of the node".to_owned(),
        _ => "the node has the labels that are required".to_owned(),
    }
}

fn raised(given: &std::collections::BTreeMap<ResourceName, i64>, node: &NodeObject) -> String {
    let has = |name: &ResourceName| node.status.allocatable.get(name).map_or(0, |it| it.value());
    let raised: Vec<String> = given
        .iter()
        .filter(|(name, given)| **given > has(name))
        .map(|(name, given)| format!("{name} counts as {given}, so many are given away already"))
        .collect();
    match raised.is_empty() {
        true if given.is_empty() => "nothing is known of devices that are given away".to_owned(),
        true => "no more devices are given away than the node has".to_owned(),
        false => raised.join("; "),
    }
}

fn shortages(examined: &Examined, ledger: &Ledger) -> String {
    let short: Vec<String> = examined
        .filtered
        .failures
        .iter()
        .filter_map(|failure| match failure {
            Failure::Resource { resource, requested, used, capacity } => {
                let show = |amount| shown(resource, amount);
                Some(format!(
                    "{resource}: {} > {} = {} - {}",
                    show(*requested),
                    show(capacity.wrapping_sub(*used)),
                    show(*capacity),
                    show(*used)
                ))
            }
            Failure::Predicate(_) => None,
        })
        .collect();
    match short.is_empty() {
        true if ledger.requested.is_nothing() => "nothing is requested but a place".to_owned(),
        true => "enough of all that is requested".to_owned(),
        false => short.join("; "),
    }
}
