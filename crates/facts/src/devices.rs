//! The known facts about a node's devices, with their origins.

use crate::checkpoint::device::{
    ContainerAllocateResponse, DeviceCheckpoint, Loaded, PodDevicesEntry, Salvage, salvage,
};
use crate::devices_by_node::DevicesByNode;
use crate::lookup::Lookup;
use crate::pod_resources::PodResources;
use kq_k8s::go_json::GoJsonError;
use kq_k8s::version::KubeletVersion;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

/// The folder of device plugins and of the checkpoint, in the kubelet's mount namespace. `--root-dir` does not move it
/// (`DevicePluginPath` in `staging/src/k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/constants.go`, `NewManagerImpl` in
/// `pkg/kubelet/cm/devicemanager/manager.go`).
pub const PLUGIN_FOLDER: &str = "/var/lib/kubelet/device-plugins";

/// The checkpoint of the device manager in [`PLUGIN_FOLDER`].
pub const CHECKPOINT_NAME: &str = "kubelet_internal_checkpoint";

/// The socket on which plugins register (`KubeletSocket`).
pub const KUBELET_SOCKET: &str = "kubelet.sock";

/// The socket of a fake kubelet, on which `kq devices allocate` speaks.
pub const CONTROL_SOCKET: &str = "kq.sock";

/// The folder of device plugins below a kubelet's root folder.
pub const BELOW_ROOT: &str = "device-plugins";

/// Something in the folder of device plugins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, which need not be UTF-8.
    pub name: OsString,
    pub is_socket: bool,
    pub is_folder: bool,
    /// Its size.
    pub bytes: u64,
}

impl Entry {
    /// Returns its name as it is shown.
    pub fn shown(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }
}

/// The facts about devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeviceFacts {
    /// `kubelet_internal_checkpoint`.
    pub checkpoint: Lookup<CheckpointFact>,
    /// Even the folder of the checkpoint does not exist: no kubelet ran with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_folder: bool,
    /// The pod-resources API.
    pub pod_resources: Lookup<PodResources>,
    /// Devices that are given by hand, over those of the node; they are all of their resources.
    #[serde(skip)]
    pub given: Vec<GivenDevice>,
}

/// A device that is given by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenDevice {
    pub resource: String,
    pub id: String,
    /// `Healthy` where nothing is said; any other text is not.
    #[serde(default = "healthy")]
    pub health: String,
    /// The NUMA nodes; nothing: it has none.
    #[serde(default)]
    pub numa_nodes: Option<Vec<i64>>,
}

/// The only health with which pods get a device.
pub const HEALTHY: &str = "Healthy";

fn healthy() -> String {
    HEALTHY.to_owned()
}

/// The checkpoint, as a starting kubelet reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CheckpointFact {
    /// No file: no pod got a device since the kubelet's folder was made. The kubelet starts without entries.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// The kubelet's error if it rejects the file and starts empty; the fields below hold what was readable.
    pub error: Option<String>,
    /// It cannot be read as a whole; what is below are its parts that are whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// It has the layout of a kubelet of 1.19 or older, which none of today reads.
    pub is_old_layout: bool,
    pub checksum_in_file: Option<u64>,
    /// The checksum that it has.
    pub checksum_computed: Option<u32>,
    /// The devices of each container.
    pub entries: Vec<CheckpointEntry>,
    /// The ids of each resource that were healthy when it was written.
    pub registered: BTreeMap<String, Vec<String>>,
}

/// The devices of one resource in one container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CheckpointEntry {
    pub pod_uid: String,
    pub container_name: String,
    pub resource_name: String,
    /// The ids per NUMA node; -1 is none.
    pub device_ids: DevicesByNode,
    /// The plugin's answer.
    pub answer: PluginAnswer,
    /// What the other library makes of the answer, where that differs: gogo reads it before 1.34.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_answer: Option<Box<PluginAnswer>>,
    /// The answer is as gogo reads it, and the other one is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_by_gogo: bool,
}

/// A plugin's answer for a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginAnswer {
    /// Not kept: it may hold secrets, so snapshots are without.
    #[default]
    Withheld,
    /// It cannot be decoded, so the kubelet skips the entry: why.
    Undecodable(String),
    /// As it answered.
    Decoded(Box<ContainerAllocateResponse>),
}

/// Why there is no checkpoint without [`PLUGIN_FOLDER`]: a kubelet makes it when it starts.
pub const NO_FOLDER: &str = "does not exist: no kubelet ran with it";

