//! The order in which the kubelet of a node would evict pods.

use super::measured::stats;
use super::pod_selectors::PodSelectors;
use super::reclaim::node_reclaim;
use anyhow::anyhow;
use kq_answer::{Basis, Failure, Missing, MissingFact, Warning, WarningCode, Worded};
use kq_eviction::{
    self, Crossing, DiskFacts, DistanceReason, EvictionRank, NodeDisks, NodeIdentity, PodName,
    RankInput, Ranker, ThresholdRow, UsageFrom, UsageSource, add_container_fs_thresholds,
    amount_of, compare, is_active, node_disks, observe,
};
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::fact_key::FactKey;
use kq_facts::input_name::shown;
use kq_facts::kubelet_config::{EvictionThreshold, PressureCondition, Signal};
use kq_facts::live::cgroup_tree;
use kq_facts::live::incomplete;
use kq_facts::lookup::Sourced;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::node_pods::{NodePods, Standing};
use kq_facts::snapshot::PodSource;
use kq_facts::stats_summary::{PodStats, StatsByPod, StatsSummary};
use kq_facts::workloads::effective_uid;
use kq_k8s::kubelet_rules::RuleArea;
use kq_k8s::pod::Pod;
use kq_output::units::and_more;
use std::collections::BTreeSet;

/// The flag with which the kubelet does not watch the memory of the pods as a whole.
const IGNORES_ALLOCATABLE: &str = "experimental-allocatable-ignore-eviction";

/// Options of the order of eviction.
#[derive(Clone, Debug)]
pub struct EvictionOptions {
    /// The signal of the resource that runs short.
    pub signal: Signal,
    /// The name of the node; `None`: from its facts.
    pub node_name: Option<String>,
    /// The file of the stats summary; `None`: the kubelet's answer.
    pub stats_file: Option<String>,
    /// The node is a stored snapshot.
    pub is_stored: bool,
}

/// Returns the facts that the order of eviction needs; `None`: that of every signal. The usage of disks is known to the
/// kubelet alone.
pub fn eviction_needs(signal: Option<Signal>) -> Needs {
    let of_disk = signal.is_some_and(|signal| signal.filesystem().is_some());
    let may_reclaim = of_disk || signal.is_none();
    let (of_processes, of_memory) = match signal {
        Some(signal) => (signal == Signal::PidAvailable, signal != Signal::PidAvailable),
        None => (true, true),
    };
    let needs = if may_reclaim { Needs::EVICTION_OF_DISK } else { Needs::EVICTION };
    needs
        .with_if(!of_disk, &[FactKey::CgroupTree, FactKey::CgroupUsage])
        .with_if(!of_disk && of_processes, &[FactKey::Processes])
        .with_if(!of_disk && of_memory, &[FactKey::CgroupStatistics])
}

/// The signal that is nearest to an eviction, of those that are measured.
pub struct NearestSignal {
    /// The one on which the kubelet acts first, or else with the least of its capacity left above a threshold; without any
    /// threshold, that of memory.
    pub signal: Signal,
    /// The others that have a threshold, and no measurement.
    pub unmeasured: Vec<Signal>,
}

impl NearestSignal {
    /// Returns the signals that may be nearer; `None`: each was compared.
    pub fn missing(&self) -> Option<Missing> {
        let names: Vec<&str> = self.unmeasured.iter().map(|it| it.as_str()).collect();
        let text = format!("whether another signal is nearer: not measured: {}", names.join(", "));
        (!names.is_empty())
            .then(|| Missing::new(MissingFact::AvailableAmount, text).with_flags(["--signal"]))
    }
}

/// Returns the signal that is nearest to an eviction. A kubelet without a threshold evicts for none, which is known too.
///
/// # Errors
///
/// Fails where no signal that has a threshold is measured, and on thresholds with which the kubelet would not start.
pub fn nearest_signal(
    node: &Node,
    options: impl Fn(Signal) -> EvictionOptions,
) -> Result<NearestSignal, Failure> {
    let thresholds = compared_thresholds(node, stats(node))?;
    let signals: BTreeSet<Signal> = thresholds.iter().map(|it| it.signal).collect();
    if signals.is_empty() {
        return Ok(NearestSignal { signal: Signal::MemoryAvailable, unmeasured: Vec::new() });
    }
    let (mut nearest, mut unmeasured, mut unknown) = (None, Vec::new(), None);
    let all = ranks(node, stats(node), signals.iter().copied(), options);
    for (signal, rank) in signals.into_iter().zip(all) {
        let least = match rank {
            Ok(rank) => {
                let of_signal = rank.thresholds.iter().filter(|row| row.signal == signal);
                of_signal.filter_map(urgency).min()
            }
            Err(failure) => {
                unknown = unknown.or(Some(failure));
                None
            }
        };
        match least {
            Some(urgency) => nearest = nearest.into_iter().chain([(urgency, signal)]).min(),
            None => unmeasured.push(signal),
        }
    }
    match (nearest, unknown) {
        (Some((_, signal)), _) => Ok(NearestSignal { signal, unmeasured }),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(Failure::missing(anyhow!("no signal with a threshold is measured"))
            .hint("name the signal with --signal")),
    }
}

