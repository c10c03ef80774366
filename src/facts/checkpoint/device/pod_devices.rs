//! What a running kubelet holds of the entries (`podDevices` in `pod_devices.go`).

use std::collections::{BTreeMap, BTreeSet};

/// A set of device ids.
pub type DeviceSet = BTreeSet<String>;

/// Whose devices they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodDeviceKey {
    /// The pod.
    pub pod_uid: String,
    /// The container.
    pub container_name: String,
    /// The resource.
    pub resource_name: String,
}

/// Devices of one resource in one container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDevice {
    /// The devices per NUMA node; a device with several nodes stands under each, one with none under -1.
    pub devices: BTreeMap<i64, DeviceSet>,
    /// What the plugin answered, in protobuf; one without is neither written nor counted as allocated.
    pub answer: Option<Vec<u8>>,
}

/// The recorded allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDevices {
    /// By pod, container and resource.
    pub entries: BTreeMap<PodDeviceKey, PodDevice>,
}

impl PodDevice {
    /// Returns the distinct ids (`DevicesPerNUMA.Devices`).
    pub fn ids(&self) -> DeviceSet {
        self.devices.values().flatten().cloned().collect()
    }
}

impl PodDevices {
    /// Walks over what a container has, by resource.
    pub fn of_container<'a>(
        &'a self,
        pod_uid: &'a str,
        container_name: &'a str,
    ) -> impl Iterator<Item = (&'a PodDeviceKey, &'a PodDevice)> {
        self.of_pod(pod_uid).filter(move |(key, _)| key.container_name == container_name)
    }

    /// Walks over what the containers of a pod have.
    pub fn of_pod<'a>(
        &'a self,
        pod_uid: &'a str,
    ) -> impl Iterator<Item = (&'a PodDeviceKey, &'a PodDevice)> {
        let first = PodDeviceKey {
            pod_uid: pod_uid.to_owned(),
            container_name: String::new(),
            resource_name: String::new(),
        };
        self.entries.range(first..).take_while(move |(key, _)| key.pod_uid == pod_uid)
    }

    /// Returns the ids per resource, of entries with a plugin's answer (`podDevices.devices`).
    pub fn allocated(&self) -> BTreeMap<String, DeviceSet> {
        let mut allocated: BTreeMap<String, DeviceSet> = BTreeMap::new();
        for (key, device) in self.entries.iter().filter(|(_, device)| device.answer.is_some()) {
            allocated.entry(key.resource_name.clone()).or_default().extend(device.ids());
        }
        allocated
    }
}
