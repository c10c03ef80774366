//! The parts that fill the disk, and the rest that is not accounted for.
//!
//! containerd counts all of its snapshots for `ImageFsInfo`, those of running containers as well
//! (`ImageFSInfo` in `internal/cri/server/images/imagefs_info.go`), so the writable layers are in it. A
//! part that is within another is shown and not added up.

use super::DiskFacts;
use kq_facts::filesystems::{Filesystem, FolderRole, NodeFolder};
use kq_facts::runtime::{RuntimeFacts, WritableLayer};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many containers are named.
const LARGEST: usize = 10;

/// A part of what is on the disks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// What it is.
    pub what: PartKind,
    /// The folder; null: it has none, or unknown.
    pub path: Option<String>,
    /// In bytes; null: unknown.
    pub bytes: Option<u64>,
    /// Why it is not known, or not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// `MAJOR:MINOR`
    pub device: Option<String>,
    /// It is on the device of the images; null: unknown.
    pub on_image_device: Option<bool>,
    /// The part that it is within, so that it is not added up; null: it stands alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Who counted.
    pub counted_by: String,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PartKind {
    /// Images, unpacked.
    Images,
    /// Images as they were fetched.
    Content,
    /// What containers wrote over their images.
    WritableLayers,
    /// The folder of containers, where the runtime names one.
    Containers,
    /// The logs of pods.
    Logs,
    /// The kubelet's folder: volumes above all.
    Kubelet,
    /// What lies beneath a mount.
    Hidden,
    /// Blocks that only root may use.
    Reserved,
}

/// The rest that is not accounted for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rest {
    /// What is not available on the image file system, in bytes.
    pub not_available_bytes: Option<u64>,
    /// The parts on it that stand alone, added up.
    pub accounted_bytes: Option<u64>,
    /// The difference; negative where something is counted twice. Null: unknown.
    pub bytes: Option<i64>,
    /// Parts that may be in it, because how large they are is not known.
    pub may_hold: Vec<String>,
}

/// What a container wrote over its image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayerUse {
    /// `NAMESPACE/NAME` of the pod, else its UID; null: the container is unknown.
    pub pod: Option<String>,
    /// The name of the container.
    pub container: Option<String>,
    /// The runtime's id of it.
    pub container_id: String,
    /// In bytes.
    pub bytes: u64,
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Images => "images",
            Self::Content => "fetched images",
            Self::WritableLayers => "writable layers",
            Self::Containers => "containers",
            Self::Logs => "logs",
            Self::Kubelet => "the kubelet",
            Self::Hidden => "hidden by a mount",
            Self::Reserved => "reserved for root",
        })
    }
}

impl Part {
    /// Returns what it is, with its folder.
    pub fn name(&self) -> String {
        match &self.path {
            Some(path) => format!("{} ({path})", self.what),
            None => self.what.to_string(),
        }
    }

    /// Returns true if it is added up.
    pub fn is_added(&self) -> bool {
        self.on_image_device == Some(true) && self.within.is_none()
    }
}

/// Returns the parts, in the order of their kinds.
pub(super) fn parts(facts: DiskFacts<'_>) -> Vec<Part> {
    let mut parts = vec![images(facts)];
    for (role, what) in [
        (FolderRole::Content, PartKind::Content),
        (FolderRole::Containers, PartKind::Containers),
        (FolderRole::Logs, PartKind::Logs),
        (FolderRole::Kubelet, PartKind::Kubelet),
    ] {
        match facts.folders.get(&role) {
            Some(found) => parts.push(folder(facts, what, found)),
            // These are everywhere; the others only with some runtimes.
            None if matches!(what, PartKind::Logs | PartKind::Kubelet) => {
                let unknown = Some("not looked for".to_owned());
                parts.push(Part { unknown, ..empty(what) });
            }
            None => {}
        }
    }
    parts.push(writable_layers(facts));
    nest(&mut parts);
    parts.extend(hidden(facts));
    if let Ok(filesystem) = facts.filesystem(FolderRole::Images) {
        parts.push(Part {
            bytes: Some(filesystem.free_bytes.saturating_sub(filesystem.available_bytes)),
            device: Some(filesystem.device.clone()),
            on_image_device: Some(true),
            counted_by: "statfs: free - available".to_owned(),
            ..empty(PartKind::Reserved)
        });
    }
    parts.sort_by_key(|part| part.what);
    parts
}

