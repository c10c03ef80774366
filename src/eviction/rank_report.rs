//! The order of eviction with what decided it, and how near the node is to it.

use super::container_fs::add_container_fs_thresholds;
use super::decision::soft_grace_seconds;
use super::disks::DiskLayout;
use super::local_storage::local_storage_checks;
use super::observation::{compare, observe};
use super::pressure::PodName;
use super::rank::{Figures, RankStep, RankedPod, decided_by, rank_pods};
use super::reason::{BeforeReason, DistanceReason, RankReason};
use super::reclaim::{ReclaimFunction, reclaim_functions};
use super::threshold_row::{ThresholdRow, row};
use super::usage::{FsParts, measured_parts};
use super::victim::Verdict;
use crate::answer::{Basis, Worded, answer};
use crate::facts::kubelet_config::{
    EffectiveConfiguration, EvictionThreshold, PressureCondition, Signal, StarvedResource,
    ThresholdOperator,
};
use crate::facts::stats_summary::{PodReference, PodStats, StatsByPod, StatsSummary};
use crate::facts::workloads::effective_uid;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::Pod;
use crate::k8s::priority::is_critical_pod;
use crate::k8s::quantity::Quantity;
use crate::output::metrics::{Metrics, number};
use serde::Serialize;
use std::collections::BTreeSet;

/// What an answer is made from.
#[derive(Clone, Debug)]
pub struct RankInput<'a> {
    /// What is short.
    pub signal: Signal,
    /// The kubelet's configuration.
    pub config: &'a EffectiveConfiguration,
    /// The thresholds in it.
    pub thresholds: &'a [EvictionThreshold],
    /// The kubelet's rules.
    pub rules: &'a KubeletRules,
    /// How the file systems lie.
    pub layout: &'a DiskLayout,
    /// What was measured.
    pub summary: &'a StatsSummary,
    /// Who measured what the pods use.
    pub usage: UsageSource,
    /// The pods that may be evicted.
    pub pods: &'a [&'a Pod],
}

/// Who measured what the pods use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSource {
    /// Which way.
    pub from: UsageFrom,
    /// The place.
    pub source: String,
}

/// How it is known what the pods use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageFrom {
    /// The kubelet's own measurements, by which it ranks.
    StatsSummary,
    /// The kernel's counters of this moment, added up as the kubelet does.
    Cgroups,
}

/// The order in which pods would be evicted.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvictionRank {
    /// The moment of everything.
    pub at: String,
    /// What is short.
    pub signal: Signal,
    /// What the kubelet calls that.
    pub resource: StarvedResource,
    /// What the node reports then.
    pub condition: PressureCondition,
    /// Who measured what the pods use.
    pub usage: UsageSource,
    /// How the file systems lie; `None`: it does not matter.
    pub layout: Option<DiskLayout>,
    /// What of the pods' usage counts; `None`: it is not of a disk.
    pub counted: Option<FsParts>,
    /// The thresholds of the signal.
    pub thresholds: Vec<ThresholdRow>,
    /// How near it is.
    pub now: Vec<Worded<DistanceReason>>,
    /// What is cleared away before any pod goes, in order.
    pub reclaim: &'static [ReclaimFunction],
    /// What comes before the first pod in this order.
    pub before: Vec<Worded<BeforeReason>>,
    /// Who goes first.
    pub first: FirstEvicted,
    /// The pods; the first is evicted first.
    pub items: Vec<RankItem>,
    /// Other pods may come before all of these: `missing` says which are not known.
    #[serde(skip)]
    pub lacks_pods: bool,
    /// What it rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("EvictionRank", EvictionRank, EvictionRank::metrics);

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
                "What is left of the signal",
                (|row| row.available) as fn(&ThresholdRow) -> _,
            ),
            ("threshold", "Threshold of eviction", |row| row.threshold),
            ("margin", "What is left above the threshold", |row| row.margin),
        ] {
            metrics.gauge(&format!("kq_eviction_{name}"), help, thresholds(value));
        }
        for (name, help, value) in [
            (
                "rank",
                "Place in the order of eviction, from 1",
                (|item| i64::try_from(item.rank).ok()) as fn(&RankItem) -> _,
            ),
            ("usage", "Usage of the pod by which it is ranked", |item| {
                i64::try_from(item.usage?).ok()
            }),
            ("request", "Request of the pod", |item| item.request),
        ] {
            metrics.gauge(&format!("kq_eviction_pod_{name}"), help, pods(value));
        }
    }
}

