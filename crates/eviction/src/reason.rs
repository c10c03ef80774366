//! Why the kubelet reclaims and evicts, and how near a node is to it: facts, and the sentences made of them.

use super::observation::ThresholdRow;
use super::pressure::{GraceCase, PodName, PressureAction};
use super::reclaim_outcome::ReclaimFunction;
use kq_facts::kubelet_config::{PressureCondition, Signal, StarvedResource};
use kq_k8s::duration::GoDuration;
use kq_output::units::{bytes, counted};
use serde::Serialize;
use std::fmt;

/// How many names are listed before the rest is counted.
const NAMED: usize = 5;

/// A part of the eviction manager's decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PressureReason {
    /// Pods exceed limits of local storage of their own.
    LocalStorageLimits {
        /// How many of them are evicted.
        pods: usize,
    },
    /// The kubelet cannot act on thresholds.
    Refused { error: &'static str },
    /// No threshold is crossed.
    NotCrossed {
        /// The nearest threshold.
        nearest: ThresholdRow,
        /// How many thresholds have no measurement.
        unmeasured: usize,
    },
    /// No threshold of a disk is configured.
    NoThreshold,
    /// No disk is measured.
    NotMeasured,
    /// The plan shows the reaction to a threshold that is not known to be crossed.
    Assumed { signal: Signal },
    /// A threshold is crossed.
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
    AnyOrder {
        /// How many.
        thresholds: usize,
    },
}

/// How near the node is to an eviction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DistanceReason {
    /// The kubelet cannot act on thresholds.
    Refused { error: &'static str },
    /// The signal has no threshold.
    NoThreshold { signal: Signal },
    /// The kubelet has no measurement, so the threshold is not crossed.
    NotMeasured { threshold: ThresholdRow },
    /// kq has no measurement.
    Unknown { threshold: ThresholdRow },
    /// The threshold is not crossed.
    NotCrossed { threshold: ThresholdRow },
    /// The threshold is crossed.
    Crossed { threshold: ThresholdRow },
    /// The node reports the pressure, which outlasts the crossing.
    Reported {
        condition: PressureCondition,
        /// `evictionPressureTransitionPeriod`
        transition_period: GoDuration,
    },
}

/// What the kubelet does before it evicts the first pod of the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BeforeReason {
    /// Pods that exceed limits of local storage of their own are evicted first.
    LocalStorageLimits {
        /// As NAMESPACE/NAME.
        pods: Vec<String>,
    },
    /// A threshold of memory is crossed.
    MemoryFirst {
        /// The signal of the order.
        signal: Signal,
        /// The threshold of memory.
        threshold: ThresholdRow,
    },
    /// Resources are reclaimed, if any.
    Reclaim {
        /// The signal of the order.
        signal: Signal,
        /// What is removed, in order.
        reclaim: &'static [ReclaimFunction],
    },
}

/// Why a pod ranks before the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RankReason {
    /// Other pods are equal to it.
    Equal {
        /// How many.
        others: usize,
    },
    /// It has no stats.
    NotMeasured,
    /// It exceeds its request, and the next does not.
    ExceedsRequest,
    /// It uses inodes, and the next does not.
    UsesInodes,
    /// Its priority is lower.
    LowerPriority {
        priority: i32,
        /// That of the next.
        next_priority: i32,
    },
    /// It is further over its request, or less below it.
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
    MoreProcesses {
        /// Its processes; null: unknown.
        processes: Option<u64>,
        /// Those of the next; null: unknown.
        next_processes: Option<u64>,
    },
    /// It is the last.
    Last,
}

impl fmt::Display for PressureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalStorageLimits { pods } => write!(
                f,
                "pods that exceed their limits of local storage are evicted first ({pods}); thresholds \
                 wait for the next cycle"
            ),
            Self::Refused { error } => write!(
                f,
                "the kubelet neither reclaims nor evicts for any threshold: its first cycle failed: {error}"
            ),
            Self::NotCrossed { nearest: row, unmeasured: 0 } => write!(
                f,
                "nothing would be reclaimed now: {}, {} to go",
                numbers(row),
                amount(row.signal, row.margin)
            ),
            Self::NotCrossed { nearest: row, unmeasured } => write!(
                f,
                "nothing would be reclaimed now for what was measured: {}, {} to go; {} not measured",
                numbers(row),
                amount(row.signal, row.margin),
                counted(*unmeasured, "threshold")
            ),
            Self::NoThreshold => {
                f.write_str("nothing would be reclaimed: no disk threshold is configured")
            }
            Self::NotMeasured => f.write_str(
                "unknown whether anything would be reclaimed now: no disk was measured",
            ),
            Self::Assumed { signal } => {
                write!(f, "the plan assumes that {signal} is below its threshold")
            }
            Self::Crossed { signal, grace_period, threshold, reclaim, only_if } => {
                write!(f, "crossed{}: ", soft(*grace_period))?;
                match threshold {
                    Some(row) => f.write_str(&numbers(row))?,
                    None => write!(f, "{signal}")?,
                }
                let done = match reclaim {
                    [] if signal.resource() == StarvedResource::Memory => {
                        "nothing can be reclaimed, and memory comes before disks: a pod is evicted"
                    }
                    [] => "nothing is reclaimed for it: a pod is evicted",
                    some => cleared(some),
                };
                let only_if = match only_if {
                    None => "",
                    Some(GraceCase::GraceOver) => {
                        ", once it has been crossed for its grace period, which kq cannot know"
                    }
                    Some(GraceCase::GraceNotOver) => {
                        ", unless a soft threshold of memory has been crossed for its grace period, \
                         which a single look does not show"
                    }
                };
                write!(f, "; {done}{only_if}")
            }
            Self::AnyOrder { .. } => f.write_str(
                "the kubelet takes these in no fixed order; the others follow in later cycles, as long as \
                 they are crossed",
            ),
        }
    }
}

