//! Why the kubelet reclaims and evicts, and how near a node is to it: facts, and the sentences made of them.

use super::observation::ThresholdRow;
use super::pressure::{GraceCase, PodName, PressureAction};
use super::reclaim_outcome::ReclaimFunction;
use kq_answer::reason::Reason;
use kq_facts::kubelet_config::{PressureCondition, Signal, StarvedResource};
use kq_k8s::duration::GoDuration;
use kq_output::units::{Precision, counted, first_few};
use std::fmt;

/// How many names are listed before the rest is counted.
const NAMED: usize = 5;

/// A part of the eviction manager's decision.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum PressureReason {
    /// Pods exceed limits of local storage of their own.
    #[text(
        "pods that exceed their limits of local storage are evicted first ({pods}); thresholds \
         wait for the next cycle"
    )]
    LocalStorageLimits {
        /// How many of them are evicted.
        pods: usize,
    },
    /// The kubelet cannot act on thresholds.
    #[text(
        "the kubelet neither reclaims nor evicts for any threshold: its first cycle failed: \
         {error}"
    )]
    Refused { error: &'static str },
    /// No threshold is crossed.
    #[text(
        unmeasured: 0 => "nothing would be reclaimed now: {nearest}, {margin} to go",
        margin = amount(nearest.signal, nearest.margin),
        nearest = numbers(nearest)
    )]
    #[text(
        "nothing would be reclaimed now for what was measured: {nearest}, {margin} to go; \
         {unmeasured} not measured",
        margin = amount(nearest.signal, nearest.margin),
        nearest = numbers(nearest),
        unmeasured = counted(*unmeasured, "threshold")
    )]
    NotCrossed {
        /// The nearest threshold.
        nearest: ThresholdRow,
        /// How many thresholds have no measurement.
        unmeasured: usize,
    },
    /// No threshold of a disk is configured.
    #[text("nothing would be reclaimed: no disk threshold is configured")]
    NoThreshold,
    /// No disk is measured.
    #[text("unknown whether anything would be reclaimed now: no disk was measured")]
    NotMeasured,
    /// The plan shows the reaction to a threshold that is not known to be crossed.
    #[text("the plan assumes that {signal} is below its threshold")]
    Assumed { signal: Signal },
    /// A threshold is crossed.
    #[text(
        "crossed{soft}: {threshold}; {done}{only_if}",
        soft = soft(*grace_period),
        threshold = threshold.as_ref().map_or_else(|| signal.to_string(), numbers),
        done = done(reclaim, *signal),
        only_if = condition(*only_if)
    )]
    Crossed {
        signal: Signal,
        /// The grace period; `0s`: it is a hard threshold.
        grace_period: GoDuration,
        /// The threshold; null: it has no measurement.
        threshold: Option<ThresholdRow>,
        /// What is removed, in order.
        reclaim: &'static [ReclaimFunction],
        /// The case in which the kubelet acts; null: in any.
        only_if: Option<GraceCase>,
    },
    /// The kubelet acts on one of several thresholds first.
    #[text(
        "the kubelet takes these in no fixed order; the others follow in later cycles, as long as \
         they are crossed"
    )]
    AnyOrder {
        /// How many.
        thresholds: usize,
    },
}

/// How near the node is to an eviction.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum DistanceReason {
    /// The kubelet cannot act on thresholds.
    #[text("the kubelet neither reclaims nor evicts for any threshold: {error}")]
    Refused { error: &'static str },
    /// The signal has no threshold.
    #[text("no threshold of {signal} is configured: the order is that of a kubelet with one")]
    NoThreshold { signal: Signal },
    /// No signal has a threshold.
    #[text(
        "no eviction threshold is configured: this kubelet evicts no pod for any signal; the order is \
         that of a kubelet with one of {signal}"
    )]
    NoThresholds { signal: Signal },
    /// The kubelet has no measurement, so the threshold is not crossed.
    #[text("not measured, so the kubelet ignores it: {threshold}", threshold = measured(threshold))]
    NotMeasured { threshold: ThresholdRow },
    /// kq has no measurement.
    #[text("unknown whether it is crossed: {threshold}", threshold = measured(threshold))]
    Unknown { threshold: ThresholdRow },
    /// The threshold is not crossed.
    #[text(
        "not crossed: {threshold}, {margin} to go{until}",
        margin = amount(threshold.signal, threshold.margin),
        until = until(threshold),
        threshold = numbers(threshold)
    )]
    NotCrossed { threshold: ThresholdRow },
    /// The threshold is crossed.
    #[text(
        if threshold.grace_period.0 == 0 => "crossed: {threshold}",
        threshold = measured(threshold)
    )]
    #[text(
        "crossed: {threshold}; soft: a pod is evicted once crossed for {grace_period}, which kq \
         cannot know{until}",
        grace_period = threshold.grace_period,
        until = until(threshold),
        threshold = numbers(threshold)
    )]
    Crossed { threshold: ThresholdRow },
    /// The node reports the pressure, which outlasts the crossing.
    #[text(
        "the node reports {condition}: a threshold was crossed within {transition_period} \
         (evictionPressureTransitionPeriod) of what it reported"
    )]
    Reported {
        condition: PressureCondition,
        /// `evictionPressureTransitionPeriod`
        transition_period: GoDuration,
    },
}

