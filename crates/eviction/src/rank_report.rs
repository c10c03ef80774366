//! The order of eviction with its reasons, and the node's distance to an eviction.

use super::container_fs::add_container_fs_thresholds;
use super::decision::soft_grace_seconds;
use super::disks::DiskLayout;
use super::local_storage::over_own_limits;
use super::node_identity::strangers;
use super::observation::{ThresholdRow, compare, observe, row};
use super::pressure::PodName;
use super::rank::{Figures, RankStep, RankedPod, decided_by, rank_pods};
use super::reason::amount;
use super::reason::{BeforeReason, DistanceReason, RankReason};
use super::reclaim_outcome::{ReclaimAhead, ReclaimFunction, Sufficiency, reclaim_functions};
use super::usage::{FsParts, measured_parts};
use kq_answer::{Basis, Headline, Missing, MissingFact, Warning, WarningCode, Worded, answer};
use kq_facts::kubelet_config::{
    EffectiveConfiguration, EvictionThreshold, PressureCondition, Signal, StarvedResource,
    ThresholdOperator,
};
use kq_facts::stats_summary::{PodStats, StatsByPod, StatsSummary};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ByName, Pod};
use kq_k8s::priority::is_critical_pod;
use kq_k8s::quantity::Quantity;
use kq_output::metrics::{Metrics, number};
use kq_output::units::counted;
use serde::Serialize;

/// The input of the ranks of all signals.
#[derive(Clone, Debug)]
pub struct RankInput<'a> {
    pub config: &'a EffectiveConfiguration,
    pub thresholds: &'a [EvictionThreshold],
    pub rules: &'a KubeletRules,
    pub layout: &'a DiskLayout,
    pub summary: &'a StatsSummary,
    pub usage: UsageSource,
    /// The pods that may be evicted.
    pub pods: &'a [&'a Pod],
}

/// The source of the pods' usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSource {
    /// The kind of source.
    pub from: UsageFrom,
    /// The location of the source.
    pub source: String,
}

/// The kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageFrom {
    /// The kubelet's own measurements, by which it ranks.
    StatsSummary,
    /// The kernel's current counters, added up as the kubelet does.
    Cgroups,
}

/// The order in which pods would be evicted.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvictionRank {
    /// When the facts were read.
    pub at: String,
    /// The signal of the resource that is short.
    pub signal: Signal,
    /// The kubelet's name of the resource.
    pub resource: StarvedResource,
    /// The condition that the node then reports.
    pub condition: PressureCondition,
    /// The source of the pods' usage.
    pub usage: UsageSource,
    /// The layout of the file systems; null: not relevant to the signal.
    pub layout: Option<DiskLayout>,
    /// The parts of a pod's usage that count; null: the signal is not of a disk.
    pub counted: Option<FsParts>,
    /// The thresholds of the signal.
    pub thresholds: Vec<ThresholdRow>,
    /// The distance to an eviction.
    pub now: Vec<Worded<DistanceReason>>,
    /// What is reclaimed before a pod is evicted, in order.
    pub reclaim: &'static [ReclaimFunction],
    /// What the kubelet does before it evicts the first pod of the order.
    pub before: Vec<Worded<BeforeReason>>,
    /// What that reclaims now; null: the threshold is not crossed, nothing is reclaimed, or the images or containers
    /// are unknown.
    pub reclaimed: Option<ReclaimAhead>,
    /// The first victim.
    pub first: FirstEvicted,
    /// The pods; the first is evicted first.
    pub items: Vec<RankItem>,
    /// Other pods may come before all of these: `missing` names them.
    #[serde(skip)]
    pub lacks_pods: bool,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("EvictionRank", EvictionRank, EvictionRank::metrics; EvictionRank::headline);

impl EvictionRank {
    /// Returns the pods that are evicted for limits of their own.
    pub fn over_own_limits(&self) -> &[PodName] {
        if self.first.over_own_limits { &self.first.one_of } else { &[] }
    }

    /// Returns the first victim once other pods have ended.
    pub fn first_without(&self, has_ended: impl Fn(&PodName) -> bool) -> FirstEvicted {
        let stays = |pod: &&PodName| !has_ended(pod);
        let over: Vec<PodName> = self.over_own_limits().iter().filter(stays).cloned().collect();
        let items = self.items.iter().filter(|item| !has_ended(&item.pod));
        first(&over, &items.cloned().collect::<Vec<_>>())
    }

