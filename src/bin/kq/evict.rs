//! `kq evict`

use crate::admission_node::whose::NodeFile;
use crate::admission_node::{as_of_kubelet, put_allocations};
use crate::cgroup::live_tree::tree_of;
use crate::exit::{Code, Failure, tell};
use crate::form::Form;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use anyhow::anyhow;
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kq::cgroup::live::place::kubelet_roots;
use kq::cgroup::live::pod_stats::pod_stats;
use kq::device::pods::{NodePods, Standing};
use kq::edge::input::shown;
use kq::eviction::rank_view::{table, wide};
use kq::eviction::{
    DiskFacts, EvictionRank, OwnNode, RankInput, UsageFrom, UsageSource, eviction_rank, is_active,
    node_disks,
};
use kq::facts::basis::Basis;
use kq::facts::kubelet_config::{PressureCondition, Signal};
use kq::facts::live::incomplete;
use kq::facts::snapshot::{PodSource, Snapshot};
use kq::facts::stats_summary::{PodStats, StatsByPod, StatsSummary};
use kq::facts::workloads::effective_uid;
use kq::k8s::pod::Pod;
use kq::node::{TreeDetail, Wants, of_stats_file};
use std::collections::BTreeSet;

/// Tell whom the kubelet evicts when the node runs short
///
/// Examples:
///
///   kq evict rank --signal memory
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Rank(Box<RankArgs>),
}

/// Show in which order this node's kubelet would evict pods, and what decides it
///
/// One pod goes in each cycle of ten seconds, the first one that is not critical; then the
/// kubelet measures again. Above the pods: the thresholds of the signal, what is left now, and
/// what is cleared away before a pod has to go. What puts a pod in its place stands beside it.
/// Equal pods share a rank: the kubelet's order among them is random. A pod that was not
/// measured goes first, which is not to use nothing.
///
/// What pods use is taken from the kubelet's stats summary, by which it ranks itself; where
/// that cannot be had, memory and processes are counted in cgroups.
///
/// Signals: memory, disk (nodefs.available), inodes (nodefs.inodesFree), imagefs, containerfs,
/// pid, or as in evictionHard.
///
/// Nothing is changed. Exit code 0: answered. 3: a fact is missing, also where the pods are not
/// those that were measured; what is known is shown.
///
/// Examples:
///
///   kq evict rank --signal memory
///   kq evict rank --signal disk -o wide
///   kq evict rank --signal imagefs.inodesFree --snapshot node.json
///   kq evict rank --signal memory --pods pods.json --stats summary.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RankArgs {
    /// What runs short
    #[arg(long, value_name = "SIGNAL", value_parser = signals())]
    signal: Signal,

    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    /// What the kubelet measured (kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary); else it is
    /// asked
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    stats: Option<String>,

    /// The Node object (kubectl get node NAME -o json): whose pods count, the kubelet's version, what the node
    /// reports
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    node_file: Option<String>,

    #[command(flatten)]
    kubelet: KubeletNodeArgs,
}

/// The flag with which the kubelet does not watch the memory of the pods as a whole.
const IGNORES_ALLOCATABLE: &str = "experimental-allocatable-ignore-eviction";

/// The short names of signals.
const SHORT: [(&str, Signal); 6] = [
    ("memory", Signal::MemoryAvailable),
    ("disk", Signal::NodeFsAvailable),
    ("inodes", Signal::NodeFsInodesFree),
    ("imagefs", Signal::ImageFsAvailable),
    ("containerfs", Signal::ContainerFsAvailable),
    ("pid", Signal::PidAvailable),
];

fn signals() -> impl TypedValueParser<Value = Signal> {
    let long = Signal::ALL.map(Signal::as_str);
    let names = SHORT.iter().map(|(name, _)| *name).chain(long);
    PossibleValuesParser::new(names.collect::<Vec<_>>()).map(|text| {
        let short = SHORT.iter().find(|(name, _)| *name == text);
        short
            .map(|(_, signal)| *signal)
            .or_else(|| Signal::from_text(&text))
            .expect("the text is one of the possible values")
    })
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Rank(args) => args.run(),
        }
    }
}

