//! What the file holds.

use crate::facts::checkpoint::CORRUPT;
use std::collections::BTreeMap;

/// Device ids per NUMA node; -1 is "no NUMA node". `None` is Go's nil, which has another checksum than
/// an empty list.
pub type DevicesPerNuma = BTreeMap<i64, Option<Vec<String>>>;

/// The content of the file (`checkpointData`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceCheckpoint {
    /// Who has what.
    pub entries: Option<Vec<PodDevicesEntry>>,
    /// The healthy ids of each resource at the time of writing.
    pub registered: Option<BTreeMap<String, Option<Vec<String>>>>,
}

/// The devices of one resource in one container (`PodDevicesEntry`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDevicesEntry {
    /// The pod.
    pub pod_uid: String,
    /// The container.
    pub container_name: String,
    /// The resource: `example.com/gpu`.
    pub resource_name: String,
    /// The devices.
    pub device_ids: Option<DevicesPerNuma>,
    /// The plugin's `ContainerAllocateResponse` in protobuf.
    pub alloc_resp: Option<Vec<u8>>,
}

/// A file that could be parsed; its checksum may be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// What it holds.
    pub checkpoint: DeviceCheckpoint,
    /// The checksum that it says; 0 when it says none.
    pub checksum_in_file: u64,
    /// The checksum that it has.
    pub checksum_computed: u32,
}

impl Loaded {
    /// Tells whether the kubelet takes it.
    pub fn is_valid(&self) -> bool {
        self.checksum_in_file == u64::from(self.checksum_computed)
    }

    /// Returns why the kubelet does not take it, in its words.
    pub fn error(&self) -> Option<&'static str> {
        (!self.is_valid()).then_some(CORRUPT)
    }
}