    /// Returns whether a threshold of the signal is crossed.
    pub fn is_crossed(&self) -> bool {
        self.thresholds.iter().any(|row| row.met == Some(true))
    }

    /// Returns who is evicted first, and how much is left until then.
    fn headline(&self) -> Headline {
        let own = self.by_thresholds();
        let lacks = |fact| self.basis.missing.iter().any(|it| it.fact == fact);
        match lacks(MissingFact::KubeletConfig) {
            true => Headline::new("unknown", format!("with the default thresholds, {}", own.text)),
            false => own,
        }
    }

    fn by_thresholds(&self) -> Headline {
        let nearest = self.thresholds.iter().filter(|it| it.margin.is_some());
        let nearest = nearest.min_by_key(|it| it.margin);
        let margin = nearest.and_then(|it| it.margin);
        // The amount for pods has a threshold of its own, with the signal of the node's in its rank.
        let signal = nearest.map_or(self.signal, |it| it.signal);
        let has_none = self.thresholds.is_empty() && self.basis.missing.is_empty();
        let evicts_for_none =
            self.now.iter().any(|it| matches!(it.0, DistanceReason::NoThresholds { .. }));
        let left = match margin {
            None if has_none => format!("{} has no threshold", self.signal),
            None => format!("how much of {} is left is unknown", self.signal),
            Some(margin @ ..0) => {
                let over = amount(signal, Some(margin.saturating_neg()));
                format!("{signal} is crossed by {over}")
            }
            Some(margin) => format!("{} to go", amount(signal, Some(margin))),
        };
        // A pod above a limit of its own goes whatever a threshold says (`localStorageEviction`).
        let limits = match self.over_own_limits() {
            [] => None,
            [one] => Some(format!("{one} is evicted first: it exceeds a limit of its own")),
            [one, more @ ..] => {
                let others = counted(more.len(), "other");
                Some(format!(
                    "{one} and {others} are evicted first: they exceed limits of their own"
                ))
            }
        };
        if let Some(limits) = limits {
            return Headline::new("over-limit", format!("{limits}; {left}"));
        }
        if let Some(ahead) = self.reclaimed.filter(|it| it.sufficiency == Sufficiency::Enough) {
            let text = format!("no pod is evicted: {} is enough; {left}", ahead.removed());
            return Headline::new("reclaimed", text);
        }
        if has_none {
            let text = match evicts_for_none {
                true => "no pod is evicted for any signal: no eviction threshold is configured"
                    .to_owned(),
                false => format!("no pod is evicted for {}: it has no threshold", self.signal),
            };
            return Headline::new("no-threshold", text);
        }
        let is = if self.is_crossed() { "is" } else { "would be" };
        let when = self.condition_of_eviction();
        let among = if self.lacks_pods { ", of the known pods" } else { "" };
        match self.first.one_of.as_slice() {
            [] if self.basis.missing.is_empty() => {
                Headline::new("no-pod", format!("no pod can be evicted; {left}"))
            }
            [] => Headline::new("unknown", format!("who {is} evicted first is unknown; {left}")),
            [one] => {
                Headline::new("first", format!("{one} {is} evicted first{when}{among}; {left}"))
            }
            [one, others @ ..] => {
                let text = format!(
                    "{one} or one of {} {is} evicted first{when}: they are equal; {left}",
                    counted(others.len(), "other")
                );
                Headline::new("one-of", text)
            }
        }
    }

    /// Returns what an eviction for a crossed threshold depends on; empty: on nothing.
    fn condition_of_eviction(&self) -> String {
        if !self.is_crossed() {
            return String::new();
        }
        let met = self.thresholds.iter().filter(|row| row.met == Some(true));
        let grace = met.map(|row| row.grace_period).min().filter(|grace| grace.0 > 0);
        let lasts = grace.map(|grace| format!("the threshold stays crossed for {grace}"));
        let is_open = !self.reclaim.is_empty()
            && self.reclaimed.is_none_or(|it| it.sufficiency == Sufficiency::Unknown);
        let falls_short = is_open.then(|| "what is reclaimed is not enough".to_owned());
        let conditions: Vec<String> = lasts.into_iter().chain(falls_short).collect();
        match conditions.as_slice() {
            [] => String::new(),
            some => format!(" if {}", some.join(" and ")),
        }
    }
}

