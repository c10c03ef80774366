//! The rules about containers and pods, and their sentences.

use super::wording::count;
use kq_admission::preemption::why::Cause;
use kq_answer::Wording;
use kq_output::units::bytes;
use serde::Serialize;

/// The CPU quota of a container.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Throttling {
    Ok {
        containers: usize,
    },
    Unknown {
        reason: String,
    },
    Throttled {
        periods: u64,
        throttled_periods: u64,
        percent: u64,
        /// The quota in the kernel is below the planned one: its own finding has the fix.
        is_below_plan: bool,
    },
}

/// Memory that ran out in a container.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum OomKills {
    Ok,
    /// The kernel counted them in the cgroup of the container that is there now.
    Killed {
        times: u64,
        level: OomLevel,
    },
    /// The status of the container says so of its last end; of those before, it has nothing.
    Last {
        at: Option<String>,
    },
}

/// The level whose memory ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OomLevel {
    /// The limit of the container.
    Container,
    /// The limit of its pod.
    Pod,
    /// The limit of the pods together.
    Kubepods,
    /// The memory of the node.
    Node,
    /// The kernel does not count per level.
    Unknown,
}

/// What follows from a CPU quota below the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Follows {
    /// The container is throttled.
    Throttled { percent: u64 },
    /// Its probe fails, and the kubelet kills it.
    ProbeKills { probe: String, times: i64 },
}

/// Pods that a component ended.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Ended {
    Ok,
    #[serde(rename = "ended")]
    Pod {
        /// The component, as `kq preempt why` finds it.
        cause: Cause,
        /// `status.reason`
        reason: String,
        /// `status.message`
        message: String,
        /// The pod is known by its events alone, which name the reason and the message.
        is_gone: bool,
    },
    /// Pods beyond those that are shown.
    More {
        pods: usize,
    },
}

/// Pods that do not come to run, or do not go.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Stuck {
    Ok,
    /// A container waits with an error.
    Waiting {
        reason: String,
        message: String,
    },
    /// The pod has no running sandbox for this time.
    NoSandbox {
        seconds: i64,
        /// The newest event of a failure.
        event: Option<String>,
    },
    /// The pod should have been gone for this time.
    Deleting {
        seconds: i64,
    },
}

/// The memory of a container compared with its limit.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MemoryLimit {
    Ok { containers: usize },
    Unknown { reason: String },
    Near { working_set_bytes: u64, limit_bytes: u64, percent: u64 },
}

/// Containers that were started again.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Restarts {
    Ok,
    Unknown {
        reason: String,
    },
    BackOff {
        restarts: i32,
        reason: String,
    },
    Restarted {
        restarts: i32,
        exit_code: Option<i32>,
        last: Option<String>,
        /// The probe that the kubelet may have killed it for.
        probe: Option<String>,
        /// The kills for a probe that its events show.
        probe_kills: Option<ProbeKills>,
    },
}

/// The kills for a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeKills {
    /// `liveness` or `startup`.
    pub probe: String,
    /// How often.
    pub times: i64,
}

impl Throttling {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok { containers } => Wording::new(format!(
                "none of {} is held back by its CPU limit",
                count(*containers, "container", "containers")
            )),
            Self::Unknown { reason } => Wording::new(reason.clone())
                .advise("run kq as root on the node, or take a new snapshot"),
            Self::Throttled { periods, throttled_periods, percent, is_below_plan } => {
                let wording = Wording::new(format!(
                    "throttled in {percent}% of its periods ({throttled_periods} of {periods})"
                ))
                .leads_to("answers take longer, and probes with short timeouts fail");
                match is_below_plan {
                    true => wording
                        .because("its CPU quota is below the planned one")
                        .advise("kq cgroup apply writes the planned value")
                        .see("kq cgroup diff"),
                    false => wording
                        .because("its CPU limit is used up before the period of 100 ms ends")
                        .advise("raise the CPU limit, or remove it")
                        .see("kq cgroup show -o wide"),
                }
            }
        }
    }
}

impl MemoryLimit {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok { containers } => Wording::new(format!(
                "none of {} is near its memory limit",
                count(*containers, "container", "containers")
            )),
            Self::Unknown { reason } => Wording::new(reason.clone())
                .advise("run kq as root on the node, or take a new snapshot"),
            Self::Near { working_set_bytes, limit_bytes, percent } => Wording::new(format!(
                "its working set {} is {percent}% of its limit {}",
                bytes(*working_set_bytes),
                bytes(*limit_bytes)
            ))
            .leads_to("the kernel kills the container when it reaches the limit")
            .advise("raise its memory limit")
            .see("kq cgroup show"),
        }
    }
}

impl OomKills {
    pub(super) fn wording(&self) -> Wording {
        let (wording, level) = match self {
            Self::Ok => return Wording::new("no container was OOM-killed"),
            Self::Killed { times, level } => {
                let times = count(usize::try_from(*times).unwrap_or(usize::MAX), "time", "times");
                let wording = Wording::new(format!("OOM-killed {times} since it was started"));
                (wording.because(level.reason()), *level)
            }
            Self::Last { at } => {
                let at = at.as_ref().map(|at| format!(", last at {at}")).unwrap_or_default();
                let wording = Wording::new(format!("OOM-killed 1 time{at}")).because(
                    "the status has the last end alone, and not whether the memory of the container, of its pod or of the node ran out",
                );
                (wording, OomLevel::Unknown)
            }
        };
        wording
            .leads_to("the container is started again with growing delays")
            .advise(level.advice())
            .see("kq cgroup show")
    }
}

