//! The effects of a change, as data; `wording` has the sentences.

use super::PodResult;
use crate::kubelet_start::StartFinding;
use crate::question::devices::plan::Holder;
use crate::question::reclaim::{ReclaimAhead, Sufficiency};
use kq_answer::reason::Reason;
use kq_answer::{Rule, RuleFinding, Severity, Wording};
use serde::Serialize;

/// An effect of a change.
pub type Effect = RuleFinding<WhatIfRule>;

/// The rules of `kq what-if`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum WhatIfRule {
    /// The start of the kubelet.
    KubeletStart(StartFinding),
    /// The outcome of a pod.
    Pod(PodFate),
    /// The pods that are not reported one by one.
    Pods {
        kept: usize,
        /// How many end, restart or wait, for certain or perhaps.
        others: usize,
    },
    /// At the next start of the kubelet, not before.
    NextStart {
        pods: Vec<String>,
        /// One, or the possible ones.
        results: Vec<PodResult>,
        reason: String,
        message: String,
        /// What decides between them.
        depends_on: Option<String>,
    },
    /// A container holds devices that its plugin lists no longer.
    DeviceHeld(Holder),
    /// Values of cgroups.
    CgroupValues {
        /// How many change at once or within a minute.
        now: usize,
        /// How many change when containers or pods are created again.
        later: usize,
    },
    /// The QoS cgroups between the start of the kubelet and its first update.
    QosCgroupsReset { file: String, value: String },
    /// The huge pages of the cgroup of all pods between the start of the kubelet and its first update.
    HugePagesReset {
        file: String,
        /// The file of the pages that mappings reserve.
        reserved: String,
        value: String,
    },
    /// The cgroups of all pods are another tree.
    CgroupsMove {
        /// The cgroup of all pods before.
        before: String,
        after: String,
        /// The machine does not reboot: the old tree stays.
        is_left: bool,
    },
    /// The kubelet and the runtime have different cgroup drivers.
    DriversDiffer { kubelet: String, runtime: String },
    /// The kubelet registers under another name.
    OtherNodeName { name: String, node: String, static_pods: usize },
    /// The readiness of containers with a readiness or startup probe after the start.
    Readiness { containers: usize, is_kept: bool },
    /// The resources that the scheduler has for pods.
    Allocatable(AllocatableChange),
    /// The first collection of images.
    ImageGc(ImageGcChange),
    /// The thresholds of eviction.
    Eviction(EvictionChange),
    /// A kubelet of another version acts otherwise.
    Behaviour {
        /// Which.
        behaviour: String,
        /// The version that first acts so.
        since: String,
        is_danger: bool,
        what: String,
        about: String,
        advice: Option<String>,
    },
    /// The kubelet has a fault that a patch release ends.
    PatchFault {
        fault: String,
        /// The patches with it: `1.35.0 to 1.35.3`.
        patches: String,
        /// The first version without it.
        fixed: String,
        what: String,
        /// The pods that it concerns.
        about: Vec<String>,
    },
    /// The version is none that kq knows.
    VersionUnknown { version: String, used: String },
    /// The machine or the runtime restarts.
    Restarts { what: String, effect: String },
    /// A fact that decides is not known.
    Missing { about: String, reason: String },
}

/// The outcome of a pod.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PodFate {
    Refused {
        reason: String,
        message: String,
    },
    Preempted {
        for_pod: String,
    },
    Evicted {
        condition: String,
        place: usize,
    },
    Deleted {
        taint: String,
    },
    Restarts {
        containers: Vec<String>,
        cause: RestartCause,
    },
    /// The kubelet ends it before the machine shuts down.
    Terminated {
        /// What it gets to end.
        seconds: Option<i64>,
        message: String,
    },
    /// Its containers end, and its `restartPolicy` starts none again.
    Ends {
        containers: Vec<String>,
        cause: RestartCause,
    },
    ResizeRefused {
        refusal: ResizeRefusal,
    },
    ResizeWaits {
        reason: PendingReason,
        message: String,
        has_conditions: bool,
    },
    ResizeFails {
        message: String,
        is_least: bool,
        has_conditions: bool,
    },
    ResizeOpen {
        limit: u64,
        restarts: Vec<ResizeRestart>,
    },
    ResizeRestarts {
        restarts: Vec<ResizeRestart>,
    },
    Starts {},
    NotAdmitted {
        reason: String,
        message: String,
    },
    Open {
        outcomes: Vec<PodResult>,
        cause: String,
    },
}