/// Returns how soon the kubelet acts on a threshold, least first; `None`: not measured. Of the crossed ones a soft one waits for
/// its grace period (`thresholdsMetGracePeriod`), then memory comes first (`byEvictionPriority`; both in
/// `pkg/kubelet/eviction/helpers.go`, 1.36.2).
fn urgency(row: &ThresholdRow) -> Option<(bool, bool, bool, i128)> {
    let share = share_left(row)?;
    let is_of_memory =
        matches!(row.signal, Signal::MemoryAvailable | Signal::AllocatableMemoryAvailable);
    let is_far = share >= 0;
    Some((is_far, !is_far && row.grace_period.0 > 0, is_far || !is_of_memory, share))
}

/// The whole of a capacity, in millionths.
const WHOLE: i128 = 1_000_000;

/// Returns the part of the capacity that is left above a threshold, in millionths; `None`: not measured. Of a capacity of 0,
/// as of the inodes of btrfs, there are no parts: it is all there, or all gone where the threshold is an amount.
fn share_left(row: &ThresholdRow) -> Option<i128> {
    let (margin, capacity) = (row.margin?, row.capacity?);
    Some(match (capacity > 0, margin >= 0) {
        (true, _) => i128::from(margin) * WHOLE / i128::from(capacity),
        (false, true) => WHOLE,
        (false, false) => -WHOLE,
    })
}

/// Returns the thresholds of a node that are crossed, by the numbers and the layout of its disks that [`eviction_rank`] has;
/// none where the stats or the thresholds are unknown.
///
/// # Errors
///
/// Fails on thresholds with which the kubelet would not start.
pub fn crossed_thresholds(node: &Node) -> Result<Vec<Crossing>, Failure> {
    let thresholds = compared_thresholds(node, stats(node))?;
    let Some(found) = stats(node).filter(|_| !node.lacks_config()) else { return Ok(Vec::new()) };
    let disks = disks(node, &found.value);
    let crossings = compare(&thresholds, &observe(&disks.summary), false);
    Ok(crossings.into_iter().filter(Crossing::met).collect())
}

/// Returns the thresholds that the kubelet compares. Those of containerfs are copies of others, by the layout of the disks
/// (`UpdateContainerFsThresholds`, `pkg/kubelet/eviction/helpers.go`): they count where the containers have a disk of their own.
fn compared_thresholds(node: &Node, stats: Stats<'_>) -> Result<Vec<EvictionThreshold>, Failure> {
    let mut thresholds = node.eviction_thresholds()?;
    let Some(found) = stats else { return Ok(thresholds) };
    let layout = disks(node, &found.value).layout.layout();
    match (layout.dedicated_image_fs, layout.split_container_image_fs) {
        (true, true) => _ = add_container_fs_thresholds(&mut thresholds, layout),
        (false, true) => {}
        _ => thresholds.retain(|it| {
            !matches!(it.signal, Signal::ContainerFsAvailable | Signal::ContainerFsInodesFree)
        }),
    }
    Ok(thresholds)
}

/// Returns the layout and the usage of a node's file systems.
fn disks(node: &Node, summary: &StatsSummary) -> NodeDisks {
    let (snapshot, config) = (&node.snapshot, node.config());
    node_disks(DiskFacts {
        folders: &snapshot.folders,
        runtime: snapshot.runtime.value().and_then(|it| it.image_filesystems.value()),
        endpoint: &config.container_runtime_endpoint,
        feature_gates: &config.feature_gates,
        rules: &node.kubelet.rules,
        summary: Some(summary),
        assumed: None,
    })
}

/// Returns an amount as [`amount_of`] does, next to another one: bytes, where both would read alike.
pub fn amount_beside(signal: Signal, amount: i64, other: i64) -> String {
    let shown = amount_of(signal, amount);
    match amount != other && shown == amount_of(signal, other) {
        true => format!("{amount} bytes"),
        false => shown,
    }
}

