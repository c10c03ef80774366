//! The report of an allocation.

use kq_facts::checkpoint::device::DeviceSet;
use kq_k8s::go_text::quote;
use serde::{Serialize, Serializer};

/// What became of the devices of one container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerAllocation {
    /// Its name.
    pub container: String,
    /// What it asked for, in the order of the names; the kubelet's order is random.
    pub resources: Vec<ResourceAllocation>,
    /// Pods whose devices were taken back before, for they are not active.
    pub reclaimed_pods: Vec<String>,
    /// Why it gets nothing and its pod is refused, in the kubelet's words.
    pub error: Option<AllocateError>,
    /// The checkpoint was written.
    pub checkpoint_written: bool,
}

/// What became of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAllocation {
    pub resource: String,
    /// How many are asked for: the limit, rounded up.
    pub requested: i64,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What became of one resource.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum Outcome {
    /// No plugin offers it, and nothing of it was ever allocated: the device manager lets it pass.
    NotOfPlugin,
    /// A resource claim provides it.
    ResourceClaim,
    /// The devices are recorded already.
    Recorded { devices: DeviceSet },
    /// The container runs, and the kubelet does not know all pods yet: it is left alone.
    RunningAtStart {
        /// What is recorded.
        devices: DeviceSet,
    },
    /// None are asked for.
    Nothing,
    /// Devices were chosen and the plugin was called.
    Allocated(Box<Choice>),
    /// Refused: the error is that of the container.
    Refused {
        /// What was chosen before it was refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        choice: Option<Box<Choice>>,
    },
}

/// Which devices, and how they were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// The devices that are picked: one of the kubelet's possible outcomes where it has a choice.
    #[serde(rename = "picked")]
    pub devices: DeviceSet,
    /// Those of them that ended init containers of the pod leave behind.
    pub reused: DeviceSet,
    /// Devices that the kubelet takes in any case.
    pub certain: DeviceSet,
    /// Where it had a choice: the kubelet uses the random order of a map.
    pub any_of: Option<AnyOf>,
    /// How many were free when it chose.
    pub available: usize,
    /// How they lie to the NUMA nodes that were decided on.
    pub alignment: Option<Split>,
    /// What the plugin was asked.
    pub preference: Preference,
    /// The NUMA nodes of the devices that are picked; a device without any adds none.
    pub numa_nodes: Vec<i64>,
    /// The NUMA nodes of all devices that it may be.
    pub possible_numa_nodes: Vec<i64>,
    /// Whichever devices it will be, their NUMA nodes are these.
    pub numa_is_certain: bool,
    /// Devices of an init container that their plugin does not list any more.
    pub vanished: DeviceSet,
}

/// A choice among devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnyOf {
    /// How many of them.
    pub count: usize,
    /// The devices, in the order of their ids.
    #[serde(rename = "candidates")]
    pub from: Vec<String>,
    /// Which those are.
    pub pool: Pool,
}

/// Which devices there was a choice among.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Pool {
    /// Those that init containers leave behind.
    Reusable,
    /// Those that the plugin prefers.
    Preferred,
    /// Those on the NUMA nodes that were decided on.
    Aligned,
    /// Those on other NUMA nodes.
    Unaligned,
    /// Those on no NUMA node, or all where NUMA nodes do not matter.
    WithoutNuma,
    /// All devices that the plugin could prefer: its preference is unknown.
    Unknown,
    /// All that may be left: earlier choices decide which of them are.
    Left,
    /// No others; on which NUMA nodes they are depends on earlier choices, so it may be fewer.
    AtMost,
}

/// How the free devices lie to the NUMA nodes that were decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Split {
    /// On one of them.
    pub aligned: usize,
    /// On others.
    pub unaligned: usize,
    /// On none.
    pub without_numa: usize,
}

/// The plugin's preference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "asked", rename_all = "camelCase")]
pub enum Preference {
    /// There was nothing to choose, so the kubelet does not ask.
    #[default]
    NoNeed,
    /// It does not implement `GetPreferredAllocation`.
    NotOffered,
    /// Unknown: whether it offers `GetPreferredAllocation` is unknown, or it was not queried.
    Unknown,
    /// It was asked.
    Answered {
        /// The preferred devices.
        preferred: DeviceSet,
    },
}

/// Why a container gets no devices, in the kubelet's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocateError {
    /// Something else is recorded for it.
    #[error(
        "pod {} container {} changed request for resource {} from {recorded} to {requested}",
        quote(pod_uid),
        quote(container),
        quote(resource)
    )]
    ChangedRequest {
        pod_uid: String,
        container: String,
        resource: String,
        /// How many are recorded.
        recorded: usize,
        /// How many are asked for.
        requested: i64,
    },
    /// The resource is only known from records.
    #[error("cannot allocate unregistered device {_0}")]
    Unregistered(String),
    /// It has no healthy device.
    #[error("no healthy devices present; cannot allocate unhealthy devices {_0}")]
    NoneHealthy(String),
    /// Recorded devices are not healthy.
    #[error(
        "previously allocated devices are no longer healthy; cannot allocate unhealthy devices {_0}"
    )]
    RecordedUnhealthy(String),
    /// Too few are free.
    #[error(
        "requested number of devices unavailable for {resource}. Requested: {requested}, \
         Available: {available}"
    )]
    Unavailable {
        resource: String,
        /// How many are asked for, without those that were reused.
        requested: i64,
        /// How many are free.
        available: usize,
    },
    /// Fewer were found than counted.
    #[error(
        "unexpectedly allocated less resources than required. Requested: {requested}, Got: {got}"
    )]
    TooFew {
        /// How many are asked for.
        requested: i64,
        /// How many were found.
        got: i64,
    },
    /// There is no plugin to ask what it prefers.
    #[error("endpoint not found in cache for a registered resource: {_0}")]
    NoEndpoint(String),
    /// The plugin failed to say what it prefers.
    #[error("device plugin GetPreferredAllocation rpc failed with err: {_0}")]
    Preferred(String),
    /// The plugin did not prepare the devices for a container that is about to start.
    #[error("device plugin PreStartContainer rpc failed with err: {_0}")]
    PreStart(String),
    /// There is no plugin to tell.
    #[error("unknown Device Plugin {_0}")]
    UnknownPlugin(String),
    /// The plugin stopped. The kubelet shows its innards where the dots are.
    #[error("endpoint {{...}} has been stopped")]
    Stopped,
    /// The plugin failed: its words.
    #[error("{_0}")]
    Allocate(String),
    /// What was given away could not be written down.
    #[error("failed to write checkpoint file \"kubelet_internal_checkpoint\": {_0}")]
    Checkpoint(String),
    /// The plugin answered for no container: its answer as the kubelet prints it.
    #[error("no containers return in allocation response {_0}")]
    NoContainerResponse(&'static str),
}

kq_k8s::schema_as!(AllocateError, String);

impl Serialize for AllocateError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