impl EvictionRank {
    fn metrics(&self, metrics: &mut Metrics) {
        let thresholds = |value: fn(&ThresholdRow) -> Option<i64>| {
            self.thresholds.iter().map(move |row| {
                let grace = row.grace_period.to_string();
                let labels = vec![("signal", row.signal.to_string()), ("grace_period", grace)];
                (labels, value(row).map(number))
            })
        };
        let pods = |value: fn(&RankItem) -> Option<i64>| {
            self.items.iter().map(move |item| {
                let PodName { namespace, name, .. } = &item.pod;
                let labels = vec![("namespace", namespace.clone()), ("pod", name.clone())];
                (labels, value(item).map(number))
            })
        };
        for (name, help, value) in [
            (
                "available",
                "Available amount of the signal",
                (|row| row.available) as fn(&ThresholdRow) -> _,
            ),
            ("threshold", "Eviction threshold", |row| row.threshold),
            ("margin", "Available amount above the threshold", |row| row.margin),
        ] {
            metrics.gauge(&format!("kq_eviction_{name}"), help, thresholds(value));
        }
        for (name, help, value) in [
            (
                "rank",
                "Rank in the eviction order, from 1",
                (|item| i64::try_from(item.rank).ok()) as fn(&RankItem) -> _,
            ),
            ("usage", "Usage by which the pod is ranked", |item| i64::try_from(item.usage?).ok()),
            ("request", "Request of the pod", |item| item.request),
        ] {
            metrics.gauge(&format!("kq_eviction_pod_{name}"), help, pods(value));
        }
    }
}

/// The first victim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirstEvicted {
    /// One of these; none: all pods are critical, there are no pods, or `missing` says which are unknown.
    pub one_of: Vec<PodName>,
    /// Critical pods that rank before all of these, and stay.
    pub spared: Vec<PodName>,
    /// These exceed limits of their own: all of them are evicted, before any threshold and whatever their rank.
    pub over_own_limits: bool,
}

/// A pod and its rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RankItem {
    /// Its rank, from 1; of equal pods the first of their ranks.
    pub rank: usize,
    /// The last rank of the pods equal to it.
    pub last_rank: usize,
    #[serde(flatten)]
    pub pod: PodName,
    /// Its priority; a pod without one has 0.
    pub priority: i32,
    /// What it requests: bytes of memory, or of ephemeral storage also when inodes are short; null: processes are not
    /// requested.
    pub request: Option<i64>,
    /// What it uses, in bytes, inodes or processes; null: not measured.
    pub usage: Option<u64>,
    /// The usage minus the request.
    pub over: Option<i64>,
    /// Whether it uses more than it requests; for inodes, any.
    pub exceeds: Option<bool>,
    /// The unmeasured parts, which count as zero in the kubelet too.
    pub unmeasured: Vec<String>,
    /// The kubelet only logs that it cannot evict the pod, and goes on to the next.
    pub critical: bool,
    /// The grace period of an eviction for a soft threshold; for a hard one it is a second.
    pub soft_grace_seconds: i64,
    /// The parts of the usage of a disk.
    pub parts: Option<UsedParts>,
    /// The step of the comparison that ranks it before the next pod; null: there is no next.
    pub decided_by: Option<RankStep>,
    /// Why it ranks before the next pod.
    pub because: Vec<Worded<RankReason>>,
}

/// The parts of a pod's usage of a disk, counted or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the kubelet")]
pub struct UsedParts {
    pub root: u64,
    pub logs: u64,
    pub local_volumes: u64,
}

/// Ranks the pods of a node for one signal after the other.
pub struct Ranker<'a> {
    input: RankInput<'a>,
    stats: StatsByPod<'a>,
    /// The pods that exceed limits of their own, whichever resource is short.
    over_own_limits: Vec<PodName>,
    /// The warning about measured pods that cannot be evicted.
    strangers: Option<Warning>,
}

impl<'a> Ranker<'a> {
    /// Returns what is the same for each signal.
    pub fn of(input: RankInput<'a>) -> Self {
        let stats = StatsByPod::new(&input.summary.pods);
        let over_own_limits = over_own_limits(&input);
        let strangers = strangers(&input, &stats);
        Self { input, stats, over_own_limits, strangers }
    }

