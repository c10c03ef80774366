//! What is known of a node's devices, and where from.

use crate::facts::checkpoint::device::ContainerAllocateResponse;
use crate::facts::pod_resources::PodResources;
use crate::facts::sought::Sought;
use serde::{Deserialize, Serialize, Serializer};
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
    /// There is no file: no pod got a device since the kubelet's folder was made. It starts with nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
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

impl DeviceFacts {
    /// Leaves out what plugins answered: the environment of containers, which may hold secrets.
    pub fn withhold(&mut self) {
        let entries = self.checkpoint.found.iter_mut().flat_map(|found| &mut found.value.entries);
        for entry in entries {
            // Why an answer could not be decoded names no value of it.
            if matches!(entry.answer, PluginAnswer::Decoded(_)) {
                entry.answer = PluginAnswer::Withheld;
            }
        }
    }
}

impl CheckpointFact {
    /// Reads the entries of a file that is sound; its checksum and its answers are not looked at yet.
    pub fn read(bytes: &[u8]) -> Self {
        let parsed: serde_json::Value = match serde_json::from_slice(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return Self { error: Some(error.to_string()), ..Self::default() },
        };
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let ids =
            |value: &serde_json::Value| value.as_array().into_iter().flatten().map(text).collect();
        let data = &parsed["Data"];
        let entries = data["PodDeviceEntries"].as_array().into_iter().flatten();
        let entries = entries.map(|entry| CheckpointEntry {
            pod_uid: text(&entry["PodUID"]),
            container_name: text(&entry["ContainerName"]),
            resource_name: text(&entry["ResourceName"]),
            device_ids: entry["DeviceIDs"]
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(node, list)| Some((node.parse().ok()?, ids(list))))
                .collect(),
            answer: PluginAnswer::Withheld,
        });
        let registered = data["RegisteredDevices"].as_object().into_iter().flatten();
        Self {
            entries: entries.collect(),
            registered: registered.map(|(name, list)| (name.clone(), ids(list))).collect(),
            ..Self::default()
        }
    }
}

/// Writes what is known of devices without what may be secret.
pub(crate) fn without_secrets<S: Serializer>(
    devices: &Option<DeviceFacts>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut devices = devices.clone();
    devices.iter_mut().for_each(DeviceFacts::withhold);
    devices.serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_plugins_answered_is_not_stored() {
        let answer = |text: &str| {
            let envs = [("TOKEN".to_owned(), text.to_owned())].into();
            PluginAnswer::Decoded(ContainerAllocateResponse { envs, ..Default::default() })
        };
        let entry = |answer| CheckpointEntry { answer, ..CheckpointEntry::default() };
        let entries =
            vec![entry(answer("secret")), entry(PluginAnswer::Undecodable("cut".to_owned()))];
        let fact = CheckpointFact { entries, ..CheckpointFact::default() };
        let facts =
            DeviceFacts { checkpoint: Sought::found("file", fact), ..DeviceFacts::default() };
        let snapshot =
            crate::facts::snapshot::Snapshot { devices: Some(facts.clone()), ..Default::default() };
        let stored = serde_json::to_string(&snapshot).expect("it can be written");
        assert!(!stored.contains("secret"), "{stored}");
        assert!(stored.contains("undecodable"), "{stored}");
        let read: crate::facts::snapshot::Snapshot =
            serde_json::from_str(&stored).expect("it can be read");
        let mut withheld = facts;
        withheld.withhold();
        assert_eq!(read.devices, Some(withheld));
    }
}
