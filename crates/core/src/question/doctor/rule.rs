//! The findings of node checks other than the cgroup checks, and their sentences.

use super::chain;
use super::pod_rule::{Ended, Follows, MemoryLimit, OomKills, Restarts, Stuck, Throttling};
use super::wording::{count, evicted, expired, lasting, not_requested, rank, renewal, verbs};
use crate::kubelet_start::StartFinding;
use crate::question::eviction::amount_beside;
use crate::question::reclaim::ReclaimAhead;
use kq_admission::preemption::{ReadmissionResult, StoppedContainers};
use kq_answer::{Rule, RuleFinding, Severity, Subject, Topic, Wording};
use kq_cgroup::live::checks::NotRequested;
use kq_cgroup::live::difference::Verdict;
use kq_cgroup::live::set_by::SetBy;
use kq_eviction::amount_of;
use kq_facts::certificates::CertificateUsage;
use kq_facts::kubelet_config::Signal;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::{Precision, first_few};
use serde::Serialize;

/// A finding about a node.
pub(super) type NodeFinding = RuleFinding<NodeRule>;

/// The rules of a node. A rule has the same ID whether the check passes or fails.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum NodeRule {
    /// A value of a cgroup that is not as planned.
    #[text(file: None, verdict: Verdict::Extra => "the cgroup is not planned")]
    #[text(file: None => "the cgroup is missing")]
    #[text(
        file: Some(file), verdict: Verdict::Missing => "{file} is missing, planned {planned}",
        planned = planned.as_deref().unwrap_or("none")
    )]
    #[text(
        file: Some(file) => "{file} is {actual}, planned {planned}",
        actual = actual.as_deref().unwrap_or("none"),
        planned = planned.as_deref().unwrap_or("none")
    )]
    #[why(reason: Some(reason) => "{reason}")]
    #[leads_to(if !follows.is_empty() => chain::sentence(follows))]
    #[advice(left: None => "kq cgroup apply writes the planned value")]
    #[advice(left: Some(left) => "kq cgroup apply leaves it: {left}")]
    #[command("kq cgroup diff")]
    CgroupValues {
        /// The path below the root of the hierarchy.
        cgroup: String,
        /// The file; null: the cgroup as a whole.
        file: Option<String>,
        /// The value that the kubelet or the runtime writes.
        planned: Option<String>,
        /// The value in the kernel.
        actual: Option<String>,
        /// Why they differ, if known.
        reason: Option<String>,
        /// Who wrote the value in the kernel, if evident.
        set_by: Option<SetBy>,
        /// What follows from it in the container, in order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        follows: Vec<Follows>,
        /// What the comparison came to.
        #[serde(skip)]
        verdict: Verdict,
        /// Why `kq cgroup apply` leaves it; `None`: it writes the planned value.
        #[serde(skip)]
        left: Option<String>,
    },
    /// The next start of the kubelet.
    #[wording(match _0.severity() {
        Severity::Ok | Severity::Info => _0.sentences(),
        _ => _0.sentences().see("kq what-if kubelet-restart"),
    })]
    KubeletStart(StartFinding),
    /// A kubelet that started a moment ago.
    #[text("the kubelet started {age_seconds} s ago")]
    #[why("systemd starts a kubelet that ends again after 10 s")]
    #[leads_to("if it keeps exiting, no pod of the node is started, probed or evicted")]
    #[advice("run doctor again in two minutes; journalctl -u kubelet shows why it exits")]
    KubeletAge {
        /// The age of its process.
        age_seconds: i64,
    },
    /// The conditions in the Node object.
    #[wording(_0.sentences())]
    NodeConditions(Conditions),
    /// The kubelet's certificates.
    #[wording(_0.sentences())]
    Certificates(Certificates),
    /// The next collection of images.
    #[wording(_0.sentences())]
    ImageGc(ImageGc),
    /// The distance to the threshold of a signal.
    #[wording(_0.sentences())]
    Eviction(Eviction),
    /// The devices of containers.
    #[wording(_0.sentences())]
    Devices(Devices),
    /// The readmission of the pods by a restarted kubelet.
    #[wording(_0.sentences())]
    KubeletRestart(Restart),
    /// The CPU quota of a container.
    #[wording(_0.sentences())]
    CpuThrottling(Throttling),
    /// Memory that ran out in a container.
    #[wording(_0.sentences())]
    OomKills(OomKills),
    /// The memory of a container compared with its limit.
    #[wording(_0.sentences())]
    MemoryLimit(MemoryLimit),
    /// Containers that were started again.
    #[wording(_0.sentences())]
    Restarts(Restarts),
    /// Pods that a component ended.
    #[wording(_0.sentences())]
    EndedPods(Ended),
    /// Pods that do not come to run, or do not go.
    #[wording(_0.sentences())]
    StuckPods(Stuck),
    /// A device or claim of a container that its plugin or driver calls unhealthy.
    #[text("{device} of {resource} is {health}")]
    #[why(if !message.is_empty() => "{message}")]
    #[leads_to("the container keeps it until its pod is deleted")]
    ResourceHealth {
        /// The resource, or the claim.
        resource: String,
        device: String,
        health: String,
        /// The driver's words.
        message: String,
    },
    /// Room for another critical pod.
    #[wording(_0.sentences())]
    PreemptionHeadroom(Headroom),
}