/// What the kubelet does before it evicts the first pod of the order.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum BeforeReason {
    /// Pods that exceed limits of local storage of their own are evicted first.
    #[text(
        "pods that exceed their limits of local storage are evicted before any threshold: {pods}",
        pods = listed(pods)
    )]
    LocalStorageLimits {
        /// As NAMESPACE/NAME.
        pods: Vec<String>,
    },
    /// A threshold of memory is crossed.
    #[text(
        "memory comes before {signal}, and is crossed{soft}: {threshold}",
        soft = soft(threshold.grace_period),
        threshold = numbers(threshold)
    )]
    MemoryFirst {
        /// The signal of the order.
        signal: Signal,
        /// The threshold of memory.
        threshold: ThresholdRow,
    },
    /// Resources are reclaimed, if any.
    #[text(reclaim: [] => "nothing is reclaimed for {signal}: a pod is evicted")]
    #[text(
        "{reclaim}; no pod is evicted if that is enough (kq gc dry-run --trigger eviction)",
        reclaim = cleared(reclaim)
    )]
    Reclaim {
        /// The signal of the order.
        signal: Signal,
        /// What is removed, in order.
        reclaim: &'static [ReclaimFunction],
    },
}

/// Why a pod ranks before the next one.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum RankReason {
    /// Other pods are equal to it.
    #[text(others: 1 => "equal to one other: any order")]
    #[text("equal to {others} others: any order")]
    Equal {
        /// How many.
        others: usize,
    },
    /// It has no stats.
    #[text("no stats: before pods that were measured")]
    NotMeasured,
    /// It exceeds its request, and the next does not.
    #[text("exceeds its request, the next does not")]
    ExceedsRequest,
    /// It uses inodes, and the next does not.
    #[text("uses inodes, the next none")]
    UsesInodes,
    /// Its priority is lower.
    #[text("lower priority: {priority}, then {next_priority}")]
    LowerPriority {
        priority: i32,
        /// That of the next.
        next_priority: i32,
    },
    /// It is further over its request, or less below it.
    #[text(
        "{more} its request: {over}, then {next_over}",
        more = if matches!(over, Some(..0)) { "less below" } else { "more over" },
        over = over_text(*over, *signal),
        next_over = over_text(*next_over, *signal)
    )]
    MoreOver {
        /// Its usage without the request; null: unknown.
        over: Option<i64>,
        /// That of the next; null: unknown.
        next_over: Option<i64>,
        /// The signal, which has the unit.
        #[serde(skip)]
        signal: Option<Signal>,
    },
    /// It has more processes.
    #[text(
        "more processes: {processes}, then {next_processes}",
        processes = or_unknown(*processes),
        next_processes = or_unknown(*next_processes)
    )]
    MoreProcesses {
        /// Its processes; null: unknown.
        processes: Option<u64>,
        /// Those of the next; null: unknown.
        next_processes: Option<u64>,
    },
    /// It is the last.
    #[text("the last")]
    Last,
}

