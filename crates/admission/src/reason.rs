//! Why a check passes or fails, and how requests add up: facts, and the sentences made of them.

use super::derivation::shown;
use kq_answer::reason::Reason;
use kq_k8s::pod::{OS_LABEL, ResourceName};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Why a check passes or fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CheckReason {
    /// An earlier check refused the pod.
    RefusedBefore,
    /// The node reports no pressure.
    NoPressure,
    /// The node reports pressure.
    Pressure {
        conditions: Vec<String>,
        /// Why the pod is admitted under pressure; null: it is not.
        exception: Option<PressureException>,
    },
    /// The pod sets no sysctls.
    NoSysctls,
    /// The pod sets sysctls that are safe, or that the configuration allows.
    SysctlsAllowed {
        /// How many.
        sysctls: usize,
    },
    /// A sysctl is neither safe nor allowed.
    SysctlNotAllowed {
        /// Its name.
        sysctl: String,
    },
    /// A sysctl is of a namespace that the pod has from the host.
    SysctlOfHost {
        /// Its name.
        sysctl: String,
        /// `IPC` or `Net`
        namespace: String,
    },
    /// The device manager refuses the pod.
    DevicesRefused,
    /// The pod requests no devices of a plugin.
    #[default]
    NoDevices,
    /// The device manager has devices for the pod.
    Devices {
        /// The resources of each container.
        resources: Vec<DeviceReason>,
    },
    /// The decision of the device manager is unknown.
    DevicesUnknown {
        /// Why.
        error: String,
    },
    /// The managers of CPUs and memory give the pod nothing of its own.
    NotPlaced,
    /// They give containers CPUs or NUMA nodes.
    Placed { containers: Vec<PlacedContainer> },
    /// They refuse the pod.
    PlacementRefused,
    /// Their decision is unknown.
    PlacementUnknown {
        /// Why.
        error: String,
    },
    /// The kubelet knows its Node object.
    Node {
        /// Its name.
        node: String,
    },
    /// The Node object is unknown.
    NodeUnknown {
        /// Why.
        error: String,
    },
    /// The pod has no label of an operating system.
    NoOsLabel,
    /// The pod has one.
    OsLabel {
        /// Its value.
        os: String,
    },
    /// `spec.os` is not set.
    NoOs,
    /// It is set.
    Os {
        /// `spec.os.name`
        os: String,
    },
    /// The policy of supplemental groups is `Strict`.
    StrictGroups {
        /// The runtime supports it.
        is_supported: bool,
    },
    /// It is not.
    NoStrictGroups,
    /// An init container restarts always, and the gate `SidecarContainers` is off.
    SidecarsOff { container: String },
    /// No init container restarts always.
    NoSidecars,
    /// More devices are allocated than the node has.
    MoreAllocated {
        /// The allocated devices by resource.
        allocated: BTreeMap<String, i64>,
    },
    /// The allocated devices are unknown.
    AllocatedUnknown,
    /// No more devices are allocated than the node has.
    AllocatedWithinNode,
    /// Resources are short.
    Short {
        /// Which.
        shortages: Vec<ShortReason>,
    },
    /// The pod requests nothing.
    NothingRequested,
    /// The node has enough.
    Enough,
    /// The node does not have the labels that the pod requires.
    LabelsMissing {
        /// The first requirement that is not met, in words.
        unmet: String,
        /// The kubelet read the node again, as only its labels were wrong.
        read_again: bool,
    },
    /// The node has the labels that the pod requires.
    Labels {
        /// The kubelet read the node again, as only its labels were wrong.
        read_again: bool,
    },
    /// The pod requires no labels.
    NoLabels {
        /// The kubelet read the node again, as only its labels were wrong.
        read_again: bool,
    },
    /// `spec.nodeName` is not set.
    NoNodeName,
    /// It is set.
    NodeName {
        /// `spec.nodeName`
        node_name: String,
        /// The name of the node.
        node: String,
    },
    /// A pod has a host port already.
    HostPortTaken {
        port: i64,
        protocol: String,
        address: String,
        /// The pod, as NAMESPACE/NAME.
        pod: String,
    },
    /// The host ports are free.
    HostPortsFree {
        /// How many the pod requests.
        ports: usize,
    },
    /// Static pods tolerate all taints.
    StaticPod,
    /// A taint is not tolerated.
    Taint { key: String, value: String, effect: String },
    /// All taints are tolerated.
    TaintsTolerated {
        /// How many with the effect `NoExecute` the node has.
        taints: usize,
    },
    /// The pod as a whole has resources, and the gate `PodLevelResources` is off.
    PodLevelResourcesOff,
    /// The pod as a whole has no resources.
    NoPodLevelResources,
}