/// Who goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirstEvicted {
    /// One of these; none: all are critical, there are no pods, or it is missing which they are.
    pub one_of: Vec<PodName>,
    /// Critical pods that come before all of these, and stay.
    pub spared: Vec<PodName>,
}

/// A pod in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RankItem {
    /// Its place, from 1; of equal pods the first of theirs.
    pub rank: usize,
    /// The last place of those that are equal to it.
    pub last_rank: usize,
    /// The pod.
    #[serde(flatten)]
    pub pod: PodName,
    /// Its priority; a pod without one has 0.
    pub priority: i32,
    /// What it requests: bytes of memory, or of ephemeral storage also when inodes are short; `None`:
    /// processes are not requested.
    pub request: Option<i64>,
    /// What it uses, in bytes, inodes or processes; `None`: nothing was measured.
    pub usage: Option<u64>,
    /// The usage without the request.
    pub over: Option<i64>,
    /// Whether it uses more than it requests; of inodes, any.
    pub exceeds: Option<bool>,
    /// What was not measured of it and counts as nothing in the kubelet too.
    pub unmeasured: Vec<String>,
    /// The kubelet only logs that it cannot evict it, and goes on to the next.
    pub critical: bool,
    /// How long it may take to end when a soft threshold decides; for a hard one it is a second.
    pub soft_grace_seconds: i64,
    /// The parts of the usage of a disk.
    pub parts: Option<UsedParts>,
    /// What puts it before those behind it; `None`: there are none.
    pub decided_by: Option<RankStep>,
    /// Why it ranks before them.
    pub because: Vec<Worded<RankReason>>,
}

/// The parts of what a pod uses of a disk, whether they count or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the kubelet")]
pub struct UsedParts {
    pub root: u64,
    pub logs: u64,
    pub local_volumes: u64,
}

/// Ranks the pods of a node, and says what decides.
pub fn eviction_rank(input: &RankInput<'_>, at: String) -> EvictionRank {
    let signal = input.signal;
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
    // The pods' memory as a whole is watched along with the node's, and ranked alike.
    let is_asked = |row: &&ThresholdRow| match signal {
        Signal::MemoryAvailable => row.signal.resource() == StarvedResource::Memory,
        _ => row.signal == signal,
    };
    let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_asked(&row));
    let items = items(input);
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
        first: first(&items),
        basis: Basis::default(),
        thresholds: own,
        items,
        lacks_pods: false,
    };
    rank.basis.warn_all(strangers(input));
    rank.basis.lack_all(unseen(input, &rank.thresholds));
    rank.basis.warn_all(beyond(signal, &rank.items));
    rank.now = now(&rank).into_iter().map(Worded).collect();
    rank.before = before(input, &others).into_iter().map(Worded).collect();
    rank
}

