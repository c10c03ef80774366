//! The outcomes of pods and their causes, with their sentences.

use super::PodResult;
use kq_admission::preemption::RestartCause;
use kq_answer::Wording;
use kq_answer::reason::Reason;
use serde::Serialize;

/// The consequence for a pod that the kubelet refuses (`rejectPod`, `pkg/kubelet/kubelet.go`).
const REFUSED: &str = "its containers are stopped; its phase becomes Failed with this reason and the message after \"Pod was \
                       rejected: \", or Succeeded without a reason where each container exits with 0";

/// The consequence for a pod that the kubelet ends.
const ENDS: &str = "its containers are stopped; its phase becomes Failed with this reason, or Succeeded without a \
                    reason where each container exits with 0";

/// The outcome of a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Wording)]
#[serde(tag = "result", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PodFate {
    #[text(is_of_manifest: true => "the kubelet that starts makes no pod of its manifest: {message}")]
    #[text("refused when the kubelet starts: {reason}: {message}")]
    #[leads_to(is_of_manifest: true => "its containers are stopped, and the kubelet's log alone says why")]
    #[leads_to(REFUSED)]
    #[advice(is_of_manifest: true => "remove the reference from the manifest before the change")]
    #[advice("drain the pod before the change, or free what it needs")]
    Refused {
        reason: String,
        message: String,
        /// The kubelet makes no pod of its manifest.
        #[serde(skip)]
        is_of_manifest: bool,
    },
    #[text("preempted for the critical pod {for_pod}")]
    #[leads_to(ENDS)]
    #[advice("drain the pod before the change, or free what the critical pod needs")]
    Preempted { for_pod: String },
    #[text("evicted under {condition} as number {place}, unless the pressure ends earlier")]
    #[leads_to(ENDS)]
    #[command("kq evict rank")]
    Evicted { condition: String, place: usize },
    #[text("deleted by the taint eviction controller: no toleration for {taint}")]
    #[advice("add a toleration to the pods that must stay")]
    Deleted { taint: String },
    #[text(
        cause: RestartCause::NewUid =>
        "stopped and started again (a new UID): its containers do not survive"
    )]
    #[text(
        cause: RestartCause::Replaced =>
        "the old pod ends, then the new one starts: its containers do not survive"
    )]
    #[text(
        if containers.len() == 1 => "{containers} restarts: {cause}",
        containers = containers.join(", ")
    )]
    #[text("{containers} restart: {cause}", containers = containers.join(", "))]
    #[why(cause: cause @ (RestartCause::NewUid | RestartCause::Replaced) => "{cause}")]
    #[leads_to(
        cause: RestartCause::NewUid =>
        "its emptyDir volumes are lost; the new pod starts when the old one has ended"
    )]
    Restarts { containers: Vec<String>, cause: RestartCause },
    /// The kubelet ends it before the machine shuts down.
    #[text(
        "ends{within} as the machine shuts down: Failed, Terminated: {message}",
        within = seconds.map_or_else(String::new, |it| format!(" within {it} s"))
    )]
    #[why("shutdownGracePeriod and its variants let the kubelet end pods before systemd goes on")]
    #[leads_to("it does not start again after the boot: its controller creates another pod")]
    Terminated {
        /// What it gets to end.
        seconds: Option<i64>,
        message: String,
    },
    /// Its containers end, and none starts again.
    #[text(cause: cause @ RestartCause::NoManifest => "its containers are stopped: {cause}")]
    #[text(cause: cause @ (RestartCause::Deleted | RestartCause::Finished) => "{cause}")]
    #[text(
        if containers.len() == 1 =>
        "{containers} ends and does not start again (restartPolicy Never): {cause}",
        containers = containers.join(", ")
    )]
    #[text(
        "{containers} end and do not start again (restartPolicy Never): {cause}",
        containers = containers.join(", ")
    )]
    #[leads_to(
        cause: RestartCause::NoManifest =>
        "its mirror pod is deleted; a manifest of it in the new folder is another pod"
    )]
    #[leads_to(
        cause: RestartCause::Deleted | RestartCause::Finished =>
        "its containers are not started again"
    )]
    #[leads_to("its phase becomes Failed, or Succeeded where each container exited with 0")]
    #[advice(
        cause: RestartCause::Deleted | RestartCause::Finished =>
        "nothing; kq why shows what keeps it where it does not go"
    )]
    #[advice(
        cause: RestartCause::NoManifest => "move its manifest to the new folder with the change"
    )]
    #[advice("let the pod finish, or move it before the change")]
    Ends { containers: Vec<String>, cause: RestartCause },
    #[text(refusal: refusal @ ResizeRefusal::NoSuchResize { .. } => "{refusal}")]
    #[text("the API server rejects the resize: {refusal}")]
    #[why(
        refusal: ResizeRefusal::NoSuchResize { .. } =>
        "the gate InPlacePodVerticalScaling is off by default until 1.32 (alpha), on since 1.33 \
         (beta), and locked since 1.35"
    )]
    #[why(if *refusal != ResizeRefusal::StaticPod => "{refusal}")]
    #[leads_to(
        refusal: ResizeRefusal::NoSuchResize { .. } =>
        "the API server rejects the resize (spec: Forbidden: Pod running on node without support \
         for resize); the pod keeps its current resources, and no file is written"
    )]
    #[leads_to(
        refusal: ResizeRefusal::StaticPod =>
        "the pod keeps its current resources; other resources in its manifest are another pod, \
         which the kubelet starts in its place"
    )]
    #[leads_to("the pod keeps its current resources, and no file is written")]
    #[advice(
        refusal: ResizeRefusal::NoSuchResize { .. } =>
        "create the pod again with the new resources"
    )]
    ResizeRefused { refusal: ResizeRefusal },
    #[text("the resize is {reason}: {message}")]
    #[why("{message}")]
    #[leads_to(
        has_conditions: true =>
        "the pod keeps its current resources, with the condition PodResizePending"
    )]
    #[leads_to("the pod keeps its current resources, with {reason} in status.resize")]
    ResizeWaits { reason: PendingReason, message: String, has_conditions: bool },
    #[text("the resize fails: {message}")]
    #[why(
        is_least: true =>
        "{message}; the usage is that of the containers: the pod's own is unknown, and not less"
    )]
    #[why("{message}")]
    #[leads_to(
        "no file is written: the pod keeps its current values, {state}, and counts with the new \
         requests; the kubelet tries again with each sync of the pod",
        state = if *has_conditions {
            "with the condition PodResizeInProgress and its reason Error"
        } else {
            "with InProgress in status.resize"
        }
    )]
    #[advice("set the limit above the memory in use, or lower the usage first")]
    ResizeFails { message: String, is_least: bool, has_conditions: bool },
    #[text(
        if restarts.is_empty() =>
        "the resize is done or fails: whether the memory in use is below the new limit of {limit} \
         is unknown"
    )]
    #[text(
        "{restarts}; the resize is done or fails: whether the memory in use is below the new limit \
         of {limit} is unknown",
        restarts = restarting(restarts)
    )]
    #[why("the kubelet lowers no memory limit to or below the usage")]
    #[leads_to(
        "if it fails, no file is written, and the pod has the condition PodResizeInProgress with \
         the reason Error"
    )]
    #[advice("run kq on the node, or give it a snapshot with the node's cgroups")]
    ResizeOpen { limit: u64, restarts: Vec<ResizeRestart> },
    #[text(restarting(restarts))]
    ResizeRestarts { restarts: Vec<ResizeRestart> },
    #[text("the kubelet admits it")]
    Starts {},
    #[text("the kubelet does not admit it: {reason}: {message}")]
    #[command("kq admit explain FILE")]
    NotAdmitted { reason: String, message: String },
    /// No kubelet runs, and none starts.
    #[text("no kubelet admits it: {error}")]
    #[command("kq doctor")]
    NoKubelet { error: String },
    #[text("{outcomes}: {cause}", outcomes = or(outcomes))]
    #[advice(if !outcomes.contains(&PodResult::Starts) => "drain the pod before the change")]
    #[command(if outcomes.contains(&PodResult::Starts) => "kq admit explain FILE")]
    #[command(if outcomes.contains(&PodResult::Evicted) => "kq evict rank")]
    #[command(reboots: true => "kq devices plan --reboot")]
    #[command("kq devices plan --kubelet-restart")]
    Open {
        outcomes: Vec<PodResult>,
        cause: String,
        reboots: bool,
        /// A fact decides that is missing.
        #[serde(skip)]
        is_unknown: bool,
    },
}

