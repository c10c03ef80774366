//! `kq cgroup show`

use super::gather::TreePodArgs;
use crate::exit::{Code, Failure, tell};
use crate::node_args::RootArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::source_args::{SourceArgs, WatchArgs};
use kq_cgroup::live::show::show;
use kq_cgroup::live::show_view;
use kq_core::question::cgroup::tree_warnings;

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
    #[command(flatten)]
    pods: TreePodArgs,

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
        let (live, selection) = self.pods.gather(&self.sources, &self.root)?;
        let tree = live.tree()?;
        let mut shown =
            show(tree, &live.roots, &live.workloads, &selection, tree_warnings(&live, tree));
        shown.basis.lack_all(selection.missing());
        let code = Code::Answered.unless(!shown.basis.missing.is_empty());
        self.output.write_or_names(&shown, show_view::table, show_view::wide, |it| {
            it.items.iter().map(|item| item.place.cgroup.to_owned()).collect()
        })?;
        if self.output.is_for_people() {
            tell(&shown.basis);
        }
        Ok(code)
    }
}