    /// Ranks the pods by a signal, with reasons.
    pub fn rank(&self, signal: Signal, at: String) -> EvictionRank {
        eviction_rank(self, signal, at)
    }
}

fn eviction_rank(ranker: &Ranker<'_>, signal: Signal, at: String) -> EvictionRank {
    let input = &ranker.input;
    let layout = input.layout.layout();
    let filesystem = signal.filesystem();
    let mut thresholds = input.thresholds.to_vec();
    add_container_fs_thresholds(&mut thresholds, layout);
    let crossings = compare(&thresholds, &observe(input.summary), false);
    let rows: Vec<ThresholdRow> = crossings
        .iter()
        .filter(|crossing| crossing.threshold.operator == ThresholdOperator::LessThan)
        .map(|crossing| row(crossing, layout))
        .collect();
    // The pods' memory as a whole is watched along with the node's, and ranked the same way.
    let is_asked = |row: &&ThresholdRow| match signal {
        Signal::MemoryAvailable => row.signal.resource() == StarvedResource::Memory,
        _ => row.signal == signal,
    };
    let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_asked(&row));
    let items = items(ranker, signal);
    let mut rank = EvictionRank {
        at,
        signal,
        resource: signal.resource(),
        condition: signal.condition(),
        usage: input.usage.clone(),
        layout: filesystem.map(|_| input.layout.clone()),
        counted: filesystem.map(|filesystem| measured_parts(filesystem, layout)),
        now: Vec::new(),
        reclaim: reclaim_functions(signal, layout),
        before: Vec::new(),
        reclaimed: None,
        first: first(&ranker.over_own_limits, &items),
        basis: Basis::default(),
        thresholds: own,
        items,
        lacks_pods: false,
    };
    rank.basis.warn_all(ranker.strangers.clone());
    rank.basis.lack_all(unseen(input, signal, &rank.thresholds));
    rank.basis.warn_all(beyond(signal, &rank.items));
    rank.now = now(&rank, input.thresholds).into_iter().map(Worded).collect();
    let has_threshold = !rank.thresholds.is_empty();
    let before = before(ranker, signal, &others, has_threshold);
    rank.before = before.into_iter().map(Worded).collect();
    rank
}

fn items(ranker: &Ranker<'_>, signal: Signal) -> Vec<RankItem> {
    let Ranker { input, stats, .. } = ranker;
    let layout = input.layout.layout();
    let ranking = rank_pods(signal, input.pods, stats, layout, input.rules);
    let most = input.config.eviction_max_pod_grace_period.into();
    let counted = signal.filesystem().map(|filesystem| measured_parts(filesystem, layout));
    let mut ends: Vec<_> = (0..ranking.pods.len()).map(|at| at..at + 1).collect();
    for tie in &ranking.ties {
        for end in ends.get_mut(tie.clone()).into_iter().flatten() {
            end.clone_from(tie);
        }
    }
    let mut items = Vec::with_capacity(ranking.pods.len());
    for (ranked, group) in ranking.pods.iter().zip(ends) {
        let Some(pod) = input.pods.get(ranked.pod) else { continue };
        let next = ranking.pods.get(group.end);
        let step = next.and_then(|next| decided_by(signal.resource(), ranked, next));
        let mut item = item(pod, ranked, most);
        item.rank = group.start + 1;
        item.last_rank = group.end;
        item.unmeasured =
            stats.of(pod).map(|stats| unmeasured(pod, stats, signal, counted)).unwrap_or_default();
        item.decided_by = step;
        item.because = because(signal, (ranked, next), step, group.len());
        items.push(item);
    }
    items
}

/// Returns the distance to an eviction.
fn now(rank: &EvictionRank, configured: &[EvictionThreshold]) -> Vec<DistanceReason> {
    let signal = rank.signal;
    if let Some(error) = rank.layout.as_ref().and_then(|layout| layout.refused) {
        return vec![DistanceReason::Refused { error }];
    }
    if configured.is_empty() {
        return vec![DistanceReason::NoThresholds { signal }];
    }
    if rank.thresholds.is_empty() {
        return vec![DistanceReason::NoThreshold { signal }];
    }
    let of_threshold = |row: &ThresholdRow| {
        let threshold = row.clone();
        match row.met {
            None if rank.usage.from == UsageFrom::StatsSummary => {
                DistanceReason::NotMeasured { threshold }
            }
            None => DistanceReason::Unknown { threshold },
            Some(false) => DistanceReason::NotCrossed { threshold },
            Some(true) => DistanceReason::Crossed { threshold },
        }
    };
    rank.thresholds.iter().map(of_threshold).collect()
}