impl fmt::Display for DistanceReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = match self {
            Self::Refused { error } => {
                return write!(
                    f,
                    "the kubelet neither reclaims nor evicts for any threshold: {error}"
                );
            }
            Self::NoThreshold { signal } => {
                return write!(
                    f,
                    "no threshold of {signal} is configured: the order is that of a kubelet with one"
                );
            }
            Self::Reported { condition, transition_period } => {
                return write!(
                    f,
                    "the node reports {condition}: a threshold was crossed within {transition_period} \
                     (evictionPressureTransitionPeriod) of what it reported"
                );
            }
            Self::NotMeasured { threshold }
            | Self::Unknown { threshold }
            | Self::NotCrossed { threshold }
            | Self::Crossed { threshold } => threshold,
        };
        let numbers = numbers(row);
        match self {
            Self::NotMeasured { .. } => {
                write!(f, "not measured, so the kubelet ignores it: {numbers}")?;
            }
            Self::NotCrossed { .. } => {
                write!(f, "not crossed: {numbers}, {} to go", amount(row.signal, row.margin))?;
            }
            Self::Crossed { .. } if row.grace_period.0 == 0 => write!(f, "crossed: {numbers}")?,
            Self::Crossed { .. } => write!(
                f,
                "crossed: {numbers}; soft: a pod is evicted once crossed for {}, which kq cannot know",
                row.grace_period
            )?,
            _ => write!(f, "unknown whether it is crossed: {numbers}")?,
        }
        match row.min_reclaim {
            Some(reclaim @ 1..) => write!(
                f,
                "; once crossed, it counts as crossed until {} more than the threshold are left",
                amount(row.signal, Some(reclaim))
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for BeforeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalStorageLimits { pods } => write!(
                f,
                "pods that exceed their limits of local storage are evicted before any threshold: {}",
                listed(pods)
            ),
            Self::MemoryFirst { signal, threshold: row } => write!(
                f,
                "memory comes before {signal}, and is crossed{}: {}",
                soft(row.grace_period),
                numbers(row)
            ),
            Self::Reclaim { signal, reclaim: [] } => {
                write!(f, "nothing is reclaimed for {signal}: a pod is evicted")
            }
            Self::Reclaim { reclaim, .. } => write!(
                f,
                "{}; no pod is evicted if that is enough (kq gc dry-run --trigger eviction)",
                cleared(reclaim)
            ),
        }
    }
}

impl fmt::Display for RankReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
        match self {
            Self::Equal { others: 1 } => f.write_str("equal to one other: any order"),
            Self::Equal { others } => write!(f, "equal to {others} others: any order"),
            Self::NotMeasured => f.write_str("no stats: before pods that were measured"),
            Self::ExceedsRequest => f.write_str("exceeds its request, the next does not"),
            Self::UsesInodes => f.write_str("uses inodes, the next none"),
            Self::LowerPriority { priority, next_priority } => {
                write!(f, "lower priority: {priority}, then {next_priority}")
            }
            Self::MoreOver { over, next_over, signal } => {
                let how = match over {
                    Some(..0) => "less below its request",
                    _ => "more over its request",
                };
                let shown = |over: &Option<i64>| {
                    or_unknown(over.map(|over| match signal {
                        Some(signal) => amount(*signal, Some(over)),
                        None => over.to_string(),
                    }))
                };
                write!(f, "{how}: {}, then {}", shown(over), shown(next_over))
            }
            Self::MoreProcesses { processes, next_processes } => {
                let shown = |count: &Option<u64>| or_unknown(count.map(|count| count.to_string()));
                write!(f, "more processes: {}, then {}", shown(processes), shown(next_processes))
            }
            Self::Last => f.write_str("the last"),
        }
    }
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
    match names.get(NAMED..) {
        Some(others) if !others.is_empty() => {
            format!("{} and {} others", names[..NAMED].join(", "), others.len())
        }
        _ => names.join(", "),
    }
}

fn soft(grace_period: GoDuration) -> String {
    match grace_period.0 {
        0 => String::new(),
        _ => format!(" (soft, grace period {grace_period})"),
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

/// Returns an amount in the unit of a signal.
pub(super) fn amount(signal: Signal, amount: Option<i64>) -> String {
    let Some(amount) = amount else { return "?".to_owned() };
    match signal.resource() {
        StarvedResource::Memory | StarvedResource::EphemeralStorage => {
            let sign = if amount < 0 { "-" } else { "" };
            format!("{sign}{}", bytes(amount.unsigned_abs()))
        }
        StarvedResource::Inodes | StarvedResource::Pids => amount.to_string(),
    }
}
