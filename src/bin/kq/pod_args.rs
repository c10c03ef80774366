//! The flags with which kubectl names pods and files, and those of admission and preemption.

use crate::exit::Failure;
use crate::node_args::KubeletNodeArgs;
use crate::progress::waiting;
use crate::source_args::{DeviceFileArgs, GATHERING, GivenDevicesArgs};
use anyhow::anyhow;
use kq_core::question::admission::AdmissionNode;
use kq_core::question::pod_selectors::PodSelectors;
use kq_facts::pod_selector::{PodSelector, is_file, is_uid};
use kq_k8s::label_selector::LabelSelector;
use kq_k8s::pod::Pod;
use kq_k8s::priority::priority_of_class;
use kq_node::NamedFiles;
use kq_node::TraceFiles;
use kq_node::admission::AdmissionOptions;

/// The namespace of pods.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct NamespaceArgs {
    /// The namespace of pods that are named without one (default: a name matches in any namespace).
    /// Without names, only the pods of this namespace
    #[arg(short, long, value_name = "NAMESPACE", value_parser = parse_namespace)]
    namespace: Option<String>,

    /// Pods of all namespaces (the default)
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
}

impl NamespaceArgs {
    /// Returns the namespace.
    pub fn name(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the name of a pod with the namespace. Files and UIDs stay as they are.
    /// Fails for a name with another namespace.
    pub fn qualify(&self, pod: &str) -> Result<String, Failure> {
        let Some(namespace) = self.name().filter(|_| !is_file(pod) && !is_uid(pod)) else {
            return Ok(pod.to_owned());
        };
        let within = PodSelector::new(pod).within(namespace).ok_or_else(|| {
            let twice = anyhow!("POD {pod} and --namespace {namespace} are two namespaces");
            Failure::usage(twice).hint("give the namespace once")
        })?;
        Ok(within.to_string())
    }

    /// Refuses a namespace for the pods of a file, which say their own.
    fn check_file(&self, file: &str) -> Result<(), Failure> {
        match self.name() {
            None => Ok(()),
            Some(namespace) => {
                let refused = anyhow!("--namespace {namespace}: the pods of {file} name their own");
                Err(Failure::usage(refused)
                    .hint("set metadata.namespace in the file; --namespace is about pods by name"))
            }
        }
    }

    /// Returns the names of pods with the namespace.
    pub fn qualify_all(&self, pods: &[String]) -> Result<Vec<String>, Failure> {
        pods.iter().map(|pod| self.qualify(pod)).collect()
    }
}

/// The labels of pods.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct LabelArgs {
    /// Only pods with these labels, such as app=web,tier!=db or 'app in (web,api)'; also notin, KEY and
    /// !KEY
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    pub selector: Option<LabelSelector>,
}

/// One pod, named as kubectl names it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PodArgs {
    /// A manifest file, whatever its name; - reads standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "pod")]
    filename: Option<String>,

    #[command(flatten)]
    pub namespace: NamespaceArgs,
}

/// What is left of a pod, in files.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// Events: kubectl get events -A -o json; - reads standard input (can be repeated)
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    events: Vec<String>,

    /// The kubelet's log: journalctl -u kubelet -o cat, or in another journalctl format (can be
    /// repeated)
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    kubelet_log: Vec<String>,
}

impl TraceArgs {
    /// Returns the files.
    pub fn files(&self) -> TraceFiles {
        TraceFiles { events: self.events.clone(), kubelet_log: self.kubelet_log.clone() }
    }
}

impl PodArgs {
    /// Returns true if a file is named by its flag.
    pub fn has_file(&self) -> bool {
        self.filename.is_some()
    }

