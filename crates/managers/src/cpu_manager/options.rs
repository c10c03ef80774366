//! The options of the static policy (`pkg/kubelet/cm/cpumanager/policy_options.go`).
//!
//! Which options exist and which gate each needs depends on the version: `KubeletVersion::cpu_policy_option` has the table
//! of 1.32 to 1.36, which 1.37 is assumed to have too.

use super::topology::CpuTopology;
use crate::topology_manager::TopologyPolicy;
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::go_text::{NumError, parse_bool, quote};
use kq_k8s::kubelet_rules::OptionStage;
use std::collections::BTreeMap;

pub const FULL_PCPUS_ONLY: &str = "full-pcpus-only";
pub const DISTRIBUTE_CPUS_ACROSS_NUMA: &str = "distribute-cpus-across-numa";
pub const ALIGN_BY_SOCKET: &str = "align-by-socket";
pub const DISTRIBUTE_CPUS_ACROSS_CORES: &str = "distribute-cpus-across-cores";
pub const STRICT_CPU_RESERVATION: &str = "strict-cpu-reservation";
pub const PREFER_ALIGN_CPUS_BY_UNCORE_CACHE: &str = "prefer-align-cpus-by-uncorecache";

/// Which options are on (`StaticPolicyOptions`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaticPolicyOptions {
    pub full_pcpus_only: bool,
    pub distribute_cpus_across_numa: bool,
    pub align_by_socket: bool,
    pub distribute_cpus_across_cores: bool,
    pub strict_cpu_reservation: bool,
    pub prefer_align_cpus_by_uncore_cache: bool,
}

/// Why the options are refused, in the kubelet's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    #[error("unknown CPU Manager Policy option: {}", quote(_0))]
    Unknown(String),
    /// An option that needs a gate which is off.
    #[error(
        "CPU Manager Policy {stage}-level Options not enabled, but option {} provided",
        quote(option)
    )]
    GateOff {
        /// `Alpha` or `Beta`.
        stage: &'static str,
        option: String,
    },
    /// A value that is neither true nor false.
    #[error("bad value for option {}: {error}", quote(option))]
    BadValue { option: String, error: NumError },
    /// Two options that exclude each other.
    #[error("static policy options {one} and {other} can not be used at the same time")]
    Exclusive { one: &'static str, other: &'static str },
    /// `align-by-socket` with the topology manager's policy `single-numa-node`.
    #[error(
        "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    )]
    SingleNumaNode,
    /// `align-by-socket` on a machine with more sockets than NUMA nodes.
    #[error(
        "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
    )]
    MoreSocketsThanNodes,
}

impl StaticPolicyOptions {
    /// Reads the options (`NewStaticPolicyOptions`). Of several that are wrong the kubelet names any, and kq the first by
    /// name.
    pub fn parse(
        given: &BTreeMap<String, String>,
        gates: FeatureGates,
    ) -> Result<Self, OptionError> {
        let mut options = Self::default();
        for (name, value) in given {
            check_available(name, gates)?;
            let is_on = parse_bool(value)
                .map_err(|error| OptionError::BadValue { option: name.clone(), error })?;
            match options.field(name) {
                Some(field) => *field = is_on,
                None => return Err(OptionError::Unknown(name.clone())),
            }
        }
        options.check_pairs()?;
        Ok(options)
    }

    fn field(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            FULL_PCPUS_ONLY => &mut self.full_pcpus_only,
            DISTRIBUTE_CPUS_ACROSS_NUMA => &mut self.distribute_cpus_across_numa,
            ALIGN_BY_SOCKET => &mut self.align_by_socket,
            DISTRIBUTE_CPUS_ACROSS_CORES => &mut self.distribute_cpus_across_cores,
            STRICT_CPU_RESERVATION => &mut self.strict_cpu_reservation,
            PREFER_ALIGN_CPUS_BY_UNCORE_CACHE => &mut self.prefer_align_cpus_by_uncore_cache,
            _ => return None,
        })
    }

    /// Refuses pairs, in the kubelet's order.
    fn check_pairs(self) -> Result<(), OptionError> {
        let cache = self.prefer_align_cpus_by_uncore_cache;
        let (across_cores, across_numa) =
            (self.distribute_cpus_across_cores, self.distribute_cpus_across_numa);
        for (both, one, other) in [
            (self.full_pcpus_only && across_cores, FULL_PCPUS_ONLY, DISTRIBUTE_CPUS_ACROSS_CORES),
            (
                across_numa && across_cores,
                DISTRIBUTE_CPUS_ACROSS_NUMA,
                DISTRIBUTE_CPUS_ACROSS_CORES,
            ),
            (
                cache && across_cores,
                PREFER_ALIGN_CPUS_BY_UNCORE_CACHE,
                DISTRIBUTE_CPUS_ACROSS_CORES,
            ),
            (cache && across_numa, PREFER_ALIGN_CPUS_BY_UNCORE_CACHE, DISTRIBUTE_CPUS_ACROSS_NUMA),
        ] {
            if both {
                return Err(OptionError::Exclusive { one, other });
            }
        }
        Ok(())
    }

    /// Checks the options against the machine and the topology manager (`ValidateStaticPolicyOptions`).
    pub fn check(
        self,
        topology: &CpuTopology,
        topology_policy: TopologyPolicy,
    ) -> Result<(), OptionError> {
        if !self.align_by_socket {
            return Ok(());
        }
        if topology_policy == TopologyPolicy::SingleNumaNode {
            return Err(OptionError::SingleNumaNode);
        }
        if topology.count_sockets() > topology.count_nodes() {
            return Err(OptionError::MoreSocketsThanNodes);
        }
        Ok(())
    }
}

/// Checks that an option exists and that its gate is on (`CheckPolicyOptionAvailable`).
fn check_available(name: &str, gates: FeatureGates) -> Result<(), OptionError> {
    let stage = gates.version().cpu_policy_option(name);
    let (gate, stage) = match stage.ok_or_else(|| OptionError::Unknown(name.to_owned()))? {
        OptionStage::Stable => return Ok(()),
        OptionStage::Beta => (Gate::CpuManagerPolicyBetaOptions, "Beta"),
        OptionStage::Alpha => (Gate::CpuManagerPolicyAlphaOptions, "Alpha"),
    };
    match gates.enabled(gate) {
        true => Ok(()),
        false => Err(OptionError::GateOff { stage, option: name.to_owned() }),
    }
}
