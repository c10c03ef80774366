//! The findings of node checks other than the cgroup checks; `wording` has the sentences.

use super::chain;
use super::pod_rule::{Ended, Follows, MemoryLimit, OomKills, Restarts, Stuck, Throttling};
use crate::kubelet_start::StartFinding;
use crate::question::reclaim::ReclaimAhead;
use kq_admission::preemption::ReadmissionResult;
use kq_answer::{Rule, RuleFinding, Severity, Subject, Topic, Wording};
use kq_cgroup::live::checks::NotRequested;
use kq_cgroup::live::difference::Verdict;
use kq_cgroup::live::set_by::SetBy;
use kq_facts::certificates::CertificateUsage;
use kq_facts::timestamp::Timestamp;
use serde::Serialize;

/// A finding about a node.
pub(super) type NodeFinding = RuleFinding<NodeRule>;

/// The rules of a node. A rule has the same ID whether the check passes or fails.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum NodeRule {
    /// A value of a cgroup that is not as planned.
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
    KubeletStart(StartFinding),
    /// A kubelet that started a moment ago.
    KubeletAge {
        /// The age of its process.
        age_seconds: i64,
    },
    /// The conditions in the Node object.
    NodeConditions(Conditions),
    /// The kubelet's certificates.
    Certificates(Certificates),
    /// The next collection of images.
    ImageGc(ImageGc),
    /// The distance to the threshold of a signal.
    Eviction(Eviction),
    /// The devices of containers.
    Devices(Devices),
    /// The readmission of the pods by a restarted kubelet.
    KubeletRestart(Restart),
    /// The CPU quota of a container.
    CpuThrottling(Throttling),
    /// Memory that ran out in a container.
    OomKills(OomKills),
    /// The memory of a container compared with its limit.
    MemoryLimit(MemoryLimit),
    /// Containers that were started again.
    Restarts(Restarts),
    /// Pods that a component ended.
    EndedPods(Ended),
    /// Pods that do not come to run, or do not go.
    StuckPods(Stuck),
    /// A device or claim of a container that its plugin or driver calls unhealthy.
    ResourceHealth {
        /// The resource, or the claim.
        resource: String,
        device: String,
        health: String,
        /// The driver's words.
        message: String,
    },
    /// Room for another critical pod.
    PreemptionHeadroom(Headroom),
}

/// The conditions in the Node object.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Conditions {
    Ok,
    Unknown { reason: String },
    NotReady { status: String, reason: String },
    Stale { heartbeat: Timestamp, age_seconds: i64 },
    Pressure { conditions: Vec<String> },
}

/// The kubelet's certificates.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Certificates {
    Ok { days_left: i64, path: String },
    Unknown { reason: String },
    Expired { path: String, usage: CertificateUsage, not_after: Timestamp },
    Expires { path: String, usage: CertificateUsage, not_after: Timestamp, days_left: i64 },
}

/// The next collection of images.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ImageGc {
    Ok {
        usage_percent: Option<i64>,
        high_threshold_percent: i32,
    },
    Unknown {
        reason: String,
    },
    Due {
        usage_percent: i64,
        high_threshold_percent: i32,
        images: usize,
        freed_bytes: i64,
        first: String,
    },
    Fails {
        error: String,
    },
    FallsShort {
        usage_percent: i64,
        wanted_bytes: i64,
        freed_bytes: i64,
        error: String,
    },
}

/// The distance to the threshold of a signal.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Eviction {
    Ok {
        signals: usize,
    },
    Unknown {
        signal: Option<String>,
        reason: String,
    },
    Near {
        signal: String,
        available: i64,
        threshold: i64,
        margin: i64,
        first: Vec<String>,
        /// What is reclaimed before; `None`: nothing.
        reclaim: Option<ReclaimAhead>,
    },
    Crossed {
        signal: String,
        available: i64,
        threshold: i64,
        first: Vec<String>,
        /// What is reclaimed before; `None`: nothing.
        reclaim: Option<ReclaimAhead>,
    },
}

/// The devices of containers.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Devices {
    Ok { devices: usize },
    Unknown { reason: String },
    Double { resource: String, device: String, reason: String },
    Unhealthy { resource: String, device: String, reason: String },
    Stale { resource: String, device: String, reason: String },
    Inconsistent { resource: String, device: String, reason: String },
    NoneHealthy { resource: String, capacity: i64 },
}

