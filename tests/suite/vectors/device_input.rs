//! Device managers as the families about devices describe them.

use super::input;
use kq_facts::checkpoint::device::{DeviceSet, PodDevice, PodDeviceKey, PodDevices};
use kq_facts::timestamp::Timestamp;
use kq_managers::manager::{Device, Endpoint, ManagerState, PluginOptions};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// When everything happens.
pub const NOW: Timestamp = Timestamp(1_700_000_000_000_000_000);

/// Reads the devices of a resource.
pub fn devices(resource: &Value) -> Vec<Device> {
    let list: Vec<Value> = input::read(&resource["devices"]);
    list.iter()
        .map(|device| Device {
            id: input::read(&device["id"]),
            health: input::read(&device["health"]),
            numa_nodes: input::read(&device["numa_nodes"]),
        })
        .collect()
}

/// Reads the recorded allocations; each was answered by its plugin.
pub fn pod_devices(case: &Value) -> PodDevices {
    let list: Vec<Value> = input::read(&case["pod_devices"]);
    let entry = |entry: &Value| {
        let key = PodDeviceKey {
            pod_uid: input::read(&entry["pod_uid"]),
            container_name: input::read(&entry["container_name"]),
            resource_name: input::read(&entry["resource_name"]),
        };
        let ids: BTreeMap<String, Vec<String>> = input::read(&entry["device_ids_by_numa_node"]);
        let devices =
            ids.into_iter().map(|(node, ids)| (node.parse().expect("a NUMA node"), ids)).collect();
        (key, PodDevice { devices, answer: Some(Vec::new()) })
    };
    PodDevices { entries: list.iter().map(entry).collect() }
}

/// Reads a device manager with its plugins.
pub fn manager(case: &Value) -> ManagerState {
    let mut state = ManagerState { pod_devices: pod_devices(case), ..ManagerState::default() };
    state.allocated = state.pod_devices.allocated();
    let resources: BTreeMap<String, Value> = input::read(&case["resources"]);
    for (name, resource) in &resources {
        if resource["registered"] == true {
            state.update(name, devices(resource));
        }
        let endpoint = &resource["endpoint"];
        if endpoint.is_object() {
            let options = PluginOptions {
                get_preferred_allocation_available: endpoint["get_preferred_allocation_available"]
                    == true,
                ..PluginOptions::default()
            };
            let stopped_at = (endpoint["stopped"] == true).then_some(NOW);
            state.endpoints.insert(name.clone(), Endpoint { options, stopped_at });
        }
    }
    state
}

/// Returns ids per resource.
pub fn sets(sets: &BTreeMap<String, DeviceSet>) -> Map<String, Value> {
    sets.iter().map(|(name, ids)| (name.clone(), json!(ids))).collect()
}
