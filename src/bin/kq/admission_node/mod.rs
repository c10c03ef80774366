//! A pod that is to come to a node, and the node: for the questions of admission and preemption.

mod allocated;
mod others;
mod plan;
mod wanted;
pub mod whose;

pub use allocated::put_allocations;
pub use plan::{Detail, Planned, plan};
pub use wanted::as_of_kubelet;

use self::wanted::{bind_static, pod_of_node};
use self::whose::NodeFile;
use crate::device_admission::DeviceQuestion;
use crate::device_files::DeviceFileArgs;
use crate::exit::Failure;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use crate::source_args::SourceArgs;
use crate::subjects::is_file;
use anyhow::anyhow;
use kq::admission::{Before, NodePod, Refusal};
use kq::edge::cri::RuntimeWants;
use kq::eviction::{Admission, admit_under_pressure};
use kq::facts::basis::Basis;
use kq::facts::kubelet_config::PressureCondition;
use kq::facts::node_object::NodeObject;
use kq::facts::snapshot::{PodSource, RecordedPods};
use kq::facts::workloads::effective_uid;
use kq::k8s::pod::{OS_LABEL, Pod, ResourceName};
use kq::k8s::priority::priority_of_class;
use kq::node::Wants;
use std::collections::BTreeSet;

/// The flags that say what a pod is to the cluster, and to which node it is to come.
#[derive(Debug, clap::Args)]
pub struct AdmissionArgs {
    /// Take the pod of the file for a static one, as from the kubelet's folder
    #[arg(long = "static", help_heading = "The pod")]
    is_static: bool,

    /// The pod's priority, or system-cluster-critical or system-node-critical; else that of its spec
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "The pod", value_parser = parse_priority)]
    pub priority: Option<i32>,

    /// Answer as if this pod were not on the node: NAMESPACE/NAME (can be repeated)
    #[arg(long, value_name = "POD", help_heading = "What if")]
    pub without: Vec<String>,

    /// The Node object (kubectl get node NAME -o json); else the API server is asked
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    pub node_file: Option<String>,

    #[command(flatten)]
    devices: DeviceFileArgs,

    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,
}

/// The node that a pod is to come to.
pub struct AdmissionNode {
    /// The node.
    pub node: KubeletNode,
    /// The pods that are taken for gone.
    without: Vec<String>,
    /// The flags that say which devices there are; `None`: there are none for this question.
    device_flags: Option<&'static str>,
    /// What the answer rests on.
    pub basis: Basis,
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
            about.basis.assumptions.push(
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

    /// Gathers the node.
    pub fn gather_node(&self) -> Result<AdmissionNode, Failure> {
        let mut basis = Basis::default();
        let mut node = self.node(&mut basis)?;
        if let Some(found) = &mut node.snapshot.pods.found {
            basis.warnings.extend(found.value.notes.iter().cloned());
            basis.warnings.extend(found.value.keep_one_of_a_uid());
            let RecordedPods { source, pods, .. } = &mut found.value;
            let pods = pods.iter_mut().map(|loaded| &mut loaded.pod);
            pods.for_each(|pod| as_of_kubelet(pod, *source, &node.kubelet.rules));
        }
        basis.assumptions.extend(node.assumed());
        put_allocations(&mut node, &mut basis);
        basis.warnings.extend(node.notes.iter().cloned());
        let without = self.without.clone();
        let device_flags = Some("--checkpoint, --pod-resources");
        Ok(AdmissionNode { node, without, device_flags, basis })
    }

    /// Gathers the node.
    fn node(&self, basis: &mut Basis) -> Result<KubeletNode, Failure> {
        let sources = &self.kubelet.sources;
        let node_file = NodeFile::read(self.node_file.as_deref(), &mut basis.warnings)?;
        let devices = self.devices.read()?;
        let mut wants = Wants {
            node: true,
            runtime: RuntimeWants { sandboxes: true, containers: true, ..RuntimeWants::default() },
            ..Wants::DEVICES
        };
        devices.leave_out(&mut wants);
        wants.files |= self.devices.first_given().is_some();
        let object = node_file.put_into(&mut wants, sources)?;
        let node = self.kubelet.gather_with(wants, |snapshot| {
            devices.put(snapshot);
            if let Some(object) = object {
                snapshot.node = object;
            }
        })?;
        node_file.check(&node.snapshot, sources)?;
        Ok(node)
    }
}

impl AdmissionNode {
    /// Takes a node that was gathered elsewhere, with all of its pods; its own files are not there.
    pub fn of(mut node: KubeletNode, mut basis: Basis) -> Self {
        put_allocations(&mut node, &mut basis);
        Self { node, without: Vec::new(), device_flags: None, basis }
    }

