//! The part of a pod that kq reads: metadata, resources and the status of resources.
//!
//! Field names are those of the Kubernetes API, `k8s.io/api/core/v1/types.go`. Everything else in a
//! pod is skipped while parsing, also its environment, except the variables that the commands of its
//! probes use. So a serialised [`Pod`] is an allow-list, and reading it again gives the same pod. A pod
//! is redacted with [`Pod::redact`] before it is stored.

mod by_name;
mod metadata;
mod placement;
mod probe;
mod read;
mod resource_list;
mod volume;

pub use by_name::{ByName, Named};
pub use metadata::{Annotations, Labels, OS_LABEL, ObjectMeta, OwnerReference};
pub use placement::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, OsRefusal,
    PodOs, PodSecurityContext, Sysctl, Taint, TaintRules, Toleration,
};
pub use probe::{
    ContainerPort, ContainerRestartRule, EnvFrom, EnvVar, ExecAction, ExitCodes, GrpcAction,
    Handler, HttpGetAction, HttpHeader, INJECTED_PROBES, IntOrString, PROXY, Probe, ProbeType,
    TcpSocketAction, ValueFrom,
};
pub use read::{FromMapping, Text, null_as_default, object, objects, optional_object};
pub use resource_list::{ResourceList, ResourceName};
pub use volume::{EmptyDir, PodResourceClaim, Projected, ProjectedSource, Volume};

use crate::priority::is_static_pod;
use probe::{boxed, is_zero};
use read::{objects_where, withheld};
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A pod as the kubelet sees it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Pod {
    /// Name, namespace, UID and the annotations that the kubelet acts on.
    #[serde(deserialize_with = "object")]
    pub metadata: ObjectMeta,
    /// The specification.
    #[serde(deserialize_with = "object")]
    pub spec: PodSpec,
    /// The status, as the node reported it.
    #[serde(deserialize_with = "object")]
    pub status: PodStatus,
}

impl Pod {
    /// Returns the name, or the start of the name that the API server will generate.
    pub fn display_name(&self) -> Cow<'_, str> {
        match self.metadata.name.as_str() {
            "" => Cow::Owned(format!("{}<generated>", self.metadata.generate_name)),
            name => Cow::Borrowed(name),
        }
    }

    /// Removes possible secrets: variables, and of probes the commands, queries and most headers. Returns the removed
    /// texts, which others may have quoted.
    pub fn redact(&mut self) -> Vec<String> {
        if !is_static_pod(self) {
            // The kubelet asks it of static pods alone.
            self.spec.forget_references();
        }
        self.spec.every_container_mut().flat_map(Container::redact).collect()
    }
}

/// The specification of a pod.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// The regular containers.
    #[serde(deserialize_with = "objects")]
    pub containers: Vec<Container>,
    /// The init containers and, with `restartPolicy: Always`, the sidecars.
    #[serde(deserialize_with = "objects")]
    pub init_containers: Vec<Container>,
    /// The containers that `kubectl debug` added.
    #[serde(deserialize_with = "objects")]
    pub ephemeral_containers: Vec<Container>,
    /// Pod-level resources; present but empty means something (`qos::computed_qos_class`).
    #[serde(deserialize_with = "optional_object")]
    pub resources: Option<ResourceRequirements>,
    /// The overhead of the sandbox, from the runtime class.
    pub overhead: Option<ResourceList>,
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub runtime_class_name: String,
    /// The priority that admission resolved.
    pub priority: Option<i32>,
    #[serde(deserialize_with = "null_as_default")]
    pub priority_class_name: String,
    /// The node that the pod is bound to.
    #[serde(deserialize_with = "null_as_default")]
    pub node_name: String,
    /// The termination grace period, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// The taints that it bears.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// The volumes that use the node's disk or name objects of the API.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// The claims of devices that DRA drivers prepare; what they refer to is not kept.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub resource_claims: Vec<PodResourceClaim>,
    /// Which containers start again when they ended: `Always`, `OnFailure`, `Never`; empty for
    /// `Always`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub restart_policy: String,
    /// `-`: it names a service account; which one is not kept.
    #[serde(deserialize_with = "withheld", skip_serializing_if = "String::is_empty")]
    pub service_account_name: String,
    /// The Secrets with credentials for images; which ones is not kept.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<Details>,
    /// The operating system that it is for.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub os: Option<PodOs>,
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// The labels that a node must have.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Which nodes will do.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// The pod has the node's network and IP.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub host_network: bool,
    /// The pod has the node's IPC namespace.
    #[serde(
        rename = "hostIPC",
        deserialize_with = "null_as_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub host_ipc: bool,
}

impl PodSpec {
    /// Returns the containers of every kind: regular, init, ephemeral.
    pub fn every_container(&self) -> impl DoubleEndedIterator<Item = &Container> {
        self.init_and_containers().chain(&self.ephemeral_containers)
    }

    /// Returns the init containers and those after them, in the order in which they start.
    pub fn init_and_containers(&self) -> impl DoubleEndedIterator<Item = &Container> {
        self.init_containers.iter().chain(&self.containers)
    }

