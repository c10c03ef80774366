//! The device manager of a node, reconstructed from the checkpoint, the pod-resources API and the Node object.

mod from_pod_resources;
mod of_node;

pub use of_node::{asked_devices, of_node};

use crate::manager::{Device, Endpoint, HEALTHY, ManagerState};
use from_pod_resources::{add_told, told_alone, without_checkpoint};
use kq_answer::{Assumption, Basis, Missing, MissingFact, Warning, WarningCode};
use kq_facts::checkpoint::device::{PodDevice, PodDeviceKey, PodDevices};
use kq_facts::devices::{CheckpointEntry, CheckpointFact, DeviceFacts, GivenDevice, PluginAnswer};
use kq_facts::lookup::Lookup;
use kq_facts::node_object::NodeObject;
use kq_facts::node_pods::{NodePods, Standing};
use kq_facts::pod_resources::AllocatableResources;
use kq_k8s::pod::ResourceName;
use kq_output::units::first_few;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A device manager, and where its parts are from.
#[derive(Clone, Debug, Default)]
pub struct ReconstructedManager {
    /// The manager of the kubelet that runs.
    pub state: ManagerState,
    /// The resources in the checkpoint, which a kubelet that starts knows.
    pub registered: BTreeSet<String>,
    /// What a kubelet that starts takes from its checkpoint.
    pub restored: PodDevices,
    /// Where the devices of each resource are from.
    pub sources: BTreeMap<String, DeviceSource>,
    /// Why the devices are unknown, except those from `--devices`; `None`: they are known.
    pub unknown_devices: Option<String>,
    /// The devices in use are unknown.
    pub unknown_use: bool,
}

/// The health of a device that is remembered, and that the kubelet does not list as healthy: its plugin
/// calls it unhealthy, or does not list it any more.
pub const NOT_LISTED: &str = "not listed";

/// Who says which devices a resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeviceSource {
    /// They are given by hand.
    Given,
    /// The kubelet lists its healthy devices.
    PodResources,
    /// The checkpoint holds those that were healthy when it was written.
    Checkpoint,
}

/// Why there is no device manager: no device is known. A lowercase fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the devices of the node are unknown: {0}")]
pub struct NoDevices(pub String);

/// Puts a device manager together.
/// Fails if no device is known.
pub fn assemble(
    facts: Option<&DeviceFacts>,
    pods: &NodePods<'_>,
    basis: &mut Basis,
) -> Result<ReconstructedManager, NoDevices> {
    let none = DeviceFacts::default();
    let facts = facts.unwrap_or(&none);
    let given = facts.given.as_slice();
    let checkpoint = facts.checkpoint.value().filter(|fact| !fact.absent);
    let told = facts.pod_resources.value();
    if facts.checkpoint.value().is_none() && told.is_none() && given.is_empty() {
        return Err(NoDevices(neither(&facts.checkpoint.reason(), &facts.pod_resources.reason())));
    }
    let mut assembled = ReconstructedManager::default();
    if let Some(fact) = checkpoint {
        restore(fact, told.is_none(), &mut assembled, basis);
        match (told, &fact.error) {
            // What it does not take decides nothing where the kubelet reports.
            (Some(told), Some(error)) => {
                told_alone(told, pods, &unsound(error), &mut assembled, basis);
            }
            (Some(told), None) => add_told(told, pods, &mut assembled, basis),
            (None, Some(error)) => {
                assembled.unknown_use = true;
                let reason = facts.pod_resources.reason();
                let text = format!(
                    "which devices are in use: {} (--pod-resources); what could be read of the \
                     checkpoint is shown",
                    neither(&unsound(error), &reason)
                );
                basis.lack(Missing::new(MissingFact::DeviceUse, text));
            }
            (None, None) => {}
        }
    } else if facts.checkpoint.value().is_none() {
        without_checkpoint(&facts.checkpoint, told, pods, &mut assembled, basis);
    }
    let allocatable = told.map(|told| &told.allocatable);
    // What a damaged file says need not be what was written.
    let sound = checkpoint.filter(|fact| fact.error.is_none());
    match allocatable.and_then(Lookup::value) {
        Some(allocatable) => listed(allocatable, sound, &mut assembled, basis),
        None => {
            let reason = allocatable.map_or_else(|| facts.pod_resources.reason(), Lookup::reason);
            let why = match facts.checkpoint.value() {
                Some(fact) => fact.error.as_deref().map(unsound),
                // Where devices are given and no node was looked at, they are all.
                None if facts.checkpoint.was_not_queried() && !given.is_empty() => None,
                None => Some(facts.checkpoint.reason()),
            };
            assembled.unknown_devices = why.map(|why| neither(&why, &reason));
            remembered(sound, given, &reason, &mut assembled, basis);
        }
    }
    by_hand(given, &mut assembled);
    for resource in assembled.state.healthy.keys() {
        assembled.state.endpoints.entry(resource.clone()).or_insert_with(Endpoint::default);
    }
    Ok(assembled)
}