    /// Returns what is asked of the device manager, among these pods.
    pub fn device_question<'q>(
        &'q self,
        others: &'q [NodePod<'q>],
    ) -> Result<DeviceQuestion<'q>, Failure> {
        Ok(DeviceQuestion {
            node: &self.node,
            object: self.object()?,
            others,
            flags: self.device_flags,
        })
    }

    /// Returns the Node object, which must say what it has.
    pub fn object(&self) -> Result<&NodeObject, Failure> {
        const HINT: &str = "kubectl get node NAME -o json > node.json; --node-file node.json";
        let sought = &self.node.snapshot.node;
        let Some(found) = &sought.found else {
            let reason = match sought.is_unsought() {
                true => "nobody was asked for it, as no kubeconfig was named or found".to_owned(),
                false => sought.reason(),
            };
            let error = anyhow!("the Node object could not be had: {reason}");
            return Err(Failure::missing(error).hint(HINT));
        };
        let (source, status) = (&found.source, &found.value.status);
        if found.value.metadata.name.is_empty() {
            let error =
                anyhow!("{source}: metadata.name is not set, so whose pods count is not known");
            return Err(Failure::usage(error).hint(HINT));
        }
        if let Some(os) = found.value.metadata.labels.get(OS_LABEL).filter(|os| *os != "linux") {
            let error =
                anyhow!("{source}: label {OS_LABEL} is {os}: kq knows the kubelet on linux");
            return Err(Failure::missing(error));
        }
        if status.allocatable.is_empty() {
            let error = anyhow!(
                "{source}: status.allocatable: nothing is in it, so what the node has for pods is not known"
            );
            return Err(Failure::missing(error).hint(HINT));
        }
        for (field, list) in [("capacity", &status.capacity), ("allocatable", &status.allocatable)]
        {
            if let Some((name, amount)) = list.iter().find(|(_, amount)| amount.sign() < 0) {
                return Err(Failure::usage(anyhow!(
                    "{source}: status.{field}.{name}: {amount}: no node has less than nothing"
                ))
                .hint(HINT));
            }
        }
        if !status.allocatable.contains(&ResourceName::from("pods")) {
            let error = anyhow!("{source}: status.allocatable.pods is not set");
            return Err(Failure::missing(error).hint(HINT));
        }
        Ok(&found.value)
    }

    /// Asks what the kubelet asks first: whether the node is short of something.
    pub fn pressure(&self, pod: &Pod, basis: &mut Basis) -> Result<Before, Failure> {
        let (short, unknown) = self.object()?.status.pressure();
        let names = |conditions: &[PressureCondition]| {
            conditions.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
        };
        if !unknown.is_empty() {
            let unknown = names(&unknown);
            basis.assumptions.push(format!("no {unknown}: the Node object does not say"));
        }
        let admission = admit_under_pressure(&short, pod, &self.node.kubelet.rules);
        let short = names(&short);
        Ok(Before {
            check: "pressure",
            because: match &admission {
                Admission::NoPressure => "the node is short of nothing".to_owned(),
                Admission::Critical => format!("{short}; but the pod is critical"),
                Admission::AsksForMemory(class) => {
                    let class = class.map_or(&*pod.status.qos_class, |class| class.as_str());
                    format!("{short} alone; but the pod is {class}")
                }
                Admission::ToleratesMemoryPressure => {
                    format!("{short} alone; the pod bears its taint")
                }
                Admission::Refused(_) => short,
            },
            refusals: admission
                .messages()
                .into_iter()
                .map(|message| Refusal { reason: admission.reason().to_owned(), message })
                .collect(),
        })
    }

    /// Says what is taken for granted in every answer about these pods.
    pub fn assume<'p>(&self, pods: impl Iterator<Item = &'p Pod>, basis: &mut Basis) {
        basis.assumptions.push(
            "what is not looked at does not refuse the pod: sysctls, CPUs, memory and their topology \
             before the predicates, AppArmor, declared features and node shutdown after them"
                .to_owned(),
        );
        basis
            .assumptions
            .push("the kubelet has the node and its pods in mind as they were read".to_owned());
        let containers = |pod: &'p Pod| pod.spec.containers.iter().chain(&pod.spec.init_containers);
        let names: BTreeSet<&ResourceName> = pods
            .flat_map(containers)
            .flat_map(|it| it.resources.requests.iter())
            .map(|(name, _)| name)
            .collect();
        let allocatable = self.node.snapshot.node.value().map(|node| &node.status.allocatable);
        for name in ["cpu", "memory", "ephemeral-storage"].map(ResourceName::from) {
            if names.contains(&name) && allocatable.is_some_and(|has| !has.contains(&name)) {
                basis.missing.push(format!(
                    "status.allocatable.{name} of the Node object, which counts as 0 (--node-file)"
                ));
            }
        }
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
