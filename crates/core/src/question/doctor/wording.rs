//! The sentences of the node checks: result, reason, consequence, advice, and the command with details.

use super::rule::{Certificates, Conditions, Devices, Eviction, Headroom, ImageGc, Restart};
use crate::question::reclaim::ReclaimAhead;
use kq_admission::preemption::ReadmissionResult;
use kq_answer::Wording;
use kq_facts::certificates::CertificateUsage;
use kq_output::units::bytes;

impl Conditions {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok => Wording::new("the node is ready, without pressure"),
            Self::Unknown { reason } => Wording::new(reason.clone())
                .advise("pass the Node object with --node-file, or a kubeconfig"),
            Self::NotReady { status, reason } => Wording::new(match reason.as_str() {
                "" => format!("Ready is {status}"),
                reason => format!("Ready is {status}: {reason}"),
            })
            .leads_to("the node controller taints the node, and its pods are deleted after their tolerations")
            .advise("read the kubelet's log: journalctl -u kubelet"),
            Self::Stale { heartbeat, age_seconds } => Wording::new(format!(
                "the kubelet last reported the node's status at {heartbeat}, {age_seconds} s ago"
            ))
            .because("a running kubelet reports at least every 5 minutes (nodeStatusReportFrequency)")
            .leads_to("the conditions may be out of date")
            .advise("check that the kubelet runs and reaches the API server"),
            Self::Pressure { conditions } => Wording::new(format!("{} True", conditions.join(", ")))
                .leads_to("the kubelet evicts pods, and rejects new ones that do not tolerate it")
                .see("kq evict rank"),
        }
    }
}

impl Certificates {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok { days_left, path } => {
                Wording::new(format!("the first to expire is valid for {days_left} days: {path}"))
            }
            Self::Unknown { reason } => {
                Wording::new(reason.clone()).advise("run kq as root on the node")
            }
            Self::Expired { path, usage, not_after } => {
                let (leads_to, advice) = usage_texts(*usage);
                Wording::new(format!("the {usage} {path} expired at {not_after}"))
                    .leads_to(leads_to)
                    .advise(advice)
            }
            Self::Expires { path, usage, not_after, days_left } => {
                let (leads_to, advice) = usage_texts(*usage);
                Wording::new(format!(
                    "the {usage} {path} expires in {days_left} days, at {not_after}"
                ))
                .because(
                    "the kubelet renews a certificate when 70% to 90% of its validity have passed",
                )
                .leads_to(leads_to)
                .advise(advice)
            }
        }
    }
}

fn usage_texts(usage: CertificateUsage) -> (&'static str, &'static str) {
    match usage {
        CertificateUsage::Client => (
            "the API server rejects the kubelet, and the node becomes NotReady",
            "check rotateCertificates and the pending CertificateSigningRequests (kubectl get csr); kubeadm: \
             kubeadm init phase kubeconfig kubelet on a control plane node",
        ),
        CertificateUsage::Serving => (
            "kubectl logs and exec fail, and so do metrics of this node, where certificates are verified",
            "approve its CertificateSigningRequest (kubectl get csr), or delete the file and restart the kubelet",
        ),
    }
}

