//! Does the next start panic over a device that its plugin no longer lists?

use crate::kubelet_start::StartFinding;
use kq_admission::qualified;
use kq_answer::Certainty;
use kq_facts::devices::{CheckpointEntry, DeviceFacts};
use kq_facts::node::Node;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::{ByName, Container, Pod, ResourceName};
use std::collections::{BTreeMap, BTreeSet};

/// The panic of a kubelet that looks up an unknown device.
const NULL_POINTER: &str =
    "panic: runtime error: invalid memory address or nil pointer dereference";

/// Returns the panic of a kubelet that aligns an allocated device which its plugin no longer lists. It looks up the
/// NUMA nodes of each device of the container, once the plugin has registered and before it admits the pod
/// (`generateDeviceTopologyHints`, `pkg/kubelet/cm/devicemanager/topology_hints.go`, read in 1.34.1 and 1.36.2).
///
/// The kubelet's own lists have the healthy devices alone. A device that `before` lists, at an earlier moment, has gone
/// since; another one may be unhealthy, with which the kubelet starts. The status of its container distinguishes them:
/// there, a device that is not listed is healthy (`UpdateAllocatedResourcesStatus`).
pub(super) fn device_panic(node: &Node, before: Option<&DeviceFacts>) -> Option<StartFinding> {
    if node.kubelet.config.topology_manager_policy == "none"
        || !node.kubelet.version.panics_at_unlisted_devices()
    {
        return None;
    }
    let facts = node.snapshot.devices.as_ref()?;
    let (listed, before) = (facts.listed(), before.map(DeviceFacts::listed).unwrap_or_default());
    let mut entries: BTreeMap<&str, Vec<&CheckpointEntry>> = BTreeMap::new();
    for entry in &facts.checkpoint.value()?.entries {
        entries.entry(&entry.pod_uid).or_default().push(entry);
    }
    let gone = |pod: &Pod, entry: &CheckpointEntry, id: &str| {
        let resource = entry.resource_name.as_str();
        let is_in = |listed: &Listed| listed.get(resource).is_some_and(|ids| ids.contains(id));
        match () {
            () if is_in(&listed) => None,
            // The list by hand has the unhealthy ones, too.
            () if facts.is_given(resource) => {
                let mut given = facts.given.iter().filter(|it| it.resource == resource);
                given.all(|it| it.id != id).then_some(Certainty::Likely)
            }
            () if is_in(&before) => Some(Certainty::Likely),
            () => told(pod, entry, id),
        }
    };
    let pods = node.snapshot.pods.value()?.pods.iter().map(|it| &it.pod);
    let mut found = None;
    for pod in pods.filter(|it| !it.status.has_ended()) {
        let own = entries.get(effective_uid(pod)).into_iter().flatten();
        for entry in own.filter(|entry| is_aligned(&listed, pod, entry)) {
            for id in entry.device_ids.ids() {
                let Some(certainty) = gone(pod, entry, id) else { continue };
                let finding = StartFinding::PanicsWithDevice {
                    text: NULL_POINTER.to_owned(),
                    pod: qualified(pod),
                    resource: entry.resource_name.clone(),
                    device: id.clone(),
                    certainty,
                };
                if certainty == Certainty::Likely {
                    return Some(finding);
                }
                found.get_or_insert(finding);
            }
        }
    }
    found
}

/// The healthy devices of each resource.
type Listed = BTreeMap<String, BTreeSet<String>>;

/// Returns how surely a device is not listed, of which the kubelet says only that it is not healthy; `None`: it is listed.
fn told(pod: &Pod, entry: &CheckpointEntry, id: &str) -> Option<Certainty> {
    let statuses = pod.status.containers_and_init();
    let of_container = statuses.filter(|it| it.name == entry.container_name);
    let mut units = of_container
        .flat_map(|it| &it.allocated_resources_status)
        .filter(|it| it.name == entry.resource_name)
        .flat_map(|it| &it.resources);
    match units.find(|unit| unit.resource_id == id).map(|unit| unit.health.as_str()) {
        Some("" | "Healthy") => Some(Certainty::Likely),
        Some("Unhealthy") => None,
        _ => Some(Certainty::Possible),
    }
}

/// Returns true if the kubelet looks up where the devices of an entry are: they have NUMA nodes, and the container asks for
/// as many as it has.
fn is_aligned(listed: &Listed, pod: &Pod, entry: &CheckpointEntry) -> bool {
    let containers = ByName::first_of(pod.spec.containers_and_init());
    listed.get(&entry.resource_name).is_some_and(|ids| !ids.is_empty())
        && entry.device_ids.nodes().any(|numa| numa >= 0)
        && requested(&containers, entry) == i64::try_from(entry.device_ids.ids().count()).ok()
}

/// Returns how many devices a container requests.
fn requested(containers: &ByName<'_, Container>, entry: &CheckpointEntry) -> Option<i64> {
    let container = containers.get(&entry.container_name)?;
    let name = ResourceName::from(entry.resource_name.as_str());
    container.resources.limits.get(&name).map(|count| count.value())
}
