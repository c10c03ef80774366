//! A pod that is to come to a node, and the node: for the questions of admission and preemption.

pub mod node_file;
mod wanted;

pub use kq::question::admission::{AdmissionNode, Detail, Planned, plan};
pub use kq::question::kubelet_pods::as_of_kubelet;

use self::node_file::NodeFile;
use self::wanted::{bind_static, pod_of_node};
use crate::device_files::DeviceFileArgs;
use crate::exit::Failure;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use crate::pod_selectors::is_file;
use crate::source_args::SourceArgs;
use anyhow::anyhow;
use kq::answer::Basis;
use kq::facts::snapshot::PodSource;
use kq::facts::workloads::effective_uid;
use kq::k8s::pod::Pod;
use kq::k8s::priority::priority_of_class;
use kq::node::Needs;

/// The flags that say what a pod is to the cluster, and to which node it is to come.
#[derive(Debug, clap::Args)]
pub struct AdmissionArgs {
    /// Treat the pod of the file as a static pod, as if it were in the kubelet's static pod directory
    #[arg(long = "static", help_heading = "The pod")]
    is_static: bool,

    /// The pod's priority: a number, system-cluster-critical or system-node-critical (default: the
    /// priority in its spec)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "The pod", value_parser = parse_priority)]
    pub priority: Option<i32>,

    /// Leave this pod of the node out of the computation: NAMESPACE/NAME (can be repeated)
    #[arg(long, value_name = "POD", help_heading = "What if")]
    pub without: Vec<String>,

    /// The Node object (kubectl get node NAME -o json). By default it is read from the API server
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    pub node_file: Option<String>,

    #[command(flatten)]
    devices: DeviceFileArgs,

    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,
}

impl AdmissionArgs {
    /// Gathers the pod that is named, and the node.
    pub fn gather(&self, name: &str) -> Result<(AdmissionNode, Pod), Failure> {
        let mut of_file = Basis::default();
        let pod = match is_file(name) {
            true => Some(self.pod_of_file(name, &mut of_file)?),
            false if self.is_static => {
                let refused = anyhow!("--static: {name} is a pod of the node, and is what it is");
                return Err(Failure::usage(refused).hint("--static is about the pod of a file"));
            }
            false => None,
        };
        let mut about = self.gather_node()?;
        about.basis.warnings.splice(0..0, of_file.warnings);
        about.basis.assumptions.splice(0..0, of_file.assumptions);
        let mut pod = match pod {
            Some(mut pod) => {
                if self.is_static {
                    bind_static(&mut pod, &about);
                }
                as_of_kubelet(&mut pod, PodSource::Files, &about.node.kubelet.rules);
                pod
            }
            None => pod_of_node(&about.node, name)?,
        };
        if !is_file(name) && pod.status.phase == "Running" {
            about.basis.assume(
                "the pod runs on the node already: the answer is about one that comes anew"
                    .to_owned(),
            );
        }
        self.set_priority(&mut pod, &mut about.basis);
        Ok((about, pod))
    }

    /// Gathers both once more: of a pod of this node what it is now, or nothing where it is no more.
    pub fn gather_again(
        &self,
        name: &str,
        pod: &Pod,
    ) -> Result<(AdmissionNode, Option<Pod>), Failure> {
        let mut about = self.gather_node()?;
        if is_file(name) {
            return Ok((about, Some(pod.clone())));
        }
        let is_meant = |it: &&Pod| effective_uid(it) == effective_uid(pod);
        let found = about.node.pods().into_iter().find(is_meant).cloned();
        let found = found.map(|mut pod| {
            self.set_priority(&mut pod, &mut about.basis);
            pod
        });
        Ok((about, found))
    }

    /// Returns the flag that says that it is not about the node as it is now.
    pub fn stored(&self) -> Option<&'static str> {
        let sources = self.sources();
        let given = [
            (sources.snapshot.is_some(), "--snapshot"),
            (!sources.pods.is_empty(), "--pods"),
            (self.node_file.is_some(), "--node-file"),
            (!self.without.is_empty(), "--without"),
        ];
        let stored = given.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag));
        stored.or_else(|| self.devices.first_given())
    }

    /// Returns the flag that names a file about devices.
    pub fn device_file(&self) -> Option<&'static str> {
        self.devices.first_given()
    }

    /// Returns where the facts come from.
    pub fn sources(&self) -> &SourceArgs {
        &self.kubelet.sources
    }

    pub fn gather_node(&self) -> Result<AdmissionNode, Failure> {
        let mut basis = Basis::default();
        let node = self.node(&mut basis)?;
        let device_flags = Some("--checkpoint, --pod-resources");
        Ok(AdmissionNode::with_flags(node, self.without.clone(), device_flags, basis))
    }

    /// Gathers the node.
    fn node(&self, basis: &mut Basis) -> Result<KubeletNode, Failure> {
        let sources = &self.kubelet.sources;
        let mut notes = Vec::new();
        let node_file = NodeFile::read(self.node_file.as_deref(), &mut notes)?;
        basis.warn_all(notes);
        let devices = self.devices.read()?;
        let mut needs = Needs::DEVICES;
        devices.leave_out(&mut needs);
        needs.files |= self.devices.first_given().is_some();
        let object = node_file.put_into(&mut needs, sources)?;
        let node = self.kubelet.gather_with(needs, |snapshot| {
            devices.put(snapshot);
            if let Some(object) = object {
                snapshot.node = object;
            }
        })?;
        node_file.check(&node.snapshot, sources)?;
        Ok(node)
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
