//! One cycle of the eviction manager.
//!
//! Mirrors `synchronize` of `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2, up to the
//! choice of a threshold; `decision` follows.

use super::container_fs::{ContainerFsWarning, add_container_fs_thresholds};
use super::decision::{Outcome, Situation};
use super::disks::Layout;
use super::local_storage::{LocalStorageCheck, local_storage_checks};
use super::observation::{Crossing, Observation, Observations, compare, node_conditions, observe};
use super::victim::Verdict;
use kq_facts::kubelet_config::{EvictionThreshold, PressureCondition, ThresholdValue};
use kq_facts::stats_summary::StatsSummary;
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// The configuration of the manager.
#[derive(Clone, Debug)]
pub struct EvictionSetup {
    pub layout: Layout,
    /// How long a condition outlasts its thresholds (`evictionPressureTransitionPeriod`).
    pub pressure_transition_period: GoDuration,
    /// The longest grace period for a soft threshold (`evictionMaxPodGracePeriod`).
    pub max_pod_grace_period_seconds: i64,
    /// Whether pods are held to their limits of local storage (`localStorageCapacityIsolation`).
    pub local_storage_capacity_isolation: bool,
    pub rules: KubeletRules,
}

/// The state that the manager keeps from cycle to cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManagerState {
    /// The thresholds; from the first cycle on with those of containerfs.
    pub thresholds: Vec<EvictionThreshold>,
    /// Whether the first cycle has read the layout of the filesystems.
    pub started: bool,
    /// The thresholds whose grace period was over in the last cycle.
    pub active: Vec<EvictionThreshold>,
    /// The thresholds that were crossed in the last cycle, and since when, in nanoseconds.
    pub first_observed_ns: Vec<(EvictionThreshold, i64)>,
    /// When a condition's thresholds were crossed last, in nanoseconds.
    pub last_observed_ns: BTreeMap<PressureCondition, i64>,
    /// The conditions that the node reports.
    pub conditions: BTreeSet<PressureCondition>,
    /// The observations of the last cycle.
    pub observations: Observations,
}

impl ManagerState {
    /// Returns the state of a manager before its first cycle.
    pub fn new(thresholds: Vec<EvictionThreshold>) -> Self {
        Self { thresholds, ..Self::default() }
    }
}

/// The input of one cycle.
#[derive(Clone, Copy, Debug)]
pub struct CycleInput<'a> {
    /// In nanoseconds, on a clock shared by all cycles.
    pub now_ns: i64,
    /// `None`: unknown, and the cycle ends.
    pub summary: Option<&'a StatsSummary>,
    /// The running pods, in the kubelet's order.
    pub pods: &'a [&'a Pod],
    pub after_reclaim: StatsAfterReclaim<'a>,
}

/// The measurement after containers or images were removed.
#[derive(Clone, Copy, Debug)]
pub enum StatsAfterReclaim<'a> {
    Read(&'a StatsSummary),
    /// It is unknown; the kubelet goes on to evict.
    Failed,
    /// Nothing has been removed yet.
    Unknown,
}

/// A threshold that is crossed, or was crossed and is not resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveThreshold {
    pub threshold: EvictionThreshold,
    /// In nanoseconds.
    pub first_observed_ns: i64,
    /// Whether its grace period is over.
    pub grace_over: bool,
    /// Whether there is a new measurement since the last cycle; the kubelet acts on no measurement twice.
    pub measured_anew: bool,
}

/// The result of one cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    /// A configured threshold of containerfs, which the kubelet ignores; reported in the first cycle.
    pub warning: Option<ContainerFsWarning>,
    pub observations: Observations,
    /// The thresholds, compared with the observations.
    pub crossings: Vec<Crossing>,
    /// Those that were active in the last cycle, compared with their minimum reclaim.
    pub unresolved: Vec<Crossing>,
    /// Those that are crossed or not resolved.
    pub thresholds: Vec<ActiveThreshold>,
    /// Their conditions.
    pub observed_conditions: BTreeSet<PressureCondition>,
    /// The conditions that the node reports.
    pub conditions: BTreeSet<PressureCondition>,
    /// The pods that exceed limits of local storage.
    pub local_storage: Vec<LocalStorageCheck>,
    pub outcome: Outcome,
}