/// Why a node under pressure admits a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PressureException {
    /// It is critical.
    Critical,
    /// The node is short of memory alone, and the pod requests some.
    RequestsMemory { qos_class: String },
    /// The node is short of memory alone, and the pod tolerates the taint.
    ToleratesTaint,
}

/// The CPUs and the NUMA nodes of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacedContainer {
    /// Its name.
    pub container: String,
    /// Its exclusive CPUs, such as `2-3,8`; null: it runs on the shared ones.
    pub cpus: Option<String>,
    /// The NUMA nodes on which its resources are; null: any.
    pub numa_nodes: Option<Vec<i64>>,
}

/// What the device manager has for a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceReason {
    pub resource: String,
    pub outcome: DeviceOutcome,
}

/// The outcome of the device manager's allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DeviceOutcome {
    /// Free devices are allocated.
    Allocated {
        /// How many.
        requested: i64,
        /// How many are free.
        free: usize,
    },
    /// The devices of an init container are used again.
    Reused {
        /// How many are allocated.
        requested: i64,
    },
    /// The container has its devices.
    Recorded {
        /// How many.
        devices: usize,
    },
    /// The container ran when the kubelet started.
    RunningAtStart,
    /// No plugin has the resource.
    NotOfPlugin,
    /// A resource claim provides it.
    ResourceClaim,
}

/// A resource that is short: thousandths of a CPU, bytes or whole units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShortReason {
    pub resource: String,
    /// By the pod.
    pub requested: i64,
    /// By the other pods.
    pub used: i64,
    /// What is for pods.
    pub allocatable: i64,
}

/// How the amount of a resource adds up: thousandths of a CPU, bytes or whole units. A field is absent where it
/// makes no difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AmountReason {
    /// A pod counts as one.
    Pod,
    /// The containers and what is added to them.
    Containers {
        /// How many.
        containers: usize,
        /// Of the containers.
        amount: i64,
        /// Of the sidecars.
        #[serde(skip_serializing_if = "Option::is_none")]
        sidecars: Option<i64>,
        /// Of an init container, with the sidecars before it, where that is more.
        #[serde(skip_serializing_if = "Option::is_none")]
        init: Option<i64>,
        /// By the specification of a pod that is being resized.
        #[serde(skip_serializing_if = "Option::is_none")]
        spec: Option<i64>,
        /// With the resources that claims account to the pod.
        #[serde(skip_serializing_if = "Option::is_none")]
        claimed: Option<i64>,
        /// Of the pod as a whole.
        #[serde(skip_serializing_if = "Option::is_none")]
        pod: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        overhead: Option<i64>,
        /// The resource, which has the unit.
        #[serde(skip)]
        resource: String,
    },
}

/// Why a request does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
pub enum RemovedReason {
    /// A resource claim provides it.
    #[text("a claim provides it")]
    ResourceClaim,
    /// The node does not have the resource.
    #[text("the node does not have it, so the kubelet ignores it")]
    NotOnNode,
}

