//! What the device manager decides about a pod before the predicates are asked.
//!
//! The kubelet asks its resource managers first (`GetAllocateResourcesPodAdmitHandler` stands before
//! `NewPredicateAdmitHandler` in `NewMainKubelet`, `pkg/kubelet/kubelet.go`, read in 1.36.2). A pod that gets
//! no devices is refused there, and nobody is killed for it: `HandleAdmissionFailure` belongs to the predicates.
//! For a pod with devices the node counts with at least as many of each resource as are allocated
//! (`UpdatePluginResources`, `sanitizeNodeAllocatable` of `pkg/kubelet/cm/devicemanager/manager.go`).

use super::examine::Refusal;
use super::explain::ResourceLedger;
use crate::k8s::pod::ResourceName;
use std::collections::BTreeMap;

/// What the device manager decides about a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceDecision {
    /// What is said of a pod that it refuses.
    pub refusal: Option<Refusal>,
    /// Why, or why not.
    pub because: String,
    /// How many devices of each resource are allocated, where the pod has some; else nothing.
    pub allocated: BTreeMap<ResourceName, i64>,
}

impl DeviceDecision {
    /// Returns the check that comes before the predicates.
    pub fn check(&self) -> ResourceLedger {
        ResourceLedger {
            check: "devices",
            refusals: self.refusal.iter().cloned().collect(),
            because: self.because.clone(),
        }
    }
}
