//! `kq cgroup throttling`

use super::live_tree::{LiveTree, check_kubepods};
use crate::exit::{Code, Failure, tell};
use crate::node_args::RootArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::pod_selectors::{PodSelectors, identities};
use crate::source_args::SourceArgs;
use kq::answer::Missing;
use kq::cgroup::live::throttling::{ThrottlingRanking, table, throttling};
use kq::node::{FactKey, Needs};

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
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,
}

impl Args {
    /// Gathers, ranks and shows.
    pub fn run(self) -> Result<Code, Failure> {
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
        warnings.extend(tree.problems.iter().map(ToString::to_string));
        let mut ranking = throttling(tree, &live.roots, &live.workloads, &selection, warnings);
        ranking.basis.lack_all(Missing::of_selection(&selection));
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