impl RankArgs {
    fn run(self) -> Result<Code, Failure> {
        let mut node = self.gather()?;
        if let Some(pods) = &mut node.snapshot.pods.found {
            node.notes.extend(pods.value.keep_one_of_a_uid());
            let source = pods.value.source;
            for loaded in &mut pods.value.pods {
                as_of_kubelet(&mut loaded.pod, source, &node.kubelet.rules);
            }
        }
        let mut basis = Basis::default();
        put_allocations(&mut node, &mut basis);
        let rank = self.rank(&node, basis)?;
        self.output.write(&rank, table, wide)?;
        if self.output.is_for_people() {
            tell(&rank.basis);
        }
        Ok(if rank.basis.missing.is_empty() { Code::Answered } else { Code::Missing })
    }

    /// Gathers the node.
    fn gather(&self) -> Result<KubeletNode, Failure> {
        let stats = self.stats.as_deref().map(of_stats_file).transpose()?;
        let mut notes = Vec::new();
        let sources = &self.kubelet.sources;
        let node_file = NodeFile::read(self.node_file.as_deref(), &mut notes)?;
        let mut wants = match stats {
            Some(_) => Wants { stats_summary: false, tree: None, files: true, ..self.wants() },
            None => self.wants(),
        };
        let object = node_file.put_into(&mut wants, sources)?;
        let mut node = self.kubelet.gather_with(wants, |snapshot: &mut Snapshot| {
            snapshot.stats_summary = stats.unwrap_or(std::mem::take(&mut snapshot.stats_summary));
            snapshot.node = object.unwrap_or(std::mem::take(&mut snapshot.node));
        })?;
        node_file.check(&node.snapshot, sources)?;
        node.notes.extend(notes);
        Ok(node)
    }

    /// Returns whose pods count. What a kubelet measured on another node tells nothing of this one.
    fn own_node(&self, node: &KubeletNode, summary: &StatsSummary) -> Result<OwnNode, Failure> {
        let snapshot = &node.snapshot;
        let told = self.kubelet.sources.node_name.as_deref();
        let told = told.or(snapshot.node.value().map(|object| &*object.metadata.name));
        let found = snapshot.node_name.value().map(String::as_str);
        let measured = Some(summary.node.node_name.as_str());
        // A kubelet that was asked knows its name better than its machine; what a file says may be another's.
        let names = match &self.stats {
            Some(_) => [told, found, measured],
            None => [told, measured, found],
        };
        let said = names.into_iter().flatten().find(|name| !name.is_empty());
        if let (Some(file), Some(said), Some(measured)) = (&self.stats, said, measured)
            && !measured.is_empty()
            && said != measured
        {
            let file = shown(file);
            return Err(Failure::missing(anyhow!(
                "what the kubelet of {said} measured is missing: {file} is of node {measured}"
            ))
            .hint(format!(
                "kubectl get --raw /api/v1/nodes/{said}/proxy/stats/summary writes it for --stats; \
                 --node-name says which node it is about"
            )));
        }
        Ok(OwnNode::of(said, &node.pods(), &StatsByPod::new(&summary.pods)))
    }

    /// What is on disks is counted nowhere but by the kubelet.
    fn wants(&self) -> Wants {
        let of_disk = self.signal.filesystem().is_some();
        let processes = self.signal == Signal::PidAvailable;
        let tree = TreeDetail { usage: true, statistics: !processes, processes };
        Wants { tree: (!of_disk).then_some(tree), ..Wants::EVICTION }
    }

    fn rank(&self, node: &KubeletNode, of_pods: Basis) -> Result<EvictionRank, Failure> {
        if let Some(error) = node.kubelet.errors.first() {
            return Err(Failure::usage(anyhow!(
                "the kubelet would not start with this configuration: {error}"
            )));
        }
        let thresholds = node.eviction_thresholds()?;
        let mut told = basis_of(node);
        told.assumptions.extend(of_pods.assumptions);
        has_pods(node)?;
        let (summary, usage) = self.measured(node, &mut told)?;
        let own_node = self.own_node(node, &summary)?;
        let nothing = || {
            let none = self.stats.is_some() && summary.pods.is_empty() && !node.pods().is_empty();
            none.then(|| "what the pods use: no pod is in what was measured (--stats)".to_owned())
        };
        let mismatch = own_node.mismatch(&node.pods(), &summary.pods).or_else(nothing);
        if mismatch.is_none() {
            told.missing.extend(unread(node, &summary));
        }
        let pods = match mismatch {
            None => active_pods(node, &own_node, &summary, &mut told),
            Some(_) => Vec::new(),
        };
        let snapshot = &node.snapshot;
        let config = &node.kubelet.config;
        let disks = node_disks(DiskFacts {
            folders: &snapshot.folders,
            runtime: snapshot.runtime.value().and_then(|it| it.image_filesystems.value()),
            endpoint: &config.container_runtime_endpoint,
            feature_gates: &config.feature_gates,
            rules: &node.kubelet.rules,
            summary: Some(&summary),
            assumed: None,
        });
        let input = RankInput {
            signal: self.signal,
            config,
            thresholds: &thresholds,
            rules: &node.kubelet.rules,
            layout: &disks.layout,
            summary: &disks.summary,
            usage,
            pods: &pods,
        };
        let mut rank = eviction_rank(&input, node.now.to_string());
        if self.signal.filesystem().is_some() && disks.layout.dedicated_image_fs.is_none() {
            told.assumptions.push(
                "images are on the kubelet's file system: where they are is not known".to_owned(),
            );
        }
        if let Some(reason) = mismatch {
            // That nobody knows who was measured is all that there is to say of those.
            rank.basis.warnings.clear();
            rank.basis.missing.push(reason);
        }
        rank.lacks_pods = lacks_pods(node, &summary);
        rank.now.extend(reported(node, rank.condition));
        rank.basis.assumptions.extend(told.assumptions);
        rank.basis.warnings.extend(told.warnings);
        rank.basis.missing.extend(told.missing);
        Ok(rank)
    }

