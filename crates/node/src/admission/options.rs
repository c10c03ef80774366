//! The options of a question about admission: the pod, the node, and the sources of facts.

use super::target_pod::{bind_static, pod_of_node};
use crate::{NamedFiles, NodeSpec};
use anyhow::anyhow;
use kq_answer::{Basis, Failure};
use kq_core::question::admission::AdmissionNode;
use kq_facts::kubelet_pods::as_of_kubelet;
use kq_facts::needs::Needs;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::is_file;
use kq_facts::snapshot::{PodSource, Snapshot};
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;

/// The pod and the node of a question. A pod is named by NAMESPACE/NAME, by UID, or by the path of a manifest.
#[derive(Clone, Debug, Default)]
pub struct AdmissionOptions {
    pub node: NodeSpec,
    /// What overrides the facts of its kubelet.
    pub overrides: Overrides,
    /// Files that replace facts of the node.
    pub files: NamedFiles,
    /// The pod of the manifest is a static pod.
    pub is_static: bool,
    /// The priority of the pod; `None`: by its spec.
    pub priority: Option<i32>,
    /// The pods of the node that do not count, as NAMESPACE/NAME.
    pub without: Vec<String>,
}

impl AdmissionOptions {
    /// Gathers the node and the named pod. `observe` is called with the facts, before the answer can fail for them.
    ///
    /// # Errors
    ///
    /// Fails where the pod or a decisive fact is unknown, and for files that cannot be read.
    pub fn gather(
        &self,
        name: &str,
        observe: impl FnOnce(&Snapshot),
    ) -> Result<(AdmissionNode, Pod), Failure> {
        let mut of_file = Basis::default();
        let pod = match is_file(name) {
            true => Some(self.pod_of_file(name, &mut of_file)?),
            false if self.is_static => {
                let about = self.gather_node(observe)?;
                let refused = match pod_of_node(&about.node, name) {
                    Ok(_) => anyhow!("--static: {name} is already a pod of the node"),
                    Err(_) => anyhow!("--static: there is no file {name}"),
                };
                return Err(Failure::usage(refused)
                    .hint("--static applies to the pod of a file, such as pod.yaml"));
            }
            false => None,
        };
        let mut about = self.gather_node(observe)?;
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
                "the pod already runs on the node: the answer is for a new copy of it".to_owned(),
            );
        }
        self.set_priority(&mut pod, &mut about.basis);
        Ok((about, pod))
    }

    /// Reads the pod of a file, for a node that was gathered before.
    ///
    /// # Errors
    ///
    /// Fails for a file that does not have one pod.
    pub fn pod_on(
        &self,
        file: &str,
        mut about: AdmissionNode,
    ) -> Result<(AdmissionNode, Pod), Failure> {
        let mut of_file = Basis::default();
        let mut pod = self.pod_of_file(file, &mut of_file)?;
        about.basis.warnings.splice(0..0, of_file.warnings);
        about.basis.assumptions.splice(0..0, of_file.assumptions);
        if self.is_static {
            bind_static(&mut pod, &about);
        }
        as_of_kubelet(&mut pod, PodSource::Files, &about.node.kubelet.rules);
        self.set_priority(&mut pod, &mut about.basis);
        Ok((about, pod))
    }

    /// Gathers the node and the pod again; `None`: the pod is no longer on the node.
    ///
    /// # Errors
    ///
    /// Fails as [`AdmissionOptions::gather`] does.
    pub fn gather_again(
        &self,
        name: &str,
        pod: &Pod,
        observe: impl FnOnce(&Snapshot),
    ) -> Result<(AdmissionNode, Option<Pod>), Failure> {
        let mut about = self.gather_node(observe)?;
        if is_file(name) {
            return Ok((about, Some(pod.clone())));
        }
        let is_meant = |it: &&Pod| effective_uid(it) == effective_uid(pod);
        let found = about.node.allocated_pods().into_iter().find(is_meant).cloned();
        let found = found.map(|mut pod| {
            self.set_priority(&mut pod, &mut about.basis);
            pod
        });
        Ok((about, found))
    }

    /// Gathers the node.
    ///
    /// # Errors
    ///
    /// Fails for files that cannot be read, and for a Node object of another node.
    pub fn gather_node(&self, observe: impl FnOnce(&Snapshot)) -> Result<AdmissionNode, Failure> {
        self.gather_facts(Needs::ADMISSION, observe)
    }

    /// Gathers the node of a kubelet that starts.
    ///
    /// # Errors
    ///
    /// Fails as [`AdmissionOptions::gather_node`] does.
    pub fn gather_restarting(
        &self,
        observe: impl FnOnce(&Snapshot),
    ) -> Result<AdmissionNode, Failure> {
        self.gather_facts(Needs::READMISSION, observe)
    }

    fn gather_facts(
        &self,
        needs: Needs,
        observe: impl FnOnce(&Snapshot),
    ) -> Result<AdmissionNode, Failure> {
        let node = self.files.gather(&self.node, self.overrides.clone(), needs, observe)?;
        let device_flags = Some("--checkpoint, --pod-resources");
        let mut about = AdmissionNode::with_flags(node, self.without.clone(), device_flags);
        about.compare_amounts();
        Ok(about)
    }

    /// Returns the first flag that makes the answer differ from the node's current state.
    pub fn stored(&self) -> Option<&'static str> {
        let given = [
            (self.node.snapshot.is_some(), "--snapshot"),
            (!self.node.pods.is_empty(), "--pods"),
            (self.files.node.is_some(), "--node-file"),
            (!self.without.is_empty(), "--without"),
        ];
        let stored = given.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag));
        stored.or_else(|| self.files.devices.first_flag())
    }
}
