//! A file, and what is known beside it.

use crate::facts::checkpoint::StateFile;
use crate::facts::checkpoint::cpu_manager::KnownContainers;
use crate::facts::devices::CheckpointFact;
use crate::facts::node_pods::NodePods;
use crate::k8s::cpuset::CpuSet;
use std::borrow::Cow;

/// A file of state.
#[derive(Clone, Debug)]
pub struct StateFileContent<'a> {
    /// Which one; `None`: neither its name nor its content tells.
    pub file: Option<StateFile>,
    /// Where it is, as it was named.
    pub path: String,
    /// The kubelet's root folder, which it names when it does not start.
    pub folder: String,
    /// What became of reading it.
    pub content: Content<'a>,
}

/// What became of reading a file.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Its bytes.
    Bytes(Cow<'a, [u8]>),
    /// The device checkpoint as it is stored: without bytes, which may hold secrets.
    Stored(&'a CheckpointFact),
    /// There is none.
    Absent,
    /// Nobody looked for it when the facts were stored.
    Unrecorded,
    /// Why it could not be read.
    Unreadable(String),
}

/// What is known beside the files.
#[derive(Clone, Debug, Default)]
pub struct VerifyContext<'a> {
    /// `cpuManagerPolicy`; `None`: the configuration is not known.
    pub cpu_policy: Option<&'a str>,
    /// The policy leaves reserved CPUs out of what is shared.
    pub strict_cpu_reservation: bool,
    /// `memoryManagerPolicy`; `None`: the configuration is not known.
    pub memory_policy: Option<&'a str>,
    /// The gate PodLevelResourceManagers.
    pub pod_level: bool,
    /// The kubelet is a 1.32, which has `pod_status_manager_state`; later ones have two other files.
    pub is_1_32: bool,
    /// The containers of the runtime.
    pub containers: Option<KnownContainers>,
    /// The CPUs of the machine, for files that are this machine's.
    pub cpus: Option<CpuSet>,
    /// The pods, for files that are this node's.
    pub pods: Option<&'a NodePods<'a>>,
}