    /// Returns what was measured, and who did that.
    fn measured(
        &self,
        node: &KubeletNode,
        told: &mut Basis,
    ) -> Result<(StatsSummary, UsageSource), Failure> {
        let sought = &node.snapshot.stats_summary;
        if let Some(found) = &sought.found {
            let source =
                UsageSource { from: UsageFrom::StatsSummary, source: found.source.clone() };
            return Ok((found.value.clone(), source));
        }
        let reason = match sought.is_unsought() && self.kubelet.sources.snapshot.is_some() {
            true => "the snapshot does not have it".to_owned(),
            false => sought.reason(),
        };
        let failed = |error: anyhow::Error| {
            Failure::missing(error).hint(
                "give what the kubelet measured with --stats FILE (kubectl get --raw \
                 /api/v1/nodes/NAME/proxy/stats/summary), or take a snapshot as root on the node and \
                 pass it with --snapshot",
            )
        };
        if self.signal.filesystem().is_some() {
            return Err(failed(anyhow!(
                "what the pods use of the disk is not known: only the kubelet measures it: {reason}"
            )));
        }
        let tree = tree_of(&node.snapshot)
            .map_err(|error| failed(anyhow!("{}; nor the kubelet: {reason}", error.reason())))?;
        let config = &node.kubelet.config;
        let roots = kubelet_roots(&config.cgroup_root, config.cgroups_per_qos);
        let pods = pod_stats(tree, &roots, &node.workloads);
        let is_known = |pod: &&PodStats| match self.signal {
            Signal::PidAvailable => pod.process_stats.is_some(),
            _ => pod.memory.is_some(),
        };
        if pods.is_empty() {
            let roots: Vec<&str> = roots.iter().map(|(_, root)| root.as_str()).collect();
            let roots = roots.join(" or ");
            return Err(failed(anyhow!("there is no pod in {roots}; nor the kubelet: {reason}")));
        }
        let unknown: Vec<_> = pods.iter().filter(|pod| !is_known(pod)).collect();
        if let Some(pod) = unknown.first() {
            let (of, uid) = (unknown.len(), &pod.pod_ref.uid);
            return Err(failed(anyhow!(
                "what {of} pods use is not in their cgroups, such as pod{uid}; nor could the kubelet be \
                 asked: {reason}"
            )));
        }
        let problems = tree.problems.iter().map(|problem| format!("a cgroup: {problem}"));
        told.missing.extend(problems);
        told.missing.push(format!(
            "what the kubelet itself measured, so it may rank by other numbers, and what is left on the \
             node is not known; limits of local storage are taken not to be exceeded: {reason}"
        ));
        let source = node.snapshot.cgroups.found.as_ref().map(|found| found.source.clone());
        let usage = UsageSource { from: UsageFrom::Cgroups, source: source.unwrap_or_default() };
        Ok((StatsSummary { pods, ..StatsSummary::default() }, usage))
    }
}

