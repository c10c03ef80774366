//! The devices of a node and their holders.

use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::node_pods::NodePods;
use kq_facts::pod_selector::{PodSelector, Selection};
use kq_k8s::nearest::nearest;
use kq_managers::list::{Asked, DeviceList};

/// Returns the facts that the list needs.
pub fn device_list_needs(asked: Asked) -> Needs {
    Needs::DEVICE_LIST
        .with_if(asked.checkpoint(), &[FactKey::DeviceCheckpoint])
        .with_if(asked.pod_resources(), &[FactKey::PodResources])
}

/// Lists the devices of the selected pods.
///
/// # Errors
///
/// Fails where no source answered, and for a pod that the node does not have.
pub fn device_list<'n>(
    node: &'n Node,
    asked: Asked,
    selection: &Selection,
) -> Result<DeviceList<'n>, Failure> {
    let start = node.kubelet_start.as_ref().map(|start| start.at);
    let mut list = DeviceList::of(&node.snapshot, asked, start);
    if !has_source(node, asked) {
        return Err(no_source(&list));
    }
    list.basis.warn_all(node.odd().cloned());
    check_known(node, &list, selection)?;
    list.select(selection);
    Ok(list)
}

/// As [`device_list`], of the resource that a word names, or else of the selected pods.
///
/// # Errors
///
/// As of [`device_list`].
pub fn device_list_of<'n>(
    node: &'n Node,
    asked: Asked,
    selection: &Selection,
    word: &str,
) -> Result<DeviceList<'n>, Failure> {
    let mut list = device_list(node, asked, &Selection::default())?;
    match list.has_resource(word) {
        true => list.select_resource(word),
        false => {
            check_known(node, &list, selection)?;
            list.select(selection);
        }
    }
    Ok(list)
}

fn has_source(node: &Node, asked: Asked) -> bool {
    node.snapshot.devices.as_ref().is_some_and(|facts| {
        (asked.checkpoint() && facts.checkpoint.found.is_some())
            || (asked.pod_resources() && facts.pod_resources.found.is_some())
    })
}

fn no_source(list: &DeviceList<'_>) -> Failure {
    let reasons: Vec<String> = list.basis.missing.iter().map(ToString::to_string).collect();
    let reasons = reasons.join("; ");
    Failure::missing(anyhow!("no source reports device allocations: {reasons}"))
        .hint("run as root on the node, or take a snapshot there and pass it with --snapshot")
}

/// Refuses an unknown pod.
fn check_known(node: &Node, list: &DeviceList<'_>, selection: &Selection) -> Result<(), Failure> {
    let pods = NodePods::of(&node.snapshot);
    let listed = pods.iter().map(|(uid, pod)| {
        let metadata = &pod.metadata;
        (metadata.namespace.as_str(), metadata.name.as_str(), uid)
    });
    let running = node.workloads.pods();
    let running = running.map(|(uid, pod)| (pod.namespace.as_str(), pod.name.as_str(), uid));
    let held = list.items.iter().map(|row| {
        let pod = &row.pod;
        (pod.namespace, pod.name, pod.uid.unwrap_or_default())
    });
    let all: Vec<(&str, &str, &str)> = listed.chain(running).chain(held).collect();
    match selection.unmatched(all.iter().copied()).next() {
        None => Ok(()),
        // A namespace without pods has no devices, and it looks like a misspelt one.
        Some(pod) if pod.is_namespace() => Ok(()),
        Some(pod) => Err(unknown_pod(node, pod, &all)),
    }
}

/// Refuses a pod that is not among those that are known: namespace, name and UID each. One that was left
/// out because it could not be read is reported with its reason.
pub(super) fn unknown_pod(node: &Node, pod: &PodSelector, known: &[(&str, &str, &str)]) -> Failure {
    let shown = pod.to_string();
    let name = shown.rsplit('/').next().unwrap_or_default();
    let left_out = node.snapshot.pods.value().map(|pods| &pods.left_out[..]).unwrap_or_default();
    let is_named = |problem: &&String| {
        ["/", " "].iter().any(|before| problem.contains(&format!("{before}{name}: ")))
    };
    if let Some(problem) = left_out.iter().find(is_named) {
        return Failure::missing(anyhow!("pod {shown} was left out: {problem}"))
            .hint("the API server would reject it; get the complete pod again");
    }
    let no_such = anyhow!("no pod {shown} on this node, and no devices of one");
    let names = known.iter().map(|(_, name, _)| *name).filter(|name| !name.is_empty());
    Failure::not_found(no_such, node.unknown_pods().map(|it| it.text).as_deref()).hint(
        match (nearest(name, names), left_out) {
            (Some(meant), _) => format!("did you mean {meant}?"),
            (None, [first, ..]) => {
                format!("{} pods were left out, such as: {first}", left_out.len())
            }
            (None, []) => {
                "kq devices list shows all that have any; a pod that is gone is known by its UID"
                    .to_owned()
            }
        },
    )
}
