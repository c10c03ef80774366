//! What the kubelet tells on its pod-resources socket (`k8s.io/kubelet/pkg/apis/podresources/v1`).

use crate::facts::lookup::Lookup;
use serde::{Deserialize, Serialize};

/// What the kubelet tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodResources {
    /// `List`: the active pods; init containers that ended are not among their containers.
    pub pods: Vec<PodResourcesPod>,
    /// `GetAllocatableResources`: the healthy devices of all plugins, whether allocated or not.
    pub allocatable: Lookup<AllocatableResources>,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodResourcesPod {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its containers.
    pub containers: Vec<PodResourcesContainer>,
}

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodResourcesContainer {
    /// Its name.
    pub name: String,
    /// Its devices; the kubelet gives each id and NUMA node an item of its own.
    pub devices: Vec<ContainerDevices>,
    /// Its exclusive CPUs.
    pub cpu_ids: Vec<i64>,
    /// Its memory.
    pub memory: Vec<ContainerMemory>,
}

/// Devices of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerDevices {
    /// The resource.
    pub resource_name: String,
    /// The ids.
    pub device_ids: Vec<String>,
    /// The NUMA nodes; `None`: no topology.
    pub numa_nodes: Option<Vec<i64>>,
}

/// Memory of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerMemory {
    /// `memory`, `hugepages-2Mi`.
    pub memory_type: String,
    /// In bytes.
    pub size: u64,
    /// The NUMA nodes.
    pub numa_nodes: Option<Vec<i64>>,
}

/// What can be allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AllocatableResources {
    /// The healthy devices.
    pub devices: Vec<ContainerDevices>,
    /// The CPUs that may become exclusive.
    pub cpu_ids: Vec<i64>,
    /// The memory.
    pub memory: Vec<ContainerMemory>,
}