/// Ranks the pods of a node for eviction.
///
/// # Errors
///
/// Fails where the pods or their usage are unknown, and where the kubelet would not start with its configuration.
pub fn eviction_rank(node: &Node, options: &EvictionOptions) -> Result<EvictionRank, Failure> {
    options.rank(node, stats(node))
}

/// Ranks the pods of a node for each signal that has a threshold, by what is measured ([`stats`]). Where nothing is measured, the first failure stands for all.
///
/// # Errors
///
/// Fails where the kubelet would not start with its configuration.
pub fn eviction_ranks(
    node: &Node,
    stats: Stats<'_>,
    node_name: Option<&str>,
    is_stored: bool,
) -> Result<Vec<Result<EvictionRank, Failure>>, Failure> {
    let thresholds = compared_thresholds(node, stats)?;
    let signals: BTreeSet<Signal> = thresholds.iter().map(|it| it.signal).collect();
    let options = |signal| EvictionOptions {
        signal,
        node_name: node_name.map(str::to_owned),
        stats_file: None,
        is_stored,
    };
    Ok(ranks(node, stats, signals.into_iter(), options))
}

/// Ranks the pods for several signals; what the kubelet measured is looked at once, and where nothing is measured, one failure
/// stands for all.
fn ranks(
    node: &Node,
    stats: Stats<'_>,
    signals: impl Iterator<Item = Signal>,
    options: impl Fn(Signal) -> EvictionOptions,
) -> Vec<Result<EvictionRank, Failure>> {
    let most = if stats.is_some() { usize::MAX } else { 1 };
    let mut signals = signals.take(most);
    let mut ranks = Vec::new();
    while let Some(signal) = signals.next() {
        let ranked = match options(signal).ranked(node, stats) {
            Ok(ranked) => ranked,
            Err(failure) => {
                ranks.push(Err(failure));
                continue;
            }
        };
        let ranker = ranked.ranker(node);
        ranks.push(Ok(ranked.rank(&ranker, node, signal)));
        if ranked.is_of_kubelet {
            ranks.extend(signals.by_ref().map(|signal| Ok(ranked.rank(&ranker, node, signal))));
        }
    }
    ranks
}

/// Ranks the pods of a node, and says what is reclaimed first where the threshold is crossed.
///
/// # Errors
///
/// Fails as [`eviction_rank`] does.
pub fn eviction_rank_after_reclaim(
    node: &Node,
    options: &EvictionOptions,
) -> Result<EvictionRank, Failure> {
    let mut rank = eviction_rank(node, options)?;
    if rank.is_crossed() && !rank.reclaim.is_empty() && !rank.first.over_own_limits {
        let reclaim = node_reclaim(node).ok();
        rank.reclaimed = reclaim.and_then(|it| it.ahead(options.signal));
    }
    Ok(rank)
}

/// Ranks all pods of a node for eviction as [`eviction_rank_after_reclaim`] does, and keeps the selected ones.
///
/// # Errors
///
/// Fails as [`eviction_rank`] does, and for labels that no pod has.
pub fn eviction_rank_of(
    node: &Node,
    options: &EvictionOptions,
    pods: &PodSelectors,
) -> Result<EvictionRank, Failure> {
    let unknown = node.unknown_pods().map(|it| it.text);
    let mut rank = eviction_rank_after_reclaim(node, options)?;
    let namespace = pods.namespace.as_deref();
    rank.items.retain(|item| namespace.is_none_or(|name| name == item.pod.namespace));
    if pods.labels.is_some() {
        let ranked = rank.items.iter().map(|item| &item.pod);
        let ranked: Vec<_> =
            ranked.map(|it| (it.namespace.clone(), it.name.clone(), it.uid.clone())).collect();
        let selection = pods.selection(node.loaded_pods(), &ranked, unknown.as_deref())?;
        let is_selected = |it: &PodName| selection.has(&it.namespace, &it.name, &it.uid);
        rank.items.retain(|item| is_selected(&item.pod));
        rank.basis.lack_all(selection.missing());
    }
    Ok(rank)
}

/// The measurements of a node, where there are any.
pub type Stats<'n> = Option<&'n Sourced<StatsSummary>>;

/// The stats, with their source.
struct Measured<'n> {
    summary: &'n StatsSummary,
    usage: UsageSource,
    /// Why what the pods use is unknown.
    unknown: Option<Missing>,
}

