//! What the files hold.

use crate::k8s::pod::ResourceList;
use serde::Serialize;
use std::collections::BTreeMap;

/// The resources of pods, by UID.
pub type PodAllocations = BTreeMap<String, PodAllocation>;

/// The resources of a pod (`PodResourceInfo`).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PodAllocation {
    /// By container; init containers and sidecars are among them.
    pub container_resources: BTreeMap<String, Resources>,
    /// Of the pod as a whole.
    pub pod_level_resources: Option<Resources>,
}

/// The resources of a container or pod (`ResourceRequirements`), in the order of Go's fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// What is not to be exceeded.
    #[serde(skip_serializing_if = "ResourceList::is_empty")]
    pub limits: ResourceList,
    /// What is set aside.
    #[serde(skip_serializing_if = "ResourceList::is_empty")]
    pub requests: ResourceList,
    /// Claims of dynamic resource allocation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ResourceClaim>,
}

/// A claim of the pod that a container uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaim {
    /// Its name in the pod.
    pub name: String,
    /// The one request of it that is used; empty: all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
}