/// Returns what every answer about this node rests on.
fn basis_of(node: &KubeletNode) -> Basis {
    let mut basis = Basis::default();
    basis.warnings.extend(node.warnings());
    basis.missing.extend(node.missing_config());
    let flags = node.snapshot.kubelet.value().into_iter().flat_map(|process| &process.flags);
    if flags.into_iter().any(|flag| flag.name == IGNORES_ALLOCATABLE) {
        basis.warnings.push(format!(
            "the kubelet was started with --{IGNORES_ALLOCATABLE}, and may not watch \
             allocatableMemory.available"
        ));
    }
    basis.assumptions.extend(node.assumed());
    let known = node.pods();
    let snapshot = &node.snapshot;
    basis.missing.extend(incomplete(&snapshot.pods, &known, snapshot.runtime.value()));
    basis
}

/// Says that the node reports the pressure, which outlasts the crossing.
fn reported(node: &KubeletNode, condition: PressureCondition) -> Option<String> {
    let (short, _) = node.snapshot.node.value()?.status.pressure();
    let period = node.kubelet.config.eviction_pressure_transition_period;
    short.contains(&condition).then(|| {
        format!(
            "the node reports {condition}: a threshold was crossed within {period} \
             (evictionPressureTransitionPeriod) of what it reported"
        )
    })
}

/// Tells whether there are pods that are not known, which may come before all that are.
fn lacks_pods(node: &KubeletNode, summary: &StatsSummary) -> bool {
    let snapshot = &node.snapshot;
    incomplete(&snapshot.pods, &node.pods(), snapshot.runtime.value()).is_some()
        || unread(node, summary).is_some()
}

/// Says which pods were measured and are not in the files with the pods.
fn unread(node: &KubeletNode, summary: &StatsSummary) -> Option<String> {
    let recorded = node.snapshot.pods.value()?;
    if recorded.source != PodSource::Files || !recorded.left_out.is_empty() {
        return None;
    }
    let pods = node.pods();
    let uids: BTreeSet<&str> = pods.iter().map(|pod| effective_uid(pod)).collect();
    let name = |pod: &&Pod| (pod.metadata.namespace.clone(), pod.metadata.name.clone());
    let names: BTreeSet<(String, String)> = pods.iter().map(name).collect();
    let mut unread = summary.pods.iter().map(|it| &it.pod_ref).filter(|it| {
        !uids.contains(&*it.uid) && !names.contains(&(it.namespace.clone(), it.name.clone()))
    });
    let first = unread.next()?;
    let more = match unread.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "pods that were measured and are not in the files: {}/{}{more} (--pods)",
        first.namespace, first.name
    ))
}

/// Fails where nobody tells of the pods.
fn has_pods(node: &KubeletNode) -> Result<(), Failure> {
    let pods = &node.snapshot.pods;
    if pods.found.is_some() {
        return Ok(());
    }
    let reason = pods.reason();
    Err(Failure::missing(anyhow!("the pods of the node could not be had: {reason}"))
        .hint("run as root on the node, or give its pods with --pods FILE"))
}

/// Returns the pods that may be evicted.
fn active_pods<'n>(
    node: &'n KubeletNode,
    own_node: &OwnNode,
    summary: &StatsSummary,
    told: &mut Basis,
) -> Vec<&'n Pod> {
    let snapshot = &node.snapshot;
    let measured = StatsByPod::new(&summary.pods);
    told.assumptions.extend(own_node.assumption());
    let standings = NodePods::of(snapshot);
    let mut pods = Vec::new();
    let (mut elsewhere, mut nowhere, mut without_priority, mut by_name) = (0, 0, 0, 0);
    for pod in node.pods() {
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
                told.missing.push(doubt);
                continue;
            }
            by_name += usize::from(uid.is_empty());
            let has_class = !pod.spec.priority_class_name.is_empty();
            without_priority += usize::from(has_class && pod.spec.priority.is_none());
            pods.push(pod);
        }
    }
    // Of equal pods the order is left to chance; here it is always the same.
    pods.sort_by_cached_key(|pod| (pod.metadata.namespace.clone(), pod.metadata.name.clone()));
    let mut assume = |count: usize, what: String| {
        if count > 0 {
            let pods = if count == 1 { "pod" } else { "pods" };
            told.assumptions.push(format!("{count} {pods} {what}"));
        }
    };
    let own_name = own_node.name().unwrap_or_default();
    assume(elsewhere, format!("on other nodes than {own_name}: not counted"));
    assume(
        by_name,
        "without a UID: what was measured under the name is taken for its own".to_owned(),
    );
    assume(nowhere, "that no node has yet: not counted".to_owned());
    assume(
        without_priority,
        "with a class and no priority: taken for 0; the API server writes it".to_owned(),
    );
    pods
}
