//! `kq cgroup show`

use super::live_tree::{LiveTree, check_kubepods};
use crate::exit::{Code, Failure, tell};
use crate::node_args::RootArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::pod_selectors::{PodSelectors, identities};
use crate::source_args::SourceArgs;
use crate::watch::WatchArgs;
use crate::write;
use kq::answer::Missing;
use kq::cgroup::live::show::show;
use kq::cgroup::live::show_view;
use kq::node::{FactKey, Needs};

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
///   kq cgroup show -n shop -l app=cart
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

    #[command(flatten)]
    labels: LabelArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups"))]
    output: OutputFormat,

    #[command(flatten)]
    watch: WatchArgs,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,
}

impl Args {
    /// Shows once, or again and again.
    pub fn run(self) -> Result<Code, Failure> {
        self.watch.run(|| self.once())
    }

    /// Gathers and shows.
    fn once(&self) -> Result<Code, Failure> {
        let names = match self.labels.selector {
            Some(_) => Needs::NAMES.without(&[FactKey::PodNames]).with(&[FactKey::Pods]),
            None => Needs::NAMES,
        };
        let needs = names.with(&[FactKey::CgroupTree, FactKey::CgroupUsage]);
        let live = LiveTree::gather(&self.sources, &self.root, needs)?;
        let tree = live.tree()?;
        check_kubepods(tree, &live.roots)?;
        let pods = self.namespace.qualify_all(&self.names)?;
        let subjects = PodSelectors { pods, ..PodSelectors::default() };
        let subjects = subjects.within(&self.namespace, &self.labels)?;
        let named = identities(&live.workloads);
        let pods = live.snapshot.pods.value().map_or(&[][..], |recorded| &recorded.pods);
        let selection = subjects.selection(pods, &named, None)?;
        let mut warnings = live.notes.clone();
        warnings.extend(
            tree.problems.iter().map(|problem| format!("{}: {}", problem.source, problem.reason)),
        );
        let mut shown = show(tree, &live.roots, &live.workloads, &selection, warnings);
        shown.basis.lack_all(Missing::of_selection(&selection));
        let code = Code::Answered.unless(!shown.basis.missing.is_empty());
        match self.output {
            output @ (OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::Exchange(_)
            | OutputFormat::JsonPath(_)
            | OutputFormat::CustomColumns(_)) => {
                write::answer(output, &shown)?;
                return Ok(code);
            }
            OutputFormat::Table => write::text(show_view::table(&shown))?,
            OutputFormat::Wide => write::text(show_view::wide(&shown))?,
            OutputFormat::Name => {
                write::names(shown.items.iter().map(|item| item.place.cgroup.to_owned()))?;
            }
        }
        tell(&shown.basis);
        Ok(code)
    }
}
