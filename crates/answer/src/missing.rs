//! Facts that no source supplied. A name that `FactKey` or [`CgroupFact`] has too means the same fact.

use super::cgroup_fact::CgroupFact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A fact that an answer can miss.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum MissingFact {
    /// The number of CPUs of the node.
    CpuCapacity,
    /// The memory of the node.
    MemoryCapacity,
    /// The swap of the node.
    SwapCapacity,
    /// The largest number of processes of the node.
    PidCapacity,
    /// The sizes of huge pages of the node.
    HugepageCapacity,
    /// Whether the kernel limits swap per cgroup.
    SwapController,
    /// The size of a page of memory.
    PageSize,
    /// The cgroup version.
    CgroupVersion,
    /// The version of the kubelet.
    KubeletVersion,
    /// The cgroup driver.
    CgroupDriver,
    /// The kubelet's configuration. `about`: its unknown fields; null: all of them.
    KubeletConfig,
    /// The time of the kubelet's start.
    KubeletStart,
    /// Whether the kubelet starts and admits the pods again.
    NextStart,
    /// The kubelet's log.
    KubeletLog,
    /// The runtime's conversion of shares into a weight.
    RuntimeFormula,
    /// Whether the runtime writes the limits of huge pages of containers.
    RuntimeHugepages,
    /// All pods of the node with their specifications.
    Pods,
    /// A pod that a source has and that kq could not read.
    UnreadPod,
    /// The labels of pods. `about`: the pod, if it is one.
    PodLabels,
    /// The node of a pod. `about`: the pod.
    PodNode,
    /// The UID of a pod. `about`: the pod.
    PodUid,
    /// Whether a pod still runs. `about`: the pod.
    PodActivity,
    /// The IP of a pod. `about`: the probe.
    PodIp,
    /// The usage of pods as the kubelet measures it.
    PodStats,
    /// The pod for which the kubelet preempted another one.
    Preemptor,
    /// The events about a pod.
    Events,
    /// The containers of the runtime. `about`: the pod, cgroup or probe whose containers are unknown; null: all.
    Containers,
    /// The images of the runtime.
    Images,
    /// The image volumes of containers.
    ImageVolumes,
    /// The times at which images were found and used.
    ImageRecords,
    /// The file systems of images and containers, and their usage as one source counts it. `about`: the source.
    ImageFilesystems,
    /// The disk usage of a part of the image file system. `about`: the part.
    FolderUsage,
    /// The folders of container logs.
    ContainerLogs,
    /// The kubelet's stats summary.
    StatsSummary,
    /// The available amount of a resource that the kubelet watches. `about`: the eviction signals.
    AvailableAmount,
    /// The limits in the cgroup tree. `about`: the cgroup or the file of it.
    CgroupTree,
    /// The counters of cgroups. `about`: the file.
    CgroupUsage,
    /// The comparison of a pod's cgroups with the plan.
    CgroupValues,
    /// The amount of a resource that the Node object offers. `about`: the resource.
    Allocatable,
    /// The devices of the node.
    Devices,
    /// The devices that are in use, and their holders. `about`: the resource; null: all.
    DeviceUse,
    /// The decision of the device manager about a pod. `about`: the pod.
    DeviceDecision,
    /// The CPUs and NUMA nodes that a pod would get. `about`: the pod.
    Placement,
    /// The device manager's checkpoint.
    DeviceCheckpoint,
    /// The answers of the pod-resources API.
    PodResources,
    /// The preference of a device plugin. `about`: the resource.
    PluginPreference,
    /// The command, the query or a header of a probe, which a snapshot does not store or which is too long. `about`: the
    /// probe.
    ProbeAction,
    /// The rank of a pod in the order of eviction.
    EvictionRank,
    /// Whether the eviction manager has the node under pressure.
    Pressure,
    /// The verdicts of garbage collection about a pod's images.
    ImageVerdict,
    /// Whether the kubelet preempts a pod, or others for it.
    Preemption,
    /// The answer of the API server to a planned eviction.
    EvictionCheck,
    /// The answer of a node of a fleet. `about`: the node; null: several, which the results name.
    NodeAnswer,
    /// The PodDisruptionBudgets of the cluster.
    DisruptionBudgets,
}

/// A fact that is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// What is missing, and why.
    pub text: String,
    /// The flags that supply it.
    pub flags: Vec<String>,
    /// The code of the fact.
    pub fact: MissingFact,
    /// The pod, resource, file or other thing that the fact is about; null: the node, or several things.
    pub about: Option<String>,
}

impl Missing {
    /// Returns a missing fact. The text names the flags that supply it, if there are any.
    pub fn new(fact: MissingFact, text: impl Into<String>) -> Self {
        Self { text: text.into(), flags: Vec::new(), fact, about: None }
    }

    /// Adds the flags that supply the fact.
    pub fn with_flags<F: Into<String>>(mut self, flags: impl IntoIterator<Item = F>) -> Self {
        self.flags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// Names the thing that the fact is about.
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }
}

impl fmt::Display for MissingFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl From<CgroupFact> for MissingFact {
    fn from(fact: CgroupFact) -> Self {
        match fact {
            CgroupFact::CpuCapacity => Self::CpuCapacity,
            CgroupFact::MemoryCapacity => Self::MemoryCapacity,
            CgroupFact::SwapCapacity => Self::SwapCapacity,
            CgroupFact::PidCapacity => Self::PidCapacity,
            CgroupFact::HugepageCapacity => Self::HugepageCapacity,
            CgroupFact::SwapController => Self::SwapController,
            CgroupFact::PageSize => Self::PageSize,
            CgroupFact::CgroupVersion => Self::CgroupVersion,
            CgroupFact::KubeletVersion => Self::KubeletVersion,
            CgroupFact::CgroupDriver => Self::CgroupDriver,
            CgroupFact::KubeletConfig(_) => Self::KubeletConfig,
            CgroupFact::RuntimeFormula => Self::RuntimeFormula,
            CgroupFact::RuntimeHugepages => Self::RuntimeHugepages,
            CgroupFact::Pods => Self::Pods,
        }
    }
}
