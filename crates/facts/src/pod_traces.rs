//! The traces of a pod that may be gone.

use crate::events::PodEvent;
use crate::kubelet_log::KubeletLog;
use crate::timestamp::Timestamp;
use kq_answer::Basis;
use kq_k8s::manifest::LoadedPod;

/// The traces of a pod. Each unknown one has its reason.
#[derive(Clone, Debug)]
pub struct PodTraces {
    /// The pods of that name, and the pods of its node.
    pub pods: Result<Vec<LoadedPod>, String>,
    /// The events about it and about its preemptor.
    pub events: Result<Vec<PodEvent>, String>,
    /// The kubelet's log.
    pub log: Option<KubeletLog>,
    /// The moment of everything.
    pub now: Timestamp,
    /// When the pods were read; `None`: they are from files, which may be older.
    pub are_current: bool,
    /// Irregularities of the sources, and missing facts.
    pub basis: Basis,
}
