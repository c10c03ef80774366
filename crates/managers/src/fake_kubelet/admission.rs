//! The admission of a pod by the fake kubelet: the device manager decides, and this module reports.

use super::event::Event;
use super::report::{
    Affinity, AllocatedDevice, ContainerAllocation, DeviceAllocation, GivenResource, PreStart,
    Unanswered, Unregistered,
};
use crate::manager::allocate::{AllocationContext, ContainerKind, Outcome, ResourceAllocation};
use crate::manager::hints::HintNodes;
use crate::manager::topology::{TopologyDecision, TopologyManager, TopologyPolicy, TopologyScope};
use crate::manager::{Affinities, ManagerState, Plugins, PodAdmission, Step};
use crate::run_options::run_options;
use kq_answer::{Basis, Warning, WarningCode};
use kq_facts::checkpoint::device::{ContainerAllocateResponse, PodDevice, PodDevices};
use kq_k8s::nearest::nearest;
use kq_k8s::pod::Pod;
use kq_k8s::validation::is_extended_resource;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How pods are to be admitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyConfig {
    /// `topologyManagerPolicy`
    pub policy: TopologyPolicy,
    /// `topologyManagerScope`
    pub scope: TopologyScope,
    /// The NUMA nodes of the machine; none: those of the devices.
    pub numa_nodes: Vec<i64>,
    /// The containers are started as well, as far as plugins have a part in it.
    pub start: bool,
}

/// Gives a pod its devices, and lets plugins prepare its containers where they are to be started. It is one
/// of the active pods meanwhile.
pub fn admit(
    state: &mut ManagerState,
    pod: &mut Pod,
    terms: &TopologyConfig,
    active: &mut BTreeSet<String>,
    plugins: &mut dyn Plugins,
) -> DeviceAllocation {
    let mut report = begin(pod);
    let topology = topology(state, terms, &mut report.basis);
    let was_active = !active.insert(report.uid.clone());
    let circumstances = AllocationContext {
        sources_ready: true,
        active_pods: std::mem::take(active),
        dra_extended_resource: true,
        ..AllocationContext::default()
    };
    match state.admit(pod, &Affinities::Decided(&topology), &circumstances, plugins) {
        Ok(admission) => tell(state, admission, &mut report),
        Err(error) => {
            let (kubelet_crashes, message) = (error.is_crash(), error.to_string());
            report.failure = Some(Unanswered { kubelet_crashes, message });
        }
    }
    *active = circumstances.active_pods;
    if !was_active {
        active.remove(&report.uid);
    }
    if report.admitted && terms.start {
        start(state, &mut report, plugins);
    }
    report
}

fn begin(pod: &mut Pod) -> DeviceAllocation {
    let mut basis = Basis::default();
    let metadata = &mut pod.metadata;
    if metadata.uid.is_empty() {
        // As the kubelet's full names of pods: neither part can hold the character between them.
        metadata.uid = format!("{}_{}", metadata.name, metadata.namespace);
        basis.assume(format!("the manifest has no UID: {} is taken", metadata.uid));
    }
    DeviceAllocation {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        basis,
        ..DeviceAllocation::default()
    }
}

fn topology(state: &ManagerState, terms: &TopologyConfig, basis: &mut Basis) -> TopologyManager {
    let mut nodes: BTreeSet<i64> = terms.numa_nodes.iter().copied().collect();
    if terms.policy == TopologyPolicy::None {
        basis.assume(
            "topology manager policy none: no container has a NUMA affinity \
             (--topology-manager-policy)"
                .to_owned(),
        );
    } else {
        basis.assume(
            "the managers of CPUs and memory give no NUMA hints: only devices are considered"
                .to_owned(),
        );
        if nodes.is_empty() {
            let devices = state.devices.values().flat_map(BTreeMap::values);
            let of_devices = devices.flat_map(|device| device.numa_nodes.iter().flatten().copied());
            nodes.extend(of_devices.filter(|node| *node >= 0).chain([0]));
            basis.assume(
                "the machine has the NUMA nodes of its devices and no others (--numa-nodes)"
                    .to_owned(),
            );
        }
    }
    let nodes = nodes.into_iter().collect();
    TopologyManager::new(terms.policy, terms.scope, nodes, HintNodes::OfDevices)
}

