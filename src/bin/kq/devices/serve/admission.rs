//! A pod that asks for devices: in the kubelet's order.

use super::asking::Asking;
use super::restore::Saver;
use kq::device::manager::allocate::{Circumstances, ContainerKind, Outcome, in_order};
use kq::device::manager::{ManagerState, allocate, is_extended_resource};
use kq::device::run_options::run_options;
use kq::device::stand_in::{
    ContainerAllocation, DeviceAllocation, Event, GivenDevice, GivenResource, Manager, PreStart,
    Unregistered,
};
use kq::facts::checkpoint::device::{ContainerAllocateResponse, DeviceSet, PodDevice, PodDevices};
use kq::k8s::nearest::nearest;
use kq::k8s::pod::Pod;
use std::collections::BTreeMap;

/// What a kubelet answers when the device manager fails (`GetPodAdmitResult`).
const REASON: &str = "UnexpectedAdmissionError";

/// Gives a pod its devices, and starts its containers where that is wanted. What could not be written is
/// returned beside.
pub fn admit(
    manager: &mut Manager,
    saver: &mut Saver,
    asking: &mut Asking,
    pod: &mut Pod,
    start: bool,
) -> (DeviceAllocation, Vec<Event>) {
    let mut report = begin(pod);
    let mut events = Vec::new();
    let uid = pod.metadata.uid.clone();
    manager.begin(&uid);
    let circumstances = Circumstances {
        sources_ready: true,
        active_pods: manager.active().clone(),
        dra_extended_resource: true,
        ..Circumstances::default()
    };
    let mut asks = false;
    for (kind, container) in in_order(pod) {
        let state = &mut manager.state;
        let done = state.allocate_container(pod, (kind, container), None, &circumstances, asking);
        events.extend(saver.save(&manager.state));
        asks |= done.resources.iter().any(|it| it.outcome != Outcome::NotOfPlugin);
        let error = done.error.as_ref().map(|error| error.to_string());
        report.containers.push(ContainerAllocation {
            name: container.name.clone(),
            kind: kind_name(kind).to_owned(),
            unregistered: unregistered(&manager.state, &done.resources),
            error: error.clone(),
            ..ContainerAllocation::default()
        });
        if let Some(error) = error {
            report.reason = Some(REASON.to_owned());
            report.message = Some(format!("Allocate failed due to {error}, which is unexpected"));
            // A pod that was refused is not active, so what it got is free for the next.
            manager.end(&uid);
            break;
        }
    }
    report.admitted = report.reason.is_none();
    if !asks && report.containers.iter().all(|container| container.unregistered.is_empty()) {
        report.warnings.push(
            "the pod asks for no devices: no limit of its containers names a plugin's resource"
                .to_owned(),
        );
    }
    // By the end, so that what is reused is shown with each container that has it.
    for container in &mut report.containers {
        for (key, device) in manager.state.pod_devices.of_container(&uid, &container.name) {
            container.resources.push(given(&key.resource_name, device));
        }
        let (gets, dropped) = gets(&manager.state.pod_devices, &uid, &container.name);
        container.gets = gets;
        report.warnings.extend(dropped);
    }
    if report.admitted && start {
        start_containers(manager, asking, &uid, &mut report);
    }
    report.calls = std::mem::take(&mut asking.calls);
    events.push(Event::Allocated {
        pod: format!("{}/{}", report.namespace, report.name),
        uid,
        refused: report.message.clone(),
    });
    (report, events)
}

fn begin(pod: &mut Pod) -> DeviceAllocation {
    let mut assumptions =
        vec!["no topology manager policy: no container has a NUMA affinity".to_owned()];
    let metadata = &mut pod.metadata;
    if metadata.uid.is_empty() {
        // As the kubelet's full names of pods: neither part can hold the character between them.
        metadata.uid = format!("{}_{}", metadata.name, metadata.namespace);
        assumptions.push(format!("the manifest has no UID: {} is taken", metadata.uid));
    }
    DeviceAllocation {
        api_version: "kq/v1".to_owned(),
        kind: "DeviceAllocation".to_owned(),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        assumptions,
        ..DeviceAllocation::default()
    }
}

