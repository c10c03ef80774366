//! The text that is hashed, and the bytes of the file.

use super::types::{DeviceCheckpoint, DevicesPerNuma, PodDevicesEntry};
use crate::facts::checkpoint::checksum::{Fnv32, PreImage};
use crate::facts::checkpoint::go_dump::GoDump;
use crate::k8s::go_json::{push_base64, push_string};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

impl DeviceCheckpoint {
    /// Adds the text that is hashed: that of `checkpointData`, not of the whole file.
    pub fn pre_image<P: PreImage>(&self, out: &mut P) {
        let mut dump = GoDump::new(out);
        dump.scalar("checkpoint.checkpointData", "{PodDeviceEntries:");
        dump.list("[]checkpoint.PodDevicesEntry", self.entries.as_ref(), dump_entry);
        dump.mark(" RegisteredDevices:");
        dump.map("map[string][]string", self.registered.as_ref(), |dump, ids| {
            dump_ids(dump, ids.as_ref());
        });
        dump.mark("}");
    }

    /// Returns the checksum.
    pub fn checksum(&self) -> u32 {
        let mut sum = Fnv32::default();
        self.pre_image(&mut sum);
        sum.sum()
    }

    /// Returns the bytes of the file, with its checksum (`MarshalCheckpoint`).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut json = "{\"Data\":{\"PodDeviceEntries\":".to_owned();
        match &self.entries {
            None => json.push_str("null"),
            Some(entries) => write_list(&mut json, entries, write_entry),
        }
        json.push_str(",\"RegisteredDevices\":");
        match &self.registered {
            None => json.push_str("null"),
            Some(registered) => {
                write_map(&mut json, registered.iter().map(|(key, ids)| (&**key, ids)))
            }
        }
        let _ = write!(json, "}},\"Checksum\":{}}}", self.checksum());
        json.into_bytes()
    }
}

/// The numbers of all bytes: answers of plugins are the most of a text that is hashed.
static BYTES: LazyLock<[String; 256]> =
    LazyLock::new(|| std::array::from_fn(|byte| byte.to_string()));

fn dump_entry<P: PreImage>(dump: &mut GoDump<'_, P>, entry: &PodDevicesEntry) {
    dump.scalar("checkpoint.PodDevicesEntry", "{");
    for (name, value) in [
        ("PodUID:", &entry.pod_uid),
        (" ContainerName:", &entry.container_name),
        (" ResourceName:", &entry.resource_name),
    ] {
        dump.mark(name);
        dump.scalar("string", value);
    }
    dump.mark(" DeviceIDs:");
    dump.map("checkpoint.DevicesPerNUMA", entry.device_ids.as_ref(), |dump, ids| {
        dump_ids(dump, ids.as_ref());
    });
    dump.mark(" AllocResp:");
    dump.list("[]uint8", entry.alloc_resp.as_ref(), |dump, byte| {
        dump.scalar("uint8", &BYTES[usize::from(*byte)]);
    });
    dump.mark("}");
}

fn dump_ids<P: PreImage>(dump: &mut GoDump<'_, P>, ids: Option<&Vec<String>>) {
    dump.list("[]string", ids, |dump, id| dump.scalar("string", id));
}

fn write_entry(json: &mut String, entry: &PodDevicesEntry) {
    for (name, value) in [
        ("{\"PodUID\":", &entry.pod_uid),
        (",\"ContainerName\":", &entry.container_name),
        (",\"ResourceName\":", &entry.resource_name),
    ] {
        json.push_str(name);
        push_string(value, json);
    }
    json.push_str(",\"DeviceIDs\":");
    match &entry.device_ids {
        None => json.push_str("null"),
        Some(map) => write_nodes(json, map),
    }
    json.push_str(",\"AllocResp\":");
    match &entry.alloc_resp {
        None => json.push_str("null"),
        Some(bytes) => push_base64(bytes, json),
    }
    json.push('}');
}

/// Writes devices per node; the keys of a map are sorted as text.
fn write_nodes(json: &mut String, map: &DevicesPerNuma) {
    let sorted: BTreeMap<String, _> =
        map.iter().map(|(node, ids)| (node.to_string(), ids)).collect();
    write_map(json, sorted.iter().map(|(node, ids)| (&**node, *ids)));
}

fn write_map<'m>(json: &mut String, map: impl Iterator<Item = (&'m str, &'m Option<Vec<String>>)>) {
    json.push('{');
    for (index, (key, ids)) in map.enumerate() {
        if index > 0 {
            json.push(',');
        }
        push_string(key, json);
        json.push(':');
        match ids {
            None => json.push_str("null"),
            Some(ids) => write_list(json, ids, |json, id| push_string(id, json)),
        }
    }
    json.push('}');
}

fn write_list<T>(json: &mut String, list: &[T], mut write: impl FnMut(&mut String, &T)) {
    json.push('[');
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write(json, element);
    }
    json.push(']');
}
