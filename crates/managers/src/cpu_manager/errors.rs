//! The errors of the CPU manager, in the kubelet's words.

use super::accumulator::TakeError;
use super::options::OptionError;
use super::topology::TopologyError;
use crate::topology_manager::NotComputed;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::cpu_manager::CpuRefusal;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::go_text::{self, quote};
use std::collections::BTreeMap;

/// Why the manager is not made (`NewManager` in `cpu_manager.go`). The kubelet ends with this text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NewError {
    #[error(transparent)]
    Topology(#[from] TopologyError),
    #[error("unknown policy: \"{0}\"")]
    UnknownPolicy(String),
    /// The policy `none` has no options.
    #[error(
        "new none policy error: None policy: received unsupported options={}",
        go_text::map(_0)
    )]
    OptionsOfNone(BTreeMap<String, String>),
    #[error("[cpumanager] unable to determine reserved CPU resources for static policy")]
    NoReservation,
    #[error(
        "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
    )]
    ZeroReservation,
    #[error("new static policy error: {0}")]
    Static(#[from] StaticPolicyError),
}

/// Why the static policy is not made (`NewStaticPolicy`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StaticPolicyError {
    #[error(transparent)]
    Options(#[from] OptionError),
    /// The CPUs to reserve are not as many as the reservation of CPU says.
    #[error(
        "[cpumanager] unable to reserve the required amount of CPUs (size of {reserved} did not equal {wanted})"
    )]
    WrongSize {
        /// The list of the configuration, or none where not enough could be taken.
        reserved: CpuSet,
        wanted: i64,
    },
    /// A reserved CPU that the machine does not have.
    #[error(
        "[cpumanager] unable to build the reserved physical CPUs from the reserved set: unknown CPU ID: {0}"
    )]
    UnknownCpu(i64),
    /// Not the kubelet's: kq does not know which CPUs it reserves.
    #[error(transparent)]
    NotComputed(#[from] NotComputed),
}

/// Why the manager does not start (`Start`). The kubelet puts `start cpu manager error: ` in front.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The file cannot be read.
    #[error("{}", StateFile::Cpu.refusal(&refusal.to_string(), folder))]
    File {
        refusal: Box<CpuRefusal>,
        /// The kubelet's folder.
        folder: String,
    },
    #[error(transparent)]
    State(#[from] StateError),
}

/// Why the static policy does not start with a state (`validateState` in `policy_static.go`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error("default cpuset cannot be empty")]
    EmptyDefault,
    /// With `strict-cpu-reservation`.
    #[error(
        "some of strictly reserved cpus: {} are present in defaultCpuSet: {}",
        quote(&reserved.to_string()),
        quote(&default.to_string())
    )]
    StrictlyReserved {
        /// Those that are.
        reserved: CpuSet,
        default: CpuSet,
    },
    #[error("not all reserved cpus: \"{reserved}\" are present in defaultCpuSet: \"{default}\"")]
    NotReserved { reserved: CpuSet, default: CpuSet },
    /// A container has CPUs that are shared too. Of several the kubelet names any, and kq the first by name.
    #[error(
        "pod: {pod}, container: {container} cpuset: {} overlaps with default cpuset {}",
        quote(&cpus.to_string()),
        quote(&default.to_string())
    )]
    Overlap {
        /// Its UID.
        pod: String,
        container: String,
        cpus: CpuSet,
        default: CpuSet,
    },
    /// The machine has other CPUs.
    #[error(
        "current set of available CPUs \"{available}\" doesn't match with CPUs in state \"{known}\""
    )]
    OtherCpus {
        /// Those of the machine, without the reserved ones with `strict-cpu-reservation`.
        available: CpuSet,
        known: CpuSet,
    },
}

/// Why a container does not get its CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocateError {
    /// `full-pcpus-only`: a part of a core is asked for.
    #[error(
        "SMT Alignment Error: requested {requested} cpus not multiple cpus per core = {per_core}"
    )]
    PartOfCore { requested: i64, per_core: i64 },
    /// `full-pcpus-only`: too few CPUs are shared that share no core with a reserved one.
    #[error(
        "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = {available}, \
         requested CPUs = {requested}, CPUs per core = {per_core}"
    )]
    TooFewCores { available: i64, requested: i64, per_core: i64 },
    #[error(transparent)]
    Take(#[from] TakeError),
    /// The exclusive CPUs of containers leave none for the others of a pod with pod-level resources.
    #[error("pod rejected, {}", shared_pool(*_0))]
    EmptySharedPool(EmptySharedPool),
}

/// For which containers no CPUs are left (`validatePodScopeResources`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptySharedPool {
    Init,
    LongRunning,
}

fn shared_pool(of: EmptySharedPool) -> &'static str {
    match of {
        EmptySharedPool::Init => "pod has shared init containers but no cpus available for them",
        EmptySharedPool::LongRunning => {
            "sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers"
        }
    }
}

impl AllocateError {
    /// Returns the reason of the pod's status, if the error has one of its own (`Type`).
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::PartOfCore { .. } | Self::TooFewCores { .. } => Some("SMTAlignmentError"),
            Self::EmptySharedPool(_) => Some("EmptyPodSharedPoolError"),
            Self::Take(_) => None,
        }
    }
}
