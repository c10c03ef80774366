//! `kq cgroup throttling`

use super::gather::TreePodArgs;
use crate::exit::{Code, Failure, tell};
use crate::node_args::RootArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::source_args::SourceArgs;
use kq_cgroup::live::throttling::{ThrottlingRanking, table, throttling};
use kq_core::question::cgroup::tree_warnings;

/// Rank the containers of this node by CPU throttling
///
/// The most throttled container is first: by the share of periods in which its
/// quota was used up, then by the time that its tasks waited. The kernel counts
/// both since the container started. A row without a container is a pod that its
/// own quota throttles.
///
/// Examples:
///
///   kq cgroup throttling
///   kq cgroup throttling -n shop -l app=cart -o wide
///   kq cgroup throttling --snapshot node.json.zst -o json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    pods: TreePodArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups"))]
    output: OutputFormat,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,
}

impl Args {
    /// Gathers, ranks and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let (live, selection) = self.pods.gather(&self.sources, &self.root)?;
        let tree = live.tree()?;
        let mut ranking =
            throttling(tree, &live.roots, &live.workloads, &selection, tree_warnings(&live, tree));
        ranking.basis.lack_all(selection.missing());
        let code = Code::Answered.unless(!ranking.basis.is_complete());
        let shown = |is_wide| move |it: &ThrottlingRanking<'_>| table(it, is_wide);
        let names = |it: &ThrottlingRanking<'_>| {
            it.items.iter().map(|item| item.place.cgroup.to_owned()).collect()
        };
        self.output.write_or_names(&ranking, shown(false), shown(true), names)?;
        if self.output.is_for_people() {
            tell(&ranking.basis);
        }
        Ok(code)
    }
}
