//! The entries in memory of a running kubelet (`podDevices` in `pod_devices.go`).

use super::answer::ContainerAllocateResponse;
use super::types::{DeviceCheckpoint, DevicesPerNuma, PodDevicesEntry};
use kq_k8s::version::KubeletVersion;
use std::collections::{BTreeMap, BTreeSet};

/// A set of device ids.
pub type DeviceSet = BTreeSet<String>;

/// The owner of devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodDeviceKey {
    pub pod_uid: String,
    pub container_name: String,
    pub resource_name: String,
}

/// Devices of one resource in one container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDevice {
    /// The devices per NUMA node; a device with several nodes is listed under each, one with none under -1.
    /// A duplicate in a file is kept twice, as the kubelet does.
    pub devices: BTreeMap<i64, Vec<String>>,
    /// The plugin's answer, in protobuf; an entry without one is neither written nor counted as allocated.
    pub answer: Option<Vec<u8>>,
}

/// A starting kubelet's reading of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The entries in its memory.
    pub pod_devices: PodDevices,
    /// The entries that it skips, by their place in the file: why.
    pub skipped: Vec<(usize, String)>,
    /// The entries that a later one with the same pod, container and resource replaces, by their place in
    /// the file.
    pub replaced: Vec<usize>,
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

impl From<&PodDevicesEntry> for PodDeviceKey {
    fn from(entry: &PodDevicesEntry) -> Self {
        Self {
            pod_uid: entry.pod_uid.clone(),
            container_name: entry.container_name.clone(),
            resource_name: entry.resource_name.clone(),
        }
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

    /// Takes over the entries of a checkpoint (`fromCheckpointData`): an entry whose answer does not decode is
    /// skipped, and of several about the same the last one counts.
    pub fn restore(checkpoint: &DeviceCheckpoint, version: KubeletVersion) -> Restored {
        let mut restored = Restored::default();
        let mut places: BTreeMap<PodDeviceKey, usize> = BTreeMap::new();
        for (place, entry) in checkpoint.entries.iter().flatten().enumerate() {
            let answer = entry.alloc_resp.clone().unwrap_or_default();
            if let Err(error) = ContainerAllocateResponse::decode_by(&answer, version) {
                restored.skipped.push((place, error.to_string()));
                continue;
            }
            let nodes = entry.device_ids.iter().flatten();
            let devices = nodes.map(|(node, ids)| (*node, ids.clone().unwrap_or_default()));
            let device = PodDevice { devices: devices.collect(), answer: Some(answer) };
            let key = PodDeviceKey::from(entry);
            restored.replaced.extend(places.insert(key.clone(), place));
            restored.pod_devices.entries.insert(key, device);
        }
        restored
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

impl DeviceCheckpoint {
    /// Returns what a running kubelet writes (`writeCheckpoint`): no entries are nil, and one without a
    /// plugin's answer is left out. The kubelet's order is random; this one is always the same.
    pub fn of(pod_devices: &PodDevices, healthy: &BTreeMap<String, DeviceSet>) -> Self {
        let entries: Vec<PodDevicesEntry> = pod_devices
            .entries
            .iter()
            .filter_map(|(key, device)| {
                let nodes = device.devices.iter();
                let devices: DevicesPerNuma =
                    nodes.map(|(node, ids)| (*node, Some(ids.clone()))).collect();
                Some(PodDevicesEntry {
                    pod_uid: key.pod_uid.clone(),
                    container_name: key.container_name.clone(),
                    resource_name: key.resource_name.clone(),
                    device_ids: Some(devices),
                    alloc_resp: Some(device.answer.clone()?),
                })
            })
            .collect();
        let registered = healthy.iter();
        let registered = registered
            .map(|(resource, ids)| (resource.clone(), Some(ids.iter().cloned().collect())));
        Self {
            entries: Some(entries).filter(|entries| !entries.is_empty()),
            registered: Some(registered.collect()),
        }
    }
}