/// Why containers restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain)]
pub enum RestartCause {
    /// The machine reboots.
    #[text("no container survives a reboot")]
    Reboot,
    /// The cgroups of the pods have other names after the start.
    #[text(
        "the kubelet kills a pod that runs without a cgroup in the tree of the new cgroupDriver or \
         cgroupRoot"
    )]
    CgroupsMoved,
    /// The container did not run before.
    #[text("not running now, and the kubelet forgets the back-off at its start")]
    NotRunning,
    /// The kubelet has no record of the container's resources, so it resizes the container; its
    /// `resizePolicy` is `RestartContainer`.
    #[text(
        "the kubelet has no record of its resources in actuated_pods_state, and its resizePolicy \
         is RestartContainer"
    )]
    ResizePolicy,
    /// A resize changes a resource for which its `resizePolicy` is `RestartContainer`.
    #[text("its resizePolicy is RestartContainer for a resource that the resize changes")]
    Resize,
    /// A kubelet of another minor version gives the static pod another UID.
    #[text(
        "the UID of a static pod is a hash over all fields of the Pod type, and a kubelet of \
         another minor version has other fields"
    )]
    NewUid,
    /// Another manifest takes the place of the static pod's.
    #[text("its manifest takes the place of that of a static pod of the same name")]
    Replaced,
}

/// A container that restarts for its `resizePolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResizeRestart {
    pub container: String,
    /// The resized resources with this policy.
    pub resources: Vec<&'static str>,
}

/// The reason of the condition `PodResizePending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
#[reason(plain, case = "PascalCase")]
pub enum PendingReason {
    /// Never, while the node is as it is.
    #[text("Infeasible")]
    Infeasible,
    /// The kubelet tries it again.
    #[text("Deferred")]
    Deferred,
}

/// Why there is no resize: the message of the API server (`ValidatePodResize`,
/// `pkg/apis/core/validation/validation.go`, read in 1.36.2, 1.33.5 and 1.32.10).
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "refusal", case = "camelCase")]
pub enum ResizeRefusal {
    /// The kubelet's gate is off.
    #[text(
        "there is no in-place resize on this node: InPlacePodVerticalScaling is disabled (kubelet {version})"
    )]
    NoSuchResize { version: String },
    /// The pod is static.
    #[text("Forbidden: static pods cannot be resized")]
    StaticPod,
    /// The pod is for Windows.
    #[text("Forbidden: windows pods cannot be resized")]
    WindowsPod,
    /// The pod has resources as a whole, before 1.35.
    #[text("Forbidden: pods with pod-level resources cannot be resized")]
    PodLevelResources,
    /// The pod has resources as a whole, and the gate is off.
    #[text(
        "Forbidden: resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
    )]
    PodLevelGate,
    /// An init container without `restartPolicy: Always`.
    #[text("spec: Forbidden: resources for non-sidecar init containers are immutable")]
    InitContainer,
    /// The same, with a policy that restarts it.
    #[text(
        "spec.initContainers: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
    )]
    InitContainerPolicy,
    /// A policy that restarts containers, in a pod that restarts none.
    #[text(
        "spec.containers[{at}].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'"
    )]
    PolicyOfNever { at: usize },
    /// A lower memory limit without a restart, in 1.33. `list`: `containers`, or `initContainers` for a sidecar.
    #[text(
        "spec.{list}[{at}].resources.limits[memory]: Forbidden: memory limits cannot be decreased unless resizePolicy is RestartContainer"
    )]
    LowerMemoryLimit { list: &'static str, at: usize },
    /// A memory limit where there was none, without a restart, in 1.33.
    #[text(
        "spec.{list}[{at}].resources.limits[memory]: Forbidden: memory limits cannot be added unless resizePolicy is RestartContainer"
    )]
    AddedMemoryLimit { list: &'static str, at: usize },
}

