//! The sentences of `kq what-if`.

use super::PodResult;
use super::rule::{
    AllocatableChange, EvictionChange, ImageGcChange, PodFate, ResizeRefusal, ResizeRestart,
    RestartCause, WhatIfRule,
};
use crate::question::devices::plan::Holder;
use kq_answer::Wording;
use kq_k8s::version::KubeletVersion;
use kq_output::units::bytes;
use std::fmt;

impl fmt::Display for PodResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Refused => "refused",
            Self::Preempted => "preempted",
            Self::Evicted => "evicted",
            Self::Deleted => "deleted",
            Self::Terminated => "terminated",
            Self::Ends => "ends",
            Self::Restarts => "restarts",
            Self::Waits => "waits",
            Self::Starts => "starts",
            Self::Kept => "kept",
        })
    }
}

/// The consequence for a pod that the kubelet refuses (`rejectPod`, `pkg/kubelet/kubelet.go`).
const REFUSED: &str = "its containers are stopped; its phase becomes Failed with this reason and the message after \"Pod was \
                       rejected: \", or Succeeded without a reason where each container exits with 0";

/// The consequence for a pod that the kubelet ends.
const ENDS: &str = "its containers are stopped; its phase becomes Failed with this reason, or Succeeded without a \
                    reason where each container exits with 0";

fn with(wording: Wording, advice: Option<&String>) -> Wording {
    match advice {
        Some(advice) => wording.advise(advice.clone()),
        None => wording,
    }
}

