//! The effects of a change, with their sentences.

use super::PodResult;
use super::fate::{PodFate, or};
use crate::kubelet_start::StartFinding;
use crate::question::devices::plan::Holder;
use crate::question::eviction::amount_beside;
use crate::question::reclaim::{ReclaimAhead, Sufficiency};
use kq_admission::preemption::RestartCause;
use kq_answer::{Rule, RuleFinding, Severity, Wording};
use kq_facts::kubelet_config::Signal;
use kq_facts::timestamp::Timestamp;
use kq_image_gc::lint::signals_off;
use kq_k8s::duration::GoDuration;
use kq_k8s::version::KubeletVersion;
use kq_output::units;
use serde::Serialize;

/// An effect of a change.
pub type Effect = RuleFinding<WhatIfRule>;

/// The rules of `kq what-if`.
#[derive(Clone, Debug, PartialEq, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum WhatIfRule {
    #[wording(_0.sentences())]
    KubeletStart(StartFinding),
    /// The outcome of a pod.
    #[wording(_0.sentences())]
    Pod(PodFate),
    /// The pods that are not reported one by one.
    #[text(kept: 1 => "1 pod keeps its containers")]
    #[text("{kept} pods keep their containers")]
    Pods {
        kept: usize,
        /// How many end, restart or wait, for certain or perhaps.
        others: usize,
    },
    /// At the next start of the kubelet, not before.
    #[text(
        if pods.len() == 1 => "stays until the next start of the kubelet, then {then}",
        then = then(results, depends_on.as_ref(), reason, message)
    )]
    #[text(
        "{count} pods stay until the next start of the kubelet, then {then}",
        count = pods.len(),
        then = then(results, depends_on.as_ref(), reason, message)
    )]
    #[why(
        "the kubelet checks labels, taints and resources when it admits a pod, and it admits all \
         pods again at its start"
    )]
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
    #[text(
        0: Holder { container, resource, devices, is_refused_again, .. } =>
        "{container} holds {devices} of {resource}, which is gone; a new admission of the pod \
         would {outcome}",
        devices = devices.join(", "),
        outcome = if *is_refused_again { "fail" } else { "get another device" }
    )]
    #[leads_to(
        "the container keeps the device until its pod is deleted; a restart of the kubelet gives it \
         no other one"
    )]
    #[command("kq devices plan --unhealthy ID")]
    DeviceHeld(Holder),
    /// Values of cgroups.
    #[text(later: 0 => "cgroup values change: {now} within a minute")]
    #[text(now: 0 => "cgroup values change: {later} when the container or pod is next created")]
    #[text(
        "cgroup values change: {now} within a minute, {later} when the container or pod is next \
         created"
    )]
    #[why("at its start, the kubelet does not update quotas, limits and pids.max of running pods")]
    CgroupValues {
        /// How many change at once or within a minute.
        now: usize,
        /// How many change when containers or pods are created again.
        later: usize,
    },
    /// A client certificate that the API server does not take.
    #[text(
        not_before: Some(not_before) =>
        "the client certificate {path} is valid from {not_before} on: a kubelet that starts has no other"
    )]
    #[text(
        "the client certificate {path} expired at {not_after}: a kubelet that starts has no other"
    )]
    #[leads_to(
        "the API server rejects the kubelet; with --bootstrap-kubeconfig it asks for a new certificate, and exits where that file is gone"
    )]
    #[advice("renew the certificate before the change: kq doctor says how")]
    #[command("kq doctor")]
    ClientCertificate {
        path: String,
        not_after: Timestamp,
        /// The start of its validity, where that is still to come.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// A limit of memory that is written below what is in use.
    #[text("memory.max of {cgroup} becomes {limit}, and its pods use {used}", limit = units::bytes(*limit_bytes), used = units::bytes(*used_bytes))]
    #[why("the kubelet writes the limit at its start, whatever is in use")]
    #[leads_to(
        "the kernel reclaims memory within it, and kills processes of pods until the rest fits"
    )]
    #[advice("drain pods before the change, or reserve less")]
    #[command("kq cgroup show")]
    LimitBelowUse { cgroup: String, limit_bytes: u64, used_bytes: u64 },
    /// The QoS cgroups between the start of the kubelet and its first update.
    #[text(
        "{file} of the Burstable QoS cgroup is {value} until the first update, up to 60 s after \
         the start"
    )]
    #[why("the kubelet writes it at its start, before it knows any pod")]
    #[leads_to(
        "while the CPUs are busy, all Burstable pods together get no more CPU time than the \
         BestEffort pods"
    )]
    QosCgroupsReset { file: String, value: String },
    /// The huge pages of the cgroup of all pods between the start of the kubelet and its first update.
    #[text(
        "{file} and {reserved} of kubepods are {value} until the first update, up to 60 s after \
         the start"
    )]
    #[why(
        "the kubelet writes what node allocatable has at its start, and 2^62 with the QoS cgroups"
    )]
    #[leads_to("pods that use more huge pages than that get no others until then")]
    HugePagesReset {
        file: String,
        /// The file of the pages that mappings reserve.
        reserved: String,
        value: String,
    },
    /// The cgroups of all pods are another tree.
    #[text("the cgroups of pods are below {after}, no longer below {before}")]
    #[leads_to(
        is_left: true =>
        "{before} stays with the cgroups of the old pods, empty, and its weight counts next to \
         that of {after}"
    )]
    #[advice(is_left: true => "drain the node before the change, and reboot it")]
    CgroupsMove {
        /// The cgroup of all pods before.
        before: String,
        after: String,
        /// The machine does not reboot: the old tree stays.
        is_left: bool,
    },
    /// The kubelet and the runtime have different cgroup drivers.
    #[text("the kubelet manages cgroups by {kubelet}, the runtime by {runtime}")]
    #[leads_to(
        "the cgroups of a pod are in two trees, and its limits do not hold for its containers"
    )]
    #[advice("give both the same driver")]
    DriversDiffer { kubelet: String, runtime: String },
    /// The kubelet registers under another name.
    #[text("the kubelet registers as {name}, not as {node}")]
    #[leads_to(static_pods: 0 => "{node} becomes NotReady, and its pods are left alone")]
    #[leads_to(
        "{node} becomes NotReady, its pods are left alone, and the {static_pods} static pods start \
         a second time under new names"
    )]
    #[advice("keep the name, or delete the Node object and drain the node first")]
    OtherNodeName { name: String, node: String, static_pods: usize },
    /// The readiness of containers with a readiness or startup probe after the start.
    #[text(
        containers: 1, is_kept: true =>
        "1 container with a readiness or startup probe keeps its readiness at the start"
    )]
    #[text(
        is_kept: true =>
        "{containers} containers with a readiness or startup probe keep their readiness at the \
         start"
    )]
    #[text(
        containers: 1 =>
        "1 container with a readiness or startup probe is unready until the first success"
    )]
    #[text(
        "{containers} containers with a readiness or startup probe are unready until the first \
         success"
    )]
    #[leads_to(
        is_kept: true =>
        "after failureThreshold failures, a container that stopped answering is unready"
    )]
    #[leads_to("the pods leave the endpoints of Services for that time")]
    Readiness { containers: usize, is_kept: bool },
    /// The resources that the scheduler has for pods.
    #[text(
        0: AllocatableChange { resource, before, after, .. } =>
        "allocatable {resource}: {before} becomes {after}"
    )]
    #[leads_to(
        0: AllocatableChange { resource, requested, is_exceeded: true, .. } =>
        "the remaining pods request {requested}: the scheduler places no further pod that requests \
         {resource} here"
    )]
    Allocatable(AllocatableChange),
    /// The first collection of images.
    #[wording(_0.sentences())]
    ImageGc(ImageGcChange),
    /// The thresholds of eviction.
    #[wording(_0.sentences())]
    Eviction(EvictionChange),
    /// A kubelet of another version acts otherwise.
    #[text("{what} (since {since})")]
    #[leads_to(if !about.is_empty() => "{about}")]
    #[advice(advice: Some(advice) => "{advice}")]
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
    #[text(if about.is_empty() => "kubelet {patches} only: {what}")]
    #[text("kubelet {patches} only: {what}: {about}", about = about.join(", "))]
    #[advice("install kubelet {fixed} or later")]
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
    #[text("kubelet {version} is not a version that kq knows: kq applies the rules of {used}")]
    #[why(
        "kq knows the kubelets {oldest} to {newest}",
        oldest = KubeletVersion::OLDEST,
        newest = KubeletVersion::NEWEST
    )]
    VersionUnknown { version: String, used: String },
    /// The machine or the runtime restarts.
    #[text("{what}: {effect}")]
    Restarts { what: String, effect: String },
    /// A fact that decides is not known.
    #[text("{about}: {reason}")]
    Missing { about: String, reason: String },
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
#[derive(Clone, Debug, PartialEq, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ImageGcChange {
    /// It removes images that the present settings leave.
    #[text(
        "image garbage collection removes {images} images ({size}) instead of {before}, {first} \
         first",
        size = units::bytes(*bytes)
    )]
    #[advice("pin the images that must stay")]
    #[command("kq gc dry-run")]
    Removes { images: usize, bytes: u64, first: String, before: usize },
    /// It cannot free enough.
    #[text("image garbage collection cannot free enough: {error}")]
    #[leads_to("the disk fills up to the thresholds of eviction")]
    #[command("kq gc dry-run")]
    FallsShort { error: String },
    /// The kubelet forgets when it found images and when they were used last.
    #[text(
        "the first collection, at the start, frees {first}; the next one, 5 minutes later, removes \
         {next}{fails}",
        first = if error.is_some() { "nothing" } else { "what it wants" },
        next = removed(*images, *bytes, *is_certain),
        fails = if next_error.is_some() { ", and fails: that is not enough" } else { "" }
    )]
    #[why(
        "a kubelet that starts has found every image just now, and forgets when it was last used"
    )]
    #[leads_to(next_error: Some(error), error: _ => "{error}")]
    #[leads_to(error: Some(error) => "{error}")]
    #[command("kq gc dry-run")]
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
    /// Images become too old that do not without the change.
    #[text(
        "{after} after the start, the images go that nothing has used until then: of the present \
         ones {unused}",
        unused = removed(*images, *bytes, true)
    )]
    #[why("imageMaximumGCAge is {after}, and counts from the start of a kubelet at the earliest")]
    #[advice("pin the images that must stay")]
    #[command("kq gc policy")]
    Ages {
        /// `imageMaximumGCAge`
        after: GoDuration,
        images: usize,
        bytes: u64,
    },
}