/// Runs one cycle.
pub fn synchronize(
    state: &mut ManagerState,
    setup: &EvictionSetup,
    input: CycleInput<'_>,
) -> Cycle {
    let mut cycle = Cycle {
        warning: None,
        observations: Observations::new(),
        crossings: Vec::new(),
        unresolved: Vec::new(),
        thresholds: Vec::new(),
        observed_conditions: BTreeSet::new(),
        conditions: state.conditions.clone(),
        local_storage: Vec::new(),
        outcome: Outcome::NothingConfigured,
    };
    if state.thresholds.is_empty() && !setup.local_storage_capacity_isolation {
        return cycle;
    }
    // The kubelet copies its list before the first cycle adds to it: this cycle has the overwritten
    // thresholds, but not the appended ones.
    let in_sight = state.thresholds.len();
    if !state.started {
        cycle.warning = add_container_fs_thresholds(&mut state.thresholds, setup.layout);
        state.started = true;
    }
    let Some(summary) = input.summary else {
        cycle.outcome = Outcome::NoStats;
        return cycle;
    };
    let now = input.now_ns;
    let observations = observe(summary);
    let seen = state.thresholds.iter().take(in_sight).cloned().collect::<Vec<_>>();
    cycle.crossings = compare(&seen, &observations, false);
    cycle.unresolved = compare(&state.active, &observations, true);
    let crossed = crossed(&cycle.crossings, &cycle.unresolved);

    cycle.thresholds = crossed
        .into_iter()
        .map(|threshold| {
            let known =
                state.first_observed_ns.iter().find(|(known, _)| same_key(known, &threshold));
            let first_observed_ns = known.map_or(now, |(_, first)| *first);
            let last = state.observations.get(&threshold.signal);
            ActiveThreshold {
                grace_over: now.saturating_sub(first_observed_ns) >= threshold.grace_period.0,
                measured_anew: observations
                    .get(&threshold.signal)
                    .is_some_and(|observed| is_newer(observed, last)),
                first_observed_ns,
                threshold,
            }
        })
        .collect();
    let thresholds = cycle.thresholds.iter().map(|active| &active.threshold);
    cycle.observed_conditions = node_conditions(thresholds).into_iter().collect();
    for condition in &cycle.observed_conditions {
        state.last_observed_ns.insert(*condition, now);
    }
    // With a period of zero the node never reports a condition, not even a current one.
    cycle.conditions = state
        .last_observed_ns
        .iter()
        .filter(|(_, last)| now.saturating_sub(**last) < setup.pressure_transition_period.0)
        .map(|(condition, _)| *condition)
        .collect();

    state.conditions.clone_from(&cycle.conditions);
    state.first_observed_ns = cycle
        .thresholds
        .iter()
        .map(|active| (active.threshold.clone(), active.first_observed_ns))
        .collect();
    let grace_over = cycle.thresholds.iter().filter(|active| active.grace_over);
    state.active = grace_over.clone().map(|active| active.threshold.clone()).collect();
    state.observations.clone_from(&observations);

    let due: Vec<EvictionThreshold> = grace_over
        .filter(|active| active.measured_anew)
        .map(|active| active.threshold.clone())
        .collect();
    if setup.local_storage_capacity_isolation {
        cycle.local_storage =
            local_storage_checks(input.pods, &summary.pods, setup.layout, &setup.rules);
    }
    let gone = |check: &LocalStorageCheck| matches!(check.verdict, Verdict::Evicted(_));
    cycle.outcome = if cycle.local_storage.iter().any(gone) {
        Outcome::LocalStorage
    } else {
        let situation = Situation {
            thresholds: &state.thresholds,
            observations: &observations,
            stats: &summary.pods,
            pods: input.pods,
            after_reclaim: input.after_reclaim,
            setup,
        };
        situation.decide(&due)
    };
    cycle.observations = observations;
    cycle
}

/// Returns the thresholds that are crossed, then those that were active and are not resolved, each once.
fn crossed(crossings: &[Crossing], unresolved: &[Crossing]) -> Vec<EvictionThreshold> {
    let met = |crossings: &[Crossing]| -> Vec<EvictionThreshold> {
        let met = crossings.iter().filter(|crossing| crossing.met());
        met.map(|crossing| crossing.threshold.clone()).collect()
    };
    let mut all: Vec<EvictionThreshold> = Vec::new();
    for threshold in met(crossings) {
        if !all.iter().any(|have| same_key(have, &threshold)) {
            all.push(threshold);
        }
    }
    for threshold in met(unresolved) {
        if !all.iter().any(|have| have.same_as(&threshold)) {
            all.push(threshold);
        }
    }
    all
}

/// Returns true if two thresholds are one entry in the kubelet's table of times.
fn same_key(left: &EvictionThreshold, right: &EvictionThreshold) -> bool {
    let reclaims: [Option<&ThresholdValue>; 2] =
        [left.min_reclaim.as_ref(), right.min_reclaim.as_ref()];
    left.same_as(right)
        && match reclaims {
            [Some(left), Some(right)] => left.same_as(right),
            [left, right] => left.is_none() && right.is_none(),
        }
}

/// A measurement without a time always counts.
fn is_newer(observed: &Observation, last: Option<&Observation>) -> bool {
    match (observed.time, last.map(|last| last.time)) {
        (Some(time), Some(Some(last))) => time > last,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
