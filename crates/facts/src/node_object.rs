//! The part of a Node object that kq reads: `kubectl get node NAME -o json`.

use crate::host::HostFacts;
use crate::kubelet_config::PressureCondition;
use kq_k8s::pod::{ResourceList, Taint, null_as_default};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A Node as the API server has it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeObject {
    /// `Node`
    pub kind: String,
    /// The name and the labels.
    pub metadata: NodeMeta,
    /// The users of the node.
    #[serde(skip_serializing_if = "NodeSpec::is_empty")]
    pub spec: NodeSpec,
    /// The kubelet's report.
    pub status: NodeStatus,
}

/// The identity of a node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub struct NodeMeta {
    pub name: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The users of a node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSpec {
    pub taints: Vec<NodeTaint>,
}

impl NodeSpec {
    fn is_empty(&self) -> bool {
        self.taints.is_empty()
    }
}

/// A taint, as the API server has it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeTaint {
    pub key: String,
    /// The value; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

impl NodeTaint {
    /// Returns the taint for comparing.
    pub fn as_taint(&self) -> Taint<'_> {
        Taint { key: &self.key, value: &self.value, effect: &self.effect }
    }
}

/// The kubelet's report.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    /// The total.
    pub capacity: ResourceList,
    /// The amounts available to pods.
    pub allocatable: ResourceList,
    /// Versions.
    pub node_info: NodeInfo,
    /// Whether the node is ready, and what it is short of; the other conditions are dropped while reading.
    #[serde(deserialize_with = "pressure", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<NodeCondition>,
    /// The runtime's features beyond the minimum; absent if it did not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<NodeFeatures>,
}

/// Whether a node is ready, or short of something.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default)]
pub struct NodeCondition {
    /// `Ready`, `MemoryPressure`, `DiskPressure`, `PIDPressure` or, where it is `True`, `NetworkUnavailable`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word: `KubeletNotReady`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why a node is not ready, in the kubelet's words.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the kubelet last reported it: RFC 3339.
    #[serde(rename = "lastHeartbeatTime", skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_time: Option<String>,
}

impl NodeObject {
    /// Returns true if this is the object of a machine, by its ID; `None`: one of the two is unknown.
    pub fn is_of_machine(&self, host: &HostFacts) -> Option<bool> {
        let own = &self.status.node_info.machine_id;
        let number = host.machine_id().ok().filter(|_| !own.is_empty())?;
        Some(number == own)
    }
}

impl NodeStatus {
    /// Returns the pressures of the node, and those that are unknown.
    pub fn pressure(&self) -> (Vec<PressureCondition>, Vec<PressureCondition>) {
        let all = [PressureCondition::Memory, PressureCondition::Disk, PressureCondition::Pid];
        let status = |kind: &PressureCondition| {
            let mut conditions = self.conditions.iter();
            conditions.find(|it| it.kind == kind.as_str()).map(|it| it.status.as_str())
        };
        let short = all.into_iter().filter(|it| status(it) == Some("True")).collect();
        let known = |it: &PressureCondition| matches!(status(it), Some("True" | "False"));
        (short, all.into_iter().filter(|it| !known(it)).collect())
    }

    /// Returns the pressures that are there, and neither `True` nor `False`.
    pub fn undetermined_pressure(&self) -> impl Iterator<Item = &str> {
        let of_pressure = self.conditions.iter().filter(|it| it.kind.ends_with("Pressure"));
        of_pressure.filter(|it| it.status == "Unknown").map(|it| it.kind.as_str())
    }
}

fn pressure<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<NodeCondition>, D::Error> {
    let mut conditions =
        Option::<Vec<NodeCondition>>::deserialize(deserializer)?.unwrap_or_default();
    // The network is there, or a condition says that it is not.
    let has_no_network =
        |it: &NodeCondition| it.kind == "NetworkUnavailable" && it.status == "True";
    conditions
        .retain(|it| it.kind == "Ready" || it.kind.ends_with("Pressure") || has_no_network(it));
    let is_plain = |it: &&mut NodeCondition| {
        (it.kind != "Ready" || it.status == "True") && !has_no_network(it)
    };
    for condition in conditions.iter_mut().filter(is_plain) {
        condition.message.clear();
    }
    Ok(conditions)
}

/// The runtime's features beyond the minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeFeatures {
    /// It can give a pod no groups but those that the pod names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supplemental_groups_policy: Option<bool>,
}

/// Versions of what runs on a node.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeInfo {
    #[serde(rename = "machineID")]
    pub machine_id: String,
    #[serde(rename = "bootID")]
    pub boot_id: String,
    /// `6.1.0-18-amd64`
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub kernel_version: String,
    /// `v1.36.2`
    pub kubelet_version: String,
    /// `containerd://2.1.4`
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub container_runtime_version: String,
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
