//! `kq top`

mod lines;
mod screen;
mod terminal;
mod worker;

pub use terminal::restore;

use crate::exit::{Code, Failure};
use crate::interval::parse_interval;
use crate::node_args::NodeArgs;
use crate::source_args::SourceArgs;
use anyhow::anyhow;
use kq::action::top::{LiveSource, Source};
use kq::edge::recording_file::RecordingWriter;
use kq::node::{self, Needs, NodeSpec};
use kq::question::top::TopOptions;
use kq::top::Panel;
use std::io::IsTerminal;
use std::time::Duration;
use worker::Worker;

/// Watch the pods of this node in the terminal
///
/// For each pod and container: CPU usage since the frame before, with its trend
/// and as part of the quota, memory and its part of the limit, the share of
/// periods throttled by the quota, restarts, the request, the CPU time when every
/// container is busy, and pressure. Other panels show the order of eviction,
/// images against the thresholds of garbage collection, devices and probes.
///
/// Keys: 1 to 5 or Tab for the panels, arrows to select and scroll, s sort,
/// / filter, Enter explains the pod as kq doctor POD does, e shows the arithmetic
/// of its values, w writes a snapshot, p pauses, ? lists all keys, q quits.
///
/// Counters are read at each refresh; names, specifications and other facts every
/// ten seconds. Refreshes take at most 2% of a CPU: on a node with many cgroups
/// they are less frequent.
///
/// A recording holds the first snapshot and the differences of the next ones, in
/// lines of JSON, compressed if the name ends in .zst. It has the facts of all
/// panels. --plain writes lines instead of redrawing the screen, for screen
/// readers and pipes.
///
/// If kq top is killed with SIGKILL, the command reset restores the terminal.
///
/// Exit code 0: ended by a key, a signal, or the end of the recording. 2: standard
/// input or output is not a terminal. 3: required data is unavailable.
///
/// Examples:
///
///   kq top
///   kq top --record last-night.zst --interval 10s
///   kq top --replay last-night.zst
///   kq top --plain --count 3
///   kq top --snapshot node.json.zst
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The first panel
    #[arg(long, value_name = "PANEL", value_enum, default_value = "pods")]
    panel: PanelArg,

    /// Time between two refreshes (default: 1s; of a recording: as recorded)
    #[arg(long, value_name = "DURATION", value_parser = parse_interval)]
    interval: Option<Duration>,

    /// Write lines instead of redrawing the screen
    #[arg(long)]
    plain: bool,

    /// With --plain: end after this many frames
    #[arg(long, value_name = "N", requires = "plain", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Record all frames to this new file, compressed if the name ends in .zst
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "snapshot"])]
    record: Option<String>,

    /// Play a recording. With --plain, frames follow each other without pauses
    #[arg(long, value_name = "FILE", conflicts_with = "snapshot")]
    replay: Option<String>,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    node: NodeArgs,
}

/// The panels.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PanelArg {
    Pods,
    Eviction,
    Images,
    Devices,
    Probes,
}

impl From<PanelArg> for Panel {
    fn from(panel: PanelArg) -> Self {
        match panel {
            PanelArg::Pods => Self::Pods,
            PanelArg::Eviction => Self::Eviction,
            PanelArg::Images => Self::Images,
            PanelArg::Devices => Self::Devices,
            PanelArg::Probes => Self::Probes,
        }
    }
}

impl Args {
    /// Shows frames until a key, a signal or the end of the recording.
    pub fn run(self) -> Result<Code, Failure> {
        if !self.plain {
            check_terminal()?;
        }
        let panel = self.panel.into();
        let is_live = self.replay.is_none() && self.sources.snapshot.is_none();
        let options = TopOptions {
            node: self.node.options(),
            kubelet: self.node.kubelet_options()?,
            is_stored: !is_live,
        };
        let worker = Worker::new(self.source()?, options);
        match self.plain {
            true => lines::run(worker, panel, self.count, is_live),
            false => screen::run(worker, panel),
        }
    }

    fn source(&self) -> Result<Source, Failure> {
        if let Some(path) = &self.replay {
            return Source::replay(path, self.interval);
        }
        let root = self.node.root.cgroup_root.clone();
        let spec = NodeSpec { cgroup_root: root.clone(), ..self.sources.spec() };
        let given = self.node.root.config.given_config()?;
        let given = given.map(|given| given.config.value);
        let has_node_file = self.node.node_file.is_some();
        if self.sources.snapshot.is_some() {
            let snapshot = node::gather(&spec, given.as_ref(), Needs::ALL)?;
            self.sources.show(&snapshot);
            return Ok(Source::Stored(Box::new(snapshot)));
        }
        let recorder = self.record.as_deref().map(RecordingWriter::create);
        let recorder = recorder.transpose().map_err(Failure::missing)?;
        let gather = move |needs: Needs, known: Option<&serde_json::Value>| {
            let needs = Needs { has_node_file, ..needs };
            node::gather(&spec, given.as_ref().or(known), needs)
        };
        Ok(Source::Live {
            node: Box::new(LiveSource::new(Box::new(gather), root)),
            interval: self.interval.unwrap_or(Duration::from_secs(1)),
            recorder,
        })
    }
}

/// Refuses what is not a terminal that can be redrawn.
#[expect(clippy::disallowed_methods, reason = "the kind of the terminal is in the environment")]
fn check_terminal() -> Result<(), Failure> {
    let refuse = |text: &str| {
        Err(Failure::usage(anyhow!("{text}"))
            .hint("kq top --plain writes lines instead of redrawing the screen")
            .hint("kq cgroup show -w repeats the table of the cgroups"))
    };
    let (stdin, stdout) = (std::io::stdin().is_terminal(), std::io::stdout().is_terminal());
    match (stdin, stdout, std::env::var("TERM").as_deref()) {
        (_, false, _) => refuse("standard output is not a terminal"),
        (false, ..) => refuse("standard input is not a terminal"),
        (.., Ok("dumb")) => refuse("the terminal cannot be redrawn (TERM=dumb)"),
        _ => Ok(()),
    }
}