/// The conditions in the Node object.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Conditions {
    #[text("the node is ready, without pressure")]
    Ok,
    #[text("{reason}")]
    #[advice("pass the Node object with --node-file, or a kubeconfig")]
    Unknown { reason: String },
    #[text(if reason.is_empty() => "Ready is {status}")]
    #[text("Ready is {status}: {reason}")]
    #[leads_to(
        "the node controller taints the node, and its pods are deleted after their tolerations"
    )]
    #[why(if !message.is_empty() => "{message}")]
    #[advice(action: Some(action) => "{action}")]
    #[advice("read the kubelet's log: journalctl -u kubelet | kq explain -")]
    NotReady {
        status: String,
        reason: String,
        /// The kubelet's words.
        message: String,
        /// What is to be done about them, as `kq explain` has it; null: it does not know them.
        action: Option<String>,
    },
    #[text("the kubelet last reported the node's status at {heartbeat}, {age_seconds} s ago")]
    #[why(
        is_known: true =>
        "a running kubelet reports at least every {report_frequency} (nodeStatusReportFrequency)"
    )]
    #[why(
        "a running kubelet reports at least every {report_frequency}, unless its \
         nodeStatusReportFrequency, which is unknown, says otherwise"
    )]
    #[leads_to("the conditions may be out of date")]
    #[advice("check that the kubelet runs and reaches the API server")]
    Stale {
        heartbeat: Timestamp,
        age_seconds: i64,
        /// `nodeStatusReportFrequency`
        report_frequency: GoDuration,
        /// Whether the configuration was found.
        is_known: bool,
    },
    #[text("the node's status was reported at {heartbeat}, which is {age} ahead of the time here", age = lasting(*ahead_seconds))]
    #[leads_to("ages and the validity of certificates are judged by a clock that is wrong")]
    #[advice("compare the clocks of the node and of this machine (timedatectl)")]
    Ahead { heartbeat: Timestamp, ahead_seconds: i64 },
    #[text(if message.is_empty() => "NetworkUnavailable is True")]
    #[text("NetworkUnavailable is True: {message}")]
    #[leads_to(
        "the node has the taint node.kubernetes.io/network-unavailable, and takes no new pods that do not tolerate it"
    )]
    #[advice("check the network plugin and the cloud controller manager, which sets routes")]
    NoNetwork { message: String },
    #[text("{conditions} True", conditions = conditions.join(", "))]
    #[leads_to("the kubelet evicts pods, and rejects new ones that do not tolerate it")]
    #[command("kq evict rank")]
    Pressure { conditions: Vec<String> },
    /// A condition whose thresholds are not crossed any more.
    #[text("{condition} is still True, and none of its thresholds is crossed")]
    #[why(
        "the kubelet reports the condition for {transition_period} (evictionPressureTransitionPeriod) \
         after a threshold was last crossed"
    )]
    #[leads_to(
        "no pod is evicted for it now; new pods that do not tolerate it are rejected until it ends"
    )]
    #[advice(
        "nothing while it ends within {transition_period}; where it lasts, check that the kubelet runs"
    )]
    #[command(rank(*signal))]
    PressureOver {
        condition: String,
        /// A signal of the condition.
        signal: Signal,
        transition_period: GoDuration,
    },
}

