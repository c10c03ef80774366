//! `kq cgroup show`

use super::live_tree::{LiveTree, check_kubepods};
use crate::exit::{Code, Failure, tell};
use crate::interval::parse_interval;
use crate::node_args::RootArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::NamespaceArgs;
use crate::pod_selectors::PodSelectors;
use crate::source_args::SourceArgs;
use crate::write;
use kq::cgroup::live::show::show;
use kq::cgroup::live::show_view;
use kq::node::{FactKey, Needs};
use std::time::Duration;

/// Show the cgroups of this node with the names of pods and containers
///
/// Columns are the limits set, the current usage, the number of periods throttled
/// by a quota, the processes killed for lack of memory, and PRESSURE: the
/// percentage of the last ten seconds that tasks waited for CPU/memory/IO.
///
/// Examples:
///
///   kq cgroup show
///   kq cgroup show default/web -o wide
///   kq cgroup show -w --interval 5s
///   kq cgroup show --snapshot node.json.zst -o json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Only these pods: NAME, NAMESPACE/NAME or UID
    #[arg(value_name = "POD")]
    names: Vec<String>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups"))]
    output: OutputFormat,

    /// Refresh until interrupted
    #[arg(short, long, conflicts_with = "snapshot")]
    watch: bool,

    /// Time between two refreshes
    #[arg(long, value_name = "DURATION", default_value = "2s", requires = "watch",
          value_parser = parse_interval)]
    interval: Duration,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,
}

impl Args {
    /// Shows once, or again and again.
    pub fn run(self) -> Result<Code, Failure> {
        if !self.watch {
            return self.once();
        }
        loop {
            write::new_screen()?;
            self.once()?;
            std::thread::sleep(self.interval);
        }
    }

    /// Gathers and shows.
    fn once(&self) -> Result<Code, Failure> {
        let needs = Needs::NAMES.with(&[FactKey::CgroupTree, FactKey::CgroupUsage]);
        let live = LiveTree::gather(&self.sources, &self.root, needs)?;
        let tree = live.tree()?;
        check_kubepods(tree, &live.roots)?;
        let pods = self.namespace.qualify_all(&self.names)?;
        let subjects = PodSelectors { pods, ..PodSelectors::default() }.within(&self.namespace);
        let named: Vec<_> = live
            .workloads
            .pods()
            .map(|(uid, pod)| (pod.namespace.clone(), pod.name.clone(), uid.to_owned()))
            .collect();
        let selection = subjects.selection(&[], &named, None)?;
        let mut warnings = live.notes.clone();
        warnings.extend(
            tree.problems.iter().map(|problem| format!("{}: {}", problem.source, problem.reason)),
        );
        let shown = show(tree, &live.roots, &live.workloads, &selection, warnings);
        match self.output {
            output @ (OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::JsonPath(_)
            | OutputFormat::CustomColumns(_)) => {
                write::answer(output, &shown)?;
                return Ok(Code::Answered);
            }
            OutputFormat::Table => write::text(show_view::table(&shown))?,
            OutputFormat::Wide => write::text(show_view::wide(&shown))?,
            OutputFormat::Name => {
                write::lines(shown.items.iter().map(|item| item.place.cgroup.to_owned()))?;
            }
        }
        tell(&shown.basis);
        Ok(Code::Answered)
    }
}
