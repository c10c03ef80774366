//! The managers that the topology manager asks (`HintProvider` in `topology_manager.go`), and their errors as an
//! admission shows them (`pkg/kubelet/cm/admission/errors.go`).

use super::mask::{ProviderHints, TopologyHint};
use super::not_computed::NotComputed;
use crate::{cpu_manager, manager};
use kq_k8s::pod::{Container, Pod};

/// A manager of a resource on NUMA nodes. The kubelet asks those of devices, CPUs and memory, in this order.
pub trait HintProvider {
    /// Returns what it manages: `cpu`.
    fn name(&self) -> &'static str;

    /// Returns the NUMA nodes on which a container could have what it asks for (`GetTopologyHints`).
    /// Fails for what kq does not compute.
    fn container_hints(
        &mut self,
        pod: &Pod,
        container: &Container,
    ) -> Result<ProviderHints, NotComputed>;

    /// Returns the same for the pod as a whole (`GetPodTopologyHints`).
    /// Fails for what kq does not compute.
    fn pod_hints(&mut self, pod: &Pod) -> Result<ProviderHints, NotComputed>;

    /// Gives a container what it asks for (`Allocate`). `affinity`: what the topology manager stored for it, and
    /// the default where it stored nothing.
    /// Fails if the kubelet refuses the pod, and for what kq does not compute.
    fn allocate(
        &mut self,
        pod: &Pod,
        container: &Container,
        affinity: TopologyHint,
    ) -> Result<(), Stop>;

    /// Gives a pod with pod-level resources what it asks for as a whole (`AllocatePod`). Called with the gate
    /// `PodLevelResourceManagers` and the scope `pod` alone.
    /// Fails if the kubelet refuses the pod, and for what kq does not compute.
    fn allocate_pod(&mut self, pod: &Pod, affinity: TopologyHint) -> Result<(), Stop>;
}

/// Why an allocation ends early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The kubelet refuses the pod.
    #[error(transparent)]
    Refused(#[from] AllocationError),
    /// kq does not know what the kubelet does.
    #[error(transparent)]
    NotComputed(#[from] NotComputed),
}

/// Why a provider gives a container nothing, in the kubelet's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    #[error(transparent)]
    Cpu(#[from] cpu_manager::AllocateError),
    #[error(transparent)]
    Devices(#[from] manager::allocate::AllocateError),
    /// That of another provider.
    #[error("{text}")]
    Other {
        /// The reason of the pod's status; `None`: the error has none of its own.
        reason: Option<String>,
        text: String,
    },
}

/// The reason of an error that has none of its own (`ErrorReasonUnexpected`).
pub const UNEXPECTED: &str = "UnexpectedAdmissionError";

impl AllocationError {
    fn own_reason(&self) -> Option<&str> {
        match self {
            Self::Cpu(error) => error.reason(),
            Self::Devices(_) => None,
            Self::Other { reason, .. } => reason.as_deref(),
        }
    }

    /// Returns the reason that the pod's status gets.
    pub fn reason(&self) -> &str {
        self.own_reason().unwrap_or(UNEXPECTED)
    }

    /// Returns the message that the admission gives (`GetPodAdmitResult`).
    pub fn message(&self) -> String {
        match self.own_reason() {
            Some(_) => self.to_string(),
            None => format!("Allocate failed due to {self}, which is unexpected"),
        }
    }
}