impl ImageGc {
    pub(super) fn wording(&self) -> Wording {
        const COMMAND: &str = "kq gc dry-run";
        match self {
            Self::Ok { usage_percent, high_threshold_percent } => Wording::new(match usage_percent {
                Some(usage) => {
                    format!("usage {usage}% is below imageGCHighThresholdPercent {high_threshold_percent}%")
                }
                None => "the next collection removes no image".to_owned(),
            }),
            Self::Unknown { reason } => Wording::new(reason.clone())
                .advise("run kq as root on the node, with the container runtime up")
                .see(COMMAND),
            Self::Due { usage_percent, high_threshold_percent, images, freed_bytes, first } => {
                Wording::new(format!(
                    "usage {usage_percent}% has reached imageGCHighThresholdPercent {high_threshold_percent}%: {} \
                     ({}), first {first}",
                    count(*images, "image is removed", "images are removed"),
                    amount(*freed_bytes)
                ))
                .leads_to("the kubelet removes them within 5 minutes; a pod that needs one pulls it again")
                .advise("pin images that must stay, or free other space of the disk")
                .see(COMMAND)
            }
            Self::Fails { error } => {
                Wording::new(format!("image garbage collection fails: {error}"))
                    .leads_to("no image is removed until the eviction threshold is crossed")
                    .advise("read the runtime's log: it reports the file system of the images")
                    .see(COMMAND)
            }
            Self::FallsShort { usage_percent, wanted_bytes, freed_bytes, error } => {
                Wording::new(format!(
                    "usage {usage_percent}%: image garbage collection must free {} and can free {}",
                    amount(*wanted_bytes),
                    amount(*freed_bytes)
                ))
                .because(error.clone())
                .leads_to("the disk fills up to the eviction threshold, and pods are evicted")
                .advise("remove other files: logs, volumes, data of other programs")
                .see(COMMAND)
            }
        }
    }
}

impl Eviction {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok { signals } => Wording::new(format!(
                "none of {} is near its threshold",
                count(*signals, "signal", "signals")
            )),
            Self::Unknown { signal, reason } => Wording::new(match signal {
                Some(signal) => format!("{signal}: {reason}"),
                None => reason.clone(),
            })
            .advise("let kq reach the kubelet's API, or pass --stats to kq evict rank")
            .see(rank(signal.as_deref().unwrap_or("memory.available"))),
            Self::Near { signal, available, threshold, margin, first, reclaim } => {
                Wording::new(format!(
                    "{signal}: {} left, the threshold is {}: {} to go",
                    of_signal(signal, *available),
                    of_signal(signal, *threshold),
                    of_signal(signal, *margin)
                ))
                .leads_to(evicted(first, *reclaim))
                .advise("free the resource before the threshold is crossed")
                .see(rank(signal))
            }
            Self::Crossed { signal, available, threshold, first, reclaim } => {
                Wording::new(format!(
                    "{signal}: {} left, below the threshold {}",
                    of_signal(signal, *available),
                    of_signal(signal, *threshold)
                ))
                .leads_to(evicted(first, *reclaim))
                .advise("free the resource, or move pods away")
                .see(rank(signal))
            }
        }
    }
}

fn rank(signal: &str) -> String {
    format!("kq evict rank --signal {signal}")
}

fn evicted(first: &[String], reclaim: Option<ReclaimAhead>) -> String {
    if let Some(ahead) = reclaim {
        return ahead.consequence(first);
    }
    match first {
        [] => "pods are evicted".to_owned(),
        [one] => format!("{one} is evicted first"),
        [one, more @ ..] => format!("{one} or one of {} more is evicted first", more.len()),
    }
}

fn of_signal(signal: &str, number: i64) -> String {
    match signal.ends_with("inodesFree") || signal.starts_with("pid") {
        true => number.to_string(),
        false => amount(number),
    }
}

impl Devices {
    pub(super) fn wording(&self) -> Wording {
        const COMMAND: &str = "kq devices list";
        let of = |resource: &str, device: &str, reason: &str| {
            Wording::new(format!("{device} of {resource}: {reason}")).see(COMMAND)
        };
        match self {
            Self::Ok { devices } => {
                Wording::new(format!("{}, all consistent", count(*devices, "device in use", "devices in use")))
            }
            Self::Unknown { reason } => {
                Wording::new(reason.clone()).advise("run kq as root on the node").see(COMMAND)
            }
            Self::Double { resource, device, reason } => of(resource, device, reason)
                .leads_to("two containers share a device that is allocated to each of them")
                .advise("delete the younger of the pods"),
            Self::Unhealthy { resource, device, reason } => of(resource, device, reason)
                .leads_to("the container keeps the device until its pod is deleted; a restart of the kubelet changes nothing")
                .advise("read the plugin's log; delete the pod to get another device"),
            Self::Stale { resource, device, reason } => of(resource, device, reason)
                .leads_to("the kubelet removes the entry when a pod next requests devices")
                .advise("nothing while the kubelet runs; kq devices repair --remove-stale where it is stopped"),
            Self::Inconsistent { resource, device, reason } => of(resource, device, reason)
                .leads_to("a restarted kubelet reads its checkpoint, not its present memory")
                .advise("check the details before the kubelet is restarted"),
            Self::NoneHealthy { resource, capacity } => Wording::new(format!(
                "{resource}: the Node object has {capacity}, and none is healthy"
            ))
            .leads_to("no pod that requests the resource is admitted")
            .advise("check that its plugin runs and is registered")
            .see("kq devices plugins"),
        }
    }
}