impl WhatIfRule {
    pub(super) fn sentences(&self) -> Wording {
        match self {
            Self::KubeletStart(start) => start.wording(),
            Self::Pod(fate) => fate.sentences(),
            Self::Pods { kept, .. } => Wording::new(match kept {
                1 => "1 pod keeps its containers".to_owned(),
                kept => format!("{kept} pods keep their containers"),
            }),
            Self::NextStart { pods, results, reason, message, depends_on } => {
                let results: Vec<String> = results.iter().map(ToString::to_string).collect();
                let then = match depends_on {
                    Some(cause) => format!("{}: {cause}", results.join(" or ")),
                    None => format!("{}: {reason}: {message}", results.join(" or ")),
                };
                Wording::new(match pods.len() {
                    1 => format!("stays until the next start of the kubelet, then {then}"),
                    count => format!("{count} pods stay until the next start of the kubelet, then {then}"),
                })
                .because("the kubelet checks labels, taints and resources when it admits a pod, and it admits all pods again at its start")
            }
            Self::DeviceHeld(Holder { container, resource, devices, is_refused_again, .. }) => {
                let next = match is_refused_again {
                    true => "; a new admission of the pod would fail",
                    false => "; a new admission of the pod would get another device",
                };
                Wording::new(format!(
                    "{container} holds {} of {resource}, which is gone{next}",
                    devices.join(", ")
                ))
                .leads_to("the container keeps the device until its pod is deleted; a restart of the kubelet changes nothing")
                .see("kq devices plan --unhealthy ID")
            }
            Self::CgroupValues { now, later } => {
                let now = (*now > 0).then(|| format!("{now} within a minute"));
                let later = (*later > 0)
                    .then(|| format!("{later} when the container or pod is next created"));
                let parts: Vec<String> = now.into_iter().chain(later).collect();
                Wording::new(format!("cgroup values change: {}", parts.join(", ")))
                    .because("at its start, the kubelet does not update quotas, limits and pids.max of running pods")
            }
            Self::QosCgroupsReset { file, value } => Wording::new(format!(
                "{file} of the Burstable QoS cgroup is {value} until the first update, up to 60 s after the start"
            ))
            .because("the kubelet writes it at its start, before it knows any pod")
            .leads_to("while the CPUs are busy, all Burstable pods together get no more CPU time than the BestEffort pods"),
            Self::HugePagesReset { file, reserved, value } => Wording::new(format!(
                "{file} and {reserved} of kubepods are {value} until the first update, up to 60 s after the start"
            ))
            .because("the kubelet writes what node allocatable has at its start, and 2^62 with the QoS cgroups")
            .leads_to("pods that use more huge pages than that get no others until then"),
            Self::CgroupsMove { before, after, is_left } => {
                let wording = Wording::new(format!("the cgroups of pods are below {after}, no longer below {before}"));
                match is_left {
                    true => wording
                        .leads_to(format!(
                            "{before} stays with the cgroups of the old pods, empty, and its weight counts next to that of {after}"
                        ))
                        .advise("drain the node before the change, and reboot it"),
                    false => wording,
                }
            }
            Self::DriversDiffer { kubelet, runtime } => {
                Wording::new(format!("the kubelet manages cgroups by {kubelet}, the runtime by {runtime}"))
                    .leads_to("the cgroups of a pod are in two trees, and its limits do not hold for its containers")
                    .advise("give both the same driver")
            }
            Self::OtherNodeName { name, node, static_pods } => {
                let wording = Wording::new(format!("the kubelet registers as {name}, not as {node}"))
                    .advise("keep the name, or delete the Node object and drain the node first");
                match static_pods {
                    0 => wording.leads_to(format!("{node} becomes NotReady, and its pods are left alone")),
                    count => wording.leads_to(format!(
                        "{node} becomes NotReady, its pods are left alone, and the {count} static pods start a second \
                         time under new names"
                    )),
                }
            }
            Self::Readiness { containers, is_kept } => {
                let (who, verb, possessive) = match containers {
                    1 => ("1 container".to_owned(), ["keeps", "is"], "its"),
                    count => (format!("{count} containers"), ["keep", "are"], "their"),
                };
                let who = format!("{who} with a readiness or startup probe");
                match is_kept {
                    true => Wording::new(format!("{who} {} {possessive} readiness at the start", verb[0]))
                        .leads_to("after failureThreshold failures, a container that stopped answering is unready"),
                    false => Wording::new(format!("{who} {} unready until the first success", verb[1]))
                        .leads_to("the pods leave the endpoints of Services for that time"),
                }
            }
            Self::Allocatable(change) => change.sentences(),
            Self::ImageGc(change) => change.sentences(),
            Self::Eviction(change) => change.sentences(),
            Self::Behaviour { since, what, about, advice, .. } => {
                let wording = Wording::new(format!("{what} (since {since})"));
                let wording = match about.as_str() {
                    "" => wording,
                    about => wording.leads_to(about),
                };
                with(wording, advice.as_ref())
            }
            Self::PatchFault { patches, fixed, what, about, .. } => {
                let named = match about.as_slice() {
                    [] => String::new(),
                    names => format!(": {}", names.join(", ")),
                };
                Wording::new(format!("kubelet {patches} only: {what}{named}"))
                    .advise(format!("install kubelet {fixed} or later"))
            }
            Self::VersionUnknown { version, used } => Wording::new(format!(
                "kubelet {version} is not a version that kq knows: kq applies the rules of {used}"
            ))
            .because(format!(
                "kq knows the kubelets {} to {}",
                KubeletVersion::OLDEST,
                KubeletVersion::NEWEST
            )),
            Self::Restarts { what, effect } => Wording::new(format!("{what}: {effect}")),
            Self::Missing { about, reason } => Wording::new(format!("{about}: {reason}")),
        }
    }
}