/// The kubelet's certificates.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Certificates {
    #[text("the first to expire is valid for {left}: {path}", left = lasting(*seconds_left))]
    Ok { seconds_left: i64, path: String },
    #[text("{reason}")]
    #[advice("run kq as root on the node")]
    Unknown { reason: String },
    #[text("the {usage} {path} expired at {not_after}")]
    #[leads_to(expired(*usage))]
    #[advice(renewal(*usage, path))]
    Expired { path: String, usage: CertificateUsage, not_after: Timestamp },
    #[text("the {usage} {path} is valid from {not_before} on, and it is {now}")]
    #[leads_to(expired(*usage))]
    #[advice(
        "check the clock of this machine and that of the one that issued the certificate (timedatectl)"
    )]
    NotYet { path: String, usage: CertificateUsage, not_before: Timestamp, now: Timestamp },
    #[text("the {usage} {path} is of the node {subject}, and this node is {node}")]
    #[leads_to(
        "the API server forbids the kubelet to change this node, which does not become Ready"
    )]
    #[advice("join the node again, or give it the host name that the certificate has")]
    OtherNode { path: String, usage: CertificateUsage, subject: String, node: String },
    #[text("the {usage} {path} expires in {left}, at {not_after}", left = lasting(*seconds_left))]
    #[why(if *usage == CertificateUsage::Client => "the kubelet renews a certificate when 70% to 90% of its validity have passed")]
    #[leads_to(expired(*usage))]
    #[advice(renewal(*usage, path))]
    Expires { path: String, usage: CertificateUsage, not_after: Timestamp, seconds_left: i64 },
}

/// The next collection of images.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ImageGc {
    #[text(
        usage_percent: Some(usage) =>
        "usage {usage}% is below imageGCHighThresholdPercent {high_threshold_percent}%"
    )]
    #[text("the next collection removes no image")]
    Ok { usage_percent: Option<i64>, high_threshold_percent: i32 },
    #[text("{reason}")]
    #[advice("run kq as root on the node, with the container runtime up")]
    #[command("kq gc dry-run")]
    Unknown { reason: String },
    #[text("the thresholds are unknown, because the kubelet's configuration is unknown")]
    #[advice("let kq reach the kubelet's API, or pass --kubelet-config")]
    #[command("kq gc dry-run")]
    NoThresholds,
    #[text(
        is_certain: false => "usage {usage_percent}% has reached imageGCHighThresholdPercent \
         {high_threshold_percent}%: images are removed, up to {images} ({freed_bytes}); which ones \
         depends on uses that are not known",
        freed_bytes = Precision::Short.bytes(*freed_bytes)
    )]
    #[text(
        "usage {usage_percent}% has reached imageGCHighThresholdPercent {high_threshold_percent}%: \
         {images} ({freed_bytes}), first {first}",
        images = count(*images, "image is removed", "images are removed"),
        freed_bytes = Precision::Short.bytes(*freed_bytes)
    )]
    #[leads_to(
        "the kubelet does so within 5 minutes; a pod that needs a removed image pulls it again"
    )]
    #[advice("pin images that must stay, or free other space of the disk")]
    #[command("kq gc dry-run")]
    Due {
        usage_percent: i64,
        high_threshold_percent: i32,
        images: usize,
        freed_bytes: i64,
        first: String,
        /// The kubelet's times of the images are known; else another order may free enough sooner.
        is_certain: bool,
    },
    #[text(
        is_certain: false => "images that are unused for longer than imageMaximumGCAge are removed, up to {images} \
         ({freed_bytes}); which ones depends on uses that are not known",
        freed_bytes = Precision::Short.bytes(*freed_bytes)
    )]
    #[text(
        "unused for longer than imageMaximumGCAge: {images} ({freed_bytes}), first {first}",
        images = count(*images, "image is removed", "images are removed"),
        freed_bytes = Precision::Short.bytes(*freed_bytes)
    )]
    #[leads_to(
        "the kubelet does so within 5 minutes; a pod that needs a removed image pulls it again"
    )]
    #[advice("pin images that must stay, or raise imageMaximumGCAge")]
    #[command("kq gc dry-run")]
    TooOld {
        images: usize,
        freed_bytes: i64,
        first: String,
        /// The kubelet's times of the images are known.
        is_certain: bool,
    },
    #[text("image garbage collection fails: {error}")]
    #[leads_to("no image is removed until the eviction threshold is crossed")]
    #[advice("read the runtime's log: it reports the file system of the images")]
    #[command("kq gc dry-run")]
    Fails { error: String },
    #[text(
        "usage {usage_percent}%: image garbage collection must free {wanted_bytes} and can free \
         {freed_bytes}",
        wanted_bytes = Precision::Short.bytes(*wanted_bytes),
        freed_bytes = Precision::Short.bytes(*freed_bytes)
    )]
    #[why("{error}")]
    #[leads_to("the disk fills up to the eviction threshold, and pods are evicted")]
    #[advice("remove other files: logs, volumes, data of other programs")]
    #[command("kq gc dry-run")]
    FallsShort { usage_percent: i64, wanted_bytes: i64, freed_bytes: i64, error: String },
}

