//! `kq evict`

use crate::exit::{Code, Failure, tell};
use crate::node_args::KubeletNodeArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::source_args::WatchArgs;
use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kq_core::question::eviction::{
    EvictionOptions, eviction_needs, eviction_rank_of, nearest_signal,
};
use kq_core::question::pod_selectors::PodSelectors;
use kq_eviction::EvictionRank;
use kq_eviction::rank_view::{table, wide};
use kq_facts::kubelet_config::Signal;
use kq_node::NamedFiles;

/// Show the order in which the kubelet would evict pods
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

/// Show the order in which this node's kubelet would evict pods, and why
///
/// The kubelet evicts one pod in each cycle of ten seconds, the first in the
/// order that is not critical, and then measures again. Above the pods, the
/// answer shows the thresholds of the signal, the available amount, and the
/// resources reclaimed before a pod is evicted. Each pod's line shows the
/// criteria that decide its rank. Pods that compare as equal share a rank: the
/// kubelet orders them at random. A pod without stats ranks first; that is
/// different from a usage of zero.
///
/// Usage comes from the kubelet's stats summary, which the kubelet itself uses to
/// rank pods. If the summary is unavailable, kq reads memory and process counts
/// from cgroups.
///
/// Signals: memory, disk (nodefs.available), inodes (nodefs.inodesFree), imagefs,
/// containerfs, pid, or a name as in evictionHard. Without --signal, the answer is
/// about the one with the smallest part of its capacity left above a threshold.
///
/// Nothing is changed. Exit code 0: answered. 3: required data is unavailable, or
/// the pods do not match the measured ones; the known part is shown.
///
/// Examples:
///
///   kq evict rank
///   kq evict rank --signal memory
///   kq evict rank --signal memory -n shop -l app=cart
///   kq evict rank --signal disk -o wide
///   kq evict rank --signal memory -w --interval 10s
///   kq evict rank --signal imagefs.inodesFree --snapshot node.json
///   kq evict rank --signal memory --pods pods.json --stats summary.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RankArgs {
    /// The eviction signal; by default the one nearest to its threshold
    #[arg(long, value_name = "SIGNAL", value_parser = signals())]
    signal: Option<Signal>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    #[command(flatten)]
    labels: LabelArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The pods, as pod/NAME").and_metrics())]
    output: OutputFormat,

    #[command(flatten)]
    watch: WatchArgs,

    /// The kubelet's stats summary (kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary). By
    /// default kq queries the kubelet
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    stats: Option<String>,

    #[command(flatten)]
    kubelet: KubeletNodeArgs,
}

/// The short names of signals.
const SHORT: [(&str, Signal); 6] = [
    ("memory", Signal::MemoryAvailable),
    ("disk", Signal::NodeFsAvailable),
    ("inodes", Signal::NodeFsInodesFree),
    ("imagefs", Signal::ImageFsAvailable),
    ("containerfs", Signal::ContainerFsAvailable),
    ("pid", Signal::PidAvailable),
];

/// Other names of them: the file systems, and the conditions of a node, by the signal that most often brings these.
const OTHERS: [(&str, Signal); 4] = [
    ("nodefs", Signal::NodeFsAvailable),
    ("MemoryPressure", Signal::MemoryAvailable),
    ("DiskPressure", Signal::NodeFsAvailable),
    ("PIDPressure", Signal::PidAvailable),
];

fn signals() -> impl TypedValueParser<Value = Signal> {
    let long = Signal::ALL.map(|signal| PossibleValue::new(signal.as_str()));
    let short = SHORT.iter().map(|(name, signal)| {
        let others = OTHERS.iter().filter(|(_, of)| of == signal);
        PossibleValue::new(*name).aliases(others.map(|(name, _)| *name))
    });
    PossibleValuesParser::new(short.chain(long).collect::<Vec<_>>()).map(|text| {
        let mut short = SHORT.iter().chain(&OTHERS);
        short
            .find(|(name, _)| *name == text)
            .map(|(_, signal)| *signal)
            .or_else(|| Signal::from_text(&text))
            .expect("the text is one of the possible values")
    })
}

impl Args {
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Rank(args) => args.run(),
        }
    }
}

impl RankArgs {
    fn run(self) -> Result<Code, Failure> {
        self.watch.run(|| self.once())
    }

    /// Gathers, ranks and shows.
    fn once(&self) -> Result<Code, Failure> {
        let files = NamedFiles { stats: self.stats.clone(), ..NamedFiles::default() };
        let node = self.kubelet.gather_files(files, eviction_needs(self.signal))?;
        let options = |signal| EvictionOptions {
            signal,
            node_name: self.kubelet.sources.node_name.clone(),
            stats_file: self.stats.clone(),
            is_stored: self.kubelet.sources.snapshot.is_some(),
        };
        let (signal, missing) = match self.signal {
            Some(signal) => (signal, None),
            None => {
                let nearest = nearest_signal(&node, options)?;
                (nearest.signal, nearest.missing())
            }
        };
        let pods =
            PodSelectors::default().within(self.namespace.name(), self.labels.selector.as_ref())?;
        let mut rank = eviction_rank_of(&node, &options(signal), &pods)?;
        rank.basis.lack_all(missing);
        let names = |rank: &EvictionRank| {
            rank.items.iter().map(|item| format!("pod/{}", item.pod.name)).collect()
        };
        self.output.write_or_names(&rank, table, wide, names)?;
        if self.output.is_for_people() {
            tell(&rank.basis);
        }
        Ok(if rank.basis.missing.is_empty() { Code::Answered } else { Code::Missing })
    }
}