impl Restart {
    pub(super) fn wording(&self) -> Wording {
        const COMMAND: &str = "kq admit explain --kubelet-restart";
        match self {
            Self::Ok { pods } => Wording::new(format!(
                "a restarted kubelet admits {} again",
                count(*pods, "pod", "pods")
            )),
            Self::Unknown { reason } => {
                Wording::new(reason.clone()).advise("pass --node-file and --pods").see(COMMAND)
            }
            Self::Refuses { reason, message } => {
                Wording::new(format!("a restarted kubelet rejects the pod: {reason}: {message}"))
                    .leads_to("its containers are stopped, and the pod fails")
                    .advise("move the pod before the kubelet is restarted")
                    .see(COMMAND)
            }
            Self::Kills { for_pod } => {
                Wording::new(format!("a restarted kubelet kills the pod for {for_pod}"))
                    .leads_to("its containers are stopped, and the pod fails")
                    .advise("make room before the kubelet is restarted")
                    .see(COMMAND)
            }
            Self::Open { ends, message, cause } => {
                let verbs: Vec<&str> = ends
                    .iter()
                    .map(|end| match end {
                        ReadmissionResult::Admitted => "keeps",
                        ReadmissionResult::Refused => "rejects",
                        ReadmissionResult::Killed => "preempts",
                    })
                    .collect();
                let found = format!("a restarted kubelet {} the pod: {cause}", verbs.join(" or "));
                let wording = Wording::new(found)
                    .leads_to("where it ends, its containers are stopped, and the pod fails")
                    .advise("move the pod, or make room, before the kubelet is restarted")
                    .see(COMMAND);
                message.iter().fold(wording, |wording, message| wording.because(message.as_str()))
            }
        }
    }
}

impl Headroom {
    pub(super) fn wording(&self) -> Wording {
        const COMMAND: &str = "kq preempt explain FILE --static";
        match self {
            Self::Ok { free_milli_cpu, free_memory_bytes } => {
                Wording::new(not_requested(*free_milli_cpu, *free_memory_bytes))
            }
            Self::Unknown { reason } => Wording::new(reason.clone()).see(COMMAND),
            Self::Preempts { free_milli_cpu, free_memory_bytes, needs_milli_cpu, victims } => Wording::new(format!(
                "{}; a critical pod with {needs_milli_cpu}m CPU preempts {}",
                not_requested(*free_milli_cpu, *free_memory_bytes),
                first_of(victims)
            ))
            .because("the kubelet orders victims by QoS class, distance and requests, not by priority or disruption budget")
            .see(COMMAND),
        }
    }
}

fn not_requested(milli_cpu: i64, memory_bytes: i64) -> String {
    match milli_cpu < 0 || memory_bytes < 0 {
        false => {
            format!("{milli_cpu}m CPU and {} of memory are not requested", amount(memory_bytes))
        }
        true => format!(
            "the pods request more than is allocatable: {milli_cpu}m CPU and {} of memory are left",
            amount(memory_bytes)
        ),
    }
}

fn first_of(pods: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = pods.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match pods.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn amount(number: i64) -> String {
    match u64::try_from(number) {
        Ok(number) => bytes(number),
        Err(_) => format!("-{}", bytes(number.unsigned_abs())),
    }
}
