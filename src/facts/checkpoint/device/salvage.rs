//! Which parts of a damaged file are sound.

use super::pieces::{Pieces, pieces};
use super::{ContainerAllocateResponse, DeviceCheckpoint, PodDeviceKey, PodDevicesEntry};
use crate::k8s::go_json::decode;
use std::collections::{BTreeMap, BTreeSet};

/// What can be kept of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Why the kubelet does not take the file, in its words.
    pub error: Option<String>,
    /// Its entries in their order; the reason says why one goes.
    pub entries: Vec<(PodDevicesEntry, Option<String>)>,
    /// The resources.
    pub registered: BTreeMap<String, Option<Vec<String>>>,
    /// At least so many entries were there and cannot be read at all.
    pub lost: usize,
    /// All can be read, and the checksum is another: something was changed, and nothing tells what.
    pub is_changed: bool,
    /// What is odd about what was found.
    pub notes: Vec<String>,
}

impl Salvage {
    /// Tells whether there is nothing to mend.
    pub fn is_sound(&self) -> bool {
        self.error.is_none() && self.entries.iter().all(|(_, why_not)| why_not.is_none())
    }
}

/// Looks through a file, whatever its state is. Nothing is made up: what cannot be read is left out.
pub fn salvage(bytes: &[u8]) -> Salvage {
    let mut salvage = match DeviceCheckpoint::parse(bytes) {
        Ok(loaded) => {
            let error = loaded.error().map(str::to_owned);
            let old = error.as_ref().and_then(|_| DeviceCheckpoint::parse_old_layout(bytes));
            let mut salvage = of_content(old.as_ref().unwrap_or(&loaded.checkpoint));
            salvage.is_changed = error.is_some() && old.is_none();
            if old.is_some() {
                salvage.notes.push(OLD.to_owned());
            }
            salvage.error = error;
            salvage
        }
        Err(error) => {
            let mut salvage = of_pieces(&pieces(bytes));
            if !salvage.entries.is_empty() {
                salvage.notes.push(UNPROVEN.to_owned());
            }
            salvage.error = Some(error.to_string());
            salvage
        }
    };
    let is_damaged = salvage.error.is_some();
    for (entry, why_not) in &mut salvage.entries {
        if why_not.is_none() {
            *why_not = unsound(entry, is_damaged);
        }
    }
    drop_replaced(&mut salvage.entries);
    salvage
}

/// Why an entry goes that has no effect.
pub const REPLACED: &str = "a later entry about the same replaces it";

const UNPROVEN: &str = "what is whole is taken as it stands: without the rest, the checksum cannot tell whether \
                        anything in it was changed";

const OLD: &str = "the layout of a kubelet of 1.19 or older, which knew no NUMA nodes: its devices are \
                   taken as without one";

fn of_content(checkpoint: &DeviceCheckpoint) -> Salvage {
    Salvage {
        entries: checkpoint.entries.iter().flatten().map(|entry| (entry.clone(), None)).collect(),
        registered: checkpoint.registered.clone().unwrap_or_default(),
        ..Salvage::default()
    }
}

fn of_pieces(pieces: &Pieces) -> Salvage {
    let mut salvage = Salvage::default();
    let mut is_old = false;
    for text in &pieces.entries {
        let entry = match PodDevicesEntry::parse(text) {
            Ok(entry) => (entry, None),
            Err(error) => match PodDevicesEntry::parse_old_layout(text) {
                Some(entry) => {
                    is_old = true;
                    (entry, None)
                }
                None => (readable(text), Some(error.to_string())),
            },
        };
        salvage.entries.push(entry);
    }
    for (resource, text) in &pieces.registered {
        let mut ids: Option<Vec<String>> = None;
        if decode(text, &mut ids).is_ok() {
            salvage.registered.insert(resource.clone(), ids);
        } else {
            salvage.notes.push(format!("the ids of resource {resource} cannot be read"));
        }
    }
    if is_old {
        salvage.notes.push(OLD.to_owned());
    }
    if let Some(at) = pieces.broken_at {
        salvage.notes.push(format!(
            "the file is damaged at byte {at}: an entry that was there is not among these"
        ));
        salvage.lost = pieces.begun.saturating_sub(pieces.entries.len());
    }
    if !pieces.has_registered {
        salvage.notes.push(
            "the list of resources is lost; each is known again when its plugin registers"
                .to_owned(),
        );
    }
    salvage
}

/// Returns what can be read of an entry that goes, to tell whose it is.
fn readable(text: &[u8]) -> PodDevicesEntry {
    let text = String::from_utf8_lossy(text);
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&text).unwrap_or_default();
    let field = |name: &str| {
        let value = fields.get(name).and_then(serde_json::Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    PodDevicesEntry {
        pod_uid: field("PodUID"),
        container_name: field("ContainerName"),
        resource_name: field("ResourceName"),
        ..PodDevicesEntry::default()
    }
}

/// Says why an entry cannot be kept.
fn unsound(entry: &PodDevicesEntry, is_damaged: bool) -> Option<String> {
    for (text, what) in [
        (&entry.pod_uid, "pod"),
        (&entry.container_name, "container"),
        (&entry.resource_name, "resource"),
    ] {
        if text.is_empty() {
            return Some(format!("it names no {what}"));
        }
    }
    let ids = entry.device_ids.iter().flatten().flat_map(|(_, ids)| ids).flatten();
    let mut texts =
        [&entry.pod_uid, &entry.container_name, &entry.resource_name].into_iter().chain(ids);
    if is_damaged && texts.any(|text| text.contains(char::REPLACEMENT_CHARACTER)) {
        return Some("a name in it was not text in UTF-8: nobody knows which was meant".to_owned());
    }
    let answer = entry.alloc_resp.as_deref().unwrap_or_default();
    let error = ContainerAllocateResponse::decode(answer).err()?;
    Some(format!("its plugin's answer cannot be decoded ({error}), so the kubelet skips it"))
}

/// Of entries about the same the last one counts.
fn drop_replaced(entries: &mut [(PodDevicesEntry, Option<String>)]) {
    let mut seen: BTreeSet<PodDeviceKey> = BTreeSet::new();
    for (entry, why_not) in entries.iter_mut().rev() {
        if why_not.is_none() && !seen.insert(PodDeviceKey::from(&*entry)) {
            *why_not = Some(REPLACED.to_owned());
        }
    }
}