fn items(input: &RankInput<'_>) -> Vec<RankItem> {
    let signal = input.signal;
    let layout = input.layout.layout();
    let stats = StatsByPod::new(&input.summary.pods);
    let ranking = rank_pods(signal, input.pods, &input.summary.pods, layout, input.rules);
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

/// Returns how near the node is to an eviction.
fn now(rank: &EvictionRank) -> Vec<DistanceReason> {
    let signal = rank.signal;
    if let Some(error) = rank.layout.as_ref().and_then(|layout| layout.refused) {
        return vec![DistanceReason::Refused { error }];
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

/// Returns what comes before the first pod in the order.
fn before(input: &RankInput<'_>, others: &[ThresholdRow]) -> Vec<BeforeReason> {
    let signal = input.signal;
    let mut before = Vec::new();
    let pods = over_own_limits(input);
    if !pods.is_empty() {
        before.push(BeforeReason::LocalStorageLimits { pods });
    }
    let is_memory = |row: &&ThresholdRow| {
        row.met == Some(true) && row.signal.resource() == StarvedResource::Memory
    };
    let memory = others.iter().find(is_memory).cloned();
    before.extend(memory.map(|threshold| BeforeReason::MemoryFirst { signal, threshold }));
    let reclaim = reclaim_functions(signal, input.layout.layout());
    before.push(BeforeReason::Reclaim { signal, reclaim });
    before
}

/// Returns why a pod ranks before the next one; it is one of so many that are equal.
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
        pod: PodName {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
        },
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
    // The kubelet takes what was measured for a signed number; here it is what was measured again.
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

/// Returns what counts and has no number.
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
    for volume in volumes.filter(|volume| counted.local_volumes && volume.is_local()) {
        let found = stats.volumes.iter().find(|found| found.name == volume.name);
        if !found.is_some_and(|found| has(found.used_bytes, found.inodes_used)) {
            unmeasured.push(format!("volume {}", volume.name));
        }
    }
    unmeasured
}

fn first(items: &[RankItem]) -> FirstEvicted {
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
    }
}

/// What nobody but the kubelet measures, and it did not, is never crossed for it; the asker may still
/// have wanted to know it.
fn unseen(input: &RankInput<'_>, rows: &[ThresholdRow]) -> Vec<String> {
    let is_unseen = |row: &ThresholdRow| row.signal == input.signal && row.met.is_none();
    match input.usage.from == UsageFrom::StatsSummary && rows.iter().any(is_unseen) {
        true => {
            vec![format!("what is left of {}: {} does not tell", input.signal, input.usage.source)]
        }
        false => Vec::new(),
    }
}

/// Returns the pods that go for limits of their own, whatever is short.
fn over_own_limits(input: &RankInput<'_>) -> Vec<String> {
    if !input.config.local_storage_capacity_isolation {
        return Vec::new();
    }
    let checks = local_storage_checks(input.pods, &input.summary.pods, input.layout.layout());
    let gone = checks.into_iter().filter(|check| matches!(check.verdict, Verdict::Evicted(_)));
    gone.filter_map(|check| {
        let metadata = &input.pods.get(check.pod)?.metadata;
        Some(format!("{}/{}", metadata.namespace, metadata.name))
    })
    .collect()
}

/// Returns what is odd about what was measured.
fn strangers(input: &RankInput<'_>) -> Vec<String> {
    let stats = StatsByPod::new(&input.summary.pods);
    let found = input.pods.iter().filter_map(|pod| stats.of(pod)).map(|stats| &stats.pod_ref);
    let found: BTreeSet<(&str, &str, &str)> = found.map(identity).collect();
    let known: BTreeSet<&str> =
        input.pods.iter().flat_map(|pod| [&*pod.metadata.uid, effective_uid(pod)]).collect();
    let stats = input.summary.pods.iter().map(|stats| &stats.pod_ref);
    let strangers: Vec<String> = stats
        .filter(|pod| !known.contains(&*pod.uid) || pod.uid.is_empty())
        .filter(|pod| !found.contains(&identity(pod)))
        .map(|pod| match pod.name.is_empty() {
            true => format!("pod{}", pod.uid),
            false => format!("{}/{}", pod.namespace, pod.name),
        })
        .collect();
    match strangers.as_slice() {
        [] => Vec::new(),
        [first, others @ ..] => {
            let others = match others.len() {
                0 => String::new(),
                1 => " and one other".to_owned(),
                count => format!(" and {count} others"),
            };
            vec![format!(
                "measured, and no pod that may be evicted: {first}{others}; the kubelet does not rank what \
                 ended or is not its own"
            )]
        }
    }
}

fn identity(pod: &PodReference) -> (&str, &str, &str) {
    (&pod.uid, &pod.namespace, &pod.name)
}

/// Returns the pods of which so much was measured that the kubelet counts it below zero.
fn beyond(signal: Signal, items: &[RankItem]) -> Vec<String> {
    let is_beyond =
        |item: &&RankItem| item.usage.is_some_and(|usage| i64::try_from(usage).is_err());
    let say = |item: &RankItem| {
        let (namespace, name) = (&item.pod.namespace, &item.pod.name);
        let usage = item.usage.unwrap_or_default();
        let how = match signal {
            Signal::PidAvailable => "compares it as if it were below zero".to_owned(),
            _ => format!("takes it for {}", usage as i64),
        };
        format!(
            "{namespace}/{name}: {usage} was measured, which is 2^63 or more: the kubelet {how}"
        )
    };
    items.iter().filter(is_beyond).map(say).collect()
}
