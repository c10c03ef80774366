//! The numbers of a message of the kubelet, connected to a node.

use super::admission::AdmissionNode;
use crate::explain::MessageExplanation;
use kq_admission::occupancy::Occupancy;
use kq_answer::Failure;
use kq_facts::kubelet_config::{StarvedResource, ThresholdValue};
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_k8s::pod::{Pod, ResourceName};

/// The most pods that are named.
const MOST_PODS: usize = 12;

/// Returns the facts that connect a message to a node; `None`: none of its numbers is about one.
pub fn message_needs(explained: &MessageExplanation) -> Option<Needs> {
    match explained.domain.as_str() {
        "admission" | "resize" if is_of_resource(explained) => Some(Needs::ADMISSION),
        "eviction" => Some(Needs::GC_POLICY),
        _ => None,
    }
}

/// Puts what the node's facts say about the numbers of a message.
///
/// # Errors
///
/// Fails where the pods of the node, or its thresholds, are unknown.
pub fn put_node(explained: &mut MessageExplanation, node: Node) -> Result<(), Failure> {
    match explained.domain.as_str() {
        "eviction" => put_thresholds(explained, &node),
        _ => put_pods(explained, node),
    }
}

fn is_of_resource(explained: &MessageExplanation) -> bool {
    explained.value("resource").is_some() && explained.value("requested").is_some()
}

/// Names the pods whose requests make up `used`.
fn put_pods(explained: &mut MessageExplanation, node: Node) -> Result<(), Failure> {
    let Some(name) = explained.value("resource").map(str::to_owned) else { return Ok(()) };
    let resource = ResourceName::from(name.as_str());
    let about = AdmissionNode::with_all_pods(node);
    let mut basis = about.basis.clone();
    let others = about.others(None, &mut basis)?;
    let counted = others.pods.iter().filter(|pod| pod.counts).map(|pod| pod.pod);
    let occupancy = Occupancy::of(counted, &about.node.kubelet.rules);
    let mut pods: Vec<(i64, &Pod)> = occupancy
        .taken()
        .iter()
        .zip(occupancy.pods())
        .map(|(taken, pod)| (taken.get(&resource), *pod))
        .filter(|(amount, _)| *amount != 0 || name == "pods")
        .collect();
    pods.sort_by_key(|(amount, pod)| (-*amount, &pod.metadata.namespace, &pod.metadata.name));
    let used = occupancy.used().get(&resource);
    let unit = explained.value("unit").unwrap_or("units").to_owned();
    let count = match pods.len() {
        1 => "1 pod".to_owned(),
        count => format!("{count} pods"),
    };
    let message =
        explained.value("used").map_or_else(String::new, |said| match said.parse() == Ok(used) {
            true => "; that is the used of the message".to_owned(),
            false => format!("; the message has {said}, at its time"),
        });
    explained
        .on_node
        .push(format!("On this node, {count} have requested {used} {unit} of {name}{message}."));
    for (amount, pod) in pods.iter().take(MOST_PODS) {
        let metadata = &pod.metadata;
        let amount = if name == "pods" { 1 } else { *amount };
        explained.on_node.push(format!("{amount:>14} {}/{}", metadata.namespace, metadata.name));
    }
    if pods.len() > MOST_PODS {
        explained.on_node.push(format!("and {} more pods", pods.len() - MOST_PODS));
    }
    explained.basis = basis;
    Ok(())
}

/// Returns the resource that the kubelet's message names.
fn starved(name: &str) -> Option<StarvedResource> {
    match name {
        "memory" => Some(StarvedResource::Memory),
        "ephemeral-storage" => Some(StarvedResource::EphemeralStorage),
        "inodes" => Some(StarvedResource::Inodes),
        "pids" => Some(StarvedResource::Pids),
        _ => None,
    }
}

/// Names the thresholds of the node for the resource of an eviction.
fn put_thresholds(explained: &mut MessageExplanation, node: &Node) -> Result<(), Failure> {
    let resource = explained.value("resource").or_else(|| explained.value("resourceName"));
    let Some(resource) = resource.and_then(starved) else { return Ok(()) };
    let thresholds = node.eviction_thresholds()?;
    let of_it = thresholds.iter().filter(|it| it.signal.resource() == resource);
    for threshold in of_it {
        let value = match &threshold.value {
            ThresholdValue::Quantity(amount) => amount.canonical(),
            ThresholdValue::Share(share) => format!("{}%", share * 100.0),
        };
        let kind = if threshold.is_hard() { "evictionHard" } else { "evictionSoft" };
        let signal = threshold.signal.as_str();
        explained.on_node.push(format!("{kind} of this node: {signal} below {value}"));
        explained.command = Some(format!("kq evict rank --signal {signal}"));
    }
    explained.basis.assume_all(node.assumed());
    explained.basis.lack_all(node.missing_config());
    Ok(())
}