    /// Returns the regular containers, then the init containers.
    pub fn containers_and_init(&self) -> impl DoubleEndedIterator<Item = &Container> {
        self.containers.iter().chain(&self.init_containers)
    }

    /// Returns the same to be changed.
    pub fn containers_and_init_mut(&mut self) -> impl Iterator<Item = &mut Container> {
        self.containers.iter_mut().chain(&mut self.init_containers)
    }

    /// Returns the init containers that restart always, which run along with the regular ones.
    pub fn sidecars(&self) -> impl Iterator<Item = &Container> + Clone {
        self.init_containers.iter().filter(|it| it.restarts_always())
    }

    /// Forgets to which objects of the API the pod refers.
    fn forget_references(&mut self) {
        self.image_pull_secrets.clear();
        self.every_container_mut().for_each(|container| container.env_from.clear());
        for volume in &mut self.volumes {
            (volume.projected, volume.azure_file) = (None, None);
        }
    }

    /// Returns the same to be changed.
    pub fn every_container_mut(&mut self) -> impl Iterator<Item = &mut Container> {
        self.containers
            .iter_mut()
            .chain(&mut self.init_containers)
            .chain(&mut self.ephemeral_containers)
    }
}

/// A container of any kind.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, remote = "Self", rename_all = "camelCase")]
pub struct Container {
    /// The name, unique in its pod.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Requests and limits.
    #[serde(deserialize_with = "object")]
    pub resources: ResourceRequirements,
    /// `Always` on an init container makes it a sidecar.
    pub restart_policy: Option<String>,
    /// The rules that override the restart policy; the first that matches counts.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub restart_policy_rules: Vec<ContainerRestartRule>,
    /// The policies for resizing while it runs.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub resize_policy: Vec<ContainerResizePolicy>,
    /// Its ports; probes may name them.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// The variables that the commands of its probes name; all others are forgotten.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// The kinds of objects from which variables come, those of single variables too.
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvFrom>,
    /// Has it started?
    #[serde(deserialize_with = "boxed", skip_serializing_if = "Option::is_none")]
    pub startup_probe: Option<Box<Probe>>,
    /// May it get requests?
    #[serde(deserialize_with = "boxed", skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Box<Probe>>,
    /// Is it alive?
    #[serde(deserialize_with = "boxed", skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Box<Probe>>,
}

impl Container {
    /// Returns true if this init container is a sidecar.
    pub fn restarts_always(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

/// The policy for resizing a resource of a running container.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerResizePolicy {
    /// `cpu` or `memory`.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_name: String,
    /// `NotRequired` or `RestartContainer`.
    #[serde(deserialize_with = "null_as_default")]
    pub restart_policy: String,
}

/// Requests and limits.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceRequirements {
    /// The requested amounts.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "ResourceList::is_empty")]
    pub requests: ResourceList,
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "ResourceList::is_empty")]
    pub limits: ResourceList,
}

/// The status of a pod, as the node reported it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`; empty when never reported.
    #[serde(deserialize_with = "null_as_default")]
    pub phase: String,
    /// The QoS class that was recorded; wins over the computed one.
    #[serde(deserialize_with = "null_as_default")]
    pub qos_class: String,
    /// Why it is in its phase: `Evicted`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The same in a sentence, by the component that refused or killed the pod.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the kubelet took the pod in: RFC 3339. The scheduler prefers victims that started late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// The node on which the scheduler made room for the pod.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub nominated_node_name: String,
    /// The state of a resize before 1.33: `Infeasible`. Later kubelets have a condition for it.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub resize: String,
    /// The conditions about resizes, readiness, restarts and disruption; the others are dropped while
    /// reading.
    #[serde(deserialize_with = "needed_conditions")]
    pub conditions: Vec<PodCondition>,
    /// The pod's IP.
    #[serde(
        rename = "podIP",
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub pod_ip: String,
    /// Statuses of the regular containers.
    #[serde(deserialize_with = "objects")]
    pub container_statuses: Vec<ContainerStatus>,
    /// Statuses of init containers and sidecars.
    #[serde(deserialize_with = "objects")]
    pub init_container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "objects")]
    pub ephemeral_container_statuses: Vec<ContainerStatus>,
    /// Pod-level resources in effect.
    #[serde(deserialize_with = "optional_object")]
    pub resources: Option<ResourceRequirements>,
    /// Pod-level requests that the kubelet allocated.
    pub allocated_resources: Option<ResourceList>,
    /// The resources that dynamic resource allocation accounts to this pod.
    #[serde(deserialize_with = "objects")]
    pub node_allocatable_resource_claim_statuses: Vec<NodeAllocatableResourceClaimStatus>,
    /// Which extended resources dynamic resource allocation provides.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub extended_resource_claim_status: Option<ExtendedResourceClaimStatus>,
}