impl ReconstructedManager {
    /// Takes the plugins for gone of which the Node object counts no healthy device. The checkpoint still names
    /// their devices: it is not written when a plugin stops (`PluginDisconnected`, `markResourceUnhealthy`), nor
    /// when the kubelet starts. Where the kubelet lists its devices there is nothing to heed.
    pub fn heed_node(&mut self, node: &NodeObject, basis: &mut Basis) {
        let allocatable = &node.status.allocatable;
        for (resource, healthy) in &mut self.state.healthy {
            let is_remembered = self.sources.get(resource) == Some(&DeviceSource::Checkpoint);
            let counted = allocatable.get(&ResourceName::from(resource.as_str()));
            let is_gone = counted.is_some_and(|counted| counted.value() == 0);
            if is_remembered && is_gone && !healthy.is_empty() {
                let text = format!(
                    "the checkpoint names {} devices of {resource} as healthy, and the Node object counts \
                     none: their plugin is taken for gone",
                    healthy.len()
                );
                basis.warn(Warning::new(WarningCode::CheckpointDiffers, text).about(resource));
                let unhealthy = self.state.unhealthy.entry(resource.clone()).or_default();
                unhealthy.extend(std::mem::take(healthy));
            }
        }
    }
}

/// Returns the reason why neither source is usable.
fn neither(checkpoint: &str, pod_resources: &str) -> String {
    format!("the checkpoint: {checkpoint}; the pod-resources API: {pod_resources}")
}

fn unsound(error: &str) -> String {
    format!("it is not sound ({error})")
}

/// Takes the records of the checkpoint; those of a rejected one only without another source.
fn restore(
    fact: &CheckpointFact,
    is_alone: bool,
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) {
    if let Some(error) = &fact.error {
        let text = format!(
            "a kubelet that starts does not take the checkpoint, and starts with nothing: {error}"
        );
        basis.warn(Warning::new(WarningCode::DeviceCheckpoint, text));
        if !is_alone {
            return;
        }
    }
    let mut records = PodDevices::default();
    for entry in &fact.entries {
        if let PluginAnswer::Undecodable(why) = &entry.answer {
            let CheckpointEntry { pod_uid, container_name, resource_name, .. } = entry;
            let text = format!(
                "the kubelet skips the entry of pod {pod_uid}, container {container_name}, \
                 {resource_name} in the checkpoint: {why}"
            );
            basis.warn(Warning::new(WarningCode::DeviceCheckpoint, text).about(resource_name));
            continue;
        }
        records.entries.insert(
            key(entry),
            PodDevice {
                devices: entry.device_ids.iter().map(|(node, ids)| (node, ids.to_vec())).collect(),
                // What it is does not matter here; that there was one does.
                answer: Some(Vec::new()),
            },
        );
    }
    if fact.error.is_none() {
        assembled.restored = records.clone();
        assembled.registered = fact.registered.keys().cloned().collect();
    }
    assembled.state.allocated = records.allocated();
    assembled.state.pod_devices = records;
}

fn key(entry: &CheckpointEntry) -> PodDeviceKey {
    PodDeviceKey {
        pod_uid: entry.pod_uid.clone(),
        container_name: entry.container_name.clone(),
        resource_name: entry.resource_name.clone(),
    }
}

/// Takes the devices that the kubelet lists; those that are only remembered are not healthy, or gone.
fn listed(
    allocatable: &AllocatableResources,
    checkpoint: Option<&CheckpointFact>,
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) {
    let mut devices: BTreeMap<String, BTreeMap<String, Device>> = BTreeMap::new();
    for group in &allocatable.devices {
        let of_resource = devices.entry(group.resource_name.clone()).or_default();
        for id in &group.device_ids {
            let device = of_resource.entry(id.clone()).or_insert_with(|| Device {
                id: id.clone(),
                health: HEALTHY.to_owned(),
                numa_nodes: None,
            });
            // The kubelet gives a device with several NUMA nodes as several.
            if let Some(nodes) = &group.numa_nodes {
                device.numa_nodes.get_or_insert_default().extend(nodes);
            }
        }
    }
    let registered = checkpoint.into_iter().flat_map(|fact| &fact.registered);
    for (resource, ids) in registered {
        let of_resource = devices.entry(resource.clone()).or_default();
        let lost: Vec<&String> = ids.iter().filter(|id| !of_resource.contains_key(*id)).collect();
        if !lost.is_empty() {
            let text = format!(
                "{} of {resource} {} healthy when the checkpoint was written, and the kubelet does \
                 not list {} now: not healthy, or gone",
                some(&lost),
                if lost.len() == 1 { "was" } else { "were" },
                if lost.len() == 1 { "it" } else { "them" },
            );
            basis.warn(Warning::new(WarningCode::CheckpointDiffers, text).about(resource));
        }
        for id in lost {
            of_resource.insert(id.clone(), unhealthy(id));
        }
    }
    add_recorded(&assembled.state.pod_devices, &mut devices);
    for (resource, of_resource) in devices {
        assembled.sources.insert(resource.clone(), DeviceSource::PodResources);
        assembled.state.update(&resource, of_resource.into_values());
    }
}

