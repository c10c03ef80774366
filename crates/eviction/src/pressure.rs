//! The decision of the eviction manager on a node at this moment, from a single measurement.
//!
//! The kubelet has more: it knows how long a threshold has been crossed, and which crossed ones are not yet
//! resolved with their minimum reclaim. The first is reported with each soft threshold; the second makes a
//! kubelet that already reclaims go on a little longer.
//!
//! Rules: `synchronize` of `pkg/kubelet/eviction/eviction_manager.go`, by way of [`synchronize`].

use super::container_fs::add_container_fs_thresholds;
use super::cycle::{
    Cycle, CycleInput, EvictionSetup, ManagerState, StatsAfterReclaim, synchronize,
};
use super::decision::{Alternative, Outcome};
use super::disks::{DiskLayout, Layout, NodeDisks};
use super::local_storage::local_storage_checks;
use super::observation::{ThresholdRow, compare, observe, row};
use super::reason::PressureReason;
use super::reclaim_outcome::{
    ReclaimFunction, ReclaimOutcome, Reclaimed, reclaim_functions, settle,
};
use super::victim::Verdict;
use kq_answer::{Missing, MissingFact, Worded};
use kq_facts::kubelet_config::{
    EffectiveConfiguration, EvictionThreshold, PressureCondition, Signal, StarvedResource,
    ThresholdOperator,
};
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ObjectMeta, Pod};
use serde::Serialize;

/// The input of an answer.
#[derive(Clone, Debug)]
pub struct PressureInput<'a> {
    pub config: &'a EffectiveConfiguration,
    pub thresholds: &'a [EvictionThreshold],
    pub rules: KubeletRules,
    /// The file systems, with their measurements.
    pub disks: &'a NodeDisks,
    /// Why the kubelet's stats are unknown; `None`: they are known.
    pub stats_unknown: Option<String>,
    /// The pods of the node, or why they are not all known.
    pub pods: Result<&'a [&'a Pod], String>,
    /// The reclaimed amounts; `None`: not computed yet.
    pub reclaimed: Option<Reclaimed>,
}

/// The plan of the eviction manager.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pressure {
    /// The layout of the file systems.
    pub layout: DiskLayout,
    /// The thresholds of disks, and the crossed ones of other resources.
    pub thresholds: Vec<ThresholdRow>,
    /// The known conditions that the node reports.
    pub conditions: Vec<PressureCondition>,
    /// Pods that exceed their limits of local storage. They are evicted first, and thresholds wait for the
    /// next cycle.
    pub local_storage: Vec<ExceedingPod>,
    /// The reactions to thresholds; of several, in no fixed order.
    pub acts: Vec<PressureAction>,
    /// What is reclaimed.
    pub reclaims: Reclaims,
    pub decision: Vec<Worded<PressureReason>>,
    /// Unknown facts.
    pub missing: Vec<Missing>,
}

/// A pod by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of Kubernetes")]
pub struct PodName {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl PodName {
    /// Returns the name of the pod with these metadata.
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        let ObjectMeta { namespace, name, uid, .. } = metadata.clone();
        Self { namespace, name, uid }
    }
}

/// A pod that exceeds a limit of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceedingPod {
    pub pod: PodName,
    /// The exceeded limits, in the kubelet's words.
    pub exceeded: Vec<String>,
    /// Whether it is evicted; critical pods are not.
    pub evicted: bool,
}

/// The kubelet's reaction to one threshold.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PressureAction {
    pub signal: Signal,
    /// The grace period of the threshold.
    pub grace_period: GoDuration,
    /// The case in which the kubelet acts; null: every case.
    pub only_if: Option<GraceCase>,
    /// The resource of the node's event.
    pub resource: StarvedResource,
    /// The message of the node's event `EvictionThresholdMet`.
    pub event: String,
    /// What is reclaimed, in order.
    pub reclaim: &'static [ReclaimFunction],
    /// Whether the reclaim is enough; null: not computed.
    pub settlement: Option<ReclaimOutcome>,
    /// The pod that is evicted if it is not.
    pub victim: Option<Victim>,
    /// Why the victim is unknown; null: it is known, or no pod goes.
    pub victim_unknown: Option<String>,
}

/// The history of soft thresholds, which a single measurement does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GraceCase {
    /// They have been crossed for their grace periods.
    GraceOver,
    /// They have not.
    GraceNotOver,
}

