//! Which resources count, and which requests are dropped because the node has no such thing.
//!
//! Mirrors `removeMissingExtendedResources` of `pkg/kubelet/lifecycle/predicate.go`,
//! `IsExtendedResourceName` of `pkg/apis/core/v1/helper` and `IsScalarResourceName` of
//! `pkg/scheduler/util`, read in 1.36.2.

use super::amounts::Amounts;
use crate::k8s::feature_gates::Gate;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{Container, Pod, ResourceName};
use crate::k8s::validation::is_qualified_name;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A request that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedRequest {
    /// The container.
    pub container: String,
    /// It is an init container.
    pub init: bool,
    /// What it requests.
    pub resource: ResourceName,
    /// A claim provides it; else the node does not have it.
    pub claimed: bool,
}

/// The prefix of what a device class provides without being named.
const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

/// Tells whether a resource is one that neither Kubernetes nor a quota defines.
pub fn is_extended_resource(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && is_qualified_name(&format!("requests.{name}"))
}

/// Tells whether the filter compares a resource beside CPU, memory, ephemeral storage and pods.
pub fn is_scalar_resource(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended_resource(name)
}

/// Returns the pod without the requests that are not the node's to meet, and those: what a claim
/// provides, and extended resources that the node does not have at all. A static pod can ask for a device
/// that no node has, and starts.
pub fn remove_missing_extended_resources<'p>(
    pod: &'p Pod,
    allocatable: &Amounts,
    rules: &KubeletRules,
) -> (Cow<'p, Pod>, Vec<RemovedRequest>) {
    let claims = if rules.gates.enabled(Gate::DraExtendedResource) {
        pod.status.extended_resource_claim_status.as_ref()
    } else {
        None
    };
    let claimed = |container: &Container, resource: &str| {
        let Some(claims) = claims else { return false };
        (is_extended_resource(resource) || resource.starts_with(DEVICE_CLASS))
            && claims.request_mappings.iter().any(|mapping| {
                mapping.resource_name == resource && mapping.container_name == container.name
            })
    };
    let mut removed = Vec::new();
    for (init, containers) in [(false, &pod.spec.containers), (true, &pod.spec.init_containers)] {
        for container in containers {
            for (resource, _) in container.resources.requests.iter() {
                let claimed = claimed(container, resource.as_str());
                let missing = is_extended_resource(resource.as_str())
                    && !allocatable.scalars.contains_key(resource);
                if claimed || missing {
                    let container = container.name.clone();
                    let resource = resource.clone();
                    removed.push(RemovedRequest { container, init, resource, claimed });
                }
            }
        }
    }
    (without_requests(pod, &removed), removed)
}

/// Returns a pod without requests that do not count.
pub(super) fn without_requests<'p>(pod: &'p Pod, removed: &[RemovedRequest]) -> Cow<'p, Pod> {
    if removed.is_empty() {
        return Cow::Borrowed(pod);
    }
    let removed: BTreeSet<(bool, &str, &ResourceName)> =
        removed.iter().map(|it| (it.init, &*it.container, &it.resource)).collect();
    let mut pod = pod.clone();
    let spec = &mut pod.spec;
    for (init, containers) in [(false, &mut spec.containers), (true, &mut spec.init_containers)] {
        for container in containers {
            let name = container.name.as_str();
            let requests = &mut container.resources.requests;
            requests.retain(|resource| !removed.contains(&(init, name, resource)));
        }
    }
    Cow::Owned(pod)
}