/// Returns what the kubelet does before it evicts the first pod.
fn before(
    ranker: &Ranker<'_>,
    signal: Signal,
    others: &[ThresholdRow],
    has_threshold: bool,
) -> Vec<BeforeReason> {
    let mut before = Vec::new();
    let pods: Vec<_> = ranker.over_own_limits.iter().map(PodName::to_string).collect();
    if !pods.is_empty() {
        before.push(BeforeReason::LocalStorageLimits { pods });
    }
    let is_memory = |row: &&ThresholdRow| {
        row.met == Some(true) && row.signal.resource() == StarvedResource::Memory
    };
    let memory = others.iter().find(is_memory).cloned();
    before.extend(memory.map(|threshold| BeforeReason::MemoryFirst { signal, threshold }));
    let reclaim = reclaim_functions(signal, ranker.input.layout.layout());
    before.extend(has_threshold.then_some(BeforeReason::Reclaim { signal, reclaim }));
    before
}

/// Returns why a pod ranks before the next one, or how many others are equal to it.
fn because(
    signal: Signal,
    (pod, next): (&RankedPod, Option<&RankedPod>),
    step: Option<RankStep>,
    equals: usize,
) -> Vec<Worded<RankReason>> {
    let others = equals.saturating_sub(1);
    let tie = (others > 0).then_some(RankReason::Equal { others });
    let reason = match (next, step) {
        (Some(next), Some(step)) => Some(of_step(signal, pod, next, step)),
        (Some(_), None) => None,
        (None, _) => Some(RankReason::Last),
    };
    tie.into_iter().chain(reason).map(Worded).collect()
}

fn of_step(signal: Signal, pod: &RankedPod, next: &RankedPod, step: RankStep) -> RankReason {
    let over = |pod: &RankedPod| match &pod.figures {
        Some(Figures::Memory { excess, .. } | Figures::Disk { excess, .. }) => Some(excess.value()),
        Some(Figures::Processes { .. }) | None => None,
    };
    let processes = |pod: &RankedPod| match &pod.figures {
        Some(Figures::Processes { count }) => Some(*count),
        _ => None,
    };
    match step {
        RankStep::NotMeasured => RankReason::NotMeasured,
        RankStep::ExceedsRequest if signal.resource() == StarvedResource::Inodes => {
            RankReason::UsesInodes
        }
        RankStep::ExceedsRequest => RankReason::ExceedsRequest,
        RankStep::LowerPriority => {
            RankReason::LowerPriority { priority: pod.priority, next_priority: next.priority }
        }
        RankStep::MoreOver => {
            RankReason::MoreOver { over: over(pod), next_over: over(next), signal: Some(signal) }
        }
        RankStep::MoreProcesses => {
            RankReason::MoreProcesses { processes: processes(pod), next_processes: processes(next) }
        }
    }
}

fn item(pod: &Pod, ranked: &RankedPod, most_grace: i64) -> RankItem {
    let metadata = &pod.metadata;
    let mut item = RankItem {
        rank: 0,
        last_rank: 0,
        pod: PodName::of(metadata),
        priority: ranked.priority,
        request: ranked.request.as_ref().map(|request| request.value()),
        usage: None,
        over: None,
        exceeds: None,
        unmeasured: Vec::new(),
        critical: is_critical_pod(pod),
        soft_grace_seconds: soft_grace_seconds(pod, most_grace),
        parts: None,
        decided_by: None,
        because: Vec::new(),
    };
    // The kubelet reads the measured number as signed; here it is unsigned again.
    let amount = |quantity: &Quantity| quantity.value() as u64;
    match &ranked.figures {
        None => {}
        Some(Figures::Processes { count }) => item.usage = Some(*count),
        Some(Figures::Memory { usage, exceeds, excess }) => {
            item.usage = Some(amount(usage));
            item.over = Some(excess.value());
            item.exceeds = Some(*exceeds);
        }
        Some(Figures::Disk { usage, exceeds, excess, parts, .. }) => {
            item.usage = Some(amount(usage));
            item.over = Some(excess.value());
            item.exceeds = Some(*exceeds);
            item.parts = Some(UsedParts {
                root: amount(&parts.root),
                logs: amount(&parts.logs),
                local_volumes: amount(&parts.local_volumes),
            });
        }
    }
    item
}

