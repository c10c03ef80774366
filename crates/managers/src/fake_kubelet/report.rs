//! The report of an allocation by the fake kubelet.

use crate::manager::PluginOptions;
use kq_answer::{Basis, answer};
use kq_facts::checkpoint::device::ContainerAllocateResponse;
use serde::{Deserialize, Serialize};

/// What a pod got from a fake kubelet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceAllocation {
    pub namespace: String,
    pub name: String,
    /// Its UID; made up where the manifest has none.
    pub uid: String,
    pub admitted: bool,
    /// Why it is not: the kubelet's reason.
    pub reason: Option<String>,
    pub message: Option<String>,
    /// Why nothing can be said: the kubelet crashes, or it is too much.
    pub failure: Option<Unanswered>,
    /// Its containers, in the order in which they are given devices.
    pub containers: Vec<ContainerAllocation>,
    /// What plugins were asked, in order.
    pub calls: Vec<Call>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DeviceAllocation", DeviceAllocation);

/// Why nothing can be said of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unanswered {
    /// The kubelet does not survive it; otherwise kq does not know.
    pub kubelet_crashes: bool,
    /// In words.
    pub message: String,
}

/// What a container got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerAllocation {
    /// The container.
    pub name: String,
    /// `init`, `sidecar`, `app`.
    pub kind: String,
    /// What the topology manager decided; null: its policy is none.
    pub affinity: Option<Affinity>,
    /// Its devices.
    pub resources: Vec<GivenResource>,
    /// What it asks for and no plugin has registered: a kubelet starts it without.
    pub unregistered: Vec<Unregistered>,
    /// Why it got none, in the kubelet's words.
    pub error: Option<String>,
    /// The settings for the runtime; null: the plugins gave none.
    pub gets: Option<ContainerAllocateResponse>,
    /// The calls before it starts.
    pub pre_start: Vec<PreStart>,
}

/// Which NUMA nodes the devices should be on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    /// The nodes; null: they do not matter.
    pub numa_nodes: Option<Vec<i64>>,
    /// All hints agree on them.
    pub preferred: bool,
}

/// A resource that no plugin has registered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unregistered {
    pub resource: String,
    /// One with such a name that is registered.
    pub did_you_mean: Option<String>,
}

/// Devices of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenResource {
    pub resource: String,
    pub devices: Vec<AllocatedDevice>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocatedDevice {
    pub id: String,
    pub numa_nodes: Vec<i64>,
}

/// A `PreStartContainer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreStart {
    pub resource: String,
    /// Why the container does not start, in the kubelet's words; null: it may.
    pub error: Option<String>,
}

/// A call to a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    pub method: String,
    pub resource: String,
    /// What was asked.
    pub request: String,
    /// What was answered.
    pub answer: Option<String>,
    /// Or how it failed.
    pub error: Option<String>,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

/// A resource and its plugin, as a fake kubelet has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginState {
    pub resource: String,
    /// The name of the plugin's socket, while it is connected.
    pub endpoint: Option<String>,
    /// Its endpoint is not stopped.
    pub is_registered: bool,
    /// What it can do.
    pub options: PluginOptions,
    /// How many devices are healthy.
    pub healthy: usize,
    /// And not.
    pub unhealthy: usize,
    /// And in use.
    pub allocated: usize,
}

/// What several pods got, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceAllocationList<'a> {
    /// The pods.
    pub items: &'a [DeviceAllocation],
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DeviceAllocationList", DeviceAllocationList<'_>);

impl<'a> DeviceAllocationList<'a> {
    /// Returns the list of these.
    pub fn new(items: &'a [DeviceAllocation]) -> Self {
        Self { items, basis: Basis::default() }
    }
}

/// A pod that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DevicePodEnded {
    pub uid: String,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("DevicePodEnded", DevicePodEnded);

impl DevicePodEnded {
    /// Returns the event of one pod.
    pub fn new(uid: String) -> Self {
        Self { uid, basis: Basis::default() }
    }
}

impl DeviceAllocation {
    /// Returns true if everything went as the pod asked: it is admitted, and each container may start, with
    /// all that it asked for.
    pub fn is_good(&self) -> bool {
        let is_good = |container: &ContainerAllocation| {
            container.unregistered.is_empty()
                && container.pre_start.iter().all(|call| call.error.is_none())
        };
        self.admitted && self.containers.iter().all(is_good)
    }
}