/// The distance to the threshold of a signal.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Eviction {
    #[text(
        "none of {signals} is near its threshold",
        signals = count(*signals, "signal", "signals")
    )]
    Ok { signals: usize },
    #[text(signal: Some(signal) => "{signal}: {reason}")]
    #[text("{reason}")]
    #[advice(lacks_pods: true => "let kq reach the kubelet's API, or pass --pods")]
    #[advice("let kq reach the kubelet's API, or pass --stats to kq evict rank")]
    #[command(rank(signal.unwrap_or(Signal::MemoryAvailable)))]
    Unknown {
        signal: Option<Signal>,
        reason: String,
        /// The pods are unknown.
        lacks_pods: bool,
    },
    #[text("the thresholds are unknown, because the kubelet's configuration is unknown")]
    #[advice(is_refused: true => "correct what kubelet-start names, or pass --kubelet-config")]
    #[advice("let kq reach the kubelet's API, or pass --kubelet-config")]
    NoThresholds {
        /// The kubelet does not start with the configuration that was found.
        is_refused: bool,
    },
    #[text(
        "{signal}: {available} left, the threshold is {threshold}: {margin} to go",
        available = amount_of(*signal, *available),
        threshold = amount_of(*signal, *threshold),
        margin = amount_of(*signal, *margin)
    )]
    #[leads_to(evicted(first, *reclaim))]
    #[advice("free the resource before the threshold is crossed")]
    #[command(rank(*signal))]
    Near {
        signal: Signal,
        available: i64,
        threshold: i64,
        margin: i64,
        first: Vec<String>,
        /// What is reclaimed before; `None`: nothing.
        reclaim: Option<ReclaimAhead>,
    },
    #[text(
        "{signal}: {left} left, below the threshold {limit}",
        left = amount_beside(*signal, *available, *threshold),
        limit = amount_beside(*signal, *threshold, *available)
    )]
    #[leads_to(evicted(first, *reclaim))]
    #[advice("free the resource, or move pods away")]
    #[command(rank(*signal))]
    Crossed {
        signal: Signal,
        available: i64,
        threshold: i64,
        first: Vec<String>,
        /// What is reclaimed before; `None`: nothing.
        reclaim: Option<ReclaimAhead>,
    },
    #[text("{signal} is below its threshold, and the kubelet evicts this pod first")]
    #[leads_to("the pod fails, and its controller makes another one")]
    #[advice("free the resource, or move pods away")]
    #[command(rank(*signal))]
    First { signal: Signal },
    #[text("it uses more local storage than its limits allow")]
    #[leads_to("the kubelet evicts it at its next look, within 10 s, whatever the thresholds")]
    #[advice(
        "raise ephemeral-storage in its limits or sizeLimit of its volume, or let it write less"
    )]
    #[command("kq evict rank --signal nodefs.available")]
    OverOwnLimits,
}