impl fmt::Display for CheckReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again = |read_again: &bool| match read_again {
            true => "; read the Node object again, as only its labels did not match",
            false => "",
        };
        match self {
            Self::RefusedBefore => f.write_str("refused before"),
            Self::NoPressure => f.write_str("the node reports no pressure"),
            Self::Pressure { conditions, exception } => {
                f.write_str(&conditions.join(", "))?;
                match exception {
                    None => Ok(()),
                    Some(PressureException::Critical) => f.write_str("; but the pod is critical"),
                    Some(PressureException::RequestsMemory { qos_class }) => {
                        write!(f, " alone; but the pod is {qos_class}")
                    }
                    Some(PressureException::ToleratesTaint) => {
                        f.write_str(" alone; the pod tolerates its taint")
                    }
                }
            }
            Self::NotPlaced => f.write_str("it gets no CPUs or NUMA nodes of its own"),
            Self::Placed { containers } => joined(f, containers),
            Self::PlacementRefused => f.write_str(
                "the managers of CPUs and memory come before the predicates: no pod is killed for CPUs",
            ),
            Self::PlacementUnknown { error } => f.write_str(error),
            Self::NoSysctls => f.write_str("the pod sets no sysctls"),
            Self::SysctlsAllowed { sysctls: 1 } => {
                f.write_str("its sysctl is safe or in allowedUnsafeSysctls")
            }
            Self::SysctlsAllowed { sysctls } => {
                write!(f, "its {sysctls} sysctls are safe or in allowedUnsafeSysctls")
            }
            Self::SysctlNotAllowed { sysctl } => {
                write!(f, "{sysctl} is neither safe nor in allowedUnsafeSysctls")
            }
            Self::SysctlOfHost { sysctl, namespace } => {
                write!(
                    f,
                    "{sysctl} is of the namespace {namespace}, which the pod has from the host"
                )
            }
            Self::DevicesRefused => f.write_str(
                "the device manager comes before the predicates: no pod is killed for devices",
            ),
            Self::NoDevices => f.write_str("it requests no devices of a plugin"),
            Self::Devices { resources } => joined(f, resources),
            Self::DevicesUnknown { error } | Self::NodeUnknown { error } => f.write_str(error),
            Self::Node { node } => write!(f, "the kubelet knows node {node}"),
            Self::NoOsLabel => write!(f, "the pod has no label {OS_LABEL}"),
            Self::OsLabel { os } => {
                write!(f, "the pod's label {OS_LABEL} is {os:?}, the kubelet runs on linux")
            }
            Self::NoOs => f.write_str("spec.os is not set"),
            Self::Os { os } => write!(f, "spec.os.name is {os:?}, the kubelet runs on linux"),
            Self::StrictGroups { is_supported } => {
                let has = if *is_supported { "supports" } else { "does not support" };
                write!(f, "Strict is requested; the runtime {has} it")
            }
            Self::NoStrictGroups => f.write_str("Strict is not requested"),
            Self::SidecarsOff { container } => {
                write!(f, "{container} restarts always, and SidecarContainers is off")
            }
            Self::NoSidecars => f.write_str("no init container restarts always"),
            Self::MoreAllocated { allocated } => {
                let texts = allocated
                    .iter()
                    .map(|(name, count)| format!("{name} counts as {count}, the number allocated"));
                f.write_str(&texts.collect::<Vec<_>>().join("; "))
            }
            Self::AllocatedUnknown => f.write_str("the allocated devices are unknown"),
            Self::AllocatedWithinNode => {
                f.write_str("no more devices are allocated than the node has")
            }
            Self::Short { shortages } => joined(f, shortages),
            Self::NothingRequested => f.write_str("no resource is requested"),
            Self::Enough => f.write_str("enough of every requested resource"),
            Self::LabelsMissing { unmet, read_again } => write!(f, "{unmet}{}", again(read_again)),
            Self::Labels { read_again } => {
                write!(f, "the node has the required labels{}", again(read_again))
            }
            Self::NoLabels { read_again } => {
                write!(f, "it requires no labels of the node{}", again(read_again))
            }
            Self::NoNodeName => f.write_str("spec.nodeName is not set"),
            Self::NodeName { node_name, node } => {
                write!(f, "spec.nodeName is {node_name}, the node is {node}")
            }
            Self::HostPortTaken { port, protocol, address, pod } => {
                write!(f, "{port}/{protocol} on {address} is taken by {pod}")
            }
            Self::HostPortsFree { ports: 0 } => f.write_str("no host port is requested"),
            Self::HostPortsFree { ports: 1 } => f.write_str("the host port is free"),
            Self::HostPortsFree { ports } => write!(f, "{ports} host ports are free"),
            Self::StaticPod => f.write_str("a static pod tolerates every taint"),
            Self::Taint { key, value, effect } => {
                let equals = if value.is_empty() { "" } else { "=" };
                write!(f, "{key}{equals}{value}:{effect} is not tolerated")
            }
            Self::TaintsTolerated { taints: 0 } => f.write_str("the node has no taint NoExecute"),
            Self::TaintsTolerated { taints } => {
                write!(f, "the {taints} taints NoExecute of the node are tolerated")
            }
            Self::PodLevelResourcesOff => {
                f.write_str("the pod as a whole has resources, and PodLevelResources is off")
            }
            Self::NoPodLevelResources => {
                f.write_str("the pod as a whole has no resources of its own")
            }
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[impl fmt::Display]) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        let between = if at == 0 { "" } else { "; " };
        write!(f, "{between}{part}")?;
    }
    Ok(())
}