/// Takes the devices that the checkpoint remembers.
fn remembered(
    checkpoint: Option<&CheckpointFact>,
    given: &[GivenDevice],
    reason: &str,
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) {
    let by_hand: BTreeSet<&str> = given.iter().map(|device| device.resource.as_str()).collect();
    let registered = checkpoint.into_iter().flat_map(|fact| &fact.registered);
    let mut devices: BTreeMap<String, BTreeMap<String, Device>> = registered
        .filter(|(resource, _)| !by_hand.contains(resource.as_str()))
        .map(|(resource, ids)| {
            let device = |id: &String| {
                let healthy = Device { health: HEALTHY.to_owned(), ..unhealthy(id) };
                (id.clone(), healthy)
            };
            (resource.clone(), ids.iter().map(device).collect())
        })
        .collect();
    if !devices.is_empty() {
        basis.assume(Assumption::new(format!(
            "the healthy devices are those of the checkpoint, as they were when it was written, on the \
             NUMA nodes that are recorded, and otherwise on none: the kubelet did not answer ({reason})"
        ), ["--devices", "--pod-resources"]));
    }
    add_recorded(&assembled.state.pod_devices, &mut devices);
    for (resource, of_resource) in devices {
        assembled.sources.insert(resource.clone(), DeviceSource::Checkpoint);
        assembled.state.update(&resource, of_resource.into_values());
    }
}

/// Adds the recorded devices of known resources: not healthy where they were not there before, and on the
/// recorded NUMA nodes where none are known.
fn add_recorded(records: &PodDevices, devices: &mut BTreeMap<String, BTreeMap<String, Device>>) {
    let mut recorded: BTreeMap<(&str, &str), BTreeSet<i64>> = BTreeMap::new();
    for (key, record) in &records.entries {
        for (node, ids) in &record.devices {
            for id in ids {
                recorded.entry((&key.resource_name, id)).or_default().insert(*node);
            }
        }
    }
    for ((resource, id), nodes) in recorded {
        let Some(of_resource) = devices.get_mut(resource) else { continue };
        let device = of_resource.entry(id.to_owned()).or_insert_with(|| unhealthy(id));
        if device.numa_nodes.is_none() {
            let nodes: Vec<i64> = nodes.into_iter().filter(|node| *node >= 0).collect();
            device.numa_nodes = (!nodes.is_empty()).then_some(nodes);
        }
    }
}

fn unhealthy(id: &str) -> Device {
    Device { id: id.to_owned(), health: NOT_LISTED.to_owned(), numa_nodes: None }
}

/// Takes the devices that are given; they are all of their resources.
fn by_hand(given: &[GivenDevice], assembled: &mut ReconstructedManager) {
    let mut devices: BTreeMap<&str, Vec<Device>> = BTreeMap::new();
    for device in given {
        devices.entry(&device.resource).or_default().push(Device {
            id: device.id.clone(),
            health: device.health.clone(),
            numa_nodes: device.numa_nodes.clone(),
        });
    }
    for (resource, devices) in devices {
        assembled.sources.insert(resource.to_owned(), DeviceSource::Given);
        assembled.state.update(resource, devices);
    }
}

/// Returns the pods that keep their devices: those that are active, and those of unknown state.
pub fn keeping(pods: &NodePods<'_>, state: &ManagerState, basis: &mut Basis) -> BTreeSet<String> {
    let mut keeping = pods.active();
    let owners: BTreeSet<&str> =
        state.pod_devices.entries.keys().map(|key| key.pod_uid.as_str()).collect();
    for uid in owners {
        let why = match pods.standing(uid) {
            // No UID: the kubelet alone knows the pod.
            _ if uid.contains('/') => "only the kubelet lists it".to_owned(),
            Standing::Unknown(why) => why.to_string(),
            Standing::Active(_) | Standing::Ended(_) | Standing::Gone(_) => continue,
        };
        let what = format!("pod {uid} is active and keeps its devices: {why} (--pods)");
        basis.assume(what);
        keeping.insert(uid.to_owned());
    }
    keeping
}

/// Names some ids, and counts the others.
pub fn some<S: AsRef<str>>(ids: &[S]) -> String {
    const SHOWN: usize = 4;
    first_few(SHOWN, ids.iter().map(AsRef::as_ref))
}

#[cfg(test)]
mod tests;
