//! `kq top`

mod screen;

use crate::exit::{Code, Failure};
use crate::node_args::NodeArgs;
use crate::source_args::{SourceArgs, parse_interval};
use crate::write;
use anyhow::anyhow;
use kq_core::question::top::{
    PlannedShares, TopOptions, derivation, explanation, frame, panel_needs,
};
use kq_core::top::{Body, Frame, Page, Panel, Trends, plain_lines};
use kq_facts::needs::Needs;
use kq_io::clock::{now, pause, steady};
use kq_io::recording_file::RecordingWriter;
use kq_io::snapshot_file::write_snapshot;
use kq_node::NodeSpec;
use kq_node::action::top::{LiveSource, Next, Source, rest_after};
use kq_output::doc::Doc;
use kq_output::value::json_line;
use std::io::IsTerminal;
use std::time::Duration;

pub use screen::restore;

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
        let options = TopOptions { overrides: self.node.overrides()?, is_stored: !is_live };
        let worker = Worker::new(self.source()?, options);
        match self.plain {
            true => write_frames(worker, panel, self.count, is_live),
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
            let snapshot = kq_node::gather(&spec, given.as_deref(), Needs::ALL)?;
            self.sources.show(&snapshot);
            return Ok(Source::Stored(Box::new(snapshot)));
        }
        let recorder = self.record.as_deref().map(RecordingWriter::create);
        let recorder = recorder.transpose().map_err(Failure::missing)?;
        let gather = move |needs: Needs, known: Option<&serde_json::Value>| {
            let needs = Needs { has_node_file, ..needs };
            kq_node::gather(&spec, given.as_deref().or(known), needs)
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

/// Writes frames until their number is reached or the source is over. Only a live node is waited for.
fn write_frames(
    mut worker: Worker,
    panel: Panel,
    count: Option<u64>,
    is_live: bool,
) -> Result<Code, Failure> {
    let (mut trends, mut written, mut is_incomplete) = (Trends::default(), 0, false);
    while let Some(Refreshed { frame, next_in }) = worker.frame(panel, false)? {
        trends.add(&frame);
        if written > 0 {
            write::lines([String::new()])?;
        }
        let mut doc = Doc::default();
        plain_lines(&frame, &trends).into_iter().for_each(|line| doc.line(line));
        write::doc(doc)?;
        is_incomplete = matches!(frame.body, Body::Unavailable(_));
        written += 1;
        match next_in {
            Some(next_in) if count != Some(written) => {
                if is_live {
                    pause(next_in);
                }
            }
            _ => break,
        }
    }
    Ok(Code::Answered.unless(is_incomplete))
}

/// The source of frames, and the options that describe its node.
pub struct Worker {
    source: Source,
    options: TopOptions,
    planned: PlannedShares,
}

/// A frame, and when the next one is due.
pub struct Refreshed {
    pub frame: Frame,
    pub next_in: Option<Duration>,
}

impl Worker {
    pub fn new(source: Source, options: TopOptions) -> Self {
        Self { source, options, planned: PlannedShares::default() }
    }

    /// Returns the next frame; `None`: the recording is over.
    pub fn frame(&mut self, panel: Panel, is_same: bool) -> Result<Option<Refreshed>, Failure> {
        let Some(Next { snapshot, took, next_in }) = self.source.next(panel, is_same)? else {
            return Ok(None);
        };
        let began = steady();
        let frame = frame(&snapshot, panel, &self.options, &mut self.planned)?;
        let next_in = match self.options.is_stored {
            true => next_in,
            false => next_in.map(|next_in| next_in.max(rest_after(took + began.elapsed()))),
        };
        Ok(Some(Refreshed { frame, next_in }))
    }

    /// Returns the explanation of a pod.
    pub fn explain(&mut self, pod: &str) -> Result<Page, Failure> {
        let lines = explanation(&self.source.for_page()?, pod, &self.options)?;
        Ok(Page::new(format!("kq doctor {pod}"), lines))
    }

    /// Returns the arithmetic of the values of a pod.
    pub fn derive(&mut self, pod: &str) -> Result<Page, Failure> {
        let snapshot = self.source.facts(panel_needs(Panel::Pods))?;
        let lines = derivation(&snapshot, pod, &self.options)?;
        Ok(Page::new(format!("kq cgroup plan {pod} -o wide"), lines))
    }

    /// Stores a snapshot in the current folder as `kq snapshot` does; returns its name.
    pub fn store(&mut self) -> Result<String, Failure> {
        let path = format!("kq-{}.json.zst", now().replace(':', ""));
        let snapshot = self.source.facts(Needs::ALL)?;
        let json = json_line(&snapshot).map_err(Failure::missing)?;
        write_snapshot(&path, &json).map_err(Failure::missing)?;
        Ok(path)
    }
}