fn empty(what: PartKind) -> Part {
    Part {
        what,
        path: None,
        bytes: None,
        unknown: None,
        device: None,
        on_image_device: None,
        within: None,
        counted_by: String::new(),
    }
}

/// Returns a folder with what it holds.
fn folder(facts: DiskFacts<'_>, what: PartKind, folder: &NodeFolder) -> Part {
    let device = folder.filesystem.value().map(|filesystem| filesystem.device.clone());
    let usage = folder.usage.value();
    let unknown = match (&folder.filesystem.found, usage) {
        (_, Some(_)) => None,
        (None, None) => Some(folder.filesystem.reason()),
        (Some(_), None) => Some(folder.usage.reason()),
    };
    Part {
        path: Some(folder.path.clone()).filter(|path| !path.is_empty()),
        bytes: usage.map(|usage| usage.bytes),
        unknown,
        on_image_device: device.as_deref().zip(facts.image_device()).map(|(a, b)| a == b),
        device,
        counted_by: usage.map(|_| "the blocks of the folder".to_owned()).unwrap_or_default(),
        ..empty(what)
    }
}

/// Returns the images as the runtime counts them, else what their folder holds.
fn images(facts: DiskFacts<'_>) -> Part {
    let none = NodeFolder::default();
    let found = facts.folders.get(&FolderRole::Images).unwrap_or(&none);
    let part = folder(facts, PartKind::Images, found);
    let counted = facts.counts().and_then(|[images, _]| {
        images.and_then(|images| images.used_bytes).ok_or("the runtime did not count".to_owned())
    });
    match (counted, part.bytes) {
        (Ok(bytes), _) => {
            Part { bytes: Some(bytes), unknown: None, counted_by: "ImageFsInfo".to_owned(), ..part }
        }
        (Err(_), Some(_)) => part,
        (Err(reason), None) => Part { unknown: Some(reason), counted_by: String::new(), ..part },
    }
}

fn writable_layers(facts: DiskFacts<'_>) -> Part {
    let part = empty(PartKind::WritableLayers);
    let place = match facts.folders.get(&FolderRole::Containers) {
        Some(containers) => Some((PartKind::Containers, containers)),
        None => facts.folders.get(&FolderRole::Images).map(|images| (PartKind::Images, images)),
    };
    let device = place.and_then(|(_, folder)| folder.filesystem.value());
    let device = device.map(|filesystem| filesystem.device.clone());
    let within = place.filter(|(what, _)| *what == PartKind::Containers || is_containerd(facts));
    let part = Part {
        on_image_device: device.as_deref().zip(facts.image_device()).map(|(a, b)| a == b),
        device,
        within: within.map(|(what, _)| what.to_string()),
        ..part
    };
    let Some(runtime) = facts.runtime.value() else {
        return Part { unknown: Some(facts.runtime.reason()), ..part };
    };
    let Some(layers) = runtime.writable_layers.value() else {
        return Part { unknown: Some(runtime.writable_layers.reason()), ..part };
    };
    let counted: Vec<u64> = layers.iter().filter_map(|layer| layer.used_bytes).collect();
    let left_out = layers.len().saturating_sub(counted.len());
    let sum = counted.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    Part {
        // A sum of none that could be counted is no sum.
        bytes: (!counted.is_empty() || layers.is_empty()).then_some(sum),
        unknown: (left_out > 0).then(|| {
            format!("the runtime did not count {left_out} of {} containers", layers.len())
        }),
        counted_by: "ListContainerStats".to_owned(),
        ..part
    }
}

fn is_containerd(facts: DiskFacts<'_>) -> bool {
    facts.runtime.value().is_some_and(|runtime| runtime.version.runtime_name == "containerd")
}

