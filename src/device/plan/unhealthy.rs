//! Who has a device that is taken to be unhealthy.

use super::{WhatIf, device_named};
use crate::device::manager::ManagerState;
use serde::Serialize;
use std::collections::BTreeSet;

/// A device that is taken to be unhealthy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnhealthyDevice {
    pub resource: String,
    /// Its id.
    pub device: String,
    /// Its NUMA nodes; none where none are known.
    pub numa_nodes: Vec<i64>,
    /// It was healthy before.
    pub was_healthy: bool,
    /// The UIDs of the pods for which it is recorded.
    pub pods: BTreeSet<String>,
}

/// Returns the devices that a question takes to be unhealthy, as they were before.
pub fn unhealthy(before: &ManagerState, question: &WhatIf) -> Vec<UnhealthyDevice> {
    let named: BTreeSet<(String, String)> =
        question.unhealthy.iter().filter_map(|text| device_named(before, text).ok()).collect();
    let device = |(resource, device): (String, String)| {
        let listed = before.devices.get(&resource).and_then(|devices| devices.get(&device));
        let nodes = listed.and_then(|device| device.numa_nodes.as_ref());
        let healthy = before.healthy.get(&resource);
        let has_it = before.pod_devices.entries.iter().filter(|(key, record)| {
            key.resource_name == resource && record.ids().contains(&device)
        });
        UnhealthyDevice {
            numa_nodes: nodes.into_iter().flatten().copied().collect(),
            was_healthy: healthy.is_some_and(|healthy| healthy.contains(&device)),
            pods: has_it.map(|(key, _)| key.pod_uid.clone()).collect(),
            resource,
            device,
        }
    };
    named.into_iter().map(device).collect()
}
