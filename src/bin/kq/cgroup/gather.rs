//! Gathering a cgroup tree or a described node, and the flags of questions about the tree.

use crate::exit::Failure;
use crate::node_args::{NodeArgs, RootArgs};
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::source_args::{SourceArgs, gather};
use anyhow::anyhow;
use kq_core::question::cgroup::{GatheredTree, LiveNode, LiveTree};
use kq_core::question::pod_selectors::{PodSelectors, identities};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::pod_selector::Selection;
use kq_node::read_pods;

/// Gathers the needed facts with the cgroup tree.
pub fn gather_tree(
    sources: &SourceArgs,
    args: &RootArgs,
    needs: Needs,
) -> Result<GatheredTree, Failure> {
    let given = args.config.given_config()?;
    let config = given.as_ref().map(|given| &*given.config.value);
    let snapshot = gather(sources, args, config, needs)?;
    Ok(GatheredTree::of(snapshot, given, args.cgroup_root.as_deref()))
}

/// Gathers the needed facts and describes the node. Pods in `files` take the place of those of the same name.
pub fn gather_node(
    sources: &SourceArgs,
    args: &NodeArgs,
    needs: Needs,
    files: &[String],
) -> Result<LiveNode, Failure> {
    let needs = Needs { has_node_file: args.node_file.is_some(), ..needs };
    let gathered = gather_tree(sources, &args.root, needs)?;
    let loaded = read_pods(files)?;
    // Without pods, the selection would be all pods of the node.
    if loaded.pods.is_empty() && !files.is_empty() {
        return Err(Failure::usage(anyhow!("{}: no pods", files.join(", "))));
    }
    LiveNode::of(gathered, &args.options()?, loaded)
}

/// The pods of a question about the cgroup tree.
#[derive(Debug, clap::Args)]
pub struct TreePodArgs {
    /// Only these pods: NAME, NAMESPACE/NAME or UID
    #[arg(value_name = "POD")]
    names: Vec<String>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    #[command(flatten)]
    labels: LabelArgs,
}

impl TreePodArgs {
    /// Gathers the tree with the usage of its cgroups, and selects pods.
    pub fn gather(
        &self,
        sources: &SourceArgs,
        root: &RootArgs,
    ) -> Result<(LiveTree, Selection), Failure> {
        let names = match self.labels.selector {
            Some(_) => Needs::NAMES.without(&[FactKey::PodNames]).with(&[FactKey::Pods]),
            None => Needs::NAMES,
        };
        let needs = names.with(&[FactKey::CgroupTree, FactKey::CgroupUsage]);
        let live = LiveTree::from(gather_tree(sources, root, needs)?);
        live.tree_of_pods()?;
        let pods = self.namespace.qualify_all(&self.names)?;
        let subjects = PodSelectors { pods, ..PodSelectors::default() };
        let subjects = subjects.within(self.namespace.name(), self.labels.selector.as_ref())?;
        let pods = live.snapshot.pods.value().map_or(&[][..], |recorded| &recorded.pods);
        let selection = subjects.selection(pods, &identities(&live.workloads), None)?;
        Ok((live, selection))
    }
}