/// Returns true if a pod in this phase has ended for good.
pub fn is_final(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

impl PodStatus {
    /// Returns true if the pod has ended for good.
    pub fn has_ended(&self) -> bool {
        is_final(&self.phase)
    }

    /// Returns the statuses of the regular containers, then of the init containers.
    pub fn containers_and_init(&self) -> impl DoubleEndedIterator<Item = &ContainerStatus> {
        self.container_statuses.iter().chain(&self.init_container_statuses)
    }

    /// Returns the same to be changed.
    pub fn containers_and_init_mut(&mut self) -> impl Iterator<Item = &mut ContainerStatus> {
        self.container_statuses.iter_mut().chain(&mut self.init_container_statuses)
    }

    /// Returns the statuses of containers of every kind.
    pub fn every_container(&self) -> impl DoubleEndedIterator<Item = &ContainerStatus> {
        self.containers_and_init().chain(&self.ephemeral_container_statuses)
    }

    /// Returns the same to be changed.
    pub fn every_container_mut(&mut self) -> impl Iterator<Item = &mut ContainerStatus> {
        let most = self.container_statuses.iter_mut().chain(&mut self.init_container_statuses);
        most.chain(&mut self.ephemeral_container_statuses)
    }

    /// Removes what runtimes and drivers say of containers, which may quote anything.
    pub fn forget_messages_of_containers(&mut self) {
        for status in self.every_container_mut() {
            for state in [&mut status.state, &mut status.last_state] {
                state.waiting.iter_mut().for_each(|waiting| waiting.message.clear());
            }
            let resources = status.allocated_resources_status.iter_mut();
            resources.flat_map(|it| &mut it.resources).for_each(|unit| unit.message.clear());
        }
    }
}

/// The extended resources that a claim provides instead of a device plugin.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtendedResourceClaimStatus {
    /// Which resources of which containers.
    #[serde(deserialize_with = "objects")]
    pub request_mappings: Vec<ExtendedResourceMapping>,
}

/// One resource of one container that a claim provides (`ContainerExtendedResourceRequest`).
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtendedResourceMapping {
    #[serde(deserialize_with = "null_as_default")]
    pub container_name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub resource_name: String,
}

#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodCondition {
    /// The type, such as `PodResizePending`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub kind: String,
    /// The reason, such as `Infeasible`.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The message for humans.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The time of the last change of the status: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// The generation of the pod that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The status of a container, as the node reported it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    /// The container's name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// `<runtime>://<id>`; empty before the container was created.
    #[serde(rename = "containerID", deserialize_with = "null_as_default")]
    pub container_id: String,
    /// The state at the kubelet's last sync.
    #[serde(deserialize_with = "object")]
    pub state: ContainerState,
    /// How it ended before it was started again.
    #[serde(deserialize_with = "object", skip_serializing_if = "ContainerState::never_ended")]
    pub last_state: ContainerState,
    /// Requests and limits in effect.
    #[serde(deserialize_with = "optional_object")]
    pub resources: Option<ResourceRequirements>,
    /// Requests that the kubelet allocated.
    pub allocated_resources: Option<ResourceList>,
    /// It runs, and its startup probe has succeeded; `None`: not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<bool>,
    /// It may get requests.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// How often it was started again.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub restart_count: i32,
    /// The devices and claims that it has, with their health (gate `ResourceHealthStatus`).
    #[serde(deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub allocated_resources_status: Vec<ResourceStatus>,
}

/// The health of what a container has of one resource.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceStatus {
    /// The resource: `example.com/gpu`, or `claim:NAME/REQUEST`.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Each unit of it.
    #[serde(deserialize_with = "objects")]
    pub resources: Vec<ResourceHealth>,
}

/// The health of a device.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceHealth {
    /// The ID of the device.
    #[serde(rename = "resourceID", deserialize_with = "null_as_default")]
    pub resource_id: String,
    /// `Healthy`, `Unhealthy` or `Unknown`; empty: `Healthy`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub health: String,
    /// The plugin's own words.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The state of a container.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerState {
    /// Present while it waits.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingState>,
    /// Present while it runs.
    #[serde(deserialize_with = "optional_object")]
    pub running: Option<RunningState>,
    /// Present once it ended.
    #[serde(deserialize_with = "optional_object")]
    pub terminated: Option<TerminatedState>,
}

impl ContainerState {
    fn never_ended(&self) -> bool {
        self.terminated.is_none()
    }
}

/// A container that waits.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WaitingState {
    /// Why: `CrashLoopBackOff`, `ImagePullBackOff`, `ContainerCreating`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The same in a sentence, mostly the runtime's error.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A container that runs.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RunningState {
    /// Since when: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
}

/// A container that ended.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TerminatedState {
    /// How.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub exit_code: i32,
    /// Why: `Completed`, `Error`, `OOMKilled`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
}

/// Details that kq does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Details {}

/// The node resources that one claim accounts for.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeAllocatableResourceClaimStatus {
    /// The amounts.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: ResourceList,
}

/// Reads the conditions that kq needs.
fn needed_conditions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PodCondition>, D::Error> {
    objects_where(deserializer, |condition: &PodCondition| {
        condition.kind.starts_with("PodResize")
            || matches!(
                condition.kind.as_str(),
                "Ready" | "AllContainersRestarting" | "DisruptionTarget"
            )
    })
}

impl<'de> Deserialize<'de> for Container {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut container = Self::deserialize(deserializer)?;
        container.forget_environment();
        Ok(container)
    }
}

impl Serialize for Container {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}