/// The thresholds of eviction after the change.
#[derive(Clone, Debug, PartialEq, Serialize, Wording)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EvictionChange {
    /// The available amount is below the threshold.
    #[text(
        "{signal}: {left} available, below the threshold of {limit}",
        left = amount_beside(*signal, *available, *threshold),
        limit = amount_beside(*signal, *threshold, *available)
    )]
    #[leads_to(evicted(first, *reclaim))]
    #[command("kq evict rank")]
    Crossed {
        signal: Signal,
        available: i64,
        threshold: i64,
        first: Vec<String>,
        /// What is reclaimed before; `None`: nothing.
        reclaim: Option<ReclaimAhead>,
    },
    /// It was crossed, and is not any more.
    #[text("{signal}: no longer below its threshold")]
    Relieved { signal: Signal },
    /// The signals have no threshold any more.
    #[text("no threshold of eviction any more: {signals}", signals = signals.join(", "))]
    #[why(signals_off::WHY)]
    #[leads_to(signals_off::LEADS_TO)]
    #[advice(signals_off::ADVICE)]
    Off { signals: Vec<String> },
    /// The memory of all pods has no threshold any more.
    #[text("no threshold of eviction any more: {signal}", signal = Signal::AllocatableMemoryAvailable)]
    #[why("the kubelet has it only where enforceNodeAllocatable names pods")]
    #[leads_to(
        "pods can use the memory that is reserved for the system: no pod is evicted before \
         memory.available is crossed on the whole node"
    )]
    #[advice("keep pods in enforceNodeAllocatable")]
    OffForPods,
    /// The thresholds change, and what they are compared with is not measured.
    #[text(
        "the threshold changes, and whether it is crossed is not known: {signals}: the kubelet's \
         measurements are missing",
        signals = signals.join(", ")
    )]
    #[advice("run kq as root on the node, or take a snapshot there")]
    Unmeasured { signals: Vec<String> },
}