/// The devices of containers.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Devices {
    #[text(
        "{devices}, all consistent",
        devices = count(*devices, "device in use", "devices in use")
    )]
    Ok { devices: usize },
    #[text("{reason}")]
    #[advice("run kq as root on the node")]
    #[command("kq devices list")]
    Unknown { reason: String },
    #[text("{device} of {resource}: {reason}")]
    #[leads_to("two containers share a device that is allocated to each of them")]
    #[advice("delete the younger of the pods")]
    #[command("kq devices list")]
    Double { resource: String, device: String, reason: String },
    #[text("{device} of {resource}: {reason}")]
    #[leads_to(
        "the container keeps the device until its pod is deleted; a restart of the kubelet gives it \
         no other one"
    )]
    #[advice("read the plugin's log; delete the pod to get another device")]
    #[command("kq devices list")]
    Unhealthy { resource: String, device: String, reason: String },
    #[text("{device} of {resource}: {reason}")]
    #[leads_to("the kubelet removes the entry when a pod next requests devices")]
    #[advice(
        "nothing while the kubelet runs; kq devices repair --remove-stale where it is stopped"
    )]
    #[command("kq devices list")]
    Stale { resource: String, device: String, reason: String },
    /// The device of a pod that has ended; it is no longer the pod's (`UpdateAllocatedDevices` of the device manager).
    #[text("{device} of {resource}: its pod has ended")]
    #[leads_to(
        "the kubelet frees the device when the pod's containers have ended and a pod next requests \
         devices"
    )]
    #[command("kq devices list")]
    OfEnded { resource: String, device: String },
    #[text("{device} of {resource}: {reason}")]
    #[leads_to("a restarted kubelet reads its checkpoint, not its present memory")]
    #[advice("check the details before the kubelet is restarted")]
    #[command("kq devices list")]
    Inconsistent { resource: String, device: String, reason: String },
    #[text("{resource}: the Node object has {capacity}, and none is healthy")]
    #[leads_to("no pod that requests the resource is admitted")]
    #[advice("check that its plugin runs and is registered")]
    #[command("kq devices plugins")]
    NoneHealthy { resource: String, capacity: i64 },
}

/// The readmission of the pods by a restarted kubelet.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Restart {
    #[text("a restarted kubelet admits {pods} again", pods = count(*pods, "pod", "pods"))]
    Ok { pods: usize },
    /// The pods stay, but the start itself is unknown.
    #[text("a kubelet that starts admits {pods} again; whether it starts is unknown", pods = count(*pods, "pod", "pods"))]
    IfStarts { pods: usize },
    /// Its pods are not judged.
    #[text("not judged: the kubelet does not start")]
    NoStart,
    #[text("{reason}")]
    #[advice("{fix}")]
    #[command("kq admit explain --kubelet-restart")]
    Unknown {
        reason: String,
        /// How the missing facts are supplied.
        fix: String,
    },
    #[text("a restarted kubelet rejects the pod: {reason}: {message}")]
    #[leads_to("its containers are stopped, and the pod fails")]
    #[advice("move the pod before the kubelet is restarted")]
    #[command("kq admit explain --kubelet-restart")]
    Refuses { reason: String, message: String },
    #[text("a restarted kubelet kills the pod for {for_pod}")]
    #[leads_to("its containers are stopped, and the pod fails")]
    #[advice("make room before the kubelet is restarted")]
    #[command("kq admit explain --kubelet-restart")]
    Kills { for_pod: String },
    /// It is admitted, and its containers end.
    #[text("when the kubelet restarts, {stopped}")]
    #[leads_to(if !stopped.start_again => "the pod fails, or succeeds where each container exits with 0")]
    #[leads_to("the containers run again after their grace period")]
    #[advice("move the pod before the kubelet is restarted")]
    #[command("kq what-if kubelet-restart")]
    Stops {
        #[serde(flatten)]
        stopped: StoppedContainers,
    },
    /// One of several ends, by an order that is left to chance.
    #[text("a restarted kubelet {ends} the pod: {cause}", ends = verbs(ends))]
    #[why(message: Some(message) => "{message}")]
    #[leads_to("where it ends, its containers are stopped, and the pod fails")]
    #[advice("move the pod, or make room, before the kubelet is restarted")]
    #[command("kq admit explain --kubelet-restart")]
    Open {
        /// The ends; the first is that in the usual order.
        ends: Vec<ReadmissionResult>,
        /// The kubelet's message where the pod ends; of a killed pod, the pod for which it is killed.
        message: Option<String>,
        /// What decides.
        cause: String,
    },
}

