//! The cgroup tree of a live node, with names: what can be asked without knowing what is planned.

use crate::exit::Failure;
use crate::node_args::{NodeArgs, RootArgs};
use crate::source_args::{SourceArgs, gather};
use anyhow::anyhow;
use kq::cgroup::files::CgroupDriver;
use kq::cgroup::live::place::kubelet_roots;
use kq::edge::input::{read_input, shown};
use kq::facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq::facts::live::missing;
use kq::facts::snapshot::Snapshot;
use kq::facts::workloads::Workloads;
use kq::k8s::manifest::{Loaded, load};
use kq::node::{Needs, cgroup_tree};
use kq::question::cgroup::LiveNode;
pub use kq::question::cgroup::{GatheredTree, check_kubepods};

/// Gathers what is wanted.
pub fn gather_tree(
    sources: &SourceArgs,
    args: &RootArgs,
    needs: Needs,
) -> Result<GatheredTree, Failure> {
    let given = args.config.given_config()?;
    let config = given.as_ref().map(|given| &given.config.value);
    let snapshot = gather(sources, args, config, needs)?;
    let found = snapshot.kubelet_config.value().map(|found| &found.value);
    let (root, per_qos) = args.kubelet_root(config.or(found));
    let roots = kubelet_roots(&root, per_qos);
    let notes = missing(&snapshot, given.is_some());
    Ok(GatheredTree { snapshot, given, roots, notes })
}

/// A tree with the names of pods and containers.
pub struct LiveTree {
    /// As it was gathered.
    pub snapshot: Snapshot,
    /// The names.
    pub workloads: Workloads,
    /// Where the cgroup of all pods may be.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// What is unknown.
    pub notes: Vec<String>,
}

impl LiveTree {
    /// Gathers what is wanted.
    pub fn gather(sources: &SourceArgs, args: &RootArgs, needs: Needs) -> Result<Self, Failure> {
        let GatheredTree { snapshot, roots, .. } = gather_tree(sources, args, needs)?;
        // Of the configuration only the root matters here, and where it is, it was found.
        let tree = snapshot.cgroups.value();
        let is_found = roots.iter().any(|(_, root)| tree.is_some_and(|t| t.get(root).is_some()));
        let notes = missing(&snapshot, is_found);
        let pods = snapshot.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
        let workloads = Workloads::of(pods.map(|loaded| &loaded.pod), snapshot.runtime.value());
        Ok(Self { snapshot, workloads, roots, notes })
    }

    /// Returns the tree.
    ///
    /// # Errors
    ///
    /// Fails when it could not be read: then there is no answer.
    pub fn tree(&self) -> Result<&CgroupTree, Failure> {
        cgroup_tree(&self.snapshot)
    }
}

/// Gathers what is wanted and describes the node. Pods in `files` take the place of those of the same name.
pub fn gather_node(
    sources: &SourceArgs,
    args: &NodeArgs,
    needs: Needs,
    files: &[String],
) -> Result<LiveNode, Failure> {
    let needs = Needs { has_node_file: args.node_file.is_some(), ..needs };
    let gathered = gather_tree(sources, &args.root, needs)?;
    LiveNode::of(gathered, &args.options(), read(files)?)
}

/// Reads the pods of files; fails when none of them could be read.
fn read(files: &[String]) -> Result<Loaded, Failure> {
    let mut loaded = Loaded::default();
    for file in files {
        let content = read_input(file).map_err(Failure::missing)?;
        loaded.append(load(shown(file), &content));
    }
    match (loaded.pods.is_empty(), loaded.problems.first()) {
        (true, Some(problem)) => Err(Failure::usage(anyhow!("{problem}"))),
        (true, None) if !files.is_empty() => {
            Err(Failure::usage(anyhow!("{}: no pods", files.join(", "))))
        }
        _ => Ok(loaded),
    }
}
