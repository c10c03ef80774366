//! The policies and the scopes (`policy_*.go`, `scope.go`), and what a policy makes of hints.

use super::mask::{ProviderHints, TopologyHint};
use super::merge::{choices, merge, single};
use super::not_computed::NotComputed;
use super::numa::NumaInfo;
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

/// Merges the hints of the providers, and returns whether the policy lets the result pass (`Merge`). `closest`: the option
/// `prefer-closest-numa-nodes`.
/// Fails where the kubelet crashes, and for more different combinations than kq goes through.
pub fn decide<'h>(
    policy: TopologyPolicy,
    numa: &NumaInfo,
    providers: impl IntoIterator<Item = &'h ProviderHints>,
    closest: bool,
) -> Result<(TopologyHint, bool), NotComputed> {
    Ok(match policy {
        TopologyPolicy::None => (TopologyHint::default(), true),
        TopologyPolicy::BestEffort | TopologyPolicy::Restricted => {
            let best = TopologyHint::from(merge(numa, &choices(providers), closest)?);
            (best, best.preferred || policy == TopologyPolicy::BestEffort)
        }
        TopologyPolicy::SingleNumaNode => {
            let best = merge(numa, &single(choices(providers)), false)?;
            let numa_nodes = (best.numa_nodes != numa.all()).then_some(best.numa_nodes);
            (TopologyHint { numa_nodes, preferred: best.preferred }, best.preferred)
        }
    })
}