impl DeviceFacts {
    /// Returns true if a source says which devices there are.
    pub fn lists_devices(&self) -> bool {
        self.checkpoint.found.is_some()
            || self.pod_resources.found.is_some()
            || !self.given.is_empty()
    }

    /// Returns the healthy devices of each resource: those that are given, else those that the kubelet reports, else those that
    /// it wrote down.
    pub fn listed(&self) -> BTreeMap<String, BTreeSet<String>> {
        let told = self.pod_resources.value().and_then(|it| it.allocatable.value());
        let mut listed = BTreeMap::<String, BTreeSet<String>>::new();
        match (told, self.checkpoint.value()) {
            (Some(told), _) => {
                for devices in &told.devices {
                    let ids = listed.entry(devices.resource_name.clone()).or_default();
                    ids.extend(devices.device_ids.iter().cloned());
                }
            }
            (None, Some(checkpoint)) => {
                let registered = checkpoint.registered.iter();
                listed.extend(
                    registered.map(|(name, ids)| (name.clone(), ids.iter().cloned().collect())),
                );
            }
            (None, None) => {}
        }
        listed.retain(|resource, _| !self.is_given(resource));
        for device in &self.given {
            let ids = listed.entry(device.resource.clone()).or_default();
            ids.extend((device.health == HEALTHY).then(|| device.id.clone()));
        }
        listed
    }

    /// Returns true if the devices of a resource are given by hand.
    pub fn is_given(&self, resource: &str) -> bool {
        self.given.iter().any(|it| it.resource == resource)
    }

    /// Removes devices from every source.
    pub fn unlist(&mut self, is_gone: impl Fn(&str) -> bool) {
        let checkpoint = self.checkpoint.found.iter_mut();
        let registered = checkpoint.flat_map(|found| found.value.registered.values_mut());
        registered.for_each(|ids| ids.retain(|id| !is_gone(id)));
        let told = self.pod_resources.found.iter_mut();
        let told = told.flat_map(|found| found.value.allocatable.found.iter_mut());
        let of_resource = told.flat_map(|found| &mut found.value.devices);
        of_resource.for_each(|it| it.device_ids.retain(|id| !is_gone(id)));
        self.given.retain(|it| !is_gone(&it.id));
    }

    /// Adds whether the folder of the checkpoint exists, which a snapshot of an older kq says in the reason alone.
    pub(crate) fn complete(&mut self) {
        self.lacks_folder |= self.checkpoint.tried.iter().any(|it| it.reason.ends_with(NO_FOLDER));
    }

    /// Takes plugins' answers as a version of the kubelet reads them.
    pub fn read_by(&mut self, version: KubeletVersion) {
        self.checkpoint.found.iter_mut().for_each(|found| found.value.read_by(version));
    }

    /// Leaves out what plugins answered: the environment of containers, which may hold secrets.
    pub fn withhold(&mut self) {
        let entries = self.checkpoint.found.iter_mut().flat_map(|found| &mut found.value.entries);
        for entry in entries {
            // Why an answer could not be decoded names no value of it.
            let other = entry.other_answer.as_deref_mut();
            for answer in std::iter::once(&mut entry.answer).chain(other) {
                if matches!(answer, PluginAnswer::Decoded(_)) {
                    *answer = PluginAnswer::Withheld;
                }
            }
        }
    }
}

impl CheckpointFact {
    /// Reads the bytes of a file. What can be read is kept even where the kubelet refuses it.
    pub fn read(bytes: &[u8]) -> Self {
        Self::of_parsed(bytes, DeviceCheckpoint::parse(bytes))
    }

    /// Returns the same where the bytes have been parsed already.
    pub fn of_parsed(bytes: &[u8], parsed: Result<Loaded, GoJsonError>) -> Self {
        match parsed {
            Ok(loaded) => {
                let error = loaded.error().map(str::to_owned);
                // Before there were checksums, the content stood in the file as it is.
                let old = error.as_ref().and_then(|_| Self::old_layout(bytes));
                Self {
                    error,
                    checksum_in_file: Some(loaded.checksum_in_file),
                    checksum_computed: Some(loaded.checksum_computed),
                    ..old.unwrap_or_else(|| Self::of(loaded.checkpoint))
                }
            }
            Err(error) => {
                let fact = Self::old_layout(bytes).unwrap_or_else(|| Self::salvaged(bytes));
                Self { error: Some(error.to_string()), ..fact }
            }
        }
    }