/// Why the outcome of a pod is open.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "cause")]
pub enum OpenCause {
    /// The plugin may register before or after the admission of the pods.
    #[text(
        "whether the device plugin of {resource} registers before the kubelet admits the pods (a \
         listening plugin registered 0.3 to 0.5 s before that on a real node)"
    )]
    PluginRegisters { resource: String },
    /// A device that the kubelet forgot.
    #[text(
        "the kubelet forgot the {resource} of this pod; real kubelets have kept such pods and have \
         refused them"
    )]
    DeviceForgotten { resource: String },
    /// The kubelet finds the running container or one that exited before it.
    #[text(
        "{container} has restarted: this kubelet finds any of its containers, the one that runs or \
         one that exited"
    )]
    ContainerFound { container: String },
    /// The order in which a kubelet that starts comes to its pods, and its choice among equal ones.
    #[text(
        "the kubelet {choices}",
        choices = choices([(*by_sources, SOURCES), (*by_ties, TIES), (*by_equal_victims, VICTIMS)])
    )]
    StartOrder {
        /// The source that it comes to first: its folder or the API server.
        by_sources: bool,
        /// The order of pods that were created in the same second.
        by_ties: bool,
        /// The choice among equal pods that a critical pod may preempt.
        by_equal_victims: bool,
    },
    /// The order of pods of the same second, which are more than are tried out.
    #[text(
        "the kubelet {choices}; {pods} of them are too many to try",
        choices = choices([(*by_sources, SOURCES), (true, TIES)])
    )]
    ManyTied { pods: usize, by_sources: bool },
    /// The order in which pods that are added at once reach the kubelet.
    #[text("the pods that are added reach the kubelet in any order")]
    ArrivalOrder,
    /// The pods before it in the order of eviction use enough or not.
    #[text(
        "the eviction manager stops once the pods evicted earlier free enough, and their usage is \
         unknown"
    )]
    Usage,
    /// The images and dead containers that go before it free enough or not.
    #[text(
        "the kubelet removes dead containers and unused images first, and it is unknown whether \
         that is enough"
    )]
    Reclaim,
    /// The memory in use is below a new limit or not.
    #[text("whether the memory in use is below the new limit is unknown")]
    MemoryInUse,
}

/// What decides between the ends of pods at a start, as what the kubelet does.
const SOURCES: &str =
    "admits static pods before or after those of the API server, as it reads its sources";
const TIES: &str = "admits pods created in the same second in random order";
const VICTIMS: &str = "chooses at random among equal pods that it may preempt";

fn choices<const N: usize>(choices: [(bool, &str); N]) -> String {
    let open = choices.into_iter().filter(|(is_open, _)| *is_open);
    open.map(|(_, text)| text).collect::<Vec<_>>().join(", and ")
}

impl OpenCause {
    /// The choice among equal pods that a critical pod may preempt.
    pub const EQUAL_VICTIMS: Self =
        Self::StartOrder { by_sources: false, by_ties: false, by_equal_victims: true };
}

/// The resources that the scheduler has for pods.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocatableChange {
    pub resource: String,
    pub before: String,
    pub after: String,
    /// The requests of the remaining pods.
    pub requested: String,
    /// The requests exceed the allocatable amount.
    pub is_exceeded: bool,
}

/// The first collection of images after the change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ImageGcChange {
    /// It removes images that the present settings leave.
    Removes { images: usize, bytes: u64, first: String, before: usize },
    /// It cannot free enough.
    FallsShort { error: String },
    /// The kubelet forgets when it found images and when they were used last.
    FromStart {
        /// Why the first collection, at the start, frees too little; `None`: it frees enough.
        error: Option<String>,
        /// What the next one removes, five minutes later.
        images: usize,
        bytes: u64,
        /// Their order does not matter; else these are the most.
        is_certain: bool,
        /// Why that frees too little.
        next_error: Option<String>,
        /// Without the change, a start removes fewer images.
        removes_more: bool,
        /// Without the change, a start frees enough.
        fails_newly: bool,
    },
}