/// The readmission of the pods by a restarted kubelet.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Restart {
    Ok {
        pods: usize,
    },
    Unknown {
        reason: String,
    },
    Refuses {
        reason: String,
        message: String,
    },
    Kills {
        for_pod: String,
    },
    /// One of several ends, by an order that is left to chance.
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
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Headroom {
    Ok {
        free_milli_cpu: i64,
        free_memory_bytes: i64,
    },
    Unknown {
        reason: String,
    },
    Preempts {
        free_milli_cpu: i64,
        free_memory_bytes: i64,
        needs_milli_cpu: i64,
        victims: Vec<String>,
    },
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
                Conditions::NotReady { .. } | Conditions::Stale { .. } => Severity::Error,
                Conditions::Pressure { .. } => Severity::Warning,
            },
            Self::Certificates(state) => match state {
                Certificates::Ok { .. } => Severity::Ok,
                Certificates::Unknown { .. } => Severity::Unknown,
                Certificates::Expired { .. } => Severity::Error,
                Certificates::Expires { .. } => Severity::Warning,
            },
            Self::ImageGc(state) => match state {
                ImageGc::Ok { .. } => Severity::Ok,
                ImageGc::Unknown { .. } => Severity::Unknown,
                ImageGc::Due { .. } => Severity::Warning,
                ImageGc::Fails { .. } | ImageGc::FallsShort { .. } => Severity::Error,
            },
            Self::Eviction(state) => match state {
                Eviction::Ok { .. } => Severity::Ok,
                Eviction::Unknown { .. } => Severity::Unknown,
                Eviction::Near { .. } => Severity::Warning,
                Eviction::Crossed { .. } => Severity::Error,
            },
            Self::Devices(state) => match state {
                Devices::Ok { .. } => Severity::Ok,
                Devices::Unknown { .. } => Severity::Unknown,
                Devices::Double { .. } | Devices::Unhealthy { .. } => Severity::Error,
                Devices::Stale { .. }
                | Devices::Inconsistent { .. }
                | Devices::NoneHealthy { .. } => Severity::Warning,
            },
            Self::KubeletRestart(state) => match state {
                Restart::Ok { .. } => Severity::Ok,
                Restart::Unknown { .. } => Severity::Unknown,
                Restart::Refuses { .. } | Restart::Kills { .. } | Restart::Open { .. } => {
                    Severity::Warning
                }
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
            Self::EndedPods(Ended::Pod { .. } | Ended::More { .. })
            | Self::StuckPods(Stuck::NoSandbox { .. } | Stuck::Deleting { .. }) => {
                Severity::Warning
            }
            Self::StuckPods(Stuck::Waiting { .. }) => Severity::Error,
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

    fn wording(&self) -> Wording {
        match self {
            Self::CgroupValues {
                file, planned, actual, reason, verdict, left, follows, ..
            } => {
                let planned = planned.as_deref().unwrap_or("none");
                let actual = actual.as_deref().unwrap_or("none");
                let wording = Wording::new(match (file, verdict) {
                    (None, Verdict::Extra) => "the cgroup is not planned".to_owned(),
                    (None, _) => "the cgroup is missing".to_owned(),
                    (Some(file), Verdict::Missing) => {
                        format!("{file} is missing, planned {planned}")
                    }
                    (Some(file), _) => format!("{file} is {actual}, planned {planned}"),
                });
                let wording =
                    reason.iter().fold(wording, |wording, reason| wording.because(reason));
                let wording = match chain::sentence(follows) {
                    Some(sentence) => wording.leads_to(sentence),
                    None => wording,
                };
                let wording = match left {
                    None => wording.advise("kq cgroup apply writes the planned value"),
                    Some(why) => wording.advise(format!("kq cgroup apply leaves it: {why}")),
                };
                wording.see("kq cgroup diff")
            }
            Self::KubeletStart(start) => {
                let wording = start.wording();
                match start.severity() {
                    Severity::Ok | Severity::Info => wording,
                    _ => wording.see("kq what-if kubelet-restart"),
                }
            }
            Self::KubeletAge { age_seconds } => {
                Wording::new(format!("the kubelet started {age_seconds} s ago"))
                    .because("systemd starts a kubelet that ends again after 10 s")
                    .leads_to(
                        "if it keeps exiting, no pod of the node is started, probed or evicted",
                    )
                    .advise(
                        "run doctor again in two minutes; journalctl -u kubelet shows why it exits",
                    )
            }
            Self::NodeConditions(state) => state.wording(),
            Self::Certificates(state) => state.wording(),
            Self::ImageGc(state) => state.wording(),
            Self::Eviction(state) => state.wording(),
            Self::Devices(state) => state.wording(),
            Self::KubeletRestart(state) => state.wording(),
            Self::CpuThrottling(state) => state.wording(),
            Self::OomKills(state) => state.wording(),
            Self::MemoryLimit(state) => state.wording(),
            Self::Restarts(state) => state.wording(),
            Self::EndedPods(state) => state.wording(),
            Self::StuckPods(state) => state.wording(),
            Self::ResourceHealth { resource, device, health, message } => {
                let wording = Wording::new(format!("{device} of {resource} is {health}"))
                    .leads_to("the container keeps it until its pod is deleted");
                match message.as_str() {
                    "" => wording,
                    message => wording.because(message),
                }
            }
            Self::PreemptionHeadroom(state) => state.wording(),
        }
    }
}
