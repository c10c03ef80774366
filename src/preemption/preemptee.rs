//! A pod that may have to go, with all that is asked about it when victims are picked: found out once,
//! however often somebody makes room.

use super::requirement::rounded;
use crate::k8s::kubelet_request::kubelet_requests;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{Pod, ResourceName};
use crate::k8s::qos::{QosClass, recorded_qos_class};

/// A pod that may have to go.
#[derive(Clone, Debug)]
pub struct PotentialVictim<'p> {
    pub(super) pod: &'p Pod,
    /// `None`: its status has a class that does not exist, so it is never picked.
    pub(super) class: Option<QosClass>,
    /// What it gives back, by the names of the resources.
    requests: Vec<(ResourceName, i64)>,
    /// Memory, then CPU.
    pub(super) asks: (i64, i64),
}

impl<'p> PotentialVictim<'p> {
    /// Finds out about a pod.
    pub fn of(pod: &'p Pod, rules: &KubeletRules) -> Self {
        let requests = kubelet_requests(pod, rules);
        let requests = requests.iter().map(|(name, amount)| (name.clone(), rounded(name, amount)));
        let class = recorded_qos_class(pod, rules.gates);
        let mut found = Self { pod, class, requests: requests.collect(), asks: (0, 0) };
        found.asks = (found.gives(&ResourceName::Memory), found.gives(&ResourceName::Cpu));
        found
    }

    /// Returns what it gives back of a resource when it is killed: [`preemption_request`], looked up.
    ///
    /// [`preemption_request`]: super::requirement::preemption_request
    pub fn gives(&self, resource: &ResourceName) -> i64 {
        if resource.as_str() == "pods" {
            return 1;
        }
        let at = self.requests.binary_search_by(|(name, _)| name.cmp(resource));
        at.ok().and_then(|at| self.requests.get(at)).map_or(0, |(_, amount)| *amount)
    }
}
