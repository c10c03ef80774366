//! Allocated devices from the pod-resources API of the running kubelet.

use super::{ReconstructedManager, some};
use kq_answer::{Assumption, Basis, Missing, MissingFact, Warning, WarningCode};
use kq_facts::checkpoint::device::{PodDevice, PodDeviceKey};
use kq_facts::devices::CheckpointFact;
use kq_facts::lookup::Lookup;
use kq_facts::node_pods::NodePods;
use kq_facts::pod_resources::PodResources;
use std::collections::{BTreeMap, BTreeSet};

/// Takes the records that the kubelet reports, where the checkpoint is unavailable.
pub(super) fn without_checkpoint(
    checkpoint: &Lookup<CheckpointFact>,
    told: Option<&PodResources>,
    pods: &NodePods<'_>,
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) {
    let Some(told) = told else {
        if checkpoint.was_not_queried() {
            basis.assume(Assumption::new("no device is in use".to_owned(), ["--checkpoint"]));
        } else {
            assembled.unknown_use = true;
            let reason = checkpoint.reason();
            let text = format!("which devices are in use: {reason}");
            basis.lack(Missing::new(MissingFact::DeviceUse, text).with_flags(["--checkpoint"]));
        }
        return;
    };
    let why = format!("it is unavailable ({})", checkpoint.reason());
    told_alone(told, pods, &why, assembled, basis);
}

/// Takes the records that the kubelet reports alone, with the reason why the checkpoint is unusable.
pub(super) fn told_alone(
    told: &PodResources,
    pods: &NodePods<'_>,
    why: &str,
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) {
    basis.assume(Assumption::new(
        format!(
            "the devices in use are those of the pod-resources API, without those that ended init \
         containers hold: the checkpoint: {why}"
        ),
        ["--checkpoint"],
    ));
    assembled.state.pod_devices.entries = records(told, pods).into_iter().collect();
    assembled.state.allocated = assembled.state.pod_devices.allocated();
}

/// Adds what the kubelet reports to the records of the checkpoint: its memory decides what is free, and
/// the file may be older. What a kubelet that starts restores stays what the file says.
pub(super) fn add_told(
    told: &PodResources,
    pods: &NodePods<'_>,
    assembled: &mut ReconstructedManager,
    basis: &mut Basis,
) {
    let entries = &mut assembled.state.pod_devices.entries;
    let mut recorded: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (key, record) in entries.iter() {
        let of = (key.container_name.clone(), key.resource_name.clone());
        recorded.entry(of).or_default().extend(record.ids());
    }
    let mut added: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (key, record) in records(told, pods) {
        // The checkpoint has pods by their UID: one that only the kubelet can name is found by what its
        // container has.
        let is_nameless = key.pod_uid.contains('/');
        let of = (key.container_name.clone(), key.resource_name.clone());
        let known = match is_nameless {
            true => recorded.get(&of).cloned().unwrap_or_default(),
            false => entries.get(&key).map(PodDevice::ids).unwrap_or_default(),
        };
        for (node, ids) in record.devices {
            let new: Vec<String> = ids.into_iter().filter(|id| !known.contains(id)).collect();
            if new.is_empty() {
                continue;
            }
            added.entry(key.resource_name.clone()).or_default().extend(new.iter().cloned());
            let record = entries.entry(key.clone()).or_default();
            record.answer.get_or_insert_default();
            record.devices.entry(node).or_default().extend(new);
        }
    }
    for (resource, ids) in &added {
        let ids: Vec<&String> = ids.iter().collect();
        let text = format!(
            "the kubelet says that {} of {resource} {} in use, and the checkpoint does not have {} so: \
             the running kubelet's report counts",
            some(&ids),
            if ids.len() == 1 { "is" } else { "are" },
            if ids.len() == 1 { "it" } else { "them" },
        );
        basis.warn(Warning::new(WarningCode::CheckpointDiffers, text).about(resource));
    }
    assembled.state.allocated = assembled.state.pod_devices.allocated();
}

/// Returns the kubelet's answer as records; a pod with an unknown UID has its name instead.
fn records(told: &PodResources, pods: &NodePods<'_>) -> BTreeMap<PodDeviceKey, PodDevice> {
    let mut records: BTreeMap<PodDeviceKey, PodDevice> = BTreeMap::new();
    for pod in &told.pods {
        let uid = match pods.named(&pod.namespace, &pod.name) {
            Some(uid) => uid.to_owned(),
            None => format!("{}/{}", pod.namespace, pod.name),
        };
        for container in &pod.containers {
            for devices in &container.devices {
                let key = PodDeviceKey {
                    pod_uid: uid.clone(),
                    container_name: container.name.clone(),
                    resource_name: devices.resource_name.clone(),
                };
                let record = records.entry(key).or_default();
                record.answer = Some(Vec::new());
                let nodes = devices.numa_nodes.as_deref().filter(|nodes| !nodes.is_empty());
                for node in nodes.unwrap_or(&[-1]) {
                    let set = record.devices.entry(*node).or_default();
                    set.extend(devices.device_ids.iter().cloned());
                }
            }
        }
    }
    records
}
