//! The rules for `kubelet_internal_checkpoint`.

use super::ASK_WRITER;
use kq_answer::{Rule, Severity, Wording};
use serde::Serialize;
use std::collections::BTreeSet;

const MEND: &str = "nothing while the kubelet runs, which uses its memory; for a stopped \
 kubelet: kq devices repair";

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in super::super) enum DeviceRule<'a> {
    /// A container has several entries for a resource.
    DuplicateEntry,
    /// The plugin's answer cannot be decoded.
    UndecodableAnswer { error: &'a str },
    /// An entry has no device.
    NoIds,
    /// Devices are under a number that no NUMA node has.
    NumaNumber { node: i64 },
    /// An entry does not name its pod or container.
    NoOwner {
        /// The empty field.
        field: &'static str,
    },
    /// No plugin can register the resource.
    ResourceName { error: String },
    /// A device is under several NUMA nodes.
    NumaNodes {
        /// The nodes in each entry.
        nodes: BTreeSet<Vec<i64>>,
    },
    /// Devices in use were not healthy when the file was written.
    NotRegistered {
        /// The first of them.
        devices: Vec<&'a str>,
        /// How many more there are.
        more: usize,
    },
    /// Containers have the same device, and may not share it.
    Double { holders: Holders<'a> },
    /// Containers of a pod have the same device, and may or may not share it.
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

    fn wording(&self) -> Wording {
        match self {
            Self::DuplicateEntry => Wording::new("occurs more than once in the file")
                .because("the kubelet takes the last of them, and forgets the devices of the others")
                .advise(MEND),
            Self::UndecodableAnswer { error } => {
                Wording::new(format!("AllocResp cannot be decoded: {error}"))
                    .because(
                        "the kubelet skips the entry and gives the devices to the next pod that asks",
                    )
                    .advise(MEND)
            }
            Self::NoIds => Wording::new("has no device")
                .because("the kubelet makes an entry for allocated devices only")
                .advise(MEND),
            Self::NumaNumber { node } => {
                Wording::new(format!("has devices under NUMA node {node}"))
                    .because(
                        "nodes count from 0, and -1 stands for none; the kubelet reports the \
                         recorded number on its pod-resources API, but allocates by the number \
                         from the plugin",
                    )
                    .advise(MEND)
            }
            Self::NoOwner { field } => Wording::new(format!("has no {field}"))
                .because("the devices belong to no pod, and nothing frees them")
                .advise(MEND),
            Self::ResourceName { error } => Wording::new(error)
                .because("no plugin can register under this name, so no kubelet wrote it")
                .advise(ASK_WRITER),
            Self::NumaNodes { nodes } => {
                let under: Vec<String> = nodes.iter().map(|nodes| format!("{nodes:?}")).collect();
                Wording::new(format!("stands under NUMA nodes {}", under.join(" and ")))
                    .because(
                        "a device keeps its NUMA node, unless its plugin reported another in between",
                    )
                    .advise("check what the plugin reports: kq devices list")
            }
            Self::NotRegistered { devices, more } => {
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let devices = devices.join(", ");
                Wording::new(format!("does not list {devices}{more}, which are in use"))
                    .because(
                        "they were not healthy when the file was written, or their plugin had not \
                         registered again after a start of the kubelet",
                    )
                    .advise("nothing")
            }
            Self::Double { holders: Holders::Pods { count, containers, are_active } } => {
                Wording::new(format!("belongs to {count} pods: {}", containers.join(", ")))
                    .because("two pods use a device that is to be used by one")
                    .advise(match are_active {
                        true => "delete one of the pods",
                        false => {
                            "look which of the pods are on the node (--pods FILE): where both are, one \
                             must go; what is of a pod that is gone is freed with the next allocation"
                        }
                    })
            }
            Self::Double { holders: Holders::Containers { pod, containers } } => {
                let containers = containers.join(", ");
                Wording::new(format!("belongs to the containers {containers} of pod {pod}"))
                    .because("only init containers that end leave their devices to others")
                    .advise("delete the pod")
            }
            Self::SharedInPod { containers } => {
                let containers = containers.join(", ");
                Wording::new(format!("belongs to several containers of one pod: {containers}"))
                    .because(
                        "init containers leave their devices to those after them; which of these are init \
                         containers is not known",
                    )
                    .advise("nothing")
            }
        }
    }
}
