//! The tables of an allocation.

use super::report::{
    Affinity, AllocatedDevice, ContainerAllocation, DeviceAllocation, GivenResource, Unregistered,
};
use kq_facts::checkpoint::device::ContainerAllocateResponse;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, listed, or_dash};
use std::collections::BTreeSet;

/// Returns the devices of each container, and what it gets with them.
pub fn table(report: &DeviceAllocation) -> Doc {
    let mut doc = Doc::default();
    doc.line(format!("POD {}/{} {}", report.namespace, report.name, report.uid));
    doc.add(devices(&report.containers));
    let mut line = |text: String| doc.line(text);
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
    doc
}

/// Returns that, and each call to a plugin.
pub fn wide(report: &DeviceAllocation) -> Doc {
    let mut doc = table(report);
    for container in &report.containers {
        if let Some(Affinity { numa_nodes, preferred }) = &container.affinity {
            let nodes = numa_nodes.as_ref().map_or("any".to_owned(), |nodes| {
                nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            });
            let preferred = if *preferred { "preferred" } else { "not preferred" };
            let name = &container.name;
            doc.line(format!("{name} affinity: NUMA {nodes}, {preferred}"));
        }
    }
    for call in &report.calls {
        let came = match (&call.answer, &call.error) {
            (Some(answer), _) => format!("-> {answer}"),
            (None, Some(error)) => format!("failed: {error}"),
            (None, None) => String::new(),
        };
        let took = call.took_us;
        let (method, resource) = (&call.method, &call.resource);
        doc.line(format!("call {method} {resource} {} {came} ({took} us)", call.request));
    }
    doc
}

/// What a container has of a resource; neither given nor missing: it asks for none.
#[derive(Clone, Copy)]
struct Row<'r> {
    container: &'r ContainerAllocation,
    given: Option<&'r GivenResource>,
    missing: Option<&'r Unregistered>,
}

impl<'r> Row<'r> {
    fn resource(self) -> Option<&'r String> {
        self.given.map(|given| &given.resource).or(self.missing.map(|missing| &missing.resource))
    }

    fn devices(self) -> &'r [AllocatedDevice] {
        self.given.map(|given| given.devices.as_slice()).unwrap_or_default()
    }

    fn pre_start(self) -> Option<&'static str> {
        let resource = &self.given?.resource;
        let call = self.container.pre_start.iter().find(|call| call.resource == *resource)?;
        Some(if call.error.is_some() { "failed" } else { "called" })
    }
}

fn devices(containers: &[ContainerAllocation]) -> Table {
    let mut rows = Vec::new();
    for container in containers {
        let none = Row { container, given: None, missing: None };
        let before = rows.len();
        rows.extend(container.resources.iter().map(|it| Row { given: Some(it), ..none }));
        rows.extend(container.unregistered.iter().map(|it| Row { missing: Some(it), ..none }));
        if rows.len() == before {
            rows.push(none);
        }
    }
    Rows::of(&rows).table(&[
        Column::name("CONTAINER", |row: &Row<'_>| row.container.name.clone()),
        Column::new("KIND", |row| row.container.kind.clone()),
        Column::new("RESOURCE", |row| or_dash(row.resource())),
        Column::text("DEVICES", |row| match row.missing {
            Some(_) => "no plugin".to_owned(),
            None => listed(row.devices().iter().map(|device| &device.id), ","),
        }),
        Column::new("NUMA", |row| nodes(row.devices())),
        Column::new("PRE-START", |row| or_dash(row.pre_start())),
    ])
}

/// Returns the NUMA nodes of all devices, as in a plan.
fn nodes(devices: &[AllocatedDevice]) -> String {
    let nodes: BTreeSet<i64> =
        devices.iter().flat_map(|it| it.numa_nodes.iter().copied()).collect();
    listed(nodes, ",")
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
