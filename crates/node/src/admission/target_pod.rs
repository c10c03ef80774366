//! The pod of the question, as the kubelet gets it.

use super::AdmissionOptions;
use anyhow::anyhow;
use kq_admission::qualified;
use kq_answer::{Assumption, Basis, Failure, Warning, WarningCode};
use kq_core::question::admission::AdmissionNode;
use kq_facts::input_name::shown;
use kq_facts::node::Node;
use kq_facts::pod_selector::{PodSelector, nearest_pod, several_pods};
use kq_io::input::read_input;
use kq_k8s::defaults::apply_default_tolerations;
use kq_k8s::manifest::{Loaded, Source, Workload, load};
use kq_k8s::nearest::nearest;
use kq_k8s::pod::Pod;
use kq_k8s::priority::{
    SYSTEM_CLUSTER_CRITICAL, SYSTEM_NODE_CRITICAL, is_mirror_pod, is_static_pod, priority_of_class,
};
use std::path::Path;

impl AdmissionOptions {
    /// Reads the one pod of the file.
    pub(super) fn pod_of_file(&self, file: &str, basis: &mut Basis) -> Result<Pod, Failure> {
        let name = shown(file);
        let content = read_input(file).map_err(Failure::missing)?;
        let loaded = load(name, &content);
        if let Some(problem) = loaded.problems.first() {
            return Err(Failure::usage(anyhow!("{problem}")));
        }
        let one = match loaded.pods.as_slice() {
            [one] => one,
            _ => return Err(not_one(name, file, &loaded)),
        };
        let mut pod = Pod::clone(&one.pod);
        basis.warn_all(WarningCode::PodManifest.each(&loaded.notes));
        basis.warn_all(odd_priority(&pod));
        let Source { workload, item, .. } = &one.source;
        if let Some(one_pod) = workload.as_ref().and_then(Workload::one_pod) {
            basis.assume(format!("the answer is for {one_pod}"));
        }
        if self.is_static {
            let kind = match workload {
                Some(workload) => Some(workload.kind.as_str()),
                None => item.map(|_| "List"),
            };
            if let Some(kind) = kind {
                let error =
                    anyhow!("--static: {name} has a {kind}, and the kubelet takes a Pod alone");
                return Err(
                    Failure::usage(error).hint("a file in the kubelet's folder holds one Pod")
                );
            }
            pod.metadata.annotations.config_source = Some("file".to_owned());
        } else if pod.metadata.uid.is_empty() {
            apply_default_tolerations(&mut pod);
        }
        Ok(pod)
    }

    /// Sets the priority that the pod has in the cluster. A static pod has the one of its manifest, or none: the
    /// kubelet has no priority classes.
    pub(super) fn set_priority(&self, pod: &mut Pod, basis: &mut Basis) {
        let is_static = is_static_pod(pod) || is_mirror_pod(pod);
        let spec = &mut pod.spec;
        if let Some(priority) = self.priority {
            if let Some(own) = spec.priority.filter(|own| *own != priority) {
                let text =
                    format!("the pod's own priority {own} is ignored (--priority {priority})");
                basis.warn(Warning::new(WarningCode::Priority, text));
            }
            spec.priority = Some(priority);
        }
        if spec.priority.is_some() || is_static {
            return;
        }
        let class = &spec.priority_class_name;
        spec.priority = priority_of_class(class);
        if spec.priority.is_none() {
            basis.assume(Assumption::new(match class.as_str() {
                "" => {
                    "priority 0: the pod names no class; the cluster's default class may differ"
                        .to_owned()
                }
                class => format!(
                    "priority 0: only the cluster has the value of class {class} (--priority); only \
                     Kubernetes' own two classes make a pod critical"
                ),
            }, ["--priority"]));
            spec.priority = Some(0);
        }
    }
}

/// Returns a warning about a priority that the API server would refuse, or that is probably a mistake.
fn odd_priority(pod: &Pod) -> Option<Warning> {
    let class = pod.spec.priority_class_name.as_str();
    let field = "spec.priorityClassName";
    let text = match (priority_of_class(class), pod.spec.priority) {
        (Some(of_class), Some(own)) if own != of_class => format!(
            "{field}: {class} is {of_class}, and spec.priority is {own}: the API server refuses the two \
             together; {own} counts"
        ),
        (None, None) if class.starts_with("system-") => {
            let near = nearest(class, [SYSTEM_NODE_CRITICAL, SYSTEM_CLUSTER_CRITICAL]);
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            format!("{field}: {class}: only Kubernetes' own classes begin with system-{near}")
        }
        _ => return None,
    };
    Some(Warning::new(WarningCode::Priority, text).about(class))
}

/// Returns the failure for a file without exactly one pod, with its content.
fn not_one(name: &str, file: &str, loaded: &Loaded) -> Failure {
    let names: Vec<String> = loaded.pods.iter().take(3).map(|it| qualified(&it.pod)).collect();
    if names.is_empty() {
        let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
        let what =
            if notes.is_empty() { format!("{name}: contains no pod") } else { notes.join("; ") };
        return Failure::usage(anyhow!("{what}"))
            .hint("a Pod, or a workload with a pod template, is expected");
    }
    let more = if loaded.pods.len() > names.len() { ", ..." } else { "" };
    let (count, names) = (loaded.pods.len(), names.join(", "));
    Failure::usage(anyhow!("{name}: {count} pods, expected one: {names}{more}"))
        .hint(format!("to name a pod of the node: NAMESPACE/NAME --pods {file}"))
}

/// Names a static pod as the kubelet does, and binds it to its node (`applyDefaults` and `generatePodName` of
/// `pkg/kubelet/config/common.go`).
pub(super) fn bind_static(pod: &mut Pod, about: &AdmissionNode) {
    let Some(node) = about.node.snapshot.node.value().map(|node| &node.metadata.name) else {
        return;
    };
    pod.metadata.name = format!("{}-{node}", pod.metadata.name).to_lowercase();
    pod.spec.node_name.clone_from(node);
}

/// Returns the pod of a name.
pub(super) fn pod_of_node(node: &Node, name: &str) -> Result<Pod, Failure> {
    node.snapshot.known_pods()?;
    let selector = PodSelector::new(name);
    let is_meant = |pod: &&Pod| selector.is_of(pod);
    let pods = node.allocated_pods();
    let meant: Vec<&Pod> = pods.iter().copied().filter(is_meant).collect();
    match &meant[..] {
        [pod] => Ok((*pod).clone()),
        [_, _, ..] => Err(several_pods(name, meant)),
        [] => {
            let error = anyhow!("no pod {name} on this node");
            let unknown = node.unknown_pods().map(|it| it.text);
            Err(Failure::not_found(error, unknown.as_deref()).hint(match nearest_pod(name, pods) {
                Some(near) => format!("did you mean {near}?"),
                None if Path::new(name).is_dir() => {
                    format!("{name} is a folder: name a file in it")
                }
                None => "for a file, give its path, such as ./pod.yaml".to_owned(),
            }))
        }
    }
}
