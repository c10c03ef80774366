//! Reading the file as the kubelet does (`Unmarshal` into the object of `NewDevicesCheckpoint`).

use super::types::{DeviceCheckpoint, DevicesPerNuma, Loaded, PodDevicesEntry};
use crate::k8s::go_json::{GoBytes, GoJsonError, GoList, decode, go_struct};
use std::collections::BTreeMap;

/// `checkpoint.Data`: the file.
#[derive(Default)]
struct File {
    data: Content,
    checksum: u64,
}

/// `checkpoint.checkpointData`. Lists that the file does not name are there and empty.
struct Content {
    entries: GoList<Entry>,
    registered: Option<BTreeMap<String, Option<Vec<String>>>>,
}

/// `checkpoint.PodDevicesEntry`
#[derive(Default)]
struct Entry {
    pod_uid: String,
    container_name: String,
    resource_name: String,
    device_ids: Option<DevicesPerNuma>,
    alloc_resp: GoBytes,
}

impl Default for Content {
    fn default() -> Self {
        Self { entries: GoList::empty(), registered: Some(BTreeMap::new()) }
    }
}

go_struct!(File = "checkpoint.Data" {
    "Data" => data,
    "Checksum" => checksum: "checksum.Checksum",
});

go_struct!(Content = "checkpoint.checkpointData" {
    "PodDeviceEntries" => entries,
    "RegisteredDevices" => registered,
});

go_struct!(Entry = "checkpoint.PodDevicesEntry" {
    "PodUID" => pod_uid,
    "ContainerName" => container_name,
    "ResourceName" => resource_name,
    "DeviceIDs" => device_ids: "checkpoint.DevicesPerNUMA",
    "AllocResp" => alloc_resp,
});

impl From<Entry> for PodDevicesEntry {
    fn from(entry: Entry) -> Self {
        Self {
            pod_uid: entry.pod_uid,
            container_name: entry.container_name,
            resource_name: entry.resource_name,
            device_ids: entry.device_ids,
            alloc_resp: entry.alloc_resp.into_option(),
        }
    }
}

impl DeviceCheckpoint {
    /// Reads the bytes of a file. The checksum is computed and not judged: [`Loaded::is_valid`].
    ///
    /// # Errors
    ///
    /// Fails as the kubelet does, in its words.
    pub fn parse(bytes: &[u8]) -> Result<Loaded, GoJsonError> {
        let mut file = File::default();
        decode(bytes, &mut file)?;
        let entries = file.data.entries.into_option();
        let checkpoint = Self {
            entries: entries.map(|entries| entries.into_iter().map(Into::into).collect()),
            registered: file.data.registered,
        };
        let checksum_computed = checkpoint.checksum();
        Ok(Loaded { checkpoint, checksum_in_file: file.checksum, checksum_computed })
    }

    /// Tells whether the kubelet takes the bytes of a file.
    pub fn is_taken(bytes: &[u8]) -> bool {
        Self::parse(bytes).is_ok_and(|loaded| loaded.is_valid())
    }
}

impl PodDevicesEntry {
    /// Reads the text of one entry, as it stands in the file's list.
    ///
    /// # Errors
    ///
    /// Fails as the kubelet does with an entry alone.
    pub fn parse(bytes: &[u8]) -> Result<Self, GoJsonError> {
        let mut entry = Entry::default();
        decode(bytes, &mut entry)?;
        Ok(entry.into())
    }
}