/// Reports the result, with the devices that are recorded by the end: what is reused is shown with each
/// container that has it.
fn tell(state: &ManagerState, admission: PodAdmission, report: &mut DeviceAllocation) {
    report.admitted = admission.admitted;
    report.reason = admission.reason.map(str::to_owned);
    report.message = admission.message;
    let mut asks = false;
    for step in admission.containers {
        let Step { kind, topology, allocation, .. } = step;
        asks |= allocation.resources.iter().any(|it| it.outcome != Outcome::NotOfPlugin);
        let name = allocation.container;
        let recorded = state.pod_devices.of_container(&report.uid, &name);
        let resources = recorded.map(|(key, device)| given(&key.resource_name, device)).collect();
        let (gets, dropped) = gets(&state.pod_devices, &report.uid, &name);
        report.basis.warn_all(dropped);
        let topology = topology.as_ref().or(admission.topology.as_ref());
        report.containers.push(ContainerAllocation {
            kind: kind_name(kind).to_owned(),
            affinity: topology.map(affinity),
            resources,
            unregistered: unregistered(state, &allocation.resources),
            error: allocation.error.as_ref().map(ToString::to_string),
            gets,
            pre_start: Vec::new(),
            name,
        });
    }
    let lacks = report.containers.iter().any(|container| !container.unregistered.is_empty());
    if report.admitted && !asks && !lacks {
        let text =
            "the pod requests no devices: no limit of its containers names a plugin's resource";
        report.basis.warnings.insert(0, Warning::new(WarningCode::NoDevices, text));
    }
}

fn affinity(decision: &TopologyDecision) -> Affinity {
    let numa_nodes = decision.numa_nodes.map(|nodes| nodes.iter().collect());
    Affinity { numa_nodes, preferred: decision.preferred }
}

/// Starts the containers (`GetDeviceRunContainerOptions`). An init container that does not start keeps the
/// rest from starting.
fn start(state: &mut ManagerState, report: &mut DeviceAllocation, plugins: &mut dyn Plugins) {
    for container in &mut report.containers {
        let called = state.pre_start(&report.uid, &container.name, plugins);
        let told = |(resource, done): (String, Result<(), _>)| {
            let error =
                done.err().map(|error: crate::manager::allocate::AllocateError| error.to_string());
            PreStart { resource, error }
        };
        container.pre_start = called.into_iter().map(told).collect();
        let failed = container.pre_start.iter().any(|call| call.error.is_some());
        if failed && container.kind != kind_name(ContainerKind::App) {
            let name = &container.name;
            let text =
                format!("init container {name} does not start, so nothing after it was started");
            report.basis.warn(Warning::new(WarningCode::InitContainerFails, text).about(name));
            return;
        }
    }
}

/// Returns what a container gets with its devices, and what differs from what another plugin said first.
fn gets(
    pod_devices: &PodDevices,
    uid: &str,
    container: &str,
) -> (Option<ContainerAllocateResponse>, Vec<Warning>) {
    let answers = pod_devices.of_container(uid, container).filter_map(|(key, device)| {
        let answer = ContainerAllocateResponse::decode(device.answer.as_deref()?).ok()?;
        Some((key.resource_name.clone(), answer))
    });
    let Some(options) = run_options(&answers.collect()) else { return (None, Vec::new()) };
    let dropped = options.dropped.iter().filter(|dropped| dropped.differs).map(|dropped| {
        let text = format!(
            "container {container}: {} and {} differ about {:?} {:?}; here the first wins, in a kubelet \
             either",
            dropped.kept_of, dropped.resource, dropped.kind, dropped.key
        );
        Warning::new(WarningCode::PluginsDiffer, text).about(container)
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
        nodes.into_iter().map(|(id, numa_nodes)| AllocatedDevice { id: id.clone(), numa_nodes });
    GivenResource { resource: resource.to_owned(), devices: devices.collect() }
}

/// Returns the requested resources that no plugin offers, except those whose name is not a plugin's.
fn unregistered(state: &ManagerState, resources: &[ResourceAllocation]) -> Vec<Unregistered> {
    let is_missing = |asked: &&ResourceAllocation| {
        asked.outcome == Outcome::NotOfPlugin
            && asked.requested > 0
            && is_extended_resource(&asked.resource)
    };
    let of_one = |asked: &ResourceAllocation| Unregistered {
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

impl DeviceAllocation {
    /// Returns the notes about it.
    pub fn event(&self) -> Event {
        let failure = self.failure.as_ref().map(|failure| &failure.message);
        Event::Allocated {
            pod: format!("{}/{}", self.namespace, self.name),
            uid: self.uid.clone(),
            refused: self.message.as_ref().or(failure).cloned(),
        }
    }
}
