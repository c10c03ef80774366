//! An allocation as people read it.

use super::report::{Affinity, ContainerAllocation, DeviceAllocation, GivenDevice, GivenResource};
use crate::facts::checkpoint::device::ContainerAllocateResponse;
use crate::output::table::Table;
use crate::output::terminal::plain;
use std::collections::BTreeSet;

/// The columns of a resource and its devices.
const RESOURCE: usize = 2;
const DEVICES: usize = 3;

/// Returns the devices of each container, and what it gets with them.
pub fn table(report: &DeviceAllocation) -> String {
    let mut text = String::new();
    // What came from outside cannot add a line.
    let mut line = |line: String| text.push_str(&(plain(line) + "\n"));
    line(format!("POD {}/{} {}", report.namespace, report.name, report.uid));
    let headings = ["CONTAINER", "KIND", "RESOURCE", "DEVICES", "NUMA", "PRE-START"];
    let mut table = Table::new(headings.map(str::to_owned).to_vec());
    for container in &report.containers {
        for row in rows(container) {
            table.add(row);
        }
    }
    let rows = table.to_string();
    rows.lines().for_each(|row| line(row.to_owned()));
    for container in &report.containers {
        for got in container.gets.iter().flat_map(gets) {
            line(format!("{} gets {got}", container.name));
        }
    }
    for container in &report.containers {
        let failed = container.pre_start.iter().filter_map(|call| call.error.as_ref());
        for error in container.error.iter().chain(failed) {
            line(format!("{} fails: {error}", container.name));
        }
    }
    for container in &report.containers {
        for missing in &container.unregistered {
            let resource = &missing.resource;
            let meant = missing.did_you_mean.as_ref();
            let meant = meant.map_or_else(String::new, |it| format!("; did you mean {it}?"));
            line(format!(
                "{} lacks {resource}: no plugin has registered it, and a kubelet would start the \
                 container without{meant}",
                container.name
            ));
        }
    }
    if let Some(failure) = &report.failure {
        line(failure.message.clone());
    }
    if let (Some(reason), Some(message)) = (&report.reason, &report.message) {
        line(format!("refused: {reason}: {message}"));
    }
    text
}

/// Returns that, and each call to a plugin.
pub fn wide(report: &DeviceAllocation) -> String {
    let mut text = String::new();
    for container in &report.containers {
        if let Some(Affinity { numa_nodes, preferred }) = &container.affinity {
            let nodes = numa_nodes.as_ref().map_or("any".to_owned(), |nodes| {
                nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            });
            let preferred = if *preferred { "preferred" } else { "not preferred" };
            let name = &container.name;
            text.push_str(&(plain(format!("{name} affinity: NUMA {nodes}, {preferred}")) + "\n"));
        }
    }
    for call in &report.calls {
        let came = match (&call.answer, &call.error) {
            (Some(answer), _) => format!("-> {answer}"),
            (None, Some(error)) => format!("failed: {error}"),
            (None, None) => String::new(),
        };
        let took = call.took_us;
        let call =
            format!("call {} {} {} {came} ({took} us)", call.method, call.resource, call.request);
        text.push_str(&(plain(call) + "\n"));
    }
    table(report) + &text
}

fn rows(container: &ContainerAllocation) -> Vec<Vec<String>> {
    let row = |given: Option<&GivenResource>| {
        let pre_start = given.and_then(|given| {
            container.pre_start.iter().find(|call| call.resource == given.resource)
        });
        let devices = given.map(|given| given.devices.as_slice()).unwrap_or_default();
        vec![
            container.name.clone(),
            container.kind.clone(),
            given.map_or_else(|| "-".to_owned(), |given| given.resource.clone()),
            join(devices.iter().map(|device| device.id.clone())),
            nodes(devices),
            match pre_start {
                None => "-".to_owned(),
                Some(call) if call.error.is_some() => "failed".to_owned(),
                Some(_) => "called".to_owned(),
            },
        ]
    };
    let mut rows: Vec<Vec<String>> =
        container.resources.iter().map(|given| row(Some(given))).collect();
    for missing in &container.unregistered {
        let mut row = row(None);
        row[RESOURCE].clone_from(&missing.resource);
        row[DEVICES] = "no plugin".to_owned();
        rows.push(row);
    }
    if rows.is_empty() {
        rows.push(row(None));
    }
    rows
}

/// Returns the NUMA nodes of all devices, as in a plan.
fn nodes(devices: &[GivenDevice]) -> String {
    let nodes: BTreeSet<i64> =
        devices.iter().flat_map(|it| it.numa_nodes.iter().copied()).collect();
    join(nodes.iter().map(ToString::to_string))
}

fn join(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(",") }
}

/// Returns what a plugin gives a container, in words.
pub fn gets(gets: &ContainerAllocateResponse) -> Vec<String> {
    let envs = gets.envs.iter().map(|(name, value)| format!("variable {name}={value}"));
    let mounts = gets.mounts.iter().map(|mount| {
        let mode = if mount.read_only { "ro" } else { "rw" };
        format!("mount {} from {} {mode}", mount.container_path, mount.host_path)
    });
    let devices = gets.devices.iter().map(|device| {
        format!("device {} from {} {}", device.container_path, device.host_path, device.permissions)
    });
    let annotations =
        gets.annotations.iter().map(|(name, value)| format!("annotation {name}={value}"));
    let cdi = gets.cdi_devices.iter().map(|name| format!("CDI device {name}"));
    envs.chain(mounts).chain(devices).chain(annotations).chain(cdi).collect()
}
