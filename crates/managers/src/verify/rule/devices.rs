//! The rules for `kubelet_internal_checkpoint`.

use super::ASK_WRITER;
use kq_answer::{Rule, Severity, Wording};
use serde::Serialize;
use std::collections::BTreeSet;

const MEND: &str = "nothing while the kubelet runs, which uses its memory; for a stopped \
 kubelet: kq devices repair";

#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in super::super) enum DeviceRule<'a> {
    /// A container has several entries for a resource.
    #[text("occurs more than once in the file")]
    #[why("the kubelet takes the last of them, and forgets the devices of the others")]
    #[advice(MEND)]
    DuplicateEntry,
    /// The plugin's answer cannot be decoded.
    #[text("AllocResp cannot be decoded: {error}")]
    #[why("the kubelet skips the entry and gives the devices to the next pod that asks")]
    #[advice(MEND)]
    UndecodableAnswer { error: &'a str },
    /// An entry has no device.
    #[text("has no device")]
    #[why("the kubelet makes an entry for allocated devices only")]
    #[advice(MEND)]
    NoIds,
    /// Devices are under a number that no NUMA node has.
    #[text("has devices under NUMA node {node}")]
    #[why(
        "nodes count from 0, and -1 stands for none; the kubelet reports the recorded number on \
         its pod-resources API, but allocates by the number from the plugin"
    )]
    #[advice(MEND)]
    NumaNumber { node: i64 },
    /// An entry does not name its pod or container.
    #[text("has no {field}")]
    #[why("the devices belong to no pod, and nothing frees them")]
    #[advice(MEND)]
    NoOwner {
        /// The empty field.
        field: &'static str,
    },
    /// No plugin can register the resource.
    #[text("{error}")]
    #[why("no plugin can register under this name, so no kubelet wrote it")]
    #[advice(ASK_WRITER)]
    ResourceName { error: String },
    /// A device is under several NUMA nodes.
    #[text(
        "stands under NUMA nodes {nodes}",
        nodes = nodes.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join(" and ")
    )]
    #[why("a device keeps its NUMA node, unless its plugin reported another in between")]
    #[advice("check what the plugin reports: kq devices list")]
    NumaNodes {
        /// The nodes in each entry.
        nodes: BTreeSet<Vec<i64>>,
    },
    /// Devices in use were not healthy when the file was written.
    #[text(more: 0 => "does not list {devices}, which are in use", devices = devices.join(", "))]
    #[text(
        "does not list {devices} and {more} more, which are in use",
        devices = devices.join(", ")
    )]
    #[why(
        "they were not healthy when the file was written, or their plugin had not registered again \
         after a start of the kubelet"
    )]
    #[advice("nothing")]
    NotRegistered {
        /// The first of them.
        devices: Vec<&'a str>,
        /// How many more there are.
        more: usize,
    },
    /// Containers have the same device, and may not share it.
    #[text(
        holders: Holders::Pods { count, containers, .. } => "belongs to {count} pods: {containers}",
        containers = containers.join(", ")
    )]
    #[text(
        holders: Holders::Containers { pod, containers } =>
        "belongs to the containers {containers} of pod {pod}",
        containers = containers.join(", ")
    )]
    #[why(holders: Holders::Pods { .. } => "two pods use a device that is to be used by one")]
    #[why("only init containers that end leave their devices to others")]
    #[advice(holders: Holders::Pods { are_active: true, .. } => "delete one of the pods")]
    #[advice(
        holders: Holders::Pods { .. } =>
        "look which of the pods are on the node (--pods FILE): where both are, one must go; what \
         is of a pod that is gone is freed with the next allocation"
    )]
    #[advice("delete the pod")]
    Double { holders: Holders<'a> },
    /// Containers of a pod have the same device, and may or may not share it.
    #[text(
        "belongs to several containers of one pod: {containers}",
        containers = containers.join(", ")
    )]
    #[why(
        "init containers leave their devices to those after them; which of these are init \
         containers is not known"
    )]
    #[advice("nothing")]
    SharedInPod {
        /// The first of them, as POD/CONTAINER.
        containers: Vec<String>,
    },
}

/// Who has a device that only one may have.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in super::super) enum Holders<'a> {
    /// Several pods.
    Pods {
        /// How many.
        count: usize,
        /// The first of them, as POD/CONTAINER.
        containers: Vec<String>,
        /// Each of the pods is known to be active.
        are_active: bool,
    },
    /// Several containers of a pod.
    Containers {
        /// The UID.
        pod: &'a str,
        containers: Vec<&'a str>,
    },
}

impl Rule for DeviceRule<'_> {
    fn severity(&self) -> Severity {
        match self {
            Self::UndecodableAnswer { .. } | Self::NoOwner { .. } | Self::Double { .. } => {
                Severity::Error
            }
            Self::DuplicateEntry
            | Self::NoIds
            | Self::NumaNumber { .. }
            | Self::ResourceName { .. }
            | Self::NumaNodes { .. } => Severity::Warning,
            Self::NotRegistered { .. } | Self::SharedInPod { .. } => Severity::Info,
        }
    }
}