/// The pod that is evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Victim {
    pub pod: PodName,
    /// Its grace period.
    pub grace_period_seconds: i64,
    /// The kubelet's message.
    pub message: String,
    /// Critical pods that rank before it, and stay.
    pub spared: Vec<PodName>,
    /// Other pods that may be evicted in its place: the order among equals is random.
    pub or_else: Vec<PodName>,
}

/// What is reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reclaims {
    /// Dead containers, sandboxes and logs.
    pub containers: bool,
    /// Images that are not in use.
    pub images: bool,
    /// No threshold is known to be crossed: the plan assumes that `imagefs.available` is.
    pub is_assumed: bool,
}

/// Returns the plan of the eviction manager.
pub fn pressure(input: &PressureInput<'_>) -> Pressure {
    let manager = Manager::of(input);
    let [early, late] = [false, true].map(|grace_over| manager.cycle(grace_over));
    let (layout, disks) = (manager.setup.layout, input.disks);
    let rows: Vec<ThresholdRow> = early
        .crossings
        .iter()
        .filter(|crossing| crossing.threshold.operator == ThresholdOperator::LessThan)
        .map(|crossing| row(crossing, layout))
        .filter(|row| is_of_disk(row.signal) || row.met == Some(true))
        .collect();
    let acts = match disks.layout.refused {
        Some(_) => Vec::new(),
        None => manager.acts(&early, &late),
    };
    let mut pressure = Pressure {
        layout: disks.layout.clone(),
        conditions: early.conditions.iter().copied().collect(),
        local_storage: manager.local_storage(),
        reclaims: reclaims(&acts, layout, disks.layout.refused.is_some()),
        thresholds: rows,
        acts,
        decision: Vec::new(),
        missing: missing(input),
    };
    pressure.decision = decision(&pressure).into_iter().map(Worded).collect();
    pressure
}

/// Returns the decision; the first actions come first.
fn decision(pressure: &Pressure) -> Vec<PressureReason> {
    let mut reasons = Vec::new();
    let evicted = pressure.local_storage.iter().filter(|pod| pod.evicted).count();
    if evicted > 0 {
        reasons.push(PressureReason::LocalStorageLimits { pods: evicted });
    }
    if let Some(error) = pressure.layout.refused {
        reasons.push(PressureReason::Refused { error });
        return reasons;
    }
    if pressure.reclaims.is_assumed {
        reasons.push(nothing_crossed(&pressure.thresholds));
        reasons.push(PressureReason::Assumed { signal: Signal::ImageFsAvailable });
        return reasons;
    }
    reasons.extend(pressure.acts.iter().map(|act| {
        let is_its =
            |row: &&ThresholdRow| row.signal == act.signal && row.grace_period == act.grace_period;
        PressureReason::Crossed {
            signal: act.signal,
            grace_period: act.grace_period,
            threshold: pressure.thresholds.iter().find(is_its).cloned(),
            reclaim: act.reclaim,
            only_if: act.only_if,
        }
    }));
    let thresholds = pressure.acts.iter().filter(|act| act.only_if.is_none()).count();
    if thresholds > 1 {
        reasons.push(PressureReason::AnyOrder { thresholds });
    }
    reasons
}

fn nothing_crossed(thresholds: &[ThresholdRow]) -> PressureReason {
    let disks = || thresholds.iter().filter(|row| is_of_disk(row.signal));
    // The nearest to its threshold, relative to the capacity; exact, without division.
    let nearest = disks().filter(|row| row.met.is_some()).min_by(|left, right| {
        let share = |row: &ThresholdRow, other: &ThresholdRow| {
            i128::from(row.margin.unwrap_or(i64::MAX)) * i128::from(other.capacity.unwrap_or(1))
        };
        share(left, right).cmp(&share(right, left))
    });
    let unmeasured = disks().filter(|row| row.met.is_none()).count();
    match (nearest, unmeasured) {
        (Some(row), _) => PressureReason::NotCrossed { nearest: row.clone(), unmeasured },
        (None, 0) => PressureReason::NoThreshold,
        (None, _) => PressureReason::NotMeasured,
    }
}

impl Pressure {
    /// Returns true if the reclaim is not enough in any case.
    pub fn is_short(&self) -> bool {
        self.falls_short().is_some()
    }

