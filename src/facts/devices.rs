//! What is known of a node's devices, and where from.

use crate::facts::checkpoint::device::ContainerAllocateResponse;
use crate::facts::pod_resources::PodResources;
use crate::facts::sought::Sought;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeviceFacts {
    /// `kubelet_internal_checkpoint`.
    pub checkpoint: Sought<CheckpointFact>,
    /// The pod-resources API.
    pub pod_resources: Sought<PodResources>,
}

/// The checkpoint, as a kubelet that starts takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CheckpointFact {
    /// Why the kubelet does not take it and starts with nothing, in its own words; what could be read all
    /// the same is below.
    pub error: Option<String>,
    /// The checksum that it says.
    pub checksum_in_file: Option<u64>,
    /// The checksum that it has.
    pub checksum_computed: Option<u32>,
    /// Who has what.
    pub entries: Vec<CheckpointEntry>,
    /// The ids of each resource that were healthy when it was written.
    pub registered: BTreeMap<String, Vec<String>>,
}

/// The devices of one resource in one container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CheckpointEntry {
    /// The pod.
    pub pod_uid: String,
    /// The container.
    pub container_name: String,
    /// The resource.
    pub resource_name: String,
    /// The ids per NUMA node; -1 is none.
    pub device_ids: BTreeMap<i64, Vec<String>>,
    /// What the plugin answered.
    pub answer: PluginAnswer,
}

/// What a plugin answered for a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginAnswer {
    /// Not kept: it may hold secrets, so snapshots are without.
    #[default]
    Withheld,
    /// It cannot be decoded, so the kubelet skips the entry: why.
    Undecodable(String),
    /// As it answered.
    Decoded(ContainerAllocateResponse),
}