impl OomLevel {
    fn advice(self) -> &'static str {
        match self {
            Self::Container | Self::Unknown => "raise its memory limit, or find the leak",
            Self::Pod => "raise the memory limit of the pod, or find the leak",
            Self::Kubepods | Self::Node => "reserve more memory for the system, or move pods away",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Container => "the container reached its memory limit",
            Self::Pod => {
                "its pod reached the memory limit of the pod; the container did not reach its own"
            }
            Self::Kubepods => {
                "all pods together reached the memory limit of their cgroup; the container did not reach its own"
            }
            Self::Node => "the node had no memory left; the container did not reach its limit",
            Self::Unknown => {
                "the container reached its memory limit, or the pod's, or the node had no memory left"
            }
        }
    }
}

impl Restarts {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok => Wording::new("no container was started again"),
            Self::Unknown { reason } => Wording::new(reason.clone())
                .advise("name an API server with --kubeconfig, or let kq reach the kubelet's API"),
            Self::BackOff { restarts, reason } => {
                let found = match reason.as_str() {
                    "ImagePullBackOff" | "ErrImagePull" => {
                        format!("its image cannot be pulled ({reason})")
                    }
                    reason => format!("{reason} after {}", count_restarts(*restarts)),
                };
                Wording::new(found)
                    .leads_to("the kubelet waits up to 5 minutes before each start")
                    .advise("read the log of the previous run: kubectl logs --previous")
                    .see("kq preempt why")
            }
            Self::Restarted { restarts, exit_code, last, probe, probe_kills } => {
                let ended = match (exit_code, last) {
                    (Some(code), Some(at)) => format!("; last with exit code {code} at {at}"),
                    (Some(code), None) => format!("; last with exit code {code}"),
                    _ => String::new(),
                };
                let killed = probe_kills.as_ref().map(|ProbeKills { probe, times }| {
                    let times = usize::try_from(*times).unwrap_or_default();
                    format!("; {} by its {probe} probe", count(times, "kill", "kills"))
                });
                let killed = killed.unwrap_or_default();
                let wording = Wording::new(format!("{}{ended}{killed}", count_restarts(*restarts)));
                match (probe_kills, probe) {
                    (Some(ProbeKills { probe, .. }), _) => wording
                        .because(format!("its events show that the {probe} probe failed"))
                        .advise("compare the probe's timeout with the time of an answer")
                        .see(format!("kq probe plan --type {probe}")),
                    (None, Some(probe)) => wording
                        .because(format!(
                            "exit code 137 is a kill; the container has a {probe} probe, so the kubelet may have killed it for that"
                        ))
                        .advise("compare the probe's timeout with the time of an answer")
                        .see(format!("kq probe plan --type {probe}")),
                    (None, None) => wording
                        .advise("read the log of the previous run: kubectl logs --previous")
                        .see("kq preempt why"),
                }
            }
        }
    }
}

impl Ended {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok => Wording::new("no pod was refused, evicted or preempted"),
            Self::More { pods } => {
                Wording::new(format!("{} more ended so", count(*pods, "pod", "pods")))
            }
            Self::Pod { cause, reason, message, is_gone } => {
                let who = match cause {
                    Cause::RefusedAtAdmission => "refused by the kubelet",
                    Cause::EvictedByKubelet => "evicted by the kubelet",
                    Cause::EvictedThroughApi => "evicted through the eviction API",
                    Cause::PreemptedByKubelet => "preempted by the kubelet",
                    Cause::PreemptedByScheduler => "preempted by the scheduler",
                    Cause::NodeShutdown => "stopped as the node shut down",
                    Cause::DeletedByTaintManager => "deleted for a taint that it does not tolerate",
                    _ => "ended by the kubelet",
                };
                let said =
                    [who, reason, message.trim_end()].into_iter().filter(|it| !it.is_empty());
                let wording = Wording::new(said.collect::<Vec<_>>().join(": "));
                let wording = match is_gone {
                    true => wording.because("its object is gone; its events are left"),
                    false => wording,
                };
                wording
                    .leads_to("it does not run again; a controller makes another pod in its place, maybe elsewhere")
                    .see("kq preempt why POD")
            }
        }
    }
}

impl Stuck {
    pub(super) fn wording(&self) -> Wording {
        match self {
            Self::Ok => Wording::new("no pod waits with an error"),
            Self::Waiting { reason, message } => {
                let said = [reason.as_str(), message.as_str()].into_iter().filter(|it| !it.is_empty());
                Wording::new(format!("waits: {}", said.collect::<Vec<_>>().join(": ")))
                    .leads_to("the kubelet tries again, and the container does not start until the cause is gone")
                    .see("kubectl describe pod POD")
            }
            Self::NoSandbox { seconds, event } => {
                let wording = Wording::new(format!("pending for {seconds} s, and the runtime has no sandbox of it"));
                let wording = match event {
                    Some(event) => wording.because(event.clone()),
                    None => wording.because(
                        "the kubelet mounts the volumes and sets up the network before the first container",
                    ),
                };
                wording.advise("read the kubelet's log: journalctl -u kubelet")
            }
            Self::Deleting { seconds } => Wording::new(format!(
                "its deletion should have ended {seconds} s ago"
            ))
            .because("the kubelet removes the object when all containers have ended and the volumes are unmounted; a finalizer keeps it too")
            .advise("read the kubelet's log: journalctl -u kubelet"),
        }
    }
}

fn count_restarts(restarts: i32) -> String {
    count(usize::try_from(restarts).unwrap_or_default(), "restart", "restarts")
}