/// What the rank of a signal is made of.
struct Ranked<'n> {
    thresholds: Vec<EvictionThreshold>,
    basis: Basis,
    usage: UsageSource,
    pods: Vec<&'n Pod>,
    disks: NodeDisks,
    /// Why it is unknown whose the measured pods are.
    mismatch: Option<Missing>,
    lacks_pods: bool,
    /// The kubelet measured all; of the kernel's counters each signal has others.
    is_of_kubelet: bool,
}

impl Ranked<'_> {
    fn ranker<'r>(&'r self, node: &'r Node) -> Ranker<'r> {
        Ranker::of(RankInput {
            config: node.config(),
            thresholds: &self.thresholds,
            rules: &node.kubelet.rules,
            layout: &self.disks.layout,
            summary: &self.disks.summary,
            usage: self.usage.clone(),
            pods: &self.pods,
        })
    }

    fn rank(&self, ranker: &Ranker<'_>, node: &Node, signal: Signal) -> EvictionRank {
        let mut basis = self.basis.clone();
        let mut rank = ranker.rank(signal, node.now.to_string());
        if signal.filesystem().is_some() && self.disks.layout.dedicated_image_fs.is_none() {
            basis.assume(
                "images are on the kubelet's file system: their location is unknown".to_owned(),
            );
        }
        if let Some(missing) = &self.mismatch {
            // Warnings about the measured pods are void if it is unknown whose they are.
            rank.basis.warnings.clear();
            rank.basis.lack(missing.clone());
        }
        rank.lacks_pods = self.lacks_pods;
        rank.basis.lacks_kubelet = node.lacks_kubelet();
        rank.now.extend(reported(node, rank.condition));
        rank.basis.assume_all(basis.assumptions);
        rank.basis.warn_all(basis.warnings);
        rank.basis.lack_all(basis.missing);
        rank
    }
}

impl EvictionOptions {
    /// Returns the node whose pods count. The stats of another node's kubelet do not apply to this one.
    fn own_node(&self, node: &Node, summary: &StatsSummary) -> Result<NodeIdentity, Failure> {
        let snapshot = &node.snapshot;
        let named = self.node_name.as_deref();
        let named = named.or(snapshot.node.value().map(|object| &*object.metadata.name));
        let found = snapshot.node_name.value().map(String::as_str);
        let measured = Some(summary.node.node_name.as_str());
        // The kubelet's answer is the better source of its name than the machine; a file may be of another node.
        let names = match &self.stats_file {
            Some(_) => [named, found, measured],
            None => [named, measured, found],
        };
        let said = names.into_iter().flatten().find(|name| !name.is_empty());
        if let (Some(file), Some(said), Some(measured)) = (&self.stats_file, said, measured)
            && !measured.is_empty()
            && said != measured
        {
            let file = shown(file);
            return Err(Failure::missing(anyhow!(
                "{file} has the stats of node {measured}, not of {said}"
            ))
            .hint(format!(
                "kubectl get --raw /api/v1/nodes/{said}/proxy/stats/summary writes it for --stats; \
                 --node-name names the node"
            )));
        }
        Ok(NodeIdentity::of(said, &node.allocated_pods(), &StatsByPod::new(&summary.pods)))
    }

    fn rank(&self, node: &Node, stats: Stats<'_>) -> Result<EvictionRank, Failure> {
        let ranked = self.ranked(node, stats)?;
        Ok(ranked.rank(&ranked.ranker(node), node, self.signal))
    }

    /// Returns what the rank of a signal is made of.
    fn ranked<'n>(&self, node: &'n Node, stats: Stats<'n>) -> Result<Ranked<'n>, Failure> {
        let thresholds = node.eviction_thresholds()?;
        let mut basis = basis_of(node);
        basis.assume_all(node.assumed_allocations());
        node.snapshot.known_pods()?;
        let Measured { summary, usage, unknown } = self.measured(node, stats, &mut basis)?;
        let own_node = self.own_node(node, summary)?;
        let known = node.allocated_pods();
        let nothing = || {
            let none = self.stats_file.is_some() && summary.pods.is_empty() && !known.is_empty();
            let text = "the pods' usage: the stats have no pods (--stats)";
            none.then(|| Missing::new(MissingFact::PodStats, text))
        };
        let mismatch =
            unknown.or_else(|| own_node.mismatch(&known, &summary.pods)).or_else(nothing);
        let snapshot = &node.snapshot;
        let unread = unread(node, summary);
        let lacks_pods = unread.is_some()
            || incomplete(&snapshot.pods, &known, snapshot.runtime.value()).is_some();
        if mismatch.is_none() {
            basis.lack_all(unread);
        }
        let pods = match mismatch {
            None => active_pods(node, &own_node, summary, &mut basis),
            Some(_) => Vec::new(),
        };
        let disks = disks(node, summary);
        let is_of_kubelet = !summary.is_of_machine;
        Ok(Ranked { thresholds, basis, usage, pods, disks, mismatch, lacks_pods, is_of_kubelet })
    }

