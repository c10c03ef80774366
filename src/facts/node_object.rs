//! The part of a Node object that kq reads: `kubectl get node NAME -o json`.

use crate::k8s::pod::ResourceList;

/// A Node as the API server has it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeObject {
    /// `Node`
    pub kind: String,
    /// The name.
    pub metadata: NodeMeta,
    /// What the kubelet reported.
    pub status: NodeStatus,
}

/// The identity of a node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub struct NodeMeta {
    /// The name.
    pub name: String,
}

/// What the kubelet reported.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// All there is.
    pub capacity: ResourceList,
    /// What is for pods.
    pub allocatable: ResourceList,
    /// Versions.
    pub node_info: NodeInfo,
}

/// Versions of what runs on a node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeInfo {
    /// The number of the machine.
    #[serde(rename = "machineID")]
    pub machine_id: String,
    /// The number of the boot.
    #[serde(rename = "bootID")]
    pub boot_id: String,
    /// `v1.36.2`
    pub kubelet_version: String,
    /// The machine's swap, where the kubelet reports it.
    pub swap: NodeSwap,
}

/// The swap of a machine.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub struct NodeSwap {
    /// In bytes.
    pub capacity: Option<i64>,
}