    /// Returns the pod with its namespace, or the file.
    pub fn one(&self, pod: Option<&str>) -> Result<Option<String>, Failure> {
        match (&self.filename, pod) {
            (Some(file), _) => self.namespace.check_file(file).map(|()| Some(as_file(file))),
            (None, Some(pod)) if is_file(pod) => {
                self.namespace.check_file(pod).map(|()| Some(pod.to_owned()))
            }
            (None, Some(pod)) => self.namespace.qualify(pod).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Pods, named as kubectl names them.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PodsArgs {
    /// A manifest file, whatever its name; - reads standard input (can be repeated)
    #[arg(short, long, value_name = "FILE")]
    filename: Vec<String>,

    #[command(flatten)]
    pub namespace: NamespaceArgs,

    #[command(flatten)]
    pub labels: LabelArgs,
}

impl PodsArgs {
    /// Restricts pods to the namespace and the labels.
    /// Fails for a name and labels together.
    pub fn select(&self, pods: PodSelectors) -> Result<PodSelectors, Failure> {
        pods.within(self.namespace.name(), self.labels.selector.as_ref())
    }

    /// Returns the arguments and the files, pods with their namespace.
    pub fn all(&self, arguments: &[String]) -> Result<Vec<String>, Failure> {
        let mut all = self.namespace.qualify_all(arguments)?;
        all.extend(self.filename.iter().map(|file| as_file(file)));
        match all.first() {
            Some(file) if all.iter().all(|one| is_file(one)) => {
                self.namespace.check_file(file).map(|()| all)
            }
            _ => Ok(all),
        }
    }
}

/// Returns the path of a file in a form that no pod's name has.
fn as_file(file: &str) -> String {
    match is_file(file) {
        true => file.to_owned(),
        false => format!("./{file}"),
    }
}

fn parse_namespace(text: &str) -> Result<String, String> {
    match text.trim().is_empty() || text.contains('/') {
        true => Err("expected the name of a namespace".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// The flags that say what a pod is to the cluster, and to which node it is to come.
#[derive(Debug, clap::Args)]
pub struct AdmissionArgs {
    #[command(flatten)]
    pub named: PodArgs,

    /// Treat the pod of the file as a static pod, as if it were in the kubelet's static pod directory
    #[arg(long = "static", help_heading = "The pod")]
    is_static: bool,

    /// The pod's priority: a number, system-cluster-critical or system-node-critical (default: the
    /// priority in its spec)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "The pod", value_parser = parse_priority)]
    priority: Option<i32>,

    /// Leave this pod of the node out of the computation: NAMESPACE/NAME (can be repeated)
    #[arg(long, value_name = "POD", help_heading = "What if")]
    without: Vec<String>,

    #[command(flatten)]
    devices: DeviceFileArgs,

    #[command(flatten)]
    given: GivenDevicesArgs,

    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,
}

impl AdmissionArgs {
    /// Gathers the pod that is named, and the node.
    pub fn gather(&self, name: &str) -> Result<(AdmissionNode, Pod), Failure> {
        let (options, sources) = (self.options()?, &self.kubelet.sources);
        waiting(GATHERING, || options.gather(name, |snapshot| sources.show(snapshot)))
    }

    /// Gathers the node of a kubelet that starts.
    pub fn gather_restarting(&self) -> Result<AdmissionNode, Failure> {
        let (options, sources) = (self.options()?, &self.kubelet.sources);
        waiting(GATHERING, || options.gather_restarting(|snapshot| sources.show(snapshot)))
    }

    /// Returns what the flags say.
    pub fn options(&self) -> Result<AdmissionOptions, Failure> {
        Ok(AdmissionOptions {
            node: self.kubelet.sources.spec(),
            overrides: self.kubelet.overrides()?,
            files: NamedFiles {
                node: self.kubelet.node_file.clone(),
                devices: self.devices.files(Some(&self.given)),
                stats: None,
            },
            is_static: self.is_static,
            priority: self.priority,
            without: self.named.namespace.qualify_all(&self.without)?,
        })
    }
}

/// Reads a priority: a number, or a class that every cluster has.
fn parse_priority(text: &str) -> Result<i32, String> {
    let number = priority_of_class(text).or_else(|| text.parse().ok());
    number.ok_or_else(|| {
        "expected a number such as 1000000, system-cluster-critical or system-node-critical"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_the_namespace() {
        let uid = "5f0c3a52-2c1b-4c0e-9d7e-3a3f2f0d8a11";
        let of =
            |name: &str| NamespaceArgs { namespace: Some(name.to_owned()), ..Default::default() };
        let cases = [
            ("a name", "web", Some("shop/web")),
            ("a name with its kind", "pod/web", Some("shop/web")),
            ("the same namespace", "shop/web", Some("shop/web")),
            ("another namespace", "default/web", None),
            ("a file", "./web", Some("./web")),
            ("a file by its ending", "web.yaml", Some("web.yaml")),
            ("a UID", uid, Some(uid)),
        ];
        for (name, pod, expected) in cases {
            assert_eq!(of("shop").qualify(pod).ok().as_deref(), expected, "{name}");
            assert_eq!(NamespaceArgs::default().qualify(pod).ok().as_deref(), Some(pod), "{name}");
        }
    }

    #[test]
    fn a_file_by_its_flag_is_never_a_pod() {
        for (file, expected) in
            [("web", "./web"), ("-", "-"), ("a/web", "./a/web"), ("w.yaml", "w.yaml")]
        {
            assert_eq!(as_file(file), expected);
            assert!(is_file(expected), "{expected}");
        }
    }
}