    /// Returns the stats with their source.
    fn measured<'n>(
        &self,
        node: &Node,
        stats: Stats<'n>,
        basis: &mut Basis,
    ) -> Result<Measured<'n>, Failure> {
        let lookup = &node.snapshot.stats_summary;
        let reason = || match lookup.tried.is_empty() && self.is_stored {
            true => "not in the snapshot".to_owned(),
            false => lookup.reason(),
        };
        let failed = |error: anyhow::Error| {
            Failure::missing(error).hint(
                "give the kubelet's stats with --stats FILE (kubectl get --raw \
                 /api/v1/nodes/NAME/proxy/stats/summary), or take a snapshot as root on the node and \
                 pass it with --snapshot",
            )
        };
        let Some(found) = stats else {
            let reason = reason();
            return Err(failed(match cgroup_tree(&node.snapshot) {
                Err(error) if self.signal.filesystem().is_none() => {
                    anyhow!("{}; the kubelet's stats: {reason}", error.reason())
                }
                _ => anyhow!("the kubelet's stats: {reason}"),
            }));
        };
        let Sourced { source, value } = found;
        let source = source.clone();
        if !value.is_of_machine {
            let usage = UsageSource { from: UsageFrom::StatsSummary, source };
            return Ok(Measured { summary: value, usage, unknown: None });
        }
        let reason = reason();
        let usage = UsageSource { from: UsageFrom::Cgroups, source };
        if self.signal.filesystem().is_some() {
            let text = format!(
                "the pods' disk usage, which the kubelet alone measures: {reason} (--stats)"
            );
            let unknown = Some(Missing::new(MissingFact::PodStats, text));
            return Ok(Measured { summary: value, usage, unknown });
        }
        self.knows_usage(node, &value.pods, &reason).map_err(failed)?;
        basis.lack_all(cgroup_problems(node));
        let text = format!(
            "the kubelet's own stats, so it may rank by other numbers; limits of local storage are assumed \
             not to be exceeded: {reason}"
        );
        basis.lack(Missing::new(MissingFact::StatsSummary, text));
        Ok(Measured { summary: value, usage, unknown: None })
    }

    /// Makes sure that the kernel says what each pod uses.
    fn knows_usage(&self, node: &Node, pods: &[PodStats], reason: &str) -> anyhow::Result<()> {
        if pods.is_empty() {
            let config = node.config();
            let roots = kubelet_roots(&config.cgroup_root, config.cgroups_per_qos);
            let roots: Vec<&str> = roots.iter().map(|(_, root)| root.as_str()).collect();
            let roots = roots.join(" or ");
            return Err(anyhow!("the kubelet's stats: {reason}; {roots} has no pods"));
        }
        let is_known = |pod: &&PodStats| match self.signal {
            Signal::PidAvailable => pod.process_stats.is_some(),
            _ => pod.memory.is_some(),
        };
        let unknown: Vec<_> = pods.iter().filter(|pod| !is_known(pod)).collect();
        let Some(pod) = unknown.first() else { return Ok(()) };
        let (of, uid) = (unknown.len(), &pod.pod_ref.uid);
        Err(anyhow!(
            "the kubelet's stats: {reason}; {of} pods have no usage in their cgroups, such as pod{uid}"
        ))
    }
}

/// Returns what of the cgroups could not be read.
fn cgroup_problems(node: &Node) -> Vec<Missing> {
    let problems = node.snapshot.cgroups.value().into_iter().flat_map(|tree| &tree.problems);
    let missing = problems.map(|problem| {
        let missing = Missing::new(MissingFact::CgroupTree, format!("a cgroup: {problem}"));
        missing.about(&problem.source)
    });
    missing.collect()
}