/// Room for another critical pod.
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Headroom {
    #[text(not_requested(*free_milli_cpu, *free_memory_bytes))]
    Ok { free_milli_cpu: i64, free_memory_bytes: i64 },
    #[text("{reason}")]
    #[command("kq preempt explain FILE --static")]
    Unknown { reason: String },
    #[text(
        "{free_memory_bytes}; a critical pod with {needs_milli_cpu}m CPU preempts {victims}{equal}",
        free_memory_bytes = not_requested(*free_milli_cpu, *free_memory_bytes),
        victims = first_few(3, victims),
        equal = or_equal(equal)
    )]
    #[why(
        "the kubelet orders victims by QoS class, distance and requests, not by priority or \
         disruption budget"
    )]
    #[command("kq preempt explain FILE --static")]
    Preempts {
        free_milli_cpu: i64,
        free_memory_bytes: i64,
        needs_milli_cpu: i64,
        victims: Vec<String>,
        /// Pods of which the kubelet may kill one in the place of an equal victim.
        equal: Vec<String>,
    },
}

/// Returns the pods that the kubelet may kill in the place of the victims.
pub(super) fn or_equal(equal: &[String]) -> String {
    match equal {
        [] => String::new(),
        equal => format!(" (or, as equal: {})", first_few(3, equal)),
    }
}

impl Headroom {
    /// Returns the amounts that are not requested, where they are known.
    pub(super) fn not_requested(&self) -> Option<NotRequested> {
        match *self {
            Self::Ok { free_milli_cpu, free_memory_bytes }
            | Self::Preempts { free_milli_cpu, free_memory_bytes, .. } => {
                Some(NotRequested { milli_cpu: free_milli_cpu, memory_bytes: free_memory_bytes })
            }
            Self::Unknown { .. } => None,
        }
    }
}

impl NodeRule {
    /// Returns a finding about the node as a whole.
    pub(super) fn of_node(self) -> NodeFinding {
        RuleFinding::new(Subject::Node, self)
    }
}

