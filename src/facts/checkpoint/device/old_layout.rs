//! Layouts that kubelets wrote long ago. Those of today refuse or ignore them, so they are only shown.

use super::types::{DeviceCheckpoint, PodDevicesEntry};
use crate::k8s::go_json::{GoBytes, GoList, decode, go_struct};
use std::collections::BTreeMap;

/// A file of a kubelet of 1.19 or older: ids in a flat list; before checksums were introduced, without
/// `Data` around it.
#[derive(Default)]
struct OldFile {
    data: OldContent,
    bare: OldContent,
}

#[derive(Default)]
struct OldContent {
    entries: GoList<OldEntry>,
    registered: Option<BTreeMap<String, Option<Vec<String>>>>,
}

#[derive(Default)]
struct OldEntry {
    pod_uid: String,
    container_name: String,
    resource_name: String,
    device_ids: Option<Vec<String>>,
    alloc_resp: GoBytes,
}

go_struct!(OldFile = "checkpoint.Data" {
    "Data" => data,
    "PodDeviceEntries" => bare.entries,
    "RegisteredDevices" => bare.registered,
});

go_struct!(OldContent = "checkpoint.checkpointData" {
    "PodDeviceEntries" => entries,
    "RegisteredDevices" => registered,
});

go_struct!(OldEntry = "checkpoint.PodDevicesEntry" {
    "PodUID" => pod_uid,
    "ContainerName" => container_name,
    "ResourceName" => resource_name,
    "DeviceIDs" => device_ids,
    "AllocResp" => alloc_resp,
});

impl DeviceCheckpoint {
    /// Reads a file of a kubelet of 1.19 or older; its devices stand under -1, since it knew no NUMA
    /// nodes. `None`: it is no such file.
    pub fn parse_old_layout(bytes: &[u8]) -> Option<Self> {
        let mut file = OldFile::default();
        decode(bytes, &mut file).ok()?;
        let of = |content: OldContent| {
            let entries = content.entries.into_option().unwrap_or_default();
            let is_old = entries.iter().any(|entry| entry.device_ids.is_some());
            is_old.then(|| Self {
                entries: Some(entries.into_iter().map(Into::into).collect()),
                registered: content.registered,
            })
        };
        of(file.data).or_else(|| of(file.bare))
    }
}

impl From<OldEntry> for PodDevicesEntry {
    fn from(entry: OldEntry) -> Self {
        Self {
            pod_uid: entry.pod_uid,
            container_name: entry.container_name,
            resource_name: entry.resource_name,
            device_ids: entry.device_ids.map(|ids| [(-1, Some(ids))].into()),
            alloc_resp: entry.alloc_resp.into_option(),
        }
    }
}

impl PodDevicesEntry {
    /// Reads the text of one entry with a flat list of ids. `None`: it is none.
    pub fn parse_old_layout(bytes: &[u8]) -> Option<Self> {
        let mut entry = OldEntry::default();
        decode(bytes, &mut entry).ok()?;
        entry.device_ids.is_some().then(|| entry.into())
    }
}