/// Returns the basis of every answer about this node.
fn basis_of(node: &Node) -> Basis {
    let mut basis = Basis::default();
    basis.warn_all(node.warnings());
    basis.lack_all(node.missing_config());
    let flags = node.snapshot.kubelet.value().into_iter().flat_map(|process| &process.flags);
    if flags.into_iter().any(|flag| flag.name == IGNORES_ALLOCATABLE) {
        let text = format!(
            "the kubelet was started with --{IGNORES_ALLOCATABLE}, and may not watch \
             allocatableMemory.available"
        );
        let flag = format!("--{IGNORES_ALLOCATABLE}");
        basis.warn(Warning::new(WarningCode::KubeletFlag, text).about(flag));
    }
    basis.assume_all(node.assumed());
    basis.assume_all(node.kubelet.version.certainty(RuleArea::Eviction));
    let known = node.allocated_pods();
    let snapshot = &node.snapshot;
    basis.lack_all(incomplete(&snapshot.pods, &known, snapshot.runtime.value()));
    basis
}

/// Returns the pressure that the node reports, which outlasts the crossing.
fn reported(node: &Node, condition: PressureCondition) -> Option<Worded<DistanceReason>> {
    let (short, _) = node.snapshot.node.value()?.status.pressure();
    let transition_period = node.config().eviction_pressure_transition_period;
    let is_reported = short.contains(&condition);
    is_reported.then(|| DistanceReason::Reported { condition, transition_period }.into())
}

/// Returns a note about measured pods that are not in the files of pods.
fn unread(node: &Node, summary: &StatsSummary) -> Option<Missing> {
    let recorded = node.snapshot.pods.value()?;
    if recorded.source != PodSource::Files || !recorded.left_out.is_empty() {
        return None;
    }
    let pods = node.allocated_pods();
    let uids: BTreeSet<&str> = pods.iter().map(|pod| effective_uid(pod)).collect();
    let name = |pod: &&Pod| (pod.metadata.namespace.clone(), pod.metadata.name.clone());
    let names: BTreeSet<(String, String)> = pods.iter().map(name).collect();
    let mut unread = summary.pods.iter().map(|it| &it.pod_ref).filter(|it| {
        !uids.contains(&*it.uid) && !names.contains(&(it.namespace.clone(), it.name.clone()))
    });
    let first = unread.next()?;
    let more = and_more(unread.count());
    let text = format!(
        "measured pods that are not in the files: {}/{}{more} (--pods)",
        first.namespace, first.name
    );
    Some(Missing::new(MissingFact::Pods, text))
}

/// Returns the pods that may be evicted.
fn active_pods<'n>(
    node: &'n Node,
    own_node: &NodeIdentity,
    summary: &StatsSummary,
    basis: &mut Basis,
) -> Vec<&'n Pod> {
    let snapshot = &node.snapshot;
    let measured = StatsByPod::new(&summary.pods);
    basis.assume_all(own_node.assumption());
    let standings = NodePods::of(snapshot);
    let mut pods = Vec::new();
    let (mut elsewhere, mut nowhere, mut without_priority, mut by_name) = (0, 0, 0, 0);
    for pod in node.allocated_pods() {
        let bound_to = &pod.spec.node_name;
        let uid = effective_uid(pod);
        let is_active = match uid {
            "" => is_active(pod),
            uid => !matches!(standings.standing(uid), Standing::Ended(_) | Standing::Gone(_)),
        };
        if own_node.is_another(bound_to) {
            elsewhere += 1;
        } else if bound_to.is_empty() && pod.status.phase == "Pending" {
            nowhere += 1;
        } else if is_active {
            if let Some(doubt) = own_node.doubt(pod, &measured) {
                basis.lack(doubt);
                continue;
            }
            by_name += usize::from(uid.is_empty());
            let has_class = !pod.spec.priority_class_name.is_empty();
            without_priority += usize::from(has_class && pod.spec.priority.is_none());
            pods.push(pod);
        }
    }
    // The kubelet's order of equal pods is random; here it is always the same.
    pods.sort_by_cached_key(|pod| (pod.metadata.namespace.clone(), pod.metadata.name.clone()));
    let mut assume = |count: usize, what: String| {
        if count > 0 {
            let pods = if count == 1 { "pod" } else { "pods" };
            basis.assume(format!("{count} {pods} {what}"));
        }
    };
    let own_name = own_node.name().unwrap_or_default();
    assume(elsewhere, format!("on other nodes than {own_name}: not counted"));
    assume(by_name, "without a UID: matched with stats by name".to_owned());
    assume(nowhere, "not bound to a node: not counted".to_owned());
    assume(
        without_priority,
        "with a class and no priority: 0 assumed, as the API server writes it".to_owned(),
    );
    pods
}
