//! The names in a snapshot: pods, containers, images and devices.

use super::snapshot::Snapshot;
use std::collections::BTreeSet;

/// Returns the namespaces and names of the pods.
pub fn pods(node: &Snapshot) -> impl Iterator<Item = (String, String)> {
    let listed = node.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
    let listed = listed.map(|loaded| &loaded.pod.metadata);
    let listed = listed.map(|metadata| (metadata.namespace.clone(), metadata.name.clone()));
    let sandboxes = node.runtime.value().and_then(|runtime| runtime.sandboxes.value());
    let sandboxes = sandboxes.into_iter().flatten();
    listed.chain(sandboxes.map(|sandbox| (sandbox.namespace.clone(), sandbox.name.clone())))
}

/// Returns the names of the containers. If a pod is `named`, by namespace and name, only of the named pods.
pub fn containers(node: &Snapshot, named: impl Fn(&str, &str) -> bool) -> BTreeSet<String> {
    let recorded = node.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
    let mut all: Vec<(bool, String)> = Vec::new();
    for pod in recorded.map(|loaded| &*loaded.pod) {
        let is_named = named(&pod.metadata.namespace, &pod.metadata.name);
        let containers = pod.spec.init_and_containers();
        all.extend(containers.map(|container| (is_named, container.name.clone())));
    }
    if let Some(runtime) = node.runtime.value() {
        let sandboxes = runtime.sandboxes.value().into_iter().flatten();
        let named: BTreeSet<&str> = sandboxes
            .filter(|sandbox| named(&sandbox.namespace, &sandbox.name))
            .map(|sandbox| sandbox.id.as_str())
            .collect();
        let containers = runtime.containers.value().into_iter().flatten();
        all.extend(containers.map(|it| (named.contains(&*it.sandbox_id), it.name.clone())));
    }
    let is_any_named = all.iter().any(|(is_named, _)| *is_named);
    all.into_iter().filter(|(it, _)| *it || !is_any_named).map(|(_, name)| name).collect()
}

/// Returns the IDs of the containers.
pub fn container_ids(node: &Snapshot) -> BTreeSet<String> {
    let containers = node.runtime.value().and_then(|runtime| runtime.containers.value());
    containers.into_iter().flatten().map(|container| container.id.clone()).collect()
}

/// Returns the tags of the images, and the digests of those without.
pub fn images(node: &Snapshot) -> BTreeSet<String> {
    let images = node.runtime.value().and_then(|runtime| runtime.images.value());
    let names = images.into_iter().flatten().flat_map(|image| match image.repo_tags.is_empty() {
        true => &image.repo_digests,
        false => &image.repo_tags,
    });
    names.cloned().collect()
}

/// Returns the resources and their devices.
pub fn devices(node: &Snapshot) -> impl Iterator<Item = (String, String)> {
    let checkpoint = node.devices.as_ref().and_then(|devices| devices.checkpoint.value());
    let entries = checkpoint.into_iter().flat_map(|checkpoint| &checkpoint.entries);
    let held = entries.flat_map(|entry| {
        let ids = entry.device_ids.ids();
        ids.map(|id| (entry.resource_name.clone(), id.clone()))
    });
    let registered = checkpoint.into_iter().flat_map(|checkpoint| &checkpoint.registered);
    let registered =
        registered.flat_map(|(resource, ids)| ids.iter().map(|id| (resource.clone(), id.clone())));
    let pod_resources = node.devices.as_ref().and_then(|devices| devices.pod_resources.value());
    let allocatable = pod_resources.and_then(|it| it.allocatable.value());
    let allocatable = allocatable.into_iter().flat_map(|it| &it.devices).flat_map(|devices| {
        let ids = devices.device_ids.iter();
        ids.map(|id| (devices.resource_name.clone(), id.clone()))
    });
    held.chain(registered).chain(allocatable)
}
