//! The in-memory state of the device manager (`ManagerImpl`).

use super::plugins::PluginOptions;
use crate::facts::checkpoint::device::{DeviceSet, PodDevices};
use crate::facts::timestamp::Timestamp;
use std::collections::BTreeMap;

/// The only text that means health.
pub const HEALTHY: &str = "Healthy";

/// A device as its plugin lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    pub id: String,
    /// [`HEALTHY`], or any other text.
    pub health: String,
    /// Its NUMA nodes; `None`: it has no topology.
    pub numa_nodes: Option<Vec<i64>>,
}

/// A plugin as the kubelet knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// What it can do.
    pub options: PluginOptions,
    /// When it stopped.
    pub stopped_at: Option<Timestamp>,
}

/// Walks over ids in their order with the device of each; `None`: it is not listed. Both go side by side:
/// with thousands of devices, to look each up would take longer than all else.
pub(super) fn with_devices<'a>(
    ids: impl Iterator<Item = &'a str>,
    devices: &'a BTreeMap<String, Device>,
) -> impl Iterator<Item = (&'a str, Option<&'a Device>)> {
    let mut listed = devices.iter().peekable();
    ids.map(move |id| {
        while listed.next_if(|(listed, _)| listed.as_str() < id).is_some() {}
        (id, listed.next_if(|(listed, _)| *listed == id).map(|(_, device)| device))
    })
}

/// What the device manager holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagerState {
    /// The devices that plugins listed, by resource and id (`allDevices`).
    pub devices: BTreeMap<String, BTreeMap<String, Device>>,
    /// The healthy ids; a key is a known resource (`healthyDevices`).
    pub healthy: BTreeMap<String, DeviceSet>,
    /// The other ids (`unhealthyDevices`).
    pub unhealthy: BTreeMap<String, DeviceSet>,
    /// The ids that are in use (`allocatedDevices`).
    pub allocated: BTreeMap<String, DeviceSet>,
    /// The plugins (`endpoints`).
    pub endpoints: BTreeMap<String, Endpoint>,
    /// Who has what.
    pub pod_devices: PodDevices,
    /// What init containers of the pod that is admitted leave to the next (`devicesToReuse`), by pod and
    /// resource.
    pub reusable: BTreeMap<String, BTreeMap<String, DeviceSet>>,
}
