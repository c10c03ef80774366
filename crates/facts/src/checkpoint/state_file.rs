//! The state files, the kubelet's names for them, and its messages for not starting.

use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::go_text::quote;
use serde::{Serialize, Serializer};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateFile {
    /// `kubelet_internal_checkpoint`: the devices of plugins.
    Devices,
    /// `cpu_manager_state`
    Cpu,
    /// `memory_manager_state`
    Memory,
    /// `allocated_pods_state`
    AllocatedPods,
    /// `actuated_pods_state`
    ActuatedPods,
    /// `dra_manager_state`
    Dra,
    /// `pod_status_manager_state` of Kubernetes 1.32
    PodStatus,
}

impl StateFile {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Devices,
        Self::Cpu,
        Self::Memory,
        Self::AllocatedPods,
        Self::ActuatedPods,
        Self::Dra,
        Self::PodStatus,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Devices => "kubelet_internal_checkpoint",
            Self::Cpu => "cpu_manager_state",
            Self::Memory => "memory_manager_state",
            Self::AllocatedPods => "allocated_pods_state",
            Self::ActuatedPods => "actuated_pods_state",
            Self::Dra => "dra_manager_state",
            Self::PodStatus => "pod_status_manager_state",
        }
    }

    /// Returns what it is about, in a word or two.
    pub fn short(self) -> &'static str {
        match self {
            Self::Devices => "devices",
            Self::Cpu => "cpu-manager",
            Self::Memory => "memory-manager",
            Self::AllocatedPods => "allocated-pods",
            Self::ActuatedPods => "actuated-pods",
            Self::Dra => "dra",
            Self::PodStatus => "pod-status",
        }
    }

    /// Returns the file of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|file| file.name() == name)
    }

    /// Returns true if a kubelet with these gates reads the file when it starts.
    pub fn is_read_at_start(self, gates: FeatureGates) -> bool {
        let version = gates.version();
        let resizes = gates.enabled(Gate::InPlacePodVerticalScaling);
        match self {
            Self::Devices | Self::Cpu | Self::Memory => true,
            Self::Dra => gates.enabled(Gate::DynamicResourceAllocation),
            // Until 1.32 one file has the resources of all pods.
            Self::PodStatus => !version.has_two_files_of_pods() && resizes,
            Self::AllocatedPods | Self::ActuatedPods => {
                version.has_two_files_of_pods() && (version.always_stores_pods() || resizes)
            }
        }
    }

    /// Returns the kubelet's full message about a file that it rejects. `folder` is its root folder.
    pub fn refusal(self, cause: &str, folder: &str) -> String {
        let owner = match self {
            Self::Cpu => "the CPU manager",
            Self::Memory => "the memory manager",
            Self::AllocatedPods | Self::ActuatedPods => "pod resource information",
            Self::PodStatus => "pod allocation",
            Self::Devices | Self::Dra => return cause.to_owned(),
        };
        let path = quote(&format!("{}/{}", folder.trim_end_matches('/'), self.name()));
        format!(
            "could not restore state from checkpoint: {cause}, please drain this node and delete \
             {owner} checkpoint file {path} before restarting Kubelet"
        )
    }
}

kq_k8s::schema_as!(StateFile, String);

impl Serialize for StateFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for StateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
