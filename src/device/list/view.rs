//! The tables of a list of devices.

use super::free::FreeDevices;
use super::report::{DeviceList, DeviceRow, Given, Health};
use super::resources::ResourceSummary;
use crate::facts::devices::PluginAnswer;
use crate::output::table::Table;
use std::fmt::Display;

fn begin<const N: usize>(headings: [&str; N]) -> Table {
    Table::new(headings.map(str::to_owned).to_vec())
}

/// Returns a line for each device of a container.
pub fn table(list: &DeviceList) -> Table {
    let mut table =
        begin(["POD", "CONTAINER", "RESOURCE", "DEVICE", "NUMA", "HEALTH", "STATE", "REASON"]);
    for row in &list.items {
        let mut cells = cells(row);
        cells.push(row.findings.first().map_or(String::new(), |first| first.reason.to_string()));
        table.add(cells);
    }
    table
}

/// Returns the same with everything that is the matter, and where each device was seen.
pub fn wide(list: &DeviceList) -> Table {
    let mut table = begin([
        "POD",
        "CONTAINER",
        "RESOURCE",
        "DEVICE",
        "NUMA",
        "HEALTH",
        "STATE",
        "ROLE",
        "CHECKPOINT",
        "PODRESOURCES",
        "UID",
        "REASON",
    ]);
    for row in &list.items {
        let mut cells = cells(row);
        let reasons: Vec<String> = row
            .findings
            .iter()
            .enumerate()
            .map(|(at, finding)| match at {
                0 => finding.reason.to_string(),
                _ => format!("{}: {}", finding.state, finding.reason),
            })
            .collect();
        cells.extend([
            format!("{:?}", row.role).to_lowercase(),
            seen(row.in_checkpoint),
            seen(row.in_pod_resources),
            row.pod.uid.clone().unwrap_or_else(|| "?".to_owned()),
            reasons.join("; "),
        ]);
        table.add(cells);
    }
    table
}

fn cells(row: &DeviceRow) -> Vec<String> {
    vec![
        row.pod.shown(),
        row.container.clone(),
        row.resource.clone(),
        row.device.clone(),
        numa(&row.numa_nodes),
        match row.health {
            Health::Healthy => "Healthy",
            Health::Unhealthy => "Unhealthy",
            Health::Unknown => "?",
        }
        .to_owned(),
        row.state.to_string(),
    ]
}

fn seen(seen: Option<bool>) -> String {
    match seen {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
    .to_owned()
}

fn numa(nodes: &[i64]) -> String {
    match nodes {
        [] => "-".to_owned(),
        nodes => nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

/// Returns a line for each resource.
pub fn resources(resources: &[ResourceSummary]) -> Table {
    let mut table =
        begin(["RESOURCE", "CAPACITY", "ALLOCATABLE", "HEALTHY", "ALLOCATED", "STALE", "FREE"]);
    for resource in resources {
        let free = resource.free.as_ref().map(Vec::len);
        table.add(vec![
            resource.resource.clone(),
            known(resource.capacity),
            known(resource.allocatable),
            known(resource.healthy),
            resource.allocated.to_string(),
            resource.stale.to_string(),
            known(free),
        ]);
    }
    table
}

fn known(number: Option<impl Display>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

/// Returns a line for each device that no active pod has.
pub fn free(devices: &FreeDevices) -> Table {
    let mut table = begin(["RESOURCE", "DEVICE", "NUMA"]);
    for free in &devices.items {
        table.add(vec![
            free.resource.clone(),
            free.device.clone(),
            free.numa_nodes.as_ref().map_or_else(|| "?".to_owned(), |nodes| numa(nodes)),
        ]);
    }
    for resource in &devices.unknown {
        table.add(vec![resource.clone(), "?".to_owned(), "?".to_owned()]);
    }
    table
}

/// Returns a line for each value of a plugin that does not reach its container.
pub fn dropped(list: &[Given]) -> Table {
    let mut table = begin(["POD", "CONTAINER", "NOT GIVEN", "NAME", "OF", "BECAUSE"]);
    for (given, dropped) in
        list.iter().flat_map(|given| given.dropped.iter().map(move |it| (given, it)))
    {
        table.add(vec![
            given.pod.shown(),
            given.container.clone(),
            format!("{:?}", dropped.kind).to_lowercase(),
            dropped.key.clone(),
            dropped.resource.clone(),
            match dropped.differs {
                true => format!(
                    "{} gives another value; which one wins is chance at each start of a container",
                    dropped.kept_of
                ),
                false => format!("{} gives the same", dropped.kept_of),
            },
        ]);
    }
    table
}

/// Returns a line for each thing that a plugin gave to a container.
pub fn given(list: &[Given]) -> Table {
    let mut table = begin(["POD", "CONTAINER", "RESOURCE", "KIND", "NAME", "VALUE"]);
    for given in list {
        let mut add = |kind: &str, name: &str, value: String| {
            table.add(vec![
                given.pod.shown(),
                given.container.clone(),
                given.resource.clone(),
                kind.to_owned(),
                name.to_owned(),
                value,
            ]);
        };
        match &given.answer {
            PluginAnswer::Withheld => {
                add("withheld", "-", "snapshots do not hold what plugins answered".to_owned());
            }
            PluginAnswer::Undecodable(reason) => {
                add("undecodable", "-", format!("the kubelet skips the entry: {reason}"));
            }
            PluginAnswer::Decoded(answer) => {
                for (name, value) in &answer.envs {
                    add("env", name, value.clone());
                }
                for mount in &answer.mounts {
                    let mode = if mount.read_only { "ro" } else { "rw" };
                    add("mount", &mount.container_path, format!("{} {mode}", mount.host_path));
                }
                for device in &answer.devices {
                    let value = format!("{} {}", device.host_path, device.permissions);
                    add("device", &device.container_path, value);
                }
                for (name, value) in &answer.annotations {
                    add("annotation", name, value.clone());
                }
                for name in &answer.cdi_devices {
                    add("cdi", name, "-".to_owned());
                }
            }
        }
    }
    table
}
