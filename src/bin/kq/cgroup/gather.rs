//! Gathering a cgroup tree or a described node, and the flags of questions about the tree.

use crate::exit::Failure;
use crate::node_args::{NodeArgs, RootArgs};
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::source_args::{SourceArgs, gather};
use anyhow::anyhow;
use kq_core::question::cgroup::tree_of_pods;
use kq_core::question::pod_selectors::{PodSelectors, identities};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::Selection;
use kq_facts::snapshot::Snapshot;
use kq_node::{DeviceFiles, NodeFile, read_pods};

/// Gathers the needed facts, and makes the node of an answer that needs no configuration.
pub fn gather_tree(sources: &SourceArgs, args: &RootArgs, needs: Needs) -> Result<Node, Failure> {
    let overrides = args.overrides()?;
    Node::of(gather_facts(sources, args, &overrides, needs)?, overrides)
}

/// Gathers the needed facts.
pub fn gather_facts(
    sources: &SourceArgs,
    args: &RootArgs,
    overrides: &Overrides,
    needs: Needs,
) -> Result<Snapshot, Failure> {
    let config = overrides.config.as_ref().map(|given| &*given.config.value);
    gather(sources, args, config, needs)
}

/// Gathers the needed facts and makes the node, with flags that its kubelet may refuse ([`Node::checked`]). Pods in `files` take the place of those of the same name.
pub fn gather_node(
    sources: &SourceArgs,
    args: &NodeArgs,
    needs: Needs,
    files: &[String],
) -> Result<Node, Failure> {
    gather_node_with(sources, args, &DeviceFiles::default(), needs, files)
}

/// Gathers the node with its devices from files.
pub fn gather_node_with(
    sources: &SourceArgs,
    args: &NodeArgs,
    devices: &DeviceFiles,
    mut needs: Needs,
    files: &[String],
) -> Result<Node, Failure> {
    let spec = sources.spec();
    let node_file = NodeFile::read(args.node_file.as_deref(), &mut Vec::new())?;
    node_file.put_into(&mut needs, &spec)?;
    needs.files |= devices.first_flag().is_some();
    let devices = devices.read()?;
    devices.leave_out(&mut needs);
    let given = args.root.overrides()?;
    let mut snapshot = gather_facts(sources, &args.root, &given, needs)?;
    devices.put(&mut snapshot);
    if args.node_file.is_some() {
        node_file.check(&snapshot, &spec)?;
    }
    let loaded = read_pods(files)?;
    // Without pods, the selection would be all pods of the node.
    if loaded.pods.is_empty() && !files.is_empty() {
        return Err(Failure::usage(anyhow!("{}: no pods", files.join(", "))));
    }
    let overrides = Overrides { pods: loaded.into(), ..args.overrides()? };
    let node = Node::of(snapshot, overrides)?;
    node.settings()?;
    Ok(node)
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
    ) -> Result<(Node, Selection), Failure> {
        let names = match self.labels.selector {
            Some(_) => Needs::NAMES.without(&[FactKey::PodNames]).with(&[FactKey::Pods]),
            None => Needs::NAMES,
        };
        let needs = names.with(&[FactKey::CgroupTree, FactKey::CgroupUsage]);
        let live = gather_tree(sources, root, needs)?;
        tree_of_pods(&live)?;
        let pods = self.namespace.qualify_all(&self.names)?;
        let subjects = PodSelectors { pods, ..PodSelectors::default() };
        let subjects = subjects.within(self.namespace.name(), self.labels.selector.as_ref())?;
        let pods = live.loaded_pods();
        let selection = subjects.selection(pods, &identities(&live.workloads), None)?;
        Ok((live, selection))
    }
}
