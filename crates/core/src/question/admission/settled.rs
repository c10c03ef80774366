//! Pods that need no victims any more.

use super::AdmissionNode;
use kq_admission::qualified;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;

/// Returns why no pod has to be evicted for a pod that is already on the node, whatever it lacks. The pod of a
/// file is on the node if its UID is.
pub fn settled(about: &AdmissionNode, pod: &Pod) -> Option<Settled> {
    let uid = effective_uid(pod);
    let is_same = |it: &&Pod| {
        effective_uid(it) == uid && (!uid.is_empty() || qualified(it) == qualified(pod))
    };
    let now = about.node.allocated_pods().into_iter().find(is_same)?;
    let status = &now.status;
    if now.metadata.deletion_timestamp.is_some() {
        return Some(Settled::Deleted);
    }
    // The kubelet writes the start time when it admits the pod, before the containers run.
    let is_taken =
        status.phase == "Running" || status.phase == "Pending" && status.start_time.is_some();
    is_taken.then_some(Settled::Taken)
}

/// The state of a pod that needs no victims any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The kubelet admitted it.
    Taken,
    /// It is being deleted.
    Deleted,
}

impl Settled {
    /// Returns why no pod is evicted for it.
    pub fn because(self) -> &'static str {
        match self {
            Self::Taken => {
                "it already runs on the node: the kubelet kills no pods for an admitted pod"
            }
            Self::Deleted => "it is being deleted: no pod is evicted for it",
        }
    }
}