/// Returns the counted parts without a measurement.
fn unmeasured(
    pod: &Pod,
    stats: &PodStats,
    signal: Signal,
    counted: Option<FsParts>,
) -> Vec<String> {
    let Some(counted) = counted else {
        let (what, is_known) = match signal.resource() {
            StarvedResource::Pids => (
                "the number of processes",
                stats.process_stats.as_ref().is_some_and(|stats| stats.process_count.is_some()),
            ),
            _ => (
                "the working set",
                stats.memory.as_ref().is_some_and(|memory| memory.working_set_bytes.is_some()),
            ),
        };
        return if is_known { Vec::new() } else { vec![what.to_owned()] };
    };
    let has = |bytes: Option<u64>, inodes: Option<u64>| match signal.resource() {
        StarvedResource::Inodes => inodes.is_some(),
        _ => bytes.is_some(),
    };
    let mut unmeasured = Vec::new();
    for container in &stats.containers {
        for (counts, fs, what) in [
            (counted.root, &container.rootfs, "writable layer"),
            (counted.logs, &container.logs, "logs"),
        ] {
            if counts && !fs.as_ref().is_some_and(|fs| has(fs.used_bytes, fs.inodes_used)) {
                unmeasured.push(format!("the {what} of {}", container.name));
            }
        }
    }
    let volumes = pod.spec.volumes.iter();
    let measured = ByName::first_of(stats.volumes.iter());
    for volume in volumes.filter(|volume| counted.local_volumes && volume.is_local()) {
        let found = measured.get(&volume.name);
        if !found.is_some_and(|found| has(found.used_bytes, found.inodes_used)) {
            unmeasured.push(format!("volume {}", volume.name));
        }
    }
    unmeasured
}

fn first(over_own_limits: &[PodName], items: &[RankItem]) -> FirstEvicted {
    // `synchronize` returns before the thresholds where `localStorageEviction` evicted a pod (`eviction_manager.go`, 1.36.2).
    if !over_own_limits.is_empty() {
        let one_of = over_own_limits.to_vec();
        return FirstEvicted { one_of, spared: Vec::new(), over_own_limits: true };
    }
    let Some(place) = items.iter().position(|item| !item.critical) else {
        return FirstEvicted::default();
    };
    let rank = items.get(place).map_or(0, |item| item.rank);
    let names = |wanted: &dyn Fn(&RankItem) -> bool| {
        items.iter().filter(|item| wanted(item)).map(|item| item.pod.clone()).collect()
    };
    FirstEvicted {
        one_of: names(&|item| item.rank == rank && !item.critical),
        spared: names(&|item| item.rank < rank),
        over_own_limits: false,
    }
}

/// Returns the signal if its threshold has no measurement: the kubelet takes it for not crossed, but the answer
/// should say so.
fn unseen(input: &RankInput<'_>, signal: Signal, rows: &[ThresholdRow]) -> Option<Missing> {
    let is_unseen = |row: &ThresholdRow| row.signal == signal && row.met.is_none();
    (input.usage.from == UsageFrom::StatsSummary && rows.iter().any(is_unseen)).then(|| {
        let text = format!("the available amount of {}: not in {}", signal, input.usage.source);
        Missing::new(MissingFact::AvailableAmount, text).about(signal.to_string())
    })
}

/// Returns the pods whose usage the kubelet reads as negative.
fn beyond(signal: Signal, items: &[RankItem]) -> Vec<Warning> {
    let is_beyond =
        |item: &&RankItem| item.usage.is_some_and(|usage| i64::try_from(usage).is_err());
    let say = |item: &RankItem| {
        let (namespace, name) = (&item.pod.namespace, &item.pod.name);
        let usage = item.usage.unwrap_or_default();
        let how = match signal {
            Signal::PidAvailable => "compares it as a negative number".to_owned(),
            _ => format!("reads it as {}", usage as i64),
        };
        let pod = format!("{namespace}/{name}");
        let text = format!("{pod}: the measured {usage} is 2^63 or more: the kubelet {how}");
        Warning::new(WarningCode::AmountOverflow, text).about(pod)
    };
    items.iter().filter(is_beyond).map(say).collect()
}