/// Calls PreStartContainer of the plugins that want it, container by container
/// (`GetDeviceRunContainerOptions`, `callPreStartContainerIfNeeded`). An init container that does not start
/// keeps the rest from starting.
fn start_containers(
    manager: &Manager,
    asking: &mut Asking,
    uid: &str,
    report: &mut DeviceAllocation,
) {
    let state = &manager.state;
    for container in &mut report.containers {
        let devices: Vec<(String, DeviceSet)> = state
            .pod_devices
            .of_container(uid, &container.name)
            .map(|(key, device)| (key.resource_name.clone(), device.ids()))
            .filter(|(_, devices)| !devices.is_empty())
            .collect();
        for (resource, devices) in devices {
            let Some(endpoint) = state.endpoints.get(&resource) else {
                let error =
                    format!("endpoint not found in cache for a registered resource: {resource}");
                container.pre_start.push(PreStart { resource, error: Some(error) });
                continue;
            };
            if !endpoint.options.pre_start_required {
                continue;
            }
            let called = match endpoint.stopped_at {
                Some(_) => Err("endpoint {...} has been stopped".to_owned()),
                None => asking.pre_start(&resource, &devices),
            };
            let error = called.err().map(|error| {
                format!("device plugin PreStartContainer rpc failed with err: {error}")
            });
            container.pre_start.push(PreStart { resource, error });
        }
        let failed = container.pre_start.iter().any(|call| call.error.is_some());
        if failed && container.kind != kind_name(ContainerKind::App) {
            report.warnings.push(format!(
                "init container {} does not start, so nothing after it was started",
                container.name
            ));
            return;
        }
    }
}

/// Returns what a container gets with its devices, and what differs from what another plugin said first.
fn gets(
    pod_devices: &PodDevices,
    uid: &str,
    container: &str,
) -> (Option<ContainerAllocateResponse>, Vec<String>) {
    let answers = pod_devices.of_container(uid, container).filter_map(|(key, device)| {
        let answer = ContainerAllocateResponse::decode(device.answer.as_deref()?).ok()?;
        Some((key.resource_name.clone(), answer))
    });
    let Some(options) = run_options(&answers.collect()) else { return (None, Vec::new()) };
    let dropped = options.dropped.iter().filter(|dropped| dropped.differs).map(|dropped| {
        format!(
            "container {container}: {} and {} differ about {:?} {:?}; here the first wins, in a kubelet \
             either",
            dropped.kept_of, dropped.resource, dropped.kind, dropped.key
        )
    });
    let dropped = dropped.collect();
    let gets = ContainerAllocateResponse {
        envs: options.envs,
        mounts: options.mounts,
        devices: options.devices,
        annotations: options.annotations,
        cdi_devices: options.cdi_devices,
    };
    (Some(gets), dropped)
}

fn given(resource: &str, device: &PodDevice) -> GivenResource {
    let mut nodes: BTreeMap<&String, Vec<i64>> = BTreeMap::new();
    for (node, ids) in &device.devices {
        for id in ids {
            let known = nodes.entry(id).or_default();
            // -1 stands for none.
            known.extend((*node >= 0 && !known.contains(node)).then_some(*node));
        }
    }
    let devices =
        nodes.into_iter().map(|(id, numa_nodes)| GivenDevice { id: id.clone(), numa_nodes });
    GivenResource { resource: resource.to_owned(), devices: devices.collect() }
}

/// Returns what a container asks for and nobody offers; what is no plugin's by its name is none of ours.
fn unregistered(
    state: &ManagerState,
    resources: &[allocate::ResourceAllocation],
) -> Vec<Unregistered> {
    let is_missing = |asked: &&allocate::ResourceAllocation| {
        asked.outcome == Outcome::NotOfPlugin
            && asked.requested > 0
            && is_extended_resource(&asked.resource)
    };
    let of_one = |asked: &allocate::ResourceAllocation| Unregistered {
        resource: asked.resource.clone(),
        did_you_mean: nearest(&asked.resource, state.healthy.keys().map(String::as_str))
            .map(str::to_owned),
    };
    resources.iter().filter(is_missing).map(of_one).collect()
}

fn kind_name(kind: ContainerKind) -> &'static str {
    match kind {
        ContainerKind::Init => "init",
        ContainerKind::Sidecar => "sidecar",
        ContainerKind::App => "app",
    }
}
