//! Whether a node matches the pod's requirements, and whether the pod tolerates its taints.
//!
//! Mirrors `GetRequiredNodeAffinity` of
//! `staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity`, `Requirement.Matches` of
//! `staging/src/k8s.io/apimachinery/pkg/labels` and `FindMatchingUntoleratedTaint` of
//! `component-helpers/scheduling/corev1`, read in 1.36.2.
//!
//! Host ports.
//!
//! Mirrors `Fits` of `pkg/scheduler/framework/plugins/nodeports` and `HostPortInfo` of
//! `staging/src/k8s.io/kube-scheduler/framework`, read in 1.36.2.

use super::occupancy::Occupancy;
use kq_facts::node_object::{NodeObject, NodeTaint};
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ContainerPort, NodeSelectorRequirement, NodeSelectorTerm, Pod, TaintRules};
use kq_k8s::validation::{is_label_value, is_qualified_name};
use std::collections::BTreeMap;

/// Returns the first requirement of the pod on labels and name that the node does not meet; `None`: it meets
/// all.
pub fn first_unmet(pod: &Pod, name: &str, labels: &BTreeMap<String, String>) -> Option<String> {
    let has = |key: &str| match labels.get(key) {
        Some(value) => format!("the node has {value:?}"),
        None => "the node does not have the label".to_owned(),
    };
    let mut wanted = pod.spec.node_selector.iter();
    if let Some((key, value)) = wanted.find(|(key, value)| labels.get(*key) != Some(*value)) {
        return Some(format!("nodeSelector {key}={value}: {}", has(key)));
    }
    let affinity = pod.spec.affinity.as_ref().and_then(|it| it.node_affinity.as_ref());
    let terms = &affinity.and_then(|it| it.required.as_ref())?.node_selector_terms;
    if terms.iter().any(|term| term_matches(term, name, labels)) {
        return None;
    }
    Some(match terms.as_slice() {
        [] => "nodeAffinity has no terms, so no node matches".to_owned(),
        [term] => format!("nodeAffinity: {}", why_not(term, name, labels)),
        [term, others @ ..] => format!(
            "nodeAffinity: none of {} terms matches; the first: {}",
            others.len() + 1,
            why_not(term, name, labels)
        ),
    })
}

/// Returns why a term does not match.
fn why_not(term: &NodeSelectorTerm, name: &str, labels: &BTreeMap<String, String>) -> String {
    let text = |it: &NodeSelectorRequirement| match it.values.is_empty() {
        true => format!("{} {}", it.key, it.operator),
        false => format!("{} {} [{}]", it.key, it.operator, it.values.join(", ")),
    };
    let (expressions, fields) = (&term.match_expressions, &term.match_fields);
    let mut odd = expressions.iter().filter(|it| !is_valid_expression(it));
    let mut odd_fields = fields.iter().filter(|it| !is_valid_field(it));
    if let Some(odd) = odd.next().or_else(|| odd_fields.next()) {
        return format!("{} is not valid, so no node matches", text(odd));
    }
    if let Some(unmet) = expressions.iter().find(|it| !expression_holds(it, labels.get(&it.key))) {
        return match labels.get(&unmet.key) {
            Some(value) => format!("{}: the node has {value:?}", text(unmet)),
            None => format!("{}: the node does not have the label", text(unmet)),
        };
    }
    match fields.iter().find(|it| !field_holds(it, name)) {
        Some(unmet) => format!("{}: the node is {name}", text(unmet)),
        None => "the term is empty, so no node matches".to_owned(),
    }
}

/// A term without requirements, or with one that is not valid, matches no node.
fn term_matches(term: &NodeSelectorTerm, name: &str, labels: &BTreeMap<String, String>) -> bool {
    let (expressions, fields) = (&term.match_expressions, &term.match_fields);
    let has_any = !expressions.is_empty() || !fields.is_empty();
    let valid = expressions.iter().all(is_valid_expression) && fields.iter().all(is_valid_field);
    has_any
        && valid
        && expressions.iter().all(|it| expression_holds(it, labels.get(&it.key)))
        // A node without a name has no fields, and no requirement on them applies.
        && (name.is_empty() || fields.iter().all(|it| field_holds(it, name)))
}

fn is_valid_field(requirement: &NodeSelectorRequirement) -> bool {
    matches!(requirement.operator.as_str(), "In" | "NotIn") && requirement.values.len() == 1
}

fn field_holds(requirement: &NodeSelectorRequirement, name: &str) -> bool {
    let value = if requirement.key == "metadata.name" { name } else { "" };
    requirement.values.iter().any(|wanted| wanted == value) == (requirement.operator == "In")
}