impl fmt::Display for PlacedContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.numa_nodes.iter().map(|nodes| {
            let shown = nodes.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            format!("NUMA nodes {shown}")
        });
        let cpus = self.cpus.iter().map(|cpus| format!("CPUs {cpus}"));
        let shown = cpus.chain(nodes).collect::<Vec<_>>().join(" on ");
        write!(f, "{}: {shown}", self.container)
    }
}

impl fmt::Display for DeviceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.resource)?;
        match self.outcome {
            DeviceOutcome::Allocated { requested, free } => write!(f, "{requested} of {free} free"),
            DeviceOutcome::Reused { requested } => {
                write!(f, "{requested} with those of an init container")
            }
            DeviceOutcome::Recorded { devices } => write!(f, "it has its {devices}"),
            DeviceOutcome::RunningAtStart => f.write_str("its container keeps running"),
            DeviceOutcome::NotOfPlugin => f.write_str("of no plugin"),
            DeviceOutcome::ResourceClaim => f.write_str("a claim provides it"),
        }
    }
}

impl fmt::Display for ShortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, requested, used, allocatable } = self;
        let name = ResourceName::from(&**resource);
        let show = |amount| shown(&name, amount);
        write!(
            f,
            "{resource}: {} > {} = {} - {}",
            show(*requested),
            show(allocatable.wrapping_sub(*used)),
            show(*allocatable),
            show(*used)
        )
    }
}

impl fmt::Display for AmountReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Containers {
            containers,
            amount,
            sidecars,
            init,
            spec,
            claimed,
            pod,
            overhead,
            resource,
        } = self
        else {
            return f.write_str("a pod counts as one");
        };
        let name = ResourceName::from(&**resource);
        match containers {
            1 => f.write_str("container ")?,
            _ => write!(f, "{containers} containers ")?,
        }
        f.write_str(&shown(&name, *amount))?;
        for (before, amount, after) in [
            (" + sidecars ", sidecars, ""),
            ("; an init container needs ", init, " before them"),
            ("; resized: by its spec ", spec, ""),
            ("; with its resource claims ", claimed, ""),
            ("; the pod as a whole ", pod, ""),
            ("; overhead ", overhead, ""),
        ] {
            if let Some(amount) = amount {
                write!(f, "{before}{}{after}", shown(&name, *amount))?;
            }
        }
        Ok(())
    }
}