impl PressureAction {
    /// Returns the outcome after the reclaim, in words.
    pub fn outcome(&self) -> String {
        let signal = self.signal;
        let settled = self.settlement.as_ref();
        let because = settled.map(|settled| settled.because.to_string()).unwrap_or_default();
        let start = match settled.map(|settled| settled.enough) {
            Some(Some(true)) => {
                return format!("{signal}: reclaiming is enough, and no pod is evicted: {because}");
            }
            Some(Some(false)) => format!("{signal}: reclaiming is not enough ({because})"),
            _ => format!("{signal}: unknown whether reclaiming is enough ({because})"),
        };
        let certainly = settled.is_some_and(|settled| settled.enough == Some(false));
        let goes = match (&self.victim, &self.victim_unknown) {
            (Some(victim), _) => {
                let others: Vec<String> = victim.or_else.iter().map(PodName::to_string).collect();
                let or_else = match others.as_slice() {
                    [] => String::new(),
                    others => format!(" (or, equal to it, {})", others.join(", ")),
                };
                let condition = if certainly { "" } else { "otherwise " };
                format!(
                    "{condition}{}{or_else} is evicted within {}s: {}",
                    victim.pod,
                    victim.grace_period_seconds,
                    victim.message.trim_end()
                )
            }
            (None, Some(reason)) => format!("the pod that would be evicted is unknown: {reason}"),
            (None, None) => "no pod can be evicted: none is left, or all are critical".to_owned(),
        };
        format!("{start}; {goes}")
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Returns the names, shortened to the first few.
pub(super) fn listed(names: &[String]) -> String {
    first_few(NAMED, names)
}

fn soft(grace_period: GoDuration) -> String {
    match grace_period.0 {
        0 => String::new(),
        _ => format!(" (soft, grace period {grace_period})"),
    }
}

/// Returns what is removed for a threshold that is crossed.
fn done(functions: &[ReclaimFunction], signal: Signal) -> &'static str {
    match functions {
        [] if signal.resource() == StarvedResource::Memory => {
            "nothing can be reclaimed, and memory comes before disks: a pod is evicted"
        }
        [] => "nothing is reclaimed for it: a pod is evicted",
        some => cleared(some),
    }
}

fn condition(only_if: Option<GraceCase>) -> &'static str {
    match only_if {
        None => "",
        Some(GraceCase::GraceOver) => {
            ", once it has been crossed for its grace period, which kq cannot know"
        }
        Some(GraceCase::GraceNotOver) => {
            ", unless a soft threshold of memory has been crossed for its grace period, which a \
             single look does not show"
        }
    }
}

fn cleared(functions: &[ReclaimFunction]) -> &'static str {
    match functions {
        [] => "nothing is reclaimed",
        [ReclaimFunction::DeleteAllUnusedContainers] => {
            "dead containers are removed, and images stay"
        }
        [ReclaimFunction::DeleteUnusedImages] => "unused images are removed, and containers stay",
        _ => "dead containers are removed, then unused images",
    }
}

/// Returns the numbers of a threshold: `imagefs.available 44Gi, threshold 15% of 252Gi = 37.8Gi`.
fn numbers(row: &ThresholdRow) -> String {
    format!("{} {}, threshold {}", row.signal, amount(row.signal, row.available), formula(row))
}

fn measured(row: &ThresholdRow) -> String {
    format!("{}{}", numbers(row), until(row))
}

/// Returns until when a threshold counts as crossed, where its minimum reclaim delays that.
fn until(row: &ThresholdRow) -> String {
    match row.min_reclaim {
        Some(reclaim @ 1..) => format!(
            "; once crossed, it counts as crossed until {} more than the threshold are left",
            amount(row.signal, Some(reclaim))
        ),
        _ => String::new(),
    }
}

fn over_text(over: Option<i64>, signal: Option<Signal>) -> String {
    or_unknown(over.map(|over| match signal {
        Some(signal) => amount(signal, Some(over)),
        None => over.to_string(),
    }))
}

fn or_unknown(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

/// Returns a threshold with its formula: `15% of 252Gi = 37.8Gi`.
pub(super) fn formula(row: &ThresholdRow) -> String {
    match row.configured.ends_with('%') {
        true => format!(
            "{} of {} = {}",
            row.configured,
            amount(row.signal, row.capacity),
            amount(row.signal, row.threshold)
        ),
        false => row.configured.clone(),
    }
}

/// Returns an amount in the unit of a signal; `?` stands for an unknown one.
pub(super) fn amount(signal: Signal, amount: Option<i64>) -> String {
    amount.map_or_else(|| "?".to_owned(), |amount| amount_of(signal, amount))
}

/// Returns an amount in the unit of a signal: inodes and processes are counted, the others are bytes, shortened.
pub fn amount_of(signal: Signal, amount: i64) -> String {
    match signal.resource() {
        StarvedResource::Memory | StarvedResource::EphemeralStorage => {
            Precision::Short.bytes(amount)
        }
        StarvedResource::Inodes | StarvedResource::Pids => amount.to_string(),
    }
}
