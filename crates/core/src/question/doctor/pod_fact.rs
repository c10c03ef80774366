//! The facts in the report of a pod, and their sentences.

use super::rule::or_equal;
use kq_answer::reason::Reason;
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::ProbeType;
use kq_output::units::{bytes, counted, ordinal};
use kq_probe::schedule::Milestone;

/// A fact about a pod, from one domain.
#[derive(Clone, Debug, PartialEq, Reason)]
pub enum PodFact {
    /// The pod as a whole.
    #[text(
        "{phase}{why} QoS class {qos_class}, priority {priority}",
        why = why(reason.as_deref(), message.as_deref()),
        priority = priority.map_or_else(|| "not set".to_owned(), |it| it.to_string())
    )]
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
    #[text(ready: true => "{state}, ready, {restarts} restarts")]
    #[text("{state}, not ready, {restarts} restarts")]
    Container {
        /// `running`, `waiting` with the reason, or `terminated`.
        state: String,
        /// It may get requests.
        ready: bool,
        /// How often it was started again.
        restarts: i32,
    },
    /// The last end of a container.
    #[text(
        "last ended with exit code {exit_code}{reason}{at}",
        reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") },
        at = finished_at.as_ref().map_or_else(String::new, |at| format!(" at {at}"))
    )]
    LastEnd {
        exit_code: i32,
        /// The reason in its status: `OOMKilled`.
        reason: String,
        /// When: RFC 3339; null: unknown.
        finished_at: Option<String>,
    },
    /// The values of its cgroups compared with the plan.
    #[text(compared: 0 => "it has no cgroup with values to compare")]
    #[text(drifting: 0, unknown: 0 => "all {compared} values are as planned")]
    #[text(
        unknown: 0 => "{drifting} of {compared} not as planned",
        compared = counted(*compared, "value")
    )]
    #[text(
        "{drifting} of {compared} not as planned, {unknown} unknown",
        compared = counted(*compared, "value")
    )]
    CgroupValues {
        /// How many were compared.
        compared: usize,
        /// How many are not as planned.
        drifting: usize,
        /// For how many that is unknown.
        unknown: usize,
    },
    /// The CPU time of a container.
    #[text(
        throttled_percent: Some(throttled_percent) =>
        "limit {limit}, throttled in {throttled_percent}% of its periods",
        limit = limit.as_deref().unwrap_or("unknown")
    )]
    #[text("limit {limit}, no throttling counted", limit = limit.as_deref().unwrap_or("unknown"))]
    Cpu {
        /// `cpu.max`, or the quota and period of cgroup v1; null: unknown.
        limit: Option<String>,
        /// The share of periods in which the limit was used up; null: none was counted.
        throttled_percent: Option<u64>,
    },
    /// The memory of a container.
    #[text(
        oom_kills: Some(kills @ 1..) => "usage {usage}, limit {limit}, {kills}",
        usage = usage_bytes.map_or_else(|| "unknown".to_owned(), bytes),
        limit = limit_bytes.map_or_else(|| "none".to_owned(), bytes),
        kills = counted(usize::try_from(*kills).unwrap_or(usize::MAX), "OOM kill")
    )]
    #[text(
        "usage {usage}, limit {limit}",
        usage = usage_bytes.map_or_else(|| "unknown".to_owned(), bytes),
        limit = limit_bytes.map_or_else(|| "none".to_owned(), bytes)
    )]
    Memory {
        /// The usage, with the page cache; null: unknown.
        usage_bytes: Option<u64>,
        /// `memory.max`; null: none, or unknown.
        limit_bytes: Option<u64>,
        /// Processes that were killed because memory ran out; null: unknown.
        oom_kills: Option<u64>,
    },
    /// Its place in the order of eviction.
    #[text(if *over_own_limits => "evicted first, before any for {signal}: above a limit of its own")]
    #[text(if *critical => "critical, and not evicted for {signal}")]
    #[text(if rank == last_rank => "evicted {rank} of {pods} for {signal}", rank = ordinal(*rank))]
    #[text(
        "evicted {rank} to {last_rank} of {pods} for {signal}",
        rank = ordinal(*rank),
        last_rank = ordinal(*last_rank)
    )]
    EvictionRank {
        signal: String,
        /// The place, from 1; equal pods share the first of theirs.
        rank: usize,
        /// The last place of equal pods.
        last_rank: usize,
        /// How many pods are ranked.
        pods: usize,
        /// The kubelet passes over it.
        critical: bool,
        /// It is evicted for a limit of its own, whatever its place.
        over_own_limits: bool,
    },
    /// A device of a container.
    #[text("{device} of {resource}: {state}")]
    Device {
        resource: String,
        /// Its ID.
        device: String,
        /// Its state, as in `kq devices list`.
        state: String,
    },
    /// The image of a container.
    #[text("{image}: {verdict}")]
    Image {
        /// Its name.
        image: String,
        /// The verdict of the next collection, as in `kq gc dry-run`.
        verdict: String,
    },
    /// A deadline of a probe, counted from the start of trouble.
    #[text(
        "{probe}: {what} {earliest_seconds}s to {latest_seconds}s after it stops answering",
        probe = probe.to_string().to_lowercase(),
        what = outcome(*what)
    )]
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
    #[text(
        "{reason}: {message} ({times}{at}{reporter})",
        times = if *count > 1 { format!("{count} times, ") } else { String::new() },
        at = at.map_or_else(String::new, |at| format!("{at}, "))
    )]
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
    #[text(critical: false => "it is not critical: the kubelet kills no pod for it")]
    #[text(if victims.is_empty() => "it is critical, and fits without a victim")]
    #[text(
        "if it were admitted again, the kubelet would kill {victims}{equal} for it",
        victims = victims.join(", "),
        equal = or_equal(equal)
    )]
    Preempts {
        /// It is critical.
        critical: bool,
        /// The pods, as NAMESPACE/NAME.
        victims: Vec<String>,
        /// Pods of which the kubelet may kill one in the place of an equal victim.
        equal: Vec<String>,
    },
    /// A critical pod for which the kubelet would kill it.
    #[text(
        is_victim: None =>
        "the kubelet kills it, or a pod equal to it, for a critical pod that requests \
         {needs_milli_cpu}m CPU"
    )]
    #[text(
        is_victim: Some(true) =>
        "the kubelet kills it for a critical pod that requests {needs_milli_cpu}m CPU"
    )]
    #[text(
        is_victim: Some(false) =>
        "the kubelet does not kill it for a critical pod that requests up to {needs_milli_cpu}m \
         CPU; for more it may"
    )]
    Preempted {
        /// The CPU that is not requested and one thousandth more, in thousandths: the least for which the kubelet kills a pod.
        needs_milli_cpu: i64,
        /// It is a victim for that amount; null: it, or a pod equal to it.
        is_victim: Option<bool>,
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

/// Returns what is said of the phase, up to its end.
fn why(reason: Option<&str>, message: Option<&str>) -> String {
    let said: String =
        [reason, message].into_iter().flatten().map(|it| format!(": {it}")).collect();
    format!("{said}{}", if reason.is_some() { ";" } else { "," })
}

fn outcome(milestone: Milestone) -> &'static str {
    match milestone {
        Milestone::Killed => "killed",
        Milestone::NotReady => "not ready",
        _ => "first probed",
    }
}
