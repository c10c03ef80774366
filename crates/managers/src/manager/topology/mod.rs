//! The topology manager (`pkg/kubelet/cm/topologymanager`): the NUMA nodes of a container or a pod, and
//! the rejection that may follow.
//!
//! Only the hints of devices are known here; those of the managers of CPUs and memory are not.

mod merge;

use super::hints::{HintError, HintNodes, Hints, Machine, NumaNodes};
use super::lifecycle::ManagerState;
use kq_k8s::pod::{Container, Pod};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// `topologyManagerPolicy`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum TopologyPolicy {
    /// NUMA nodes do not matter.
    #[default]
    None,
    /// The best is tried.
    BestEffort,
    /// The best is demanded.
    Restricted,
    /// One node is demanded.
    SingleNumaNode,
}

/// `topologyManagerScope`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum TopologyScope {
    /// Each container gets nodes of its own.
    #[default]
    Container,
    /// All containers of a pod get the same.
    Pod,
}

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
    /// The nodes; `None`: they do not matter.
    pub numa_nodes: Option<NumaNodes>,
    /// All agreed on them.
    pub preferred: bool,
    /// The policy lets it pass.
    pub admitted: bool,
}

/// A value that the kubelet does not know either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is none of {known}")]
pub struct UnknownName {
    text: String,
    known: &'static str,
}

impl FromStr for TopologyPolicy {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "none" => Ok(Self::None),
            "best-effort" => Ok(Self::BestEffort),
            "restricted" => Ok(Self::Restricted),
            "single-numa-node" => Ok(Self::SingleNumaNode),
            _ => Err(UnknownName {
                text: text.to_owned(),
                known: "none, best-effort, restricted, single-numa-node",
            }),
        }
    }
}

impl FromStr for TopologyScope {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match text {
            "container" => Ok(Self::Container),
            "pod" => Ok(Self::Pod),
            _ => Err(UnknownName { text: text.to_owned(), known: "container, pod" }),
        }
    }
}

impl fmt::Display for TopologyPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::BestEffort => "best-effort",
            Self::Restricted => "restricted",
            Self::SingleNumaNode => "single-numa-node",
        })
    }
}

impl fmt::Display for TopologyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Container => "container",
            Self::Pod => "pod",
        })
    }
}

impl TopologyManager {
    /// Decides for a container.
    ///
    /// # Errors
    ///
    /// Fails where there are no hints.
    pub fn of_container(
        &self,
        state: &ManagerState,
        pod: &Pod,
        container: &Container,
    ) -> Result<TopologyDecision, HintError> {
        Ok(self.decide(state.container_hints(pod, container, &self.machine)?))
    }

    /// Decides for a pod as a whole.
    ///
    /// # Errors
    ///
    /// Fails where there are no hints.
    pub fn of_pod(&self, state: &ManagerState, pod: &Pod) -> Result<TopologyDecision, HintError> {
        Ok(self.decide(state.pod_hints(pod, &self.machine)?))
    }

    /// Returns what a policy makes of hints.
    pub fn decide(&self, hints: Hints) -> TopologyDecision {
        let all = NumaNodes::of(self.machine.numa_nodes.iter().copied());
        let (numa_nodes, preferred) = match self.policy {
            TopologyPolicy::None => (None, true),
            TopologyPolicy::BestEffort | TopologyPolicy::Restricted => {
                let best = merge::merge(all, &merge::choices(&hints));
                (Some(best.numa_nodes), best.preferred)
            }
            TopologyPolicy::SingleNumaNode => {
                let best = merge::merge(all, &merge::single(merge::choices(&hints)));
                ((best.numa_nodes != all).then_some(best.numa_nodes), best.preferred)
            }
        };
        let admitted = match self.policy {
            TopologyPolicy::None | TopologyPolicy::BestEffort => true,
            TopologyPolicy::Restricted | TopologyPolicy::SingleNumaNode => preferred,
        };
        TopologyDecision { hints, numa_nodes, preferred, admitted }
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