/// Notes which folders are within others on the same device, which hold them as well.
fn nest(parts: &mut [Part]) {
    let places: Vec<(String, Option<String>, bool)> = parts
        .iter()
        .filter_map(|part| Some((part.path.clone()?, part.device.clone(), part.bytes.is_some())))
        .collect();
    for part in parts.iter_mut().filter(|part| part.within.is_none()) {
        let Some(path) = &part.path else { continue };
        let above = places.iter().find(|(above, device, is_known)| {
            *is_known && *device == part.device && is_beneath(path, above)
        });
        part.within = above.map(|(above, ..)| above.clone());
    }
}

fn is_beneath(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    path != folder && rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Returns what mounts cover; of folders within each other once.
fn hidden(facts: DiskFacts<'_>) -> Vec<Part> {
    let mut seen = BTreeSet::new();
    let mut parts = Vec::new();
    for folder in facts.folders.values() {
        let Some(usage) = folder.usage.value() else { continue };
        let device = folder.filesystem.value().map(|filesystem| filesystem.device.clone());
        let part = Part {
            on_image_device: device.as_deref().zip(facts.image_device()).map(|(a, b)| a == b),
            device,
            counted_by: "the blocks of the folder".to_owned(),
            ..empty(PartKind::Hidden)
        };
        for hidden in usage.hidden.iter().filter(|hidden| seen.insert(hidden.path.clone())) {
            parts.push(Part {
                path: Some(hidden.path.clone()),
                bytes: Some(hidden.bytes),
                ..part.clone()
            });
        }
        if let Some(reason) = &usage.hidden_unknown {
            parts.push(Part {
                path: Some(folder.path.clone()),
                unknown: Some(reason.clone()),
                counted_by: String::new(),
                ..part
            });
        }
    }
    parts
}

impl Rest {
    /// Takes the parts from what is not available.
    pub(super) fn of(filesystem: Option<&Filesystem>, parts: &[Part]) -> Self {
        let Some(filesystem) = filesystem else { return Self::default() };
        let gone = filesystem.capacity_bytes.saturating_sub(filesystem.available_bytes);
        let added = parts.iter().filter(|part| part.is_added()).filter_map(|part| part.bytes);
        let sum: u128 = added.map(u128::from).sum();
        let may_hold = |part: &&Part| {
            part.unknown.is_some() && part.within.is_none() && part.on_image_device != Some(false)
        };
        // Both are far below what 128 bits hold.
        let rest = i128::from(gone).saturating_sub(i128::try_from(sum).unwrap_or(i128::MAX));
        Self {
            not_available_bytes: Some(gone),
            accounted_bytes: u64::try_from(sum).ok(),
            bytes: i64::try_from(rest).ok(),
            may_hold: parts.iter().filter(may_hold).map(Part::name).collect(),
        }
    }
}

/// Returns the containers that wrote the most.
pub(super) fn largest_layers(facts: DiskFacts<'_>) -> Vec<LayerUse> {
    let Some(runtime) = facts.runtime.value() else { return Vec::new() };
    let layers = runtime.writable_layers.value().map(Vec::as_slice).unwrap_or_default();
    let names = names(facts, runtime);
    let layer_use = |layer: &WritableLayer| {
        let name = names.get(layer.id.as_str());
        Some(LayerUse {
            pod: name.map(|(pod, _)| pod.clone()),
            container: name.map(|(_, container)| (*container).to_owned()),
            container_id: layer.id.clone(),
            bytes: layer.used_bytes?,
        })
    };
    let mut uses: Vec<LayerUse> = layers.iter().filter_map(layer_use).collect();
    uses.sort_by(|a, b| (b.bytes, &a.container_id).cmp(&(a.bytes, &b.container_id)));
    uses.truncate(LARGEST);
    uses
}

fn names<'a>(
    facts: DiskFacts<'_>,
    runtime: &'a RuntimeFacts,
) -> BTreeMap<&'a str, (String, &'a str)> {
    let containers = runtime.containers.value().into_iter().flatten();
    let named = containers.map(|container| {
        let pod = facts.workloads.pod(&container.pod_uid);
        let pod = pod.map_or_else(
            || container.pod_uid.clone(),
            |pod| format!("{}/{}", pod.namespace, pod.name),
        );
        (container.id.as_str(), (pod, container.name.as_str()))
    });
    named.collect()
}