    /// Returns true if it is not known whether the reclaim is enough.
    pub fn is_open(&self) -> bool {
        let mut sure = self.acts.iter().filter(|act| act.only_if.is_none());
        sure.any(|act| act.settlement.as_ref().is_none_or(|it| it.enough.is_none()))
    }

    /// Returns the consequence of a reclaim that is not enough in any case; `None`: it may be enough.
    pub fn falls_short(&self) -> Option<String> {
        let is_crossed = self.thresholds.iter().any(|row| row.met == Some(true));
        if self.layout.refused.is_some() && is_crossed {
            return Some("the kubelet evicts no pod: its eviction manager fails".to_owned());
        }
        let mut sure = self.acts.iter().filter(|act| act.only_if.is_none());
        let is_short = |act: &&PressureAction| {
            act.settlement.as_ref().is_some_and(|it| it.enough == Some(false))
        };
        let act = sure.find(is_short)?;
        Some(match (&act.victim, &act.victim_unknown) {
            (Some(victim), _) if victim.or_else.is_empty() => format!("{} is evicted", victim.pod),
            (Some(victim), _) => format!("{} or one equal to it is evicted", victim.pod),
            (None, Some(_)) => "a pod is evicted".to_owned(),
            (None, None) => "no pod can be evicted".to_owned(),
        })
    }
}

fn is_of_disk(signal: Signal) -> bool {
    signal.filesystem().is_some()
}

/// The eviction manager of one node.
struct Manager<'a> {
    input: &'a PressureInput<'a>,
    setup: EvictionSetup,
    thresholds: Vec<EvictionThreshold>,
    /// The pods that may be evicted; empty if their usage is unknown.
    pods: Vec<&'a Pod>,
    victim_unknown: Option<String>,
}

impl<'a> Manager<'a> {
    fn of(input: &'a PressureInput<'a>) -> Self {
        let config = input.config;
        let setup = EvictionSetup {
            layout: input.disks.layout.layout(),
            pressure_transition_period: config.eviction_pressure_transition_period,
            max_pod_grace_period_seconds: config.eviction_max_pod_grace_period.into(),
            // Checked apart, so that the thresholds behind it are reported too.
            local_storage_capacity_isolation: false,
            rules: input.rules,
        };
        let mut thresholds = input.thresholds.to_vec();
        // As they are from the second cycle on; only a kubelet that has just started differs.
        add_container_fs_thresholds(&mut thresholds, setup.layout);
        let unknown = match (&input.stats_unknown, &input.pods) {
            (None, Ok(_)) => None,
            (Some(reason), _) => Some(format!("the pods' usage is unknown: {reason}")),
            (None, Err(reason)) => Some(reason.clone()),
        };
        let pods = match (&unknown, &input.pods) {
            (None, Ok(pods)) => pods.iter().copied().filter(|pod| is_active(pod)).collect(),
            _ => Vec::new(),
        };
        Self { input, setup, thresholds, pods, victim_unknown: unknown }
    }

    /// Runs a cycle of a kubelet past its first; every crossed threshold has been crossed since this moment, or
    /// else for its grace period.
    fn cycle(&self, grace_over: bool) -> Cycle {
        let mut state = ManagerState::new(self.thresholds.clone());
        state.started = true;
        if grace_over {
            let since = |threshold: &EvictionThreshold| {
                (threshold.clone(), threshold.grace_period.0.saturating_neg())
            };
            state.first_observed_ns = self.thresholds.iter().map(since).collect();
        }
        let input = CycleInput {
            now_ns: 0,
            summary: Some(&self.input.disks.summary),
            pods: &self.pods,
            after_reclaim: StatsAfterReclaim::Unknown,
        };
        synchronize(&mut state, &self.setup, input)
    }

    /// Merges the actions of both cases.
    fn acts(&self, early: &Cycle, late: &Cycle) -> Vec<PressureAction> {
        let alternatives = |cycle: &Cycle| match &cycle.outcome {
            Outcome::Starved(alternatives) => alternatives.clone(),
            _ => Vec::new(),
        };
        let (early, late) = (alternatives(early), alternatives(late));
        let is_in = |list: &[Alternative], alternative: &Alternative| {
            list.iter().any(|other| other.threshold == alternative.threshold)
        };
        let first = early.iter().map(|alternative| {
            let always = is_in(&late, alternative);
            self.act(alternative, (!always).then_some(GraceCase::GraceNotOver))
        });
        let others = late.iter().filter(|alternative| !is_in(&early, alternative));
        let others = others.map(|alternative| self.act(alternative, Some(GraceCase::GraceOver)));
        first.chain(others).collect()
    }