fn is_valid_expression(requirement: &NodeSelectorRequirement) -> bool {
    let values = &requirement.values;
    let enough = match requirement.operator.as_str() {
        "In" | "NotIn" => !values.is_empty(),
        "Exists" | "DoesNotExist" => values.is_empty(),
        "Gt" | "Lt" => values.len() == 1 && values.iter().all(|value| integer(value).is_some()),
        _ => false,
    };
    enough && is_qualified_name(&requirement.key) && values.iter().all(|it| is_label_value(it))
}

fn expression_holds(requirement: &NodeSelectorRequirement, have: Option<&String>) -> bool {
    let listed = |have: &String| requirement.values.contains(have);
    match requirement.operator.as_str() {
        "In" => have.is_some_and(listed),
        "NotIn" => !have.is_some_and(listed),
        "Exists" => have.is_some(),
        "DoesNotExist" => have.is_none(),
        operator => {
            let number = |text: Option<&String>| text.and_then(|text| integer(text));
            match (number(have), number(requirement.values.first())) {
                (Some(have), Some(bound)) if operator == "Gt" => have > bound,
                (Some(have), Some(bound)) => have < bound,
                _ => false,
            }
        }
    }
}

/// Reads a number as Go's `strconv.ParseInt` does in base 10, which takes a sign.
fn integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Returns the first taint with the effect `NoExecute` that the pod does not tolerate. Other effects do not keep
/// a pod from running.
pub fn untolerated_taint<'n>(
    pod: &Pod,
    node: &'n NodeObject,
    rules: &KubeletRules,
) -> Option<&'n NodeTaint> {
    let comparison_operators = rules.gates.enabled(Gate::TaintTolerationComparisonOperators);
    let rules = TaintRules { comparison_operators };
    node.spec.taints.iter().filter(|taint| taint.effect == "NoExecute").find(|taint| {
        let taint = taint.as_taint();
        !pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint, rules))
    })
}

/// A host port of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort<'p> {
    /// The number.
    pub port: i32,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: &'p str,
    /// The address; `0.0.0.0` for all.
    pub address: &'p str,
}

const EVERY_ADDRESS: &str = "0.0.0.0";

/// Returns the host ports of a pod: those of its containers and sidecars.
pub fn host_ports(pod: &Pod) -> impl Iterator<Item = HostPort<'_>> {
    ports(pod, true)
}

/// Returns the host ports of a pod that the kubelet counts.
pub fn counted_host_ports<'p>(
    pod: &'p Pod,
    rules: &KubeletRules,
) -> impl Iterator<Item = HostPort<'p>> {
    ports(pod, rules.counts_host_ports_of_sidecars())
}

fn ports(pod: &Pod, with_sidecars: bool) -> impl Iterator<Item = HostPort<'_>> {
    let init = pod.spec.init_containers.iter();
    let sidecars = init.filter(move |container| with_sidecars && container.restarts_always());
    let ports = pod.spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    ports.filter(|port| port.host_port > 0).map(|port: &ContainerPort| HostPort {
        port: port.host_port,
        protocol: if port.protocol.is_empty() { "TCP" } else { &port.protocol },
        address: if port.host_ip.is_empty() { EVERY_ADDRESS } else { &port.host_ip },
    })
}

/// Returns the first host port of a pod that another pod has: of one number and protocol, on one address,
/// or where either has all addresses.
pub fn first_conflict<'p>(
    pod: &'p Pod,
    others: &Occupancy<'p>,
    rules: &KubeletRules,
) -> Option<(HostPort<'p>, &'p Pod)> {
    if !rules.counts_host_ports_of_sidecars() {
        return counted_host_ports(pod, rules).find_map(|want| {
            let meets = |have: HostPort<'_>| {
                (have.port, have.protocol) == (want.port, want.protocol)
                    && (have.address == want.address
                        || [have.address, want.address].contains(&EVERY_ADDRESS))
            };
            let mut last = others.pods().iter().rev();
            let other = last.find(|other| counted_host_ports(other, rules).any(&meets))?;
            Some((want, *other))
        });
    }
    let taken = others.ports();
    host_ports(pod).find_map(|want| {
        let on = |address| taken.get(&HostPort { address, ..want });
        let anywhere = || {
            let mut from = taken.range(HostPort { address: "", ..want }..);
            let (port, other) = from.next()?;
            ((port.port, port.protocol) == (want.port, want.protocol)).then_some(other)
        };
        let other = match want.address {
            EVERY_ADDRESS => anywhere(),
            address => on(address).or_else(|| on(EVERY_ADDRESS)),
        };
        Some((want, *other?.last()?))
    })
}
