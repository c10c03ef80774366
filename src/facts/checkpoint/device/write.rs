//! The text that is hashed, and the bytes of the file.

use super::types::{DeviceCheckpoint, DevicesPerNuma, PodDevicesEntry};
use crate::facts::checkpoint::checksum::{Fnv32, PreImage, push_list, push_map};
use crate::k8s::go_json::{push_base64, push_string};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const NIL: &str = "<nil>";

impl DeviceCheckpoint {
    /// Adds the text that is hashed: that of `checkpointData`, not of the whole file.
    pub fn pre_image<P: PreImage>(&self, out: &mut P) {
        let mut number = String::new();
        out.push("(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)");
        match &self.entries {
            None => out.push(NIL),
            Some(entries) => {
                push_list(out, entries, |out, entry| push_entry(out, entry, &mut number))
            }
        }
        out.push(" RegisteredDevices:(map[string][]string)");
        match &self.registered {
            None => out.push(NIL),
            Some(registered) => push_map(out, registered, |out, resource, ids| {
                out.push(resource);
                out.push(":");
                push_ids(out, ids.as_deref());
            }),
        }
        out.push("}");
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

/// Adds an entry; `number` is a place for numbers that is used again.
fn push_entry<P: PreImage>(out: &mut P, entry: &PodDevicesEntry, number: &mut String) {
    for (name, value) in [
        ("{PodUID:(string)", &entry.pod_uid),
        (" ContainerName:(string)", &entry.container_name),
        (" ResourceName:(string)", &entry.resource_name),
    ] {
        out.push(name);
        out.push(value);
    }
    out.push(" DeviceIDs:(checkpoint.DevicesPerNUMA)");
    match &entry.device_ids {
        None => out.push(NIL),
        Some(map) => push_map(out, map, |out, node, ids| {
            number.clear();
            let _ = write!(number, "{node}:");
            out.push(number);
            push_ids(out, ids.as_deref());
        }),
    }
    out.push(" AllocResp:([]uint8)");
    match &entry.alloc_resp {
        None => out.push(NIL),
        Some(bytes) => push_list(out, bytes, |out, &byte| push_byte(out, byte)),
    }
    out.push("}");
}

fn push_ids<P: PreImage>(out: &mut P, ids: Option<&[String]>) {
    match ids {
        None => out.push(NIL),
        Some(ids) => push_list(out, ids, |out, id| out.push(id)),
    }
}

fn push_byte<P: PreImage>(out: &mut P, byte: u8) {
    const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let digit = |value: u8| DIGITS[usize::from(value % 10)];
    if byte >= 100 {
        out.push(digit(byte / 100));
    }
    if byte >= 10 {
        out.push(digit(byte / 10));
    }
    out.push(digit(byte));
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