impl Rule for NodeRule {
    fn topic(&self) -> Topic {
        match self {
            Self::CgroupValues { file: Some(file), .. } if file.starts_with("memory") => {
                Topic::Memory
            }
            Self::MemoryLimit(_) | Self::OomKills(_) => Topic::Memory,
            Self::CgroupValues { .. } | Self::CpuThrottling(_) => Topic::Cpu,
            Self::ImageGc(_) => Topic::Images,
            Self::Eviction(_) | Self::NodeConditions(_) => Topic::Eviction,
            Self::Devices(_) => Topic::Devices,
            Self::Restarts(_) => Topic::Probes,
            Self::EndedPods(_) | Self::StuckPods(_) => Topic::Node,
            Self::ResourceHealth { .. } => Topic::Devices,
            Self::KubeletRestart(_) => Topic::Restart,
            Self::PreemptionHeadroom(_) => Topic::Preemption,
            Self::KubeletStart(_) | Self::KubeletAge { .. } | Self::Certificates(_) => Topic::Node,
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::CgroupValues { .. } => Severity::Error,
            Self::KubeletStart(start) => start.severity(),
            Self::KubeletAge { .. } => Severity::Warning,
            Self::NodeConditions(state) => match state {
                Conditions::Ok => Severity::Ok,
                Conditions::Unknown { .. } => Severity::Unknown,
                Conditions::NotReady { .. }
                | Conditions::Stale { .. }
                | Conditions::Pressure { .. }
                | Conditions::PressureOver { .. } => Severity::Error,
                Conditions::NoNetwork { .. } | Conditions::Ahead { .. } => Severity::Warning,
            },
            Self::Certificates(state) => match state {
                Certificates::Ok { .. } => Severity::Ok,
                Certificates::Unknown { .. } => Severity::Unknown,
                Certificates::Expired { .. } | Certificates::NotYet { .. } => Severity::Error,
                Certificates::Expires { .. } | Certificates::OtherNode { .. } => Severity::Warning,
            },
            Self::ImageGc(state) => match state {
                ImageGc::Ok { .. } => Severity::Ok,
                ImageGc::Unknown { .. } | ImageGc::NoThresholds => Severity::Unknown,
                ImageGc::Due { .. } | ImageGc::TooOld { .. } => Severity::Warning,
                ImageGc::Fails { .. } | ImageGc::FallsShort { .. } => Severity::Error,
            },
            Self::Eviction(state) => match state {
                Eviction::Ok { .. } => Severity::Ok,
                Eviction::Unknown { .. } | Eviction::NoThresholds { .. } => Severity::Unknown,
                Eviction::Near { .. } => Severity::Warning,
                Eviction::Crossed { .. } | Eviction::First { .. } | Eviction::OverOwnLimits => {
                    Severity::Error
                }
            },
            Self::Devices(state) => match state {
                Devices::Ok { .. } => Severity::Ok,
                Devices::Unknown { .. } => Severity::Unknown,
                Devices::Double { .. } | Devices::Unhealthy { .. } => Severity::Error,
                Devices::OfEnded { .. } => Severity::Info,
                Devices::Stale { .. }
                | Devices::Inconsistent { .. }
                | Devices::NoneHealthy { .. } => Severity::Warning,
            },
            Self::KubeletRestart(state) => match state {
                Restart::Ok { .. } => Severity::Ok,
                Restart::NoStart => Severity::Info,
                Restart::IfStarts { .. } | Restart::Unknown { .. } => Severity::Unknown,
                Restart::Refuses { .. }
                | Restart::Kills { .. }
                | Restart::Stops { .. }
                | Restart::Open { .. } => Severity::Warning,
            },
            Self::CpuThrottling(state) => match state {
                Throttling::Ok { .. } => Severity::Ok,
                Throttling::Unknown { .. } => Severity::Unknown,
                Throttling::Throttled { .. } => Severity::Warning,
            },
            Self::MemoryLimit(MemoryLimit::Unknown { .. }) => Severity::Unknown,
            Self::OomKills(OomKills::Ok)
            | Self::MemoryLimit(MemoryLimit::Ok { .. })
            | Self::Restarts(Restarts::Ok)
            | Self::PreemptionHeadroom(Headroom::Ok { .. }) => Severity::Ok,
            Self::EndedPods(Ended::Ok) | Self::StuckPods(Stuck::Ok) => Severity::Ok,
            Self::EndedPods(Ended::Unchecked { .. }) => Severity::Info,
            Self::EndedPods(Ended::Pod { .. } | Ended::More { .. })
            | Self::StuckPods(
                Stuck::NoSandbox { .. }
                | Stuck::Deleting { .. }
                | Stuck::Resize { .. }
                | Stuck::ResizeFails { .. },
            ) => Severity::Warning,
            Self::StuckPods(
                Stuck::Waiting { .. }
                | Stuck::NotPulled { .. }
                | Stuck::SandboxNotReady { .. }
                | Stuck::NotRunning,
            ) => Severity::Error,
            Self::ResourceHealth { health, .. } if health == "Unhealthy" => Severity::Error,
            Self::ResourceHealth { .. } => Severity::Warning,
            Self::OomKills(OomKills::Killed { .. } | OomKills::Last { .. })
            | Self::MemoryLimit(MemoryLimit::Near { .. })
            | Self::Restarts(Restarts::Restarted { .. }) => Severity::Warning,
            Self::Restarts(Restarts::Unknown { .. }) => Severity::Unknown,
            Self::Restarts(Restarts::BackOff { .. }) => Severity::Error,
            Self::PreemptionHeadroom(Headroom::Unknown { .. }) => Severity::Unknown,
            Self::PreemptionHeadroom(Headroom::Preempts { .. }) => Severity::Info,
        }
    }
}
