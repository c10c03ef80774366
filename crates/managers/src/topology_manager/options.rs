//! The options of the topology manager, and why it is not made (`policy_options.go`, `NewManager` in `topology_manager.go`).
//!
//! | option | stage |
//! |---|---|
//! | `prefer-closest-numa-nodes` | stable since 1.32 |
//! | `max-allowable-numa-nodes` | beta to 1.34, stable since 1.35 (assumed; 1.36 has it so) |

use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::go_text::{NumError, atoi, parse_bool, quote};
use kq_k8s::kubelet_rules::KubeletRules;
use std::collections::BTreeMap;

pub const PREFER_CLOSEST_NUMA_NODES: &str = "prefer-closest-numa-nodes";
pub const MAX_ALLOWABLE_NUMA_NODES: &str = "max-allowable-numa-nodes";

/// How many NUMA nodes the topology manager accepts without the option.
pub const DEFAULT_MAX_NUMA_NODES: i64 = 8;

/// The options (`PolicyOptions`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyOptions {
    pub prefer_closest_numa_nodes: bool,
    pub max_allowable_numa_nodes: i64,
}

impl Default for TopologyOptions {
    fn default() -> Self {
        Self { prefer_closest_numa_nodes: false, max_allowable_numa_nodes: DEFAULT_MAX_NUMA_NODES }
    }
}

/// Why the kubelet does not make its topology manager, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyManagerError {
    #[error("unknown Topology Manager Policy option: {}", quote(_0))]
    UnknownOption(String),
    /// A beta option with the gate off.
    #[error(
        "topology manager policy beta-level options not enabled, but option {} provided",
        quote(option)
    )]
    BetaOff { option: String },
    /// The same as 1.32 writes it.
    #[error(
        "Topology Manager Policy Beta-level Options not enabled, but option {} provided",
        quote(option)
    )]
    BetaOffCapitalised { option: String },
    /// A value that is neither true nor false.
    #[error("bad value for option {}: {error}", quote(option))]
    NoBool { option: &'static str, error: NumError },
    /// A value that is not a number.
    #[error("unable to convert policy option to integer {}: {error}", quote(option))]
    NoNumber { option: &'static str, error: NumError },
    /// Fewer NUMA nodes than without the option.
    #[error(
        "the minimum value of {} should not be less than {DEFAULT_MAX_NUMA_NODES}",
        quote(MAX_ALLOWABLE_NUMA_NODES)
    )]
    TooSmall,
    /// `prefer-closest-numa-nodes`, and the machine does not say how far its nodes are apart.
    #[error("cannot discover NUMA topology: error getting NUMA distances from cadvisor")]
    NoDistances,
    #[error("unsupported on machines with more than {0} NUMA Nodes")]
    TooManyNodes(i64),
    #[error("unknown policy: \"{0}\"")]
    UnknownPolicy(String),
    #[error("unknown scope: \"{0}\"")]
    UnknownScope(String),
}

impl TopologyOptions {
    /// Reads the options (`NewPolicyOptions`). Of several that are wrong the kubelet names any, and kq the first by name.
    pub fn parse(
        given: &BTreeMap<String, String>,
        gates: FeatureGates,
    ) -> Result<Self, TopologyManagerError> {
        let mut options = Self::default();
        for (name, value) in given {
            match name.as_str() {
                PREFER_CLOSEST_NUMA_NODES => {
                    options.prefer_closest_numa_nodes = parse_bool(value).map_err(|error| {
                        TopologyManagerError::NoBool { option: PREFER_CLOSEST_NUMA_NODES, error }
                    })?;
                }
                MAX_ALLOWABLE_NUMA_NODES => {
                    check_beta(name, gates)?;
                    options.max_allowable_numa_nodes = max_nodes(value)?;
                }
                _ => return Err(TopologyManagerError::UnknownOption(name.clone())),
            }
        }
        Ok(options)
    }
}

fn check_beta(name: &str, gates: FeatureGates) -> Result<(), TopologyManagerError> {
    let rules = KubeletRules { gates };
    if rules.max_numa_nodes_is_stable() || gates.enabled(Gate::TopologyManagerPolicyBetaOptions) {
        return Ok(());
    }
    let option = name.to_owned();
    Err(match rules.topology_errors_are_capitalised() {
        true => TopologyManagerError::BetaOffCapitalised { option },
        false => TopologyManagerError::BetaOff { option },
    })
}

fn max_nodes(value: &str) -> Result<i64, TopologyManagerError> {
    let most = atoi(value).map_err(|error| TopologyManagerError::NoNumber {
        option: MAX_ALLOWABLE_NUMA_NODES,
        error,
    })?;
    match most < DEFAULT_MAX_NUMA_NODES {
        true => Err(TopologyManagerError::TooSmall),
        false => Ok(most),
    }
}
