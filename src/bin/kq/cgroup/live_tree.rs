//! The cgroup tree of a live node, with names: what can be asked without knowing what is planned.

use crate::exit::Failure;
use crate::node_args::RootArgs;
use crate::source_args::{SourceArgs, gather};
use anyhow::anyhow;
use kq::cgroup::files::CgroupDriver;
use kq::cgroup::live::place::kubelet_roots;
use kq::facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq::facts::live::missing;
use kq::facts::snapshot::Snapshot;
use kq::facts::workloads::Workloads;
use kq::node::{GivenConfig, Wants, cgroup_tree};

/// What was gathered, and where the cgroup of all pods may be.
pub struct Gathered {
    /// As it was gathered.
    pub snapshot: Snapshot,
    /// The kubelet's configuration, where it was given.
    pub given: Option<GivenConfig>,
    /// Where the cgroup of all pods may be.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// What could not be had.
    pub notes: Vec<String>,
}

impl Gathered {
    /// Gathers what is wanted.
    pub fn gather(sources: &SourceArgs, args: &RootArgs, wants: Wants) -> Result<Self, Failure> {
        let given = args.config.given_config()?;
        let config = given.as_ref().map(|given| &given.config.value);
        let snapshot = gather(sources, args, config, wants)?;
        let found = snapshot.kubelet_config.value().map(|found| &found.value);
        let (root, per_qos) = args.kubelet_root(config.or(found));
        let roots = kubelet_roots(&root, per_qos);
        let notes = missing(&snapshot, given.is_some());
        Ok(Self { snapshot, given, roots, notes })
    }
}

/// A tree with the names of pods and containers.
pub struct LiveTree {
    /// As it was gathered.
    pub snapshot: Snapshot,
    /// The names.
    pub workloads: Workloads,
    /// Where the cgroup of all pods may be.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// What could not be had.
    pub notes: Vec<String>,
}

impl LiveTree {
    /// Gathers what is wanted.
    pub fn gather(sources: &SourceArgs, args: &RootArgs, wants: Wants) -> Result<Self, Failure> {
        let Gathered { snapshot, roots, .. } = Gathered::gather(sources, args, wants)?;
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

/// Refuses a tree without a cgroup of all pods: no kubelet has run here, or its root is another one.
///
/// # Errors
///
/// Fails where none of the possible roots exists.
pub fn check_kubepods(
    tree: &CgroupTree,
    roots: &[(CgroupDriver, CgroupPath)],
) -> Result<(), Failure> {
    if roots.iter().any(|(_, root)| tree.get(root).is_some()) {
        return Ok(());
    }
    let roots: Vec<&str> = roots.iter().map(|(_, root)| root.as_str()).collect();
    Err(Failure::missing(anyhow!("there is no cgroup {}", roots.join(" or ")))
        .hint("a kubelet with another cgroupRoot: say --cgroup-root PATH"))
}
