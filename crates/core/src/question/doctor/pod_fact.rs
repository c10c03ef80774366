//! The facts in the report of a pod, and their sentences.

use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::ProbeType;
use kq_output::units::{bytes, counted, ordinal};
use kq_probe::schedule::Milestone;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// A fact about a pod, from one domain.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PodFact {
    /// The pod as a whole.
    Status {
        phase: String,
        /// Why it is in its phase: `Evicted`; null: nothing is said.
        reason: Option<String>,
        /// The same in a sentence; null: nothing is said.
        message: Option<String>,
        qos_class: String,
        /// Its priority; null: none is set.
        priority: Option<i32>,
    },
    /// A container, as the kubelet reported it.
    Container {
        /// `running`, `waiting` with the reason, or `terminated`.
        state: String,
        /// It may get requests.
        ready: bool,
        /// How often it was started again.
        restarts: i32,
    },
    /// The last end of a container.
    LastEnd {
        exit_code: i32,
        /// The reason in its status: `OOMKilled`.
        reason: String,
        /// When: RFC 3339; null: unknown.
        finished_at: Option<String>,
    },
    /// The values of its cgroups compared with the plan.
    CgroupValues {
        /// How many were compared.
        compared: usize,
        /// How many are not as planned.
        drifting: usize,
        /// For how many that is unknown.
        unknown: usize,
    },
    /// The CPU time of a container.
    Cpu {
        /// `cpu.max`, or the quota and period of cgroup v1; null: unknown.
        limit: Option<String>,
        /// The share of periods in which the limit was used up; null: none was counted.
        throttled_percent: Option<u64>,
    },
    /// The memory of a container.
    Memory {
        /// The usage, with the page cache; null: unknown.
        usage_bytes: Option<u64>,
        /// `memory.max`; null: none, or unknown.
        limit_bytes: Option<u64>,
        /// Processes that were killed because memory ran out; null: unknown.
        oom_kills: Option<u64>,
    },
    /// Its place in the order of eviction.
    EvictionRank {
        signal: String,
        /// The place, from 1; equal pods share the first of theirs.
        rank: usize,
        /// The last place of equal pods.
        last_rank: usize,
        /// How many pods are ranked.
        pods: usize,
    },
    /// A device of a container.
    Device {
        resource: String,
        /// Its ID.
        device: String,
        /// Its state, as in `kq devices list`.
        state: String,
    },
    /// The image of a container.
    Image {
        /// Its name.
        image: String,
        /// The verdict of the next collection, as in `kq gc dry-run`.
        verdict: String,
    },
    /// A deadline of a probe, counted from the start of trouble.
    Probe {
        probe: ProbeType,
        /// What comes.
        what: Milestone,
        /// At the earliest, in seconds.
        earliest_seconds: i64,
        /// At the latest, in seconds.
        latest_seconds: i64,
    },
    /// An event about it.
    Event {
        /// The reason, as one word: `BackOff`.
        reason: String,
        /// The reason, as a sentence.
        message: String,
        /// The component that wrote it: `kubelet`.
        reporter: String,
        /// When it was last seen: RFC 3339; null: unknown.
        at: Option<Timestamp>,
        /// How often it was seen.
        count: i64,
    },
    /// The pods that the kubelet would kill to admit it again.
    Preempts {
        /// It is critical.
        critical: bool,
        /// The pods, as NAMESPACE/NAME.
        victims: Vec<String>,
    },
    /// A critical pod for which the kubelet would kill it.
    Preempted {
        /// The CPU that is not requested and one thousandth more, in thousandths: the least for which the kubelet kills a pod.
        needs_milli_cpu: i64,
        /// It is a victim for that amount.
        is_victim: bool,
    },
}

impl PodFact {
    /// Returns the domain.
    pub fn topic(&self) -> &'static str {
        match self {
            Self::Status { .. } => "pod",
            Self::Container { .. } | Self::LastEnd { .. } => "status",
            Self::CgroupValues { .. } => "cgroups",
            Self::Cpu { .. } => "cpu",
            Self::Memory { .. } => "memory",
            Self::EvictionRank { .. } => "eviction",
            Self::Device { .. } => "device",
            Self::Image { .. } => "image",
            Self::Probe { .. } => "probe",
            Self::Event { .. } => "event",
            Self::Preempts { .. } | Self::Preempted { .. } => "preemption",
        }
    }
}