/// The thresholds of eviction after the change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EvictionChange {
    /// The available amount is below the threshold.
    Crossed {
        signal: String,
        available: u64,
        threshold: u64,
        first: Vec<String>,
        /// What is reclaimed before; `None`: nothing.
        reclaim: Option<ReclaimAhead>,
    },
    /// It was crossed, and is not any more.
    Relieved { signal: String },
    /// The signals have no threshold any more.
    Off { signals: Vec<String> },
    /// The thresholds change, and what they are compared with is not measured.
    Unmeasured { signals: Vec<String> },
}

impl Rule for WhatIfRule {
    fn severity(&self) -> Severity {
        match self {
            Self::KubeletStart(start) => start.severity(),
            Self::Pods { others: 0, .. } => Severity::Ok,
            Self::Pods { .. } => Severity::Info,
            Self::Pod(fate) => match fate {
                PodFate::Refused { .. }
                | PodFate::Preempted { .. }
                | PodFate::Evicted { .. }
                | PodFate::Deleted { .. }
                | PodFate::Terminated { .. }
                | PodFate::Ends { .. }
                | PodFate::NotAdmitted { .. } => Severity::Error,
                // It is not running: only the back-off ends earlier.
                PodFate::Restarts { cause: RestartCause::NotRunning, .. } => Severity::Info,
                PodFate::Restarts { .. }
                | PodFate::ResizeRefused { .. }
                | PodFate::ResizeWaits { .. }
                | PodFate::ResizeFails { .. }
                | PodFate::ResizeOpen { .. }
                | PodFate::ResizeRestarts { .. }
                | PodFate::Open { .. } => Severity::Warning,
                PodFate::Starts {} => Severity::Info,
            },
            Self::NextStart { .. }
            | Self::DeviceHeld(_)
            | Self::PatchFault { .. }
            | Self::Restarts { .. }
            | Self::VersionUnknown { .. } => Severity::Warning,
            Self::OtherNodeName { .. } | Self::DriversDiffer { .. } => Severity::Error,
            Self::CgroupsMove { .. } => Severity::Warning,
            Self::CgroupValues { .. }
            | Self::QosCgroupsReset { .. }
            | Self::HugePagesReset { .. }
            | Self::Readiness { .. } => Severity::Info,
            Self::Allocatable(change) if change.is_exceeded => Severity::Warning,
            Self::Allocatable(_) => Severity::Info,
            Self::ImageGc(ImageGcChange::FallsShort { .. }) => Severity::Error,
            Self::ImageGc(ImageGcChange::Removes { .. }) => Severity::Warning,
            Self::ImageGc(ImageGcChange::FromStart { fails_newly: true, .. }) => Severity::Error,
            Self::ImageGc(ImageGcChange::FromStart { removes_more: true, .. }) => Severity::Warning,
            Self::ImageGc(ImageGcChange::FromStart { .. }) => Severity::Info,
            Self::Eviction(EvictionChange::Off { .. }) => Severity::Warning,
            Self::Eviction(EvictionChange::Unmeasured { .. }) => Severity::Unknown,
            Self::Eviction(EvictionChange::Crossed { reclaim: Some(ahead), .. })
                if ahead.sufficiency == Sufficiency::Enough =>
            {
                Severity::Warning
            }
            Self::Eviction(EvictionChange::Crossed { .. }) => Severity::Error,
            Self::Eviction(EvictionChange::Relieved { .. }) => Severity::Info,
            Self::Behaviour { is_danger: true, .. } => Severity::Warning,
            Self::Behaviour { .. } => Severity::Info,
            Self::Missing { .. } => Severity::Unknown,
        }
    }

    fn wording(&self) -> Wording {
        self.sentences()
    }
}
