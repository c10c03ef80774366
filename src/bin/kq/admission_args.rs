//! The flags of admission and preemption: a pod, and the node that may run it.

use crate::device_files::DeviceFileArgs;
use crate::exit::Failure;
use crate::kubelet_node::KubeletNodeArgs;
use crate::pod_args::PodArgs;
use crate::progress::waiting;
use crate::source_args::GATHERING;
use kq::k8s::pod::Pod;
use kq::k8s::priority::priority_of_class;
use kq::node::NamedFiles;
use kq::question::admission::{AdmissionNode, AdmissionOptions};

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

    /// The Node object (kubectl get node NAME -o json). By default it is read from the API server
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    node_file: Option<String>,

    #[command(flatten)]
    devices: DeviceFileArgs,

    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,
}

impl AdmissionArgs {
    /// Gathers the pod that is named, and the node.
    pub fn gather(&self, name: &str) -> Result<(AdmissionNode, Pod), Failure> {
        let (options, sources) = (self.options()?, &self.kubelet.sources);
        waiting(GATHERING, || options.gather(name, |snapshot| sources.show(snapshot)))
    }

    /// Gathers the node.
    pub fn gather_node(&self) -> Result<AdmissionNode, Failure> {
        let (options, sources) = (self.options()?, &self.kubelet.sources);
        waiting(GATHERING, || options.gather_node(|snapshot| sources.show(snapshot)))
    }

    /// Returns what the flags say.
    pub fn options(&self) -> Result<AdmissionOptions, Failure> {
        Ok(AdmissionOptions {
            node: self.kubelet.sources.spec(),
            kubelet: self.kubelet.options()?,
            files: NamedFiles {
                node: self.node_file.clone(),
                devices: self.devices.files(),
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
