//! Devices from a file, in place of the node's.

use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::devices::GivenDevice;
use kq_facts::input_name::shown;
use kq_io::input::read_input;
use kq_k8s::yaml;
use std::collections::BTreeMap;

/// Reads a list of devices in JSON or YAML.
///
/// # Errors
///
/// Fails for a file that is not a list of devices, and names the first invalid entry.
pub(crate) fn read_devices(file: &str) -> Result<Vec<GivenDevice>, Failure> {
    let name = shown(file);
    let refuse = |why: String| {
        Failure::usage(anyhow!("--devices {name}: {why}")).hint(
            "a list is expected, such as: - {resource: example.com/gpu, id: gpu-0, numaNodes: [0]}",
        )
    };
    let content = read_input(file).map_err(Failure::missing)?;
    let text = std::str::from_utf8(&content).map_err(|error| refuse(error.to_string()))?;
    let read = yaml::read(text).map_err(|error| refuse(error.to_string()))?;
    let serde_json::Value::Array(items) = read.value else {
        return Err(refuse("not a list".to_owned()));
    };
    if items.is_empty() {
        return Err(refuse("the list is empty".to_owned()));
    }
    let device = |(at, item): (usize, serde_json::Value)| {
        let device: GivenDevice = serde_json::from_value(item)
            .map_err(|error| refuse(format!("device {}: {error}", at + 1)))?;
        match (device.resource.is_empty(), device.id.is_empty()) {
            (true, _) => Err(refuse(format!("device {}: its resource is empty", at + 1))),
            (_, true) => Err(refuse(format!("device {}: its id is empty", at + 1))),
            _ => Ok(device),
        }
    };
    let devices: Vec<GivenDevice> =
        items.into_iter().enumerate().map(device).collect::<Result<_, Failure>>()?;
    let mut seen = BTreeMap::new();
    for (at, GivenDevice { resource, id, .. }) in devices.iter().enumerate() {
        if let Some(first) = seen.insert((resource, id), at + 1) {
            return Err(refuse(format!(
                "device {}: {id} of {resource} is device {first} already",
                at + 1
            )));
        }
    }
    Ok(devices)
}
