//! `checkpoint`: the device manager's file, read and written.

use super::digest::sha256;
use super::input;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kq_facts::checkpoint::device::{
    ContainerAllocateResponse, DeviceCheckpoint, DeviceSet, DevicesPerNuma, PodDevices,
    PodDevicesEntry,
};
use kq_k8s::version::KubeletVersion;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What not every recorded answer has: the state only for some of the files, of a long text a digest.
const OPTIONAL: &[&str] = &[
    "checksum_preimage",
    "checksum_preimage_sha256",
    "checksum_preimage_length_bytes",
    "checksum_preimage_first_400_characters",
    "kubelet_state_after_load",
];

/// Returns what the library makes of a case.
pub fn answer(case: &Value) -> Value {
    match case["operation"].as_str() {
        Some("encode") => encode(case),
        _ => load(case),
    }
}

/// Returns an answer without what the recorded one leaves out.
pub fn comparable(mut answer: Value, recorded: &Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        fields.retain(|name, _| !OPTIONAL.contains(&&**name) || recorded.get(name).is_some());
    }
    answer
}

fn load(case: &Value) -> Value {
    let bytes = match case["file_text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => base64(&case["file_base64"]).expect("a file is given"),
    };
    let version = input::rules(case).gates.version();
    let loaded = match DeviceCheckpoint::parse(&bytes) {
        Ok(loaded) => loaded,
        Err(error) => return json!({"load": "parse_error", "error": error.to_string()}),
    };
    let checkpoint = &loaded.checkpoint;
    let mut answer = Map::new();
    add_checksum(&mut answer, checkpoint);
    answer.insert("checksum_in_file".to_owned(), loaded.checksum_in_file.into());
    answer.insert("checksum_valid".to_owned(), loaded.is_valid().into());
    let entries = checkpoint.entries.as_ref();
    let entries = entries
        .map(|entries| entries.iter().map(|entry| shown_entry(entry, version)).collect::<Vec<_>>());
    answer.insert("pod_device_entries".to_owned(), json!(entries));
    answer.insert("registered_devices".to_owned(), json!(checkpoint.registered));
    match loaded.error() {
        None => {
            answer.insert("load".to_owned(), "ok".into());
            answer.insert("kubelet_state_after_load".to_owned(), state(checkpoint, version));
        }
        Some(error) => {
            answer.insert("load".to_owned(), "checksum_mismatch".into());
            answer.insert("error".to_owned(), error.into());
        }
    }
    Value::Object(answer)
}

fn shown_entry(entry: &PodDevicesEntry, version: KubeletVersion) -> Value {
    let bytes = entry.alloc_resp.as_deref();
    let answer = match ContainerAllocateResponse::decode_by(bytes.unwrap_or_default(), version) {
        Err(_) => json!("undecodable"),
        Ok(answer) => json!({
            "envs": answer.envs,
            "annotations": answer.annotations,
            "cdi_devices": answer.cdi_devices,
            "mounts": answer.mounts.iter().map(|mount| json!({
                "container_path": mount.container_path,
                "host_path": mount.host_path,
                "read_only": mount.read_only,
            })).collect::<Vec<_>>(),
            "devices": answer.devices.iter().map(|device| json!({
                "container_path": device.container_path,
                "host_path": device.host_path,
                "permissions": device.permissions,
            })).collect::<Vec<_>>(),
        }),
    };
    json!({
        "pod_uid": entry.pod_uid,
        "container_name": entry.container_name,
        "resource_name": entry.resource_name,
        "device_ids_by_numa_node": entry.device_ids.as_ref().map(by_text),
        "allocate_response_bytes_base64": bytes.map(|bytes| STANDARD.encode(bytes)),
        "allocate_response": answer,
    })
}

fn by_text<T: serde::Serialize>(nodes: &BTreeMap<i64, T>) -> Value {
    nodes.iter().map(|(node, ids)| (node.to_string(), json!(ids))).collect::<Map<_, _>>().into()
}

fn state(checkpoint: &DeviceCheckpoint, version: KubeletVersion) -> Value {
    let pod_devices = PodDevices::restore(checkpoint, version).pod_devices;
    let devices: Vec<Value> = pod_devices
        .entries
        .iter()
        .map(|(key, device)| {
            // Recorded in order; the kubelet keeps that of the file.
            let mut devices = device.devices.clone();
            devices.values_mut().for_each(|ids| ids.sort());
            json!({
                "pod_uid": key.pod_uid,
                "container_name": key.container_name,
                "resource_name": key.resource_name,
                "device_ids_by_numa_node": by_text(&devices),
            })
        })
        .collect();
    let allocated: BTreeMap<String, DeviceSet> = pod_devices.allocated();
    let known: Vec<&String> = checkpoint.registered.iter().flat_map(BTreeMap::keys).collect();
    json!({
        "pod_devices": devices,
        "allocated_devices": allocated,
        "resources_with_stopped_plugin": known,
        "resources_with_healthy_devices": [],
    })
}

fn encode(case: &Value) -> Value {
    let checkpoint = DeviceCheckpoint {
        entries: case["pod_device_entries"].as_array().map(|list| list.iter().map(entry).collect()),
        registered: serde_json::from_value(case["registered_devices"].clone())
            .expect("lists of ids"),
    };
    let mut answer = Map::new();
    add_checksum(&mut answer, &checkpoint);
    let file = String::from_utf8(checkpoint.to_bytes()).expect("the file is text");
    answer.insert("file_text".to_owned(), file.into());
    Value::Object(answer)
}

fn entry(entry: &Value) -> PodDevicesEntry {
    let text = |name: &str| entry[name].as_str().expect("a text").to_owned();
    let nodes = entry["device_ids_by_numa_node"].as_object();
    let nodes = nodes.map(|nodes| -> DevicesPerNuma {
        let ids = |ids: &Value| serde_json::from_value(ids.clone()).expect("a list of ids");
        nodes.iter().map(|(node, list)| (node.parse().expect("a number"), ids(list))).collect()
    });
    PodDevicesEntry {
        pod_uid: text("pod_uid"),
        container_name: text("container_name"),
        resource_name: text("resource_name"),
        device_ids: nodes,
        alloc_resp: base64(&entry["allocate_response_bytes_base64"]),
    }
}

fn base64(text: &Value) -> Option<Vec<u8>> {
    Some(STANDARD.decode(text.as_str()?).expect("base64"))
}

/// Adds the checksum and what it is of, whole and as a digest.
fn add_checksum(answer: &mut Map<String, Value>, checkpoint: &DeviceCheckpoint) {
    let mut image = String::new();
    checkpoint.pre_image(&mut image);
    let begin: String = image.chars().take(400).collect();
    let fields: [(&str, Value); 5] = [
        ("checksum_computed", checkpoint.checksum().into()),
        ("checksum_preimage_sha256", sha256(image.as_bytes()).into()),
        ("checksum_preimage_length_bytes", image.len().into()),
        ("checksum_preimage_first_400_characters", begin.into()),
        ("checksum_preimage", image.into()),
    ];
    answer.extend(fields.map(|(name, value)| (name.to_owned(), value)));
}