    fn act(&self, alternative: &Alternative, only_if: Option<GraceCase>) -> PressureAction {
        let eviction = alternative.eviction.as_ref();
        let victim = eviction.and_then(|eviction| {
            let (pod, how) = eviction.victim.as_ref()?;
            Some(Victim {
                pod: self.name(*pod)?,
                grace_period_seconds: how.grace_seconds,
                message: how.message.clone(),
                spared: self.names(&eviction.spared),
                or_else: self.names(&eviction.or_else),
            })
        });
        PressureAction {
            signal: alternative.threshold.signal,
            grace_period: alternative.threshold.grace_period,
            only_if,
            resource: alternative.resource,
            event: alternative.event_message(),
            reclaim: alternative.reclaim,
            settlement: self.input.reclaimed.map(|reclaimed| {
                settle(self.input.disks, &self.thresholds, alternative.reclaim, reclaimed)
            }),
            victim,
            victim_unknown: self.victim_unknown.clone(),
        }
    }

    fn local_storage(&self) -> Vec<ExceedingPod> {
        if !self.input.config.local_storage_capacity_isolation {
            return Vec::new();
        }
        let stats = &self.input.disks.summary.pods;
        let checks = local_storage_checks(&self.pods, stats, self.setup.layout, &self.setup.rules);
        let told = checks.into_iter().filter_map(|check| {
            Some(ExceedingPod {
                pod: self.name(check.pod)?,
                exceeded: check.exceeded.iter().map(|limit| limit.to_string()).collect(),
                evicted: matches!(check.verdict, Verdict::Evicted(_)),
            })
        });
        told.collect()
    }

    fn name(&self, place: usize) -> Option<PodName> {
        Some(PodName::of(&self.pods.get(place)?.metadata))
    }

    fn names(&self, places: &[usize]) -> Vec<PodName> {
        places.iter().filter_map(|place| self.name(*place)).collect()
    }
}

/// Returns true if the kubelet may evict a pod (`filterOutInactivePods` in `pkg/kubelet/kubelet_pods.go`):
/// not one that ended, unless it is being deleted.
pub fn is_active(pod: &Pod) -> bool {
    let has_ended = pod.status.has_ended();
    !has_ended || pod.metadata.deletion_timestamp.is_some()
}

fn reclaims(acts: &[PressureAction], layout: Layout, is_refused: bool) -> Reclaims {
    let is_assumed = acts.is_empty() && !is_refused;
    let of_images = reclaim_functions(Signal::ImageFsAvailable, layout);
    let functions: Vec<ReclaimFunction> = match is_assumed {
        true => of_images.to_vec(),
        false => acts.iter().flat_map(|act| act.reclaim).copied().collect(),
    };
    Reclaims {
        containers: functions.contains(&ReclaimFunction::DeleteAllUnusedContainers),
        images: functions.contains(&ReclaimFunction::DeleteUnusedImages),
        is_assumed,
    }
}

fn missing(input: &PressureInput<'_>) -> Vec<Missing> {
    let mut missing = Vec::new();
    if let Some(reason) = &input.stats_unknown {
        let text = format!(
            "the kubelet's stats are unknown: memory and processes are assumed not to be short, and \
             limits of local storage not to be exceeded: {reason}"
        );
        missing.push(Missing::new(MissingFact::StatsSummary, text));
    }
    let observations = observe(&input.disks.summary);
    let unseen: Vec<&str> = compare(input.thresholds, &observations, false)
        .iter()
        .filter(|crossing| crossing.comparison.is_none() && is_of_disk(crossing.threshold.signal))
        .map(|crossing| crossing.threshold.signal.as_str())
        .collect();
    if !unseen.is_empty() {
        let unseen = unseen.join(", ");
        let text = format!("the available amount is unknown of {unseen}");
        missing.push(Missing::new(MissingFact::AvailableAmount, text).about(unseen));
    }
    if input.disks.layout.dedicated_image_fs.is_none() {
        missing.push(Missing::new(
            MissingFact::ImageFilesystems,
            "unknown whether images have a file system of their own: assumed not to",
        ));
    }
    missing
}

#[cfg(test)]
mod tests;