impl PodFate {
    fn sentences(&self) -> Wording {
        match self {
            Self::Refused { reason, message } => {
                Wording::new(format!("refused when the kubelet starts: {reason}: {message}"))
                    .leads_to(REFUSED)
                    .advise("drain the pod before the change, or free what it needs")
            }
            Self::Preempted { for_pod } => {
                Wording::new(format!("preempted for the critical pod {for_pod}"))
                    .leads_to(ENDS)
                    .advise("drain the pod before the change, or free what the critical pod needs")
            }
            Self::Evicted { condition, place } => Wording::new(format!(
                "evicted under {condition} as number {place}, unless the pressure ends earlier"
            ))
            .leads_to(ENDS)
            .see("kq evict rank"),
            Self::Deleted { taint } => Wording::new(format!(
                "deleted by the taint eviction controller: no toleration for {taint}"
            ))
            .advise("add a toleration to the pods that must stay"),
            Self::Restarts { cause: RestartCause::NewUid, .. } => Wording::new(
                "stopped and started again (a new UID): its containers do not survive",
            )
            .because(RestartCause::NewUid.to_string())
            .leads_to(
                "its emptyDir volumes are lost; the new pod starts when the old one has ended",
            ),
            Self::Restarts { cause: RestartCause::Replaced, .. } => Wording::new(
                "the old pod ends, then the new one starts: its containers do not survive",
            )
            .because(RestartCause::Replaced.to_string()),
            Self::Terminated { seconds, message } => {
                let seconds = seconds.map(|it| format!(" within {it} s")).unwrap_or_default();
                Wording::new(format!(
                    "ends{seconds} as the machine shuts down: Failed, Terminated: {message}"
                ))
                .because("shutdownGracePeriod and its variants let the kubelet end pods before systemd goes on")
                .leads_to("it does not start again after the boot: its controller creates another pod")
            }
            Self::Ends { containers, cause } => Wording::new(format!(
                "{} {} and {} not start again (restartPolicy Never): {cause}",
                containers.join(", "),
                if containers.len() == 1 { "ends" } else { "end" },
                if containers.len() == 1 { "does" } else { "do" },
            ))
            .leads_to("its phase becomes Failed, or Succeeded where each container exited with 0")
            .advise("let the pod finish, or move it before the change"),
            Self::Restarts { containers, cause } => Wording::new(format!(
                "{} {}: {cause}",
                containers.join(", "),
                if containers.len() == 1 { "restarts" } else { "restart" }
            )),
            Self::ResizeRefused { refusal } => refusal.sentences(),
            Self::ResizeWaits { reason, message, has_conditions } => {
                let wording = Wording::new(format!("the resize is {reason}: {message}"));
                match has_conditions {
                    true => wording.because(message.clone()).leads_to(
                        "the pod keeps its current resources, with the condition PodResizePending",
                    ),
                    false => wording.because(message.clone()).leads_to(format!(
                        "the pod keeps its current resources, with {reason} in status.resize"
                    )),
                }
            }
            Self::ResizeFails { message, is_least, has_conditions } => {
                let state = match has_conditions {
                    true => "with the condition PodResizeInProgress and its reason Error",
                    false => "with InProgress in status.resize",
                };
                let least = match is_least {
                    true => {
                        "; the usage is that of the containers: the pod's own is unknown, and not less"
                    }
                    false => "",
                };
                Wording::new(format!("the resize fails: {message}"))
                    .because(format!("{message}{least}"))
                    .leads_to(format!(
                        "no file is written: the pod keeps its current values, {state}, and counts with the new \
                         requests; the kubelet tries again with each sync of the pod"
                    ))
                    .advise("set the limit above the memory in use, or lower the usage first")
            }
            Self::ResizeOpen { limit, restarts } => {
                let restarts = match restarts.as_slice() {
                    [] => String::new(),
                    restarts => format!("{}; ", restarting(restarts)),
                };
                Wording::new(format!(
                    "{restarts}the resize is done or fails: whether the memory in use is below the new limit of \
                     {limit} is unknown"
                ))
                .because("the kubelet lowers no memory limit to or below the usage")
                .leads_to(
                    "if it fails, no file is written, and the pod has the condition PodResizeInProgress with the \
                     reason Error",
                )
                .advise("run kq on the node, or give it a snapshot with the node's cgroups")
            }
            Self::ResizeRestarts { restarts } => Wording::new(restarting(restarts)),
            Self::Starts {} => Wording::new("the kubelet admits it"),
            Self::NotAdmitted { reason, message } => {
                Wording::new(format!("the kubelet does not admit it: {reason}: {message}"))
                    .see("kq admit explain FILE")
            }
            Self::Open { outcomes, cause } => {
                let outcomes: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
                Wording::new(format!("{}: {cause}", outcomes.join(" or ")))
                    .advise("drain the pod before the change")
                    .see("kq devices plan --kubelet-restart")
            }
        }
    }
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

impl ResizeRefusal {
    fn sentences(&self) -> Wording {
        match self {
            Self::NoSuchResize { .. } => Wording::new(self.to_string())
                .because(
                    "the gate InPlacePodVerticalScaling is off by default until 1.32 (alpha), on since 1.33 (beta), and \
                     locked since 1.35",
                )
                .leads_to(
                    "the API server rejects the resize (spec: Forbidden: Pod running on node without support for \
                     resize); the pod keeps its current resources, and no file is written",
                )
                .advise("create the pod again with the new resources"),
            Self::StaticPod => Wording::new(format!("the API server rejects the resize: {self}"))
                .leads_to(
                    "the pod keeps its current resources; other resources in its manifest are another pod, which the \
                     kubelet starts in its place",
                ),
            _ => Wording::new(format!("the API server rejects the resize: {self}"))
                .because(self.to_string())
                .leads_to("the pod keeps its current resources, and no file is written"),
        }
    }
}

impl AllocatableChange {
    fn sentences(&self) -> Wording {
        let Self { resource, before, after, requested, is_exceeded } = self;
        let wording = Wording::new(format!("allocatable {resource}: {before} becomes {after}"));
        match is_exceeded {
            true => wording.leads_to(format!(
                "the remaining pods request {requested}: the scheduler places no further pod that requests {resource} here"
            )),
            false => wording,
        }
    }
}

impl ImageGcChange {
    fn sentences(&self) -> Wording {
        match self {
            Self::Removes { images, bytes: size, first, before } => Wording::new(format!(
                "image garbage collection removes {images} images ({}) instead of {before}, {first} first",
                bytes(*size)
            ))
            .advise("pin the images that must stay")
            .see("kq gc dry-run"),
            Self::FallsShort { error } => {
                Wording::new(format!("image garbage collection cannot free enough: {error}"))
                    .leads_to("the disk fills up to the thresholds of eviction")
                    .see("kq gc dry-run")
            }
            Self::FromStart { error, images, bytes: size, is_certain, next_error, .. } => {
                let first = match error {
                    Some(_) => "the first collection, at the start, frees nothing",
                    None => "the first collection, at the start, frees what it wants",
                };
                let up_to = if *is_certain { "" } else { "up to " };
                let noun = if *images == 1 { "image" } else { "images" };
                let next = match images {
                    0 => "the next one, 5 minutes later, removes no image".to_owned(),
                    count => format!(
                        "the next one, 5 minutes later, removes {up_to}{count} {noun} ({})",
                        bytes(*size)
                    ),
                };
                let wording = Wording::new(format!("{first}; {next}"))
                    .because("a kubelet that starts has found every image just now, and forgets when it was last used")
                    .see("kq gc dry-run");
                match next_error.as_ref().or(error.as_ref()) {
                    Some(error) => wording.leads_to(error.clone()),
                    None => wording,
                }
            }
        }
    }
}

impl EvictionChange {
    fn sentences(&self) -> Wording {
        match self {
            Self::Crossed { signal, available, threshold, first, reclaim } => {
                let wording = Wording::new(format!(
                    "{signal}: {} available, below the threshold of {}",
                    bytes(*available),
                    bytes(*threshold)
                ))
                .see("kq evict rank");
                match (reclaim, first.as_slice()) {
                    (Some(ahead), first) => wording.leads_to(ahead.consequence(first)),
                    (None, []) => wording.leads_to("the kubelet evicts pods"),
                    (None, [first, ..]) => {
                        wording.leads_to(format!("the kubelet evicts pods, {first} first"))
                    }
                }
            }
            Self::Off { signals } => Wording::new(format!(
                "no threshold of eviction any more: {}",
                signals.join(", ")
            ))
            .because("an evictionHard that is set replaces all defaults, unless mergeDefaultEvictionSettings is true")
            .leads_to("the kubelet does not evict when they run out: the kernel kills processes, or the disk fills up")
            .advise("name every signal in evictionHard"),
            Self::Unmeasured { signals } => Wording::new(format!(
                "the threshold changes, and whether it is crossed is not known: {}: the kubelet's measurements are missing",
                signals.join(", ")
            ))
            .advise("run kq as root on the node, or take a snapshot there"),
            Self::Relieved { signal } => {
                Wording::new(format!("{signal}: no longer below its threshold"))
            }
        }
    }
}