impl PodFate {
    /// Returns true if the kubelet makes no pod of the manifest.
    pub fn is_of_manifest(&self) -> bool {
        matches!(self, Self::Refused { is_of_manifest: true, .. })
    }
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
    /// The pod has claims that dynamic resource allocation takes from the node's CPU or memory.
    #[text("spec: Forbidden: pods with node allocatable resource claims cannot be resized")]
    Claims,
    /// Amounts that contradict each other.
    #[text("{errors}", errors = errors.join(", "))]
    Invalid { errors: Vec<String> },
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
    /// Deleted pods whose containers are gone take part in the start.
    #[text(
        "deleted pods whose containers are gone take a place until the kubelet has finished them, \
         which is before or after it comes to this one"
    )]
    LeavingPods,
    /// A check of the admission is unknown.
    #[text("{check}: {reason}")]
    Unknown { check: &'static str, reason: String },
    /// The order in which pods that are added at once reach the kubelet.
    #[text("the pods that are added reach the kubelet in any order")]
    ArrivalOrder,
    /// The pods before it in the order of eviction use enough or not.
    #[text(
        "the eviction manager stops once the pods evicted earlier free enough, and their usage is \
         unknown"
    )]
    Usage,
    /// The order of eviction is unknown.
    #[text("which pods the kubelet evicts is unknown")]
    Rank,
    /// The choice of the eviction manager among pods of equal rank.
    #[text("the eviction manager chooses at random among pods of equal rank")]
    EqualRank,
    /// The images and dead containers that go before it free enough or not.
    #[text(
        "the kubelet removes dead containers and unused images first, and it is unknown whether \
         that is enough"
    )]
    Reclaim,
    /// A soft threshold stays crossed for its grace period or not.
    #[text("whether the soft threshold stays crossed for its grace period")]
    Grace,
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

/// Returns the possible results.
pub(super) fn or(results: &[PodResult]) -> String {
    results.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

/// Returns the containers that restart with a resize, and why.
fn restarting(restarts: &[ResizeRestart]) -> String {
    let mut resources: Vec<&str> = restarts.iter().flat_map(|it| it.resources.clone()).collect();
    resources.sort_unstable();
    resources.dedup();
    let containers: Vec<&str> = restarts.iter().map(|it| it.container.as_str()).collect();
    let (verb, whose) = match containers.len() {
        1 => ("restarts", "its"),
        _ => ("restart", "their"),
    };
    let resources = resources.join(" and ");
    format!(
        "{} {verb}: {whose} resizePolicy for {resources} is RestartContainer, and the resize changes {resources}",
        containers.join(", ")
    )
}
