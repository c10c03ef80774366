//! `device_run_options`: what a container gets from the recorded answers of plugins.

use super::input;
use kq_facts::checkpoint::device::{ContainerAllocateResponse, DeviceSpec, Mount};
use kq_managers::run_options::run_options;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns what the library makes of a case.
pub fn answer(case: &Value) -> Value {
    let answers: BTreeMap<String, Value> = input::read(&case["allocate_responses_by_resource"]);
    let answers: BTreeMap<String, ContainerAllocateResponse> =
        answers.iter().map(|(resource, answer)| (resource.clone(), response(answer))).collect();
    let Some(mut options) = run_options(&answers) else { return json!({ "options": null }) };
    // Sorted by path in the recorded answers; CDI names only where several resources have some order.
    options.devices.sort_by(|a, b| a.container_path.cmp(&b.container_path));
    options.mounts.sort_by(|a, b| a.container_path.cmp(&b.container_path));
    if answers.len() > 1 {
        options.cdi_devices.sort();
    }
    let devices = options.devices.iter().map(|device| {
        json!({
            "path_in_container": device.container_path,
            "path_on_host": device.host_path,
            "permissions": device.permissions,
        })
    });
    let mounts = options.mounts.iter().map(|mount| {
        json!({
            "name": mount.container_path,
            "container_path": mount.container_path,
            "host_path": mount.host_path,
            "read_only": mount.read_only,
            "selinux_relabel": false,
        })
    });
    json!({
        "envs": options.envs,
        "annotations": options.annotations,
        "devices_by_container_path": devices.collect::<Vec<_>>(),
        "mounts_by_container_path": mounts.collect::<Vec<_>>(),
        "cdi_devices": options.cdi_devices,
    })
}

/// Reads what a plugin answered.
fn response(answer: &Value) -> ContainerAllocateResponse {
    let list = |name: &str| -> Vec<Value> { input::read(&answer[name]) };
    let text = |value: &Value, name: &str| -> String { input::read(&value[name]) };
    ContainerAllocateResponse {
        envs: input::read(&answer["envs"]),
        annotations: input::read(&answer["annotations"]),
        cdi_devices: input::read(&answer["cdi_devices"]),
        mounts: list("mounts")
            .iter()
            .map(|mount| Mount {
                container_path: text(mount, "container_path"),
                host_path: text(mount, "host_path"),
                read_only: input::read(&mount["read_only"]),
            })
            .collect(),
        devices: list("devices")
            .iter()
            .map(|device| DeviceSpec {
                container_path: text(device, "container_path"),
                host_path: text(device, "host_path"),
                permissions: text(device, "permissions"),
            })
            .collect(),
    }
}
