//! Pods with their IPs and sandboxes.

use anyhow::anyhow;
use kq_answer::{Failure, Missing, MissingFact};
use kq_facts::node::Node;
use kq_facts::pod_selector::{PodSelector, nearest_pod, several_pods};
use kq_facts::runtime::{RuntimeFacts, Sandbox};
use kq_facts::workloads::{add_container_ids, adopt_uid, effective_uid};
use kq_k8s::defaults::apply_probe_defaults;
use kq_k8s::feature_gates::Gate;
use kq_k8s::manifest::{Note, NoteKind};
use kq_k8s::pod::Pod;
use kq_probe::lint::ProbeLint;
use kq_probe::subject::display_name;

/// The reason for an IP that the answer does not need.
pub const NOT_QUERIED: &str = "not queried";

/// A pod whose probes are sent, planned or checked.
pub struct ProbedPod {
    /// The pod, after the API server's defaults for probes and with the containers that the runtime has.
    pub pod: Pod,
    /// The source of the pod.
    pub source: String,
    /// The pod's IP with its source, or the reason why it is unknown.
    pub ip: Result<(String, String), String>,
    /// The pod's sandbox in the runtime.
    pub sandbox: Option<Sandbox>,
}

/// The purpose of preparing probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To send them.
    Send,
    /// To send those whose containers run.
    All,
    /// To show them.
    Plan,
    /// To check them as they are written.
    Lint,
}

/// Pods with the node that they are on.
pub struct ProbedPods {
    pub node: Node,
    pub pods: Vec<ProbedPod>,
    /// Pods that could not be read, with the reasons.
    pub left_out: Vec<String>,
    /// The unknown labels that could select more pods.
    pub unlabelled: Option<Missing>,
    /// To check a file: its fields that Kubernetes does not have.
    pub unknown_fields: Vec<Note>,
    /// The purpose for which they are gathered.
    pub purpose: Purpose,
}

impl ProbedPods {
    /// Returns pods whose labels and fields are all known.
    pub fn new(node: Node, pods: Vec<ProbedPod>, left_out: Vec<String>, purpose: Purpose) -> Self {
        Self { node, pods, left_out, unlabelled: None, unknown_fields: Vec::new(), purpose }
    }

    /// Returns the findings of the rules. `are_all_of_node`: the pods are those of a node, not of a file or a name.
    pub fn lint(&self, are_all_of_node: bool) -> ProbeLint {
        let fails_on_timeout = self.node.kubelet.rules.gates.enabled(Gate::ExecProbeTimeout);
        let pods: Vec<&Pod> = self.pods.iter().map(|probed| &probed.pod).collect();
        let unknown = self.unknown_fields.iter().filter_map(|note| match &note.kind {
            NoteKind::UnknownField { object, path, nearest } => {
                Some((object.to_string(), path.to_string(), *nearest))
            }
            _ => None,
        });
        let mut lint = ProbeLint::by(pods.iter().copied(), fails_on_timeout)
            .with_exec_rate(&pods, are_all_of_node)
            .with_unknown_fields(unknown);
        lint.basis.warn_all(self.node.notes.iter().cloned());
        lint.basis.lack_all(self.unlabelled.clone());
        lint.basis.lack_all(self.lost());
        if are_all_of_node {
            // A pod that could not be read is missing by its name already.
            lint.basis.lack_all(self.node.unknown_pods().filter(|_| self.left_out.is_empty()));
        }
        lint
    }

    /// Returns the pods that could not be read.
    pub(super) fn lost(&self) -> impl Iterator<Item = Missing> {
        let one = |text| Missing::new(MissingFact::UnreadPod, format!("left out: {text}"));
        self.left_out.iter().map(one)
    }
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
pub fn recorded_probes(node: &Node) -> Result<RecordedProbes, Failure> {
    let found = node.snapshot.known_pods()?;
    let recorded = &found.value;
    if !recorded.with_probes {
        let refused = anyhow!("the snapshot is of an earlier version of kq, without probes");
        return Err(Failure::missing(refused).hint("take a new one with kq snapshot"));
    }
    let pods = recorded.pods.iter().map(|loaded| (Pod::clone(&loaded.pod), found.source.clone()));
    Ok(RecordedProbes { pods: pods.collect(), left_out: recorded.left_out.clone() })
}

/// Prepares pods: defaults of the API server, containers and sandboxes of the runtime, and the IP that `ip_of` returns.
pub fn prepare(
    node: &Node,
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
        let mut probed = ProbedPod { ip: Err(NOT_QUERIED.to_owned()), pod, source, sandbox };
        probed.ip = ip_of(&probed);
        probed
    };
    found.into_iter().map(one).collect()
}

/// Applies the defaults of the API server that matter to probes.
pub fn fill_in(pod: &mut Pod) {
    apply_probe_defaults(pod);
    pod.spec.termination_grace_period_seconds.get_or_insert(30);
    if pod.spec.restart_policy.is_empty() {
        pod.spec.restart_policy = "Always".to_owned();
    }
}

/// Returns the pod of a name; `unknown` is the reason why not all pods are known. `is_path`: a file has that name too.
pub fn named(
    name: &str,
    found: Vec<(Pod, String)>,
    unknown: Option<&str>,
    is_path: bool,
) -> Result<Vec<(Pod, String)>, Failure> {
    let selector = PodSelector::new(name);
    let all = found.len();
    let begins = |pod: &Pod| pod.metadata.name.starts_with(name.rsplit('/').next().unwrap_or(name));
    let near = found.iter().filter(|(pod, _)| begins(pod)).take(5);
    let near: Vec<String> = near.map(|(pod, _)| display_name(pod)).collect();
    let spelt_alike = nearest_pod(name, found.iter().map(|(pod, _)| pod));
    let matching: Vec<(Pod, String)> =
        found.into_iter().filter(|(pod, _)| selector.is_of(pod)).collect();
    match &matching[..] {
        [_] => Ok(matching),
        [] => {
            let text = match unknown {
                None => format!("no pod {name} on this node"),
                Some(_) => format!("whether pod {name} is on this node is unknown"),
            };
            let failure = Failure::not_found(anyhow!(text), unknown);
            Err(match is_path {
                true => failure.hint(format!("use ./{name} for the file")),
                false if unknown.is_some() => {
                    failure.hint("run as root on the node, or give its pods with --pods FILE")
                }
                false => failure.hint(match (near.is_empty(), spelt_alike) {
                    (true, None) => {
                        format!("{all} pods are known: kq cgroup show lists those with cgroups")
                    }
                    (true, Some(pod)) => format!("did you mean {pod}?"),
                    (false, _) => format!("there is {}", near.join(", ")),
                }),
            })
        }
        several => Err(several_pods(name, several.iter().map(|(pod, _)| pod))),
    }
}

/// Returns the sandbox in which a pod runs: the one that is ready, else the newest.
fn sandbox_of<'r>(pod: &Pod, runtime: &'r RuntimeFacts) -> Option<&'r Sandbox> {
    let uid = effective_uid(pod);
    let all = runtime.sandboxes.value()?.iter();
    all.filter(|sandbox| !uid.is_empty() && sandbox.uid == uid)
        .max_by_key(|sandbox| (sandbox.ready, sandbox.attempt, sandbox.created_at))
}
