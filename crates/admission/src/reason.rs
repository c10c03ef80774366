//! Why a check passes or fails, and how requests add up: facts, and the sentences made of them.

use super::derivation::shown;
use kq_answer::reason::Reason;
use kq_k8s::pod::{OS_LABEL, ResourceName};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Why a check passes or fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reason)]
pub enum CheckReason {
    /// An earlier check refused the pod.
    #[text("refused before")]
    RefusedBefore,
    /// The node reports no pressure.
    #[text("the node reports no pressure")]
    NoPressure,
    /// The node reports pressure.
    #[text(exception: None => conditions.join(", "))]
    #[text(
        exception: Some(PressureException::Critical) => "{conditions}; but the pod is critical",
        conditions = conditions.join(", ")
    )]
    #[text(
        exception: Some(PressureException::RequestsMemory { qos_class }) =>
        "{conditions} alone; but the pod is {qos_class}",
        conditions = conditions.join(", ")
    )]
    #[text(
        exception: Some(PressureException::ToleratesTaint) =>
        "{conditions} alone; the pod tolerates its taint",
        conditions = conditions.join(", ")
    )]
    Pressure {
        conditions: Vec<String>,
        /// Why the pod is admitted under pressure; null: it is not.
        exception: Option<PressureException>,
    },
    /// The kubelet makes a pod of the manifest.
    #[text("the kubelet takes the manifest")]
    ManifestTaken,
    /// The kubelet does not make a pod of the manifest, and logs why.
    #[text("the kubelet makes no pod of the manifest: {error}")]
    ManifestRefused { error: String },
    /// The pod sets no sysctls.
    #[text("the pod sets no sysctls")]
    NoSysctls,
    /// The pod sets sysctls that are safe, or that the configuration allows.
    #[text(sysctls: 1 => "its sysctl is safe or in allowedUnsafeSysctls")]
    #[text("its {sysctls} sysctls are safe or in allowedUnsafeSysctls")]
    SysctlsAllowed {
        /// How many.
        sysctls: usize,
    },
    /// A sysctl is neither safe nor allowed.
    #[text("{sysctl} is neither safe nor in allowedUnsafeSysctls")]
    SysctlNotAllowed {
        /// Its name.
        sysctl: String,
    },
    /// A sysctl is not safe, and the configuration may allow it.
    #[text("whether allowedUnsafeSysctls allows {sysctl} is unknown")]
    SysctlUnknown {
        /// Its name.
        sysctl: String,
    },
    /// A sysctl is of a namespace that the pod has from the host.
    #[text("{sysctl} is of the namespace {namespace}, which the pod has from the host")]
    SysctlOfHost {
        /// Its name.
        sysctl: String,
        /// `IPC` or `Net`
        namespace: String,
    },
    /// The device manager refuses the pod.
    #[text("the device manager comes before the predicates: no pod is killed for devices")]
    DevicesRefused,
    /// The pod requests no devices of a plugin.
    #[default]
    #[text("it requests nothing that a plugin of the node offers")]
    NoDevices,
    /// The device manager has devices for the pod.
    #[text(joined(resources))]
    Devices {
        /// The resources of each container.
        resources: Vec<DeviceReason>,
    },
    /// The decision of the device manager is unknown.
    #[text("{error}")]
    DevicesUnknown {
        /// Why.
        error: String,
    },
    /// The managers of CPUs and memory give the pod nothing of its own.
    #[text("it gets no CPUs or NUMA nodes of its own")]
    NotPlaced,
    /// They give containers CPUs or NUMA nodes.
    #[text(joined(containers))]
    Placed { containers: Vec<PlacedContainer> },
    /// They refuse the pod.
    #[text("the managers of CPUs and memory come before the predicates: no pod is killed for CPUs")]
    PlacementRefused,
    /// Their decision is unknown.
    #[text("{error}")]
    PlacementUnknown {
        /// Why.
        error: String,
    },
    /// The pressure of the node is unknown.
    #[text("{error}")]
    PressureUnknown {
        /// Why.
        error: String,
    },
    /// The kubelet knows its Node object.
    #[text("the kubelet knows node {node}")]
    Node {
        /// Its name.
        node: String,
    },
    /// The Node object is unknown.
    #[text("{error}")]
    NodeUnknown {
        /// Why.
        error: String,
    },
    /// The pod has no label of an operating system.
    #[text("the pod has no label {label}", label = OS_LABEL)]
    NoOsLabel,
    /// The pod has one.
    #[text(
        "the pod's label {label} is {os}, the kubelet runs on linux",
        label = OS_LABEL,
        os = format!("{os:?}")
    )]
    OsLabel {
        /// Its value.
        os: String,
    },
    /// `spec.os` is not set.
    #[text("spec.os is not set")]
    NoOs,
    /// It is set.
    #[text("spec.os.name is {os}, the kubelet runs on linux", os = format!("{os:?}"))]
    Os {
        /// `spec.os.name`
        os: String,
    },
    /// The policy of supplemental groups is `Strict`.
    #[text(is_supported: true => "Strict is requested; the runtime supports it")]
    #[text("Strict is requested; the runtime does not support it")]
    StrictGroups {
        /// The runtime supports it.
        is_supported: bool,
    },
    /// It is not.
    #[text("Strict is not requested")]
    NoStrictGroups,
    /// An init container restarts always, and the gate `SidecarContainers` is off.
    #[text("{container} restarts always, and SidecarContainers is off")]
    SidecarsOff { container: String },
    /// No init container restarts always.
    #[text("no init container restarts always")]
    NoSidecars,
    /// More devices are allocated than the node has.
    #[text(allocated_text(allocated))]
    MoreAllocated {
        /// The allocated devices by resource.
        allocated: BTreeMap<String, i64>,
    },
    /// The allocated devices are unknown.
    #[text("the allocated devices are unknown")]
    AllocatedUnknown,
    /// No more devices are allocated than the node has.
    #[text("no more devices are allocated than the node has")]
    AllocatedWithinNode,
    /// Resources are short.
    #[text(joined(shortages))]
    Short {
        /// Which.
        shortages: Vec<ShortReason>,
    },
    /// The pod requests nothing.
    #[text("no resource is requested")]
    NothingRequested,
    /// The node has enough.
    #[text("enough of every requested resource")]
    Enough,
    /// The node does not have the labels that the pod requires.
    #[text("{unmet}{again}", again = again(*read_again))]
    LabelsMissing {
        /// The first requirement that is not met, in words.
        unmet: String,
        /// The kubelet read the node again, as only its labels were wrong.
        read_again: bool,
    },
    /// The node has the labels that the pod requires.
    #[text("the node has the required labels{again}", again = again(*read_again))]
    Labels {
        /// The kubelet read the node again, as only its labels were wrong.
        read_again: bool,
    },
    /// The pod requires no labels.
    #[text("it requires no labels of the node{again}", again = again(*read_again))]
    NoLabels {
        /// The kubelet read the node again, as only its labels were wrong.
        read_again: bool,
    },
    /// `spec.nodeName` is not set.
    #[text("spec.nodeName is not set")]
    NoNodeName,
    /// It is set.
    #[text("spec.nodeName is {node_name}, the node is {node}")]
    NodeName {
        /// `spec.nodeName`
        node_name: String,
        /// The name of the node.
        node: String,
    },
    /// A pod has a host port already.
    #[text("{port}/{protocol} on {address} is taken by {pod}")]
    HostPortTaken {
        port: i64,
        protocol: String,
        address: String,
        /// The pod, as NAMESPACE/NAME.
        pod: String,
    },
    /// The host ports are free.
    #[text(ports: 0 => "no host port is requested")]
    #[text(ports: 1 => "the host port is free")]
    #[text("{ports} host ports are free")]
    HostPortsFree {
        /// How many the pod requests.
        ports: usize,
    },
    /// Static pods tolerate all taints.
    #[text("a static pod tolerates every taint")]
    StaticPod,
    /// A taint is not tolerated.
    #[text(if value.is_empty() => "{key}:{effect} is not tolerated")]
    #[text("{key}={value}:{effect} is not tolerated")]
    Taint { key: String, value: String, effect: String },
    /// All taints are tolerated.
    #[text(taints: 0 => "the node has no taint NoExecute")]
    #[text("the {taints} taints NoExecute of the node are tolerated")]
    TaintsTolerated {
        /// How many with the effect `NoExecute` the node has.
        taints: usize,
    },
    /// The pod as a whole has resources, and the gate `PodLevelResources` is off.
    #[text("the pod as a whole has resources, and PodLevelResources is off")]
    PodLevelResourcesOff,
    /// The pod as a whole has no resources.
    #[text("the pod as a whole has no resources of its own")]
    NoPodLevelResources,
}

