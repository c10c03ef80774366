//! The topology manager where only devices have hints: the NUMA nodes of a container or a pod, and the rejection that may
//! follow. `topology_manager` has the manager with all providers.

use super::hints::{HintError, HintNodes, Hints, Machine, NumaNodes};
use super::lifecycle::ManagerState;
use crate::topology_manager::{NumaInfo, decide, provided};
use kq_k8s::pod::{Container, Pod};
use serde::Serialize;

pub use crate::topology_manager::{TopologyPolicy, TopologyScope, UnknownName};

#[derive(Clone, Debug, Default)]
pub struct TopologyManager {
    pub policy: TopologyPolicy,
    pub scope: TopologyScope,
    pub machine: Machine,
}

/// What was decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyDecision {
    /// What the devices say.
    pub hints: Hints,
    /// The nodes; null: they do not matter.
    pub numa_nodes: Option<NumaNodes>,
    /// All agreed on them.
    pub preferred: bool,
    /// The policy lets it pass.
    pub admitted: bool,
}

impl TopologyManager {
    /// Decides for a container.
    /// Fails where there are no hints.
    pub fn of_container(
        &self,
        state: &ManagerState,
        pod: &Pod,
        container: &Container,
    ) -> Result<TopologyDecision, HintError> {
        self.decide(state.container_hints(pod, container, &self.machine)?)
    }

    /// Decides for a pod as a whole.
    /// Fails where there are no hints.
    pub fn of_pod(&self, state: &ManagerState, pod: &Pod) -> Result<TopologyDecision, HintError> {
        self.decide(state.pod_hints(pod, &self.machine)?)
    }

    /// Returns what a policy makes of hints.
    /// Fails for more different combinations of hints than kq goes through.
    pub fn decide(&self, hints: Hints) -> Result<TopologyDecision, HintError> {
        let numa = NumaInfo::of_nodes(self.machine.numa_nodes.iter().copied());
        let (merged, admitted) = decide(self.policy, &numa, [&provided(&hints)], false)
            .map_err(|_| HintError::TooManyHints)?;
        let preferred = merged.preferred || self.policy == TopologyPolicy::None;
        Ok(TopologyDecision { hints, numa_nodes: merged.numa_nodes, preferred, admitted })
    }

    /// Returns a manager of a machine.
    pub fn new(
        policy: TopologyPolicy,
        scope: TopologyScope,
        numa_nodes: Vec<i64>,
        hint_nodes: HintNodes,
    ) -> Self {
        Self { policy, scope, machine: Machine { numa_nodes, hint_nodes } }
    }
}