impl Rule for WhatIfRule {
    fn severity(&self) -> Severity {
        match self {
            Self::KubeletStart(start) => start.severity(),
            Self::Pods { others: 0, .. } => Severity::Ok,
            Self::Pods { .. } => Severity::Info,
            Self::Pod(fate) => match fate {
                // It ends without the change too.
                PodFate::Ends { cause: RestartCause::Deleted | RestartCause::Finished, .. } => {
                    Severity::Info
                }
                PodFate::Refused { .. }
                | PodFate::Preempted { .. }
                | PodFate::Evicted { .. }
                | PodFate::Deleted { .. }
                | PodFate::Terminated { .. }
                | PodFate::Ends { .. }
                | PodFate::NotAdmitted { .. }
                | PodFate::NoKubelet { .. } => Severity::Error,
                // It is not running: only the back-off ends earlier.
                PodFate::Restarts { cause: RestartCause::NotRunning, .. } => Severity::Info,
                PodFate::Open { is_unknown: true, .. } => Severity::Unknown,
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
            | Self::Restarts { .. } => Severity::Warning,
            Self::VersionUnknown { .. } => Severity::Unknown,
            Self::OtherNodeName { .. }
            | Self::DriversDiffer { .. }
            | Self::LimitBelowUse { .. }
            | Self::ClientCertificate { .. } => Severity::Error,
            Self::CgroupsMove { .. } => Severity::Warning,
            Self::CgroupValues { .. }
            | Self::QosCgroupsReset { .. }
            | Self::HugePagesReset { .. }
            | Self::Readiness { .. } => Severity::Info,
            Self::Allocatable(change) if change.is_exceeded => Severity::Warning,
            Self::Allocatable(_) => Severity::Info,
            Self::ImageGc(ImageGcChange::FallsShort { .. }) => Severity::Error,
            Self::ImageGc(ImageGcChange::Removes { .. } | ImageGcChange::Ages { .. }) => {
                Severity::Warning
            }
            Self::ImageGc(ImageGcChange::FromStart { fails_newly: true, .. }) => Severity::Error,
            Self::ImageGc(ImageGcChange::FromStart { removes_more: true, .. }) => Severity::Warning,
            Self::ImageGc(ImageGcChange::FromStart { .. }) => Severity::Info,
            Self::Eviction(EvictionChange::Off { .. } | EvictionChange::OffForPods) => {
                Severity::Warning
            }
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
}

/// Returns the possible results at the next start, with what decides between them, or the kubelet's reason and message.
fn then(results: &[PodResult], depends_on: Option<&String>, reason: &str, message: &str) -> String {
    match depends_on {
        Some(cause) => format!("{}: {cause}", or(results)),
        None => format!("{}: {reason}: {message}", or(results)),
    }
}

fn removed(images: usize, bytes: u64, is_certain: bool) -> String {
    let up_to = if is_certain { "" } else { "up to " };
    match images {
        0 => "no image".to_owned(),
        _ => format!("{up_to}{} ({})", units::counted(images, "image"), units::bytes(bytes)),
    }
}

fn evicted(first: &[String], reclaim: Option<ReclaimAhead>) -> String {
    match (reclaim, first) {
        (Some(ahead), first) => ahead.consequence(first),
        (None, []) => "the kubelet evicts pods".to_owned(),
        (None, [first, ..]) => format!("the kubelet evicts pods, {first} first"),
    }
}