impl CheckReason {
    /// Returns true if the check can pass or fail.
    pub fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::PressureUnknown { .. }
                | Self::SysctlUnknown { .. }
                | Self::PlacementUnknown { .. }
                | Self::DevicesUnknown { .. }
        )
    }
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
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum AmountReason {
    /// A pod counts as one.
    #[text("a pod counts as one")]
    Pod,
    /// The containers and what is added to them.
    #[text(
        "{containers} {amount}{more}",
        containers = containers_text(*containers),
        amount = shown(&ResourceName::from(&**resource), *amount),
        more = more(resource, [*sidecars, *init, *spec, *claimed, *pod, *overhead])
    )]
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

fn again(read_again: bool) -> &'static str {
    match read_again {
        true => "; read the Node object again, as only its labels did not match",
        false => "",
    }
}

fn allocated_text(allocated: &BTreeMap<String, i64>) -> String {
    let texts = allocated
        .iter()
        .map(|(name, count)| format!("{name} counts as {count}, the number allocated"));
    joined(&texts.collect::<Vec<_>>())
}

fn joined(parts: &[impl fmt::Display]) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn containers_text(containers: usize) -> String {
    match containers {
        1 => "container".to_owned(),
        _ => format!("{containers} containers"),
    }
}

/// Returns what is added to the amount of the containers, or counts in its place.
fn more(resource: &str, amounts: [Option<i64>; 6]) -> String {
    let name = ResourceName::from(resource);
    let around = [
        (" + sidecars ", ""),
        ("; an init container needs ", " before them"),
        ("; resized: by its spec ", ""),
        ("; with its resource claims ", ""),
        ("; the pod as a whole ", ""),
        ("; overhead ", ""),
    ];
    let parts = around.into_iter().zip(amounts).filter_map(|((before, after), amount)| {
        Some(format!("{before}{}{after}", shown(&name, amount?)))
    });
    parts.collect()
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
