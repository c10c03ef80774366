//! The device manager of a node: decisions about pods, lists, plans, checks of files.

/// Decisions about single pods.
pub mod admission;
/// The device capacity of a node.
pub mod capacity;
/// The devices of a node and their holders.
pub mod list;
/// The pods of a manifest.
mod manifest;
/// The effects of a start beside the planned one.
mod other_starts;
/// The devices that pods would get.
pub mod plan;
/// The topology manager.
pub mod topology;
/// The state files of a kubelet.
pub mod verify;

pub use manifest::manifest_pods;

use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::node::Node;
use kq_facts::pod_selector::PodSelector;
use kq_k8s::nearest::nearest;

/// Refuses a pod that is not among those that are known: namespace, name and UID each. One that was left
/// out because it could not be read is reported with its reason.
fn unknown_pod(node: &Node, pod: &PodSelector, known: &[(&str, &str, &str)]) -> Failure {
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
