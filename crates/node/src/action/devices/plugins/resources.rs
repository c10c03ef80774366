//! Registered resources and their healthy devices, from the fake kubelet, the checkpoint and the pod-resources API.

use kq_answer::{Warning, WarningCode};
use kq_facts::checkpoint::device::DeviceCheckpoint;
use kq_io::host::ReadError;
use kq_io::trust::NamedBy;
use kq_linux::device_plugin::address::SocketFolder;
use kq_linux::device_plugin::folder::{BELOW_ROOT, CHECKPOINT};
use kq_linux::pod_resources::{self, read_pod_resources};
use kq_managers::plugins::{DevicePlugins, ResourceState};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// Adds the registered resources; returns the resources and sockets of a fake kubelet's plugins.
pub(super) fn add(
    call_timeout: Duration,
    sockets: &SocketFolder,
    (root, root_dir): (&Path, Option<&str>),
    report: &mut DevicePlugins,
) -> Vec<(String, String)> {
    let folder = &sockets.real();
    if let Some(plugins) = fake_kubelet(call_timeout, folder, report) {
        return plugins;
    }
    let source = sockets.shown().join(CHECKPOINT).display().to_string();
    let bytes = match sockets.read_checkpoint() {
        Err(ReadError::Absent) => {
            report.basis.assume(format!("there is no {source}: no plugin has registered yet"));
            return Vec::new();
        }
        bytes => bytes.map_err(|error| error.to_string()),
    };
    match bytes.and_then(|bytes| DeviceCheckpoint::parse(&bytes).map_err(|it| it.to_string())) {
        Ok(loaded) => {
            if let Some(error) = loaded.error() {
                let text = format!("{source}: {error}");
                report.basis.warn(Warning::new(WarningCode::DeviceCheckpoint, text));
            }
            for (name, ids) in loaded.checkpoint.registered.unwrap_or_default() {
                let healthy = Some(ids.map_or(0, |ids| ids.len()));
                let source = source.clone();
                let state = ResourceState { is_registered: true, healthy, is_live: false, source };
                report.resources.insert(name, state);
            }
        }
        Err(reason) => {
            let text = format!("{source}: {reason}");
            report.basis.warn(Warning::new(WarningCode::DeviceCheckpoint, text));
        }
    }
    // A named folder may be a kubelet's too.
    let (root, named_by, root_dir) = match root_dir {
        Some(root_dir) => (root, NamedBy::Node, Some(root_dir.to_owned())),
        None => {
            let above = folder.parent().filter(|_| folder.ends_with(BELOW_ROOT));
            let there = above.filter(|above| above.join(pod_resources::BELOW_ROOT).exists());
            let root_dir = there.map(|above| above.display().to_string());
            (Path::new("/"), NamedBy::Operator, root_dir)
        }
    };
    let Some(root_dir) = root_dir else {
        report.basis.assume(
            "healthy devices are those of the checkpoint, as the kubelet last wrote it".to_owned(),
        );
        return Vec::new();
    };
    let socket = format!("{}/{}", root_dir.trim_end_matches('/'), pod_resources::BELOW_ROOT);
    let answer = read_pod_resources(root, &socket, named_by, call_timeout);
    let allocatable = answer.value().and_then(|answer| answer.allocatable.value());
    let Some(allocatable) = allocatable else {
        let reason = answer.value();
        let reason = reason.map_or_else(|| answer.reason(), |answer| answer.allocatable.reason());
        report.basis.assume(format!(
            "healthy devices are those of the checkpoint, as the kubelet last wrote it: {reason}"
        ));
        return Vec::new();
    };
    let mut healthy: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
    for devices in &allocatable.devices {
        healthy.entry(&devices.resource_name).or_default().extend(&devices.device_ids);
    }
    for (name, state) in &mut report.resources {
        state.healthy = Some(healthy.get(name.as_str()).map_or(0, |ids| ids.len()));
        state.is_live = true;
        state.source = format!("{socket} GetAllocatableResources");
    }
    Vec::new()
}

/// Queries the fake kubelet of a folder; `None`: there is none.
#[cfg(cri)]
fn fake_kubelet(
    call_timeout: Duration,
    folder: &Path,
    report: &mut DevicePlugins,
) -> Option<Vec<(String, String)>> {
    use crate::action::devices::control::{Answer, Request, ask};
    use kq_managers::plugins::SocketKind;
    let is_there = report
        .sockets
        .iter()
        .any(|socket| socket.kind == SocketKind::RegistrationServer && socket.listens());
    if !is_there {
        return None;
    }
    match ask(folder, &Request::Plugins, Some(call_timeout)) {
        Ok(Answer::Plugins(plugins)) => {
            let source = "the fake kubelet".to_owned();
            let mut endpoints = Vec::new();
            for plugin in plugins {
                endpoints.extend(plugin.endpoint.map(|it| (plugin.resource.clone(), it)));
                let state = ResourceState {
                    is_registered: plugin.is_registered,
                    healthy: Some(plugin.healthy),
                    is_live: true,
                    source: source.clone(),
                };
                report.resources.insert(plugin.resource, state);
            }
            Some(endpoints)
        }
        Ok(_) => None,
        Err(failure) => {
            let text = format!("the fake kubelet does not answer: {}", failure.reason());
            report.basis.warn(Warning::new(WarningCode::SilentSocket, text));
            None
        }
    }
}

#[cfg(not(cri))]
fn fake_kubelet(
    _call_timeout: Duration,
    _folder: &Path,
    _report: &mut DevicePlugins,
) -> Option<Vec<(String, String)>> {
    None
}