impl fmt::Display for PodFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { phase, reason, message, qos_class, priority } => {
                f.write_str(phase)?;
                for said in [reason, message].into_iter().flatten() {
                    write!(f, ": {said}")?;
                }
                let mark = if reason.is_some() { ";" } else { "," };
                write!(f, "{mark} QoS class {qos_class}, priority ")?;
                match priority {
                    Some(priority) => write!(f, "{priority}"),
                    None => f.write_str("not set"),
                }
            }
            Self::Container { state, ready, restarts } => {
                let ready = if *ready { "ready" } else { "not ready" };
                write!(f, "{state}, {ready}, {restarts} restarts")
            }
            Self::LastEnd { exit_code, reason, finished_at } => {
                write!(f, "last ended with exit code {exit_code}")?;
                if !reason.is_empty() {
                    write!(f, " ({reason})")?;
                }
                finished_at.iter().try_for_each(|at| write!(f, " at {at}"))
            }
            Self::CgroupValues { compared: 0, .. } => {
                f.write_str("it has no cgroup with values to compare")
            }
            Self::CgroupValues { compared, drifting: 0, unknown: 0 } => {
                write!(f, "all {compared} values are as planned")
            }
            Self::CgroupValues { compared, drifting, unknown } => {
                let unknown = match unknown {
                    0 => String::new(),
                    count => format!(", {count} unknown"),
                };
                let values = counted(*compared, "value");
                write!(f, "{drifting} of {values} not as planned{unknown}")
            }
            Self::Cpu { limit, throttled_percent } => {
                let limit = limit.as_deref().unwrap_or("unknown");
                match throttled_percent {
                    Some(percent) => {
                        write!(f, "limit {limit}, throttled in {percent}% of its periods")
                    }
                    None => write!(f, "limit {limit}, no throttling counted"),
                }
            }
            Self::Memory { usage_bytes, limit_bytes, oom_kills } => {
                let shown =
                    |amount: &Option<u64>, none: &str| amount.map_or(none.to_owned(), bytes);
                let (usage, limit) = (shown(usage_bytes, "unknown"), shown(limit_bytes, "none"));
                write!(f, "usage {usage}, limit {limit}")?;
                oom_kills.filter(|times| *times > 0).iter().try_for_each(|times| {
                    let times = usize::try_from(*times).unwrap_or(usize::MAX);
                    write!(f, ", {}", counted(times, "OOM kill"))
                })
            }
            Self::EvictionRank { signal, rank, last_rank, pods } if rank == last_rank => {
                write!(f, "evicted {} of {pods} for {signal}", ordinal(*rank))
            }
            Self::EvictionRank { signal, rank, last_rank, pods } => {
                let (first, last) = (ordinal(*rank), ordinal(*last_rank));
                write!(f, "evicted {first} to {last} of {pods} for {signal}")
            }
            Self::Device { resource, device, state } => {
                write!(f, "{device} of {resource}: {state}")
            }
            Self::Image { image, verdict } => write!(f, "{image}: {verdict}"),
            Self::Event { reason, message, reporter, at, count } => {
                write!(f, "{reason}: {message} (")?;
                if *count > 1 {
                    write!(f, "{count} times, ")?;
                }
                at.iter().try_for_each(|at| write!(f, "{at}, "))?;
                write!(f, "{reporter})")
            }
            Self::Probe { probe, what, earliest_seconds, latest_seconds } => {
                let what = match what {
                    Milestone::Killed => "killed",
                    Milestone::NotReady => "not ready",
                    _ => "first probed",
                };
                let probe = probe.to_string().to_lowercase();
                write!(
                    f,
                    "{probe}: {what} {earliest_seconds}s to {latest_seconds}s after it stops answering"
                )
            }
            Self::Preempts { critical: false, .. } => {
                f.write_str("it is not critical: the kubelet kills no pod for it")
            }
            Self::Preempts { victims, .. } if victims.is_empty() => {
                f.write_str("it is critical, and fits without a victim")
            }
            Self::Preempts { victims, .. } => {
                write!(
                    f,
                    "if it were admitted again, the kubelet would kill {} for it",
                    victims.join(", ")
                )
            }
            Self::Preempted { needs_milli_cpu, is_victim: true } => {
                write!(
                    f,
                    "the kubelet kills it for a critical pod that requests {needs_milli_cpu}m CPU"
                )
            }
            Self::Preempted { needs_milli_cpu, is_victim: false } => write!(
                f,
                "the kubelet does not kill it for a critical pod that requests up to {needs_milli_cpu}m CPU; for more \
                 it may"
            ),
        }
    }
}

/// Returns whole seconds.
pub(super) fn seconds(duration: GoDuration) -> i64 {
    duration.0 / GoDuration::SECOND.0
}