    /// Takes plugins' answers as a version of the kubelet reads them.
    pub fn read_by(&mut self, version: KubeletVersion) {
        let is_by_gogo = version.reads_plugins_by_gogo();
        for entry in self.entries.iter_mut().filter(|entry| entry.is_by_gogo != is_by_gogo) {
            if let Some(other) = entry.other_answer.as_deref_mut() {
                std::mem::swap(&mut entry.answer, other);
                entry.is_by_gogo = is_by_gogo;
            }
        }
    }

    /// Returns the parts of a damaged file that are whole.
    fn salvaged(bytes: &[u8]) -> Self {
        let Salvage { entries, registered, .. } = salvage(bytes, KubeletVersion::ASSUMED);
        // Of one that goes, what is left names no devices.
        let whole = entries.into_iter().filter(|(entry, _)| entry.device_ids.is_some());
        let checkpoint = DeviceCheckpoint {
            entries: Some(whole.map(|(entry, _)| entry).collect()),
            registered: Some(registered),
        };
        Self { is_partial: true, ..Self::of(checkpoint) }
    }

    fn old_layout(bytes: &[u8]) -> Option<Self> {
        let checkpoint = DeviceCheckpoint::parse_old_layout(bytes)?;
        Some(Self { is_old_layout: true, ..Self::of(checkpoint) })
    }

    fn of(checkpoint: DeviceCheckpoint) -> Self {
        let registered = checkpoint.registered.into_iter().flatten();
        Self {
            entries: checkpoint.entries.into_iter().flatten().map(Into::into).collect(),
            registered: registered
                .map(|(resource, ids)| (resource, ids.unwrap_or_default()))
                .collect(),
            ..Self::default()
        }
    }
}

impl From<PodDevicesEntry> for CheckpointEntry {
    fn from(entry: PodDevicesEntry) -> Self {
        let answer = entry.alloc_resp.as_deref().unwrap_or_default();
        let read_by = |version| match ContainerAllocateResponse::decode_by(answer, version) {
            Ok(answer) => PluginAnswer::Decoded(Box::new(answer)),
            Err(error) => PluginAnswer::Undecodable(error.to_string()),
        };
        let (newest, oldest) = (read_by(KubeletVersion::NEWEST), read_by(KubeletVersion::OLDEST));
        let both_refuse =
            |a, b| matches!((a, b), (&PluginAnswer::Undecodable(_), &PluginAnswer::Undecodable(_)));
        let is_other = newest != oldest && !both_refuse(&newest, &oldest);
        let nodes = entry.device_ids.into_iter().flatten();
        Self {
            pod_uid: entry.pod_uid,
            container_name: entry.container_name,
            resource_name: entry.resource_name,
            device_ids: nodes.map(|(node, ids)| (node, ids.unwrap_or_default())).collect(),
            answer: newest,
            other_answer: is_other.then(|| Box::new(oldest)),
            is_by_gogo: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_plugins_answered_is_not_stored() {
        let answer = |text: &str| {
            let envs = [("TOKEN".to_owned(), text.to_owned())].into();
            let answer = ContainerAllocateResponse { envs, ..Default::default() };
            PluginAnswer::Decoded(Box::new(answer))
        };
        let entry = |answer| CheckpointEntry { answer, ..CheckpointEntry::default() };
        let entries =
            vec![entry(answer("secret")), entry(PluginAnswer::Undecodable("cut".to_owned()))];
        let fact = CheckpointFact { entries, ..CheckpointFact::default() };
        let facts =
            DeviceFacts { checkpoint: Lookup::found("file", fact), ..DeviceFacts::default() };
        let snapshot =
            crate::snapshot::Snapshot { devices: Some(facts.clone()), ..Default::default() };
        let stored = serde_json::to_string(&snapshot).expect("it can be written");
        assert!(!stored.contains("secret"), "{stored}");
        assert!(stored.contains("undecodable"), "{stored}");
        let read: crate::snapshot::Snapshot =
            serde_json::from_str(&stored).expect("it can be read");
        let mut withheld = facts;
        withheld.withhold();
        assert_eq!(read.devices, Some(withheld));
    }

    #[test]
    fn an_older_snapshot_says_in_words_that_there_is_no_folder() {
        for (name, reason, stored, expected) in [
            ("of an older kq", "/p does not exist: no kubelet ran with it", false, true),
            ("another reason", "permission denied", false, false),
            ("stored", "in other words", true, true),
        ] {
            let checkpoint = Lookup::failed("/p/kubelet_internal_checkpoint", reason);
            let mut facts =
                DeviceFacts { checkpoint, lacks_folder: stored, ..DeviceFacts::default() };
            facts.complete();
            assert_eq!(facts.lacks_folder, expected, "{name}");
        }
    }
}
