//! Pods with their IPs and sandboxes.

use crate::answer::Failure;
use crate::facts::live::adopt_uid;
use crate::facts::pod_selector::{PodSelector, nearest_pod};
use crate::facts::runtime::{RuntimeFacts, Sandbox};
use crate::facts::workloads::{add_container_ids, effective_uid};
use crate::k8s::defaults::apply_probe_defaults;
use crate::k8s::pod::Pod;
use crate::node::KubeletNode;
use crate::probe::subject::display_name;
use anyhow::anyhow;
use std::path::Path;

/// A pod, and where it can be reached.
pub struct ProbedPod {
    /// The pod, after the API server's defaults for probes and with the containers that the runtime has.
    pub pod: Pod,
    /// Where it is from.
    pub source: String,
    /// Its IP, and who says so; else why it is not known.
    pub ip: Result<(String, String), String>,
    /// The runtime's sandbox of it.
    pub sandbox: Option<Sandbox>,
}

/// The pods of a node, each with its source, and those that could not be read.
#[derive(Clone, Debug)]
pub struct RecordedProbes {
    /// The pods with their sources.
    pub pods: Vec<(Pod, String)>,
    /// Pods that could not be read, with the reasons.
    pub left_out: Vec<String>,
}

/// Returns the pods of a node.
///
/// # Errors
///
/// Fails where the pods are unknown, and for a snapshot without probes.
pub fn recorded_probes(node: &KubeletNode) -> Result<RecordedProbes, Failure> {
    let Some(found) = &node.snapshot.pods.found else {
        let reason = node.snapshot.pods.reason();
        return Err(Failure::missing(anyhow!("the pods of the node are unknown: {reason}"))
            .hint("run as root on the node, or give its pods with --pods FILE"));
    };
    let recorded = &found.value;
    if !recorded.with_probes {
        let refused =
            anyhow!("the snapshot is of an earlier version of kq, which stored no probes");
        return Err(Failure::missing(refused).hint("take a new one with kq snapshot"));
    }
    let pods = recorded.pods.iter().map(|loaded| (loaded.pod.clone(), found.source.clone()));
    Ok(RecordedProbes { pods: pods.collect(), left_out: recorded.left_out.clone() })
}

/// Prepares pods: defaults of the API server, containers and sandboxes of the runtime, and the IP that `ip_of` returns.
pub fn prepare(
    node: &KubeletNode,
    found: Vec<(Pod, String)>,
    mut ip_of: impl FnMut(&ProbedPod) -> Result<(String, String), String>,
) -> Vec<ProbedPod> {
    let runtime = node.snapshot.runtime.value();
    let one = |(mut pod, source): (Pod, String)| {
        adopt_uid(&mut pod, &node.workloads);
        fill_in(&mut pod);
        if let Some(runtime) = runtime {
            add_container_ids(&mut pod, runtime);
        }
        let sandbox = runtime.and_then(|runtime| sandbox_of(&pod, runtime)).cloned();
        let mut probed = ProbedPod { ip: Err("not asked".to_owned()), pod, source, sandbox };
        probed.ip = ip_of(&probed);
        probed
    };
    found.into_iter().map(one).collect()
}

/// Fills in what the API server would.
pub fn fill_in(pod: &mut Pod) {
    apply_probe_defaults(pod);
    pod.spec.termination_grace_period_seconds.get_or_insert(30);
    if pod.spec.restart_policy.is_empty() {
        pod.spec.restart_policy = "Always".to_owned();
    }
}

/// Returns the pod of a name; `unknown` is the reason why not all pods are known.
pub fn named(
    name: &str,
    found: Vec<(Pod, String)>,
    unknown: Option<&str>,
) -> Result<Vec<(Pod, String)>, Failure> {
    let selector = PodSelector::new(name);
    let all = found.len();
    let begins = |pod: &Pod| pod.metadata.name.starts_with(name.rsplit('/').next().unwrap_or(name));
    let near = found.iter().filter(|(pod, _)| begins(pod)).take(5);
    let near: Vec<String> = near.map(|(pod, _)| display_name(pod)).collect();
    let spelt_alike = nearest_pod(name, found.iter().map(|(pod, _)| pod));
    let matching: Vec<(Pod, String)> = found
        .into_iter()
        .filter(|(pod, _)| {
            let metadata = &pod.metadata;
            selector.matches(&metadata.namespace, &metadata.name, effective_uid(pod))
        })
        .collect();
    match &matching[..] {
        [_] => Ok(matching),
        [] => {
            let text = match unknown {
                None => format!("no pod {name} on this node"),
                Some(_) => format!("whether pod {name} is on this node is unknown"),
            };
            let failure = Failure::not_found(anyhow!(text), unknown);
            Err(match Path::new(name).exists() {
                true => failure.hint(format!("for the file say ./{name}")),
                false if unknown.is_some() => {
                    failure.hint("run as root on the node, or give its pods with --pods FILE")
                }
                false => failure.hint(match (near.is_empty(), spelt_alike) {
                    (true, None) => format!(
                        "{all} pods are known here: kq cgroup show lists those that have cgroups"
                    ),
                    (true, Some(pod)) => format!("did you mean {pod}?"),
                    (false, _) => format!("there is {}", near.join(", ")),
                }),
            })
        }
        several => {
            let names: Vec<String> = several.iter().map(|(pod, _)| display_name(pod)).collect();
            Err(Failure::usage(anyhow!("{name} means {} pods: {}", names.len(), names.join(", ")))
                .hint("say NAMESPACE/NAME"))
        }
    }
}

/// Returns the sandbox in which a pod runs: the one that is ready, else the newest.
fn sandbox_of<'r>(pod: &Pod, runtime: &'r RuntimeFacts) -> Option<&'r Sandbox> {
    let uid = effective_uid(pod);
    let all = runtime.sandboxes.value()?.iter();
    all.filter(|sandbox| !uid.is_empty() && sandbox.uid == uid)
        .max_by_key(|sandbox| (sandbox.ready, sandbox.attempt, sandbox.created_at))
}
