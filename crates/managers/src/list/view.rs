//! The tables of a list of devices.

use super::reason::State;
use super::report::{DeviceList, DeviceRow, Given, Health};
use super::resources::{FreeDevices, FreeOf, ResourceSummary};
use crate::run_options::Dropped;
use kq_facts::devices::PluginAnswer;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, listed};
use std::fmt::Display;

fn devices<'a>() -> [Column<DeviceRow<'a>>; 13] {
    [
        Column::name("POD", |row| row.pod.shown().into_owned()),
        Column::name("CONTAINER", |row| row.container.to_owned()),
        Column::new("RESOURCE", |row| row.resource.to_owned()),
        Column::name("DEVICE", |row| row.device.to_owned()),
        Column::new("NUMA", |row| listed(&row.numa_nodes, ",")),
        Column::state(
            "HEALTH",
            |row| health(row.health).0.to_owned(),
            |row| Some(health(row.health).1),
        ),
        Column::state("STATE", |row| row.state.to_string(), |row| tone(row.state)),
        Column::wide(Column::new("ROLE", |row| format!("{:?}", row.role).to_lowercase())),
        Column::wide(Column::new("CHECKPOINT", |row| seen(row.in_checkpoint))),
        Column::wide(Column::new("PODRESOURCES", |row| seen(row.in_pod_resources))),
        Column::wide(Column::new("UID", |row| row.pod.uid.unwrap_or("?").to_owned())),
        Column::narrow(Column::text("REASON", |row| {
            row.findings.first().map_or(String::new(), |first| first.reason.to_string())
        })),
        Column::wide(Column::text("REASON", |row| {
            let others = row.findings.iter().skip(1);
            let first = row.findings.first().map(|first| first.reason.to_string());
            let others = others.map(|finding| format!("{}: {}", finding.state, finding.reason));
            first.into_iter().chain(others).collect::<Vec<_>>().join("; ")
        })),
    ]
}

fn health(health: Health) -> (&'static str, Tone) {
    match health {
        Health::Healthy => ("Healthy", Tone::Good),
        Health::Unhealthy => ("Unhealthy", Tone::Bad),
        Health::Unknown => ("?", Tone::Doubtful),
    }
}

fn tone(state: State) -> Option<Tone> {
    match state {
        State::Double | State::Orphan | State::Missing | State::Unhealthy => Some(Tone::Bad),
        State::Stale | State::Unknown => Some(Tone::Doubtful),
        State::InitHeld => None,
        State::Ok => Some(Tone::Good),
    }
}

const RESOURCES: &[Column<ResourceSummary>] = &[
    Column::new("RESOURCE", |resource| resource.resource.clone()),
    Column::new("CAPACITY", |resource| known(resource.capacity)),
    Column::new("ALLOCATABLE", |resource| known(resource.allocatable)),
    Column::new("HEALTHY", |resource| known(resource.healthy)),
    Column::new("ALLOCATED", |resource| resource.allocated.to_string()),
    Column::new("STALE", |resource| resource.stale.to_string()),
    Column::new("FREE", |resource| known(resource.free.as_ref().map(Vec::len))),
];

/// Returns a line for each device of a container.
pub fn table(list: &DeviceList<'_>) -> Table {
    Rows::of(&list.items).table(&devices())
}

/// Returns the same with everything that is the matter, and where each device was seen.
pub fn wide(list: &DeviceList<'_>) -> Table {
    Rows::of(&list.items).wide(true).table(&devices())
}

fn seen(seen: Option<bool>) -> String {
    match seen {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
    .to_owned()
}

/// Returns a line for each resource.
pub fn resources(resources: &[ResourceSummary]) -> Table {
    Rows::of(resources).table(RESOURCES)
}

fn known(number: Option<impl Display>) -> String {
    number.map_or_else(|| "?".to_owned(), |number| number.to_string())
}

/// Returns a line for each device that no active pod has.
pub fn free(devices: &FreeDevices) -> Table {
    let healthy = devices.items.iter().map(|free| (&free.resource, Some(free)));
    let unknown = devices.unknown.iter().map(|resource| (resource, None));
    let rows: Vec<(&String, Option<&FreeOf>)> = healthy.chain(unknown).collect();
    Rows::of(&rows).table(&[
        Column::new("RESOURCE", |(resource, _)| (*resource).clone()),
        Column::name("DEVICE", |(_, free)| known(free.map(|free| &free.device))),
        Column::new("NUMA", |(_, free)| {
            known(free.and_then(|free| free.numa_nodes.as_deref()).map(|it| listed(it, ",")))
        }),
    ])
}

/// Returns a line for each value of a plugin that does not reach its container.
pub fn dropped(list: &[Given<'_>]) -> Table {
    let mut rows: Vec<(&Given<'_>, &Dropped)> = Vec::new();
    for given in list {
        rows.extend(given.dropped.iter().map(|dropped| (given, dropped)));
    }
    Rows::of(&rows).table(&[
        Column::name("POD", |(given, _)| given.pod.shown().into_owned()),
        Column::name("CONTAINER", |(given, _)| given.container.to_owned()),
        Column::new("NOT GIVEN", |(_, dropped)| format!("{:?}", dropped.kind).to_lowercase()),
        Column::name("NAME", |(_, dropped)| dropped.key.clone()),
        Column::new("OF", |(_, dropped)| dropped.resource.clone()),
        Column::text("BECAUSE", |(_, dropped)| match dropped.differs {
            true => format!(
                "{} gives another value; which one wins is chance at each start of a container",
                dropped.kept_of
            ),
            false => format!("{} gives the same", dropped.kept_of),
        }),
    ])
}

/// Returns a line for each thing that a plugin gave to a container.
pub fn given(list: &[Given<'_>]) -> Table {
    let mut rows: Vec<(&Given<'_>, &'static str, &str, String)> = Vec::new();
    for given in list {
        let mut add = |kind, name, value| rows.push((given, kind, name, value));
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
    Rows::of(&rows).table(&[
        Column::name("POD", |(given, ..)| given.pod.shown().into_owned()),
        Column::name("CONTAINER", |(given, ..)| given.container.to_owned()),
        Column::new("RESOURCE", |(given, ..)| given.resource.to_owned()),
        Column::new("KIND", |(_, kind, ..)| (*kind).to_owned()),
        Column::name("NAME", |(_, _, name, _)| (*name).to_owned()),
        Column::new("VALUE", |(_, _, _, value)| value.clone()),
    ])
}
