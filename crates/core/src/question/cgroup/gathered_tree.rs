//! The cgroup tree of a gathered node, before the node is described.

use anyhow::anyhow;
use kq_answer::Failure;
use kq_answer::warning::Warning;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::live::unknown_facts;
use kq_facts::live::{cgroup_tree, kubelet_root};
use kq_facts::node::GivenConfig;
use kq_facts::redaction::forget_secrets;
use kq_facts::snapshot::Snapshot;
use kq_facts::workloads::Workloads;
use std::sync::Arc;

/// A gathered node with the possible cgroups of all pods.
pub struct GatheredTree {
    /// The gathered facts.
    pub snapshot: Snapshot,
    /// The kubelet's configuration, if a flag names it.
    pub given: Option<GivenConfig>,
    /// The possible cgroups of all pods.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// The missing facts.
    pub notes: Vec<Warning>,
}

impl GatheredTree {
    /// Finds the possible cgroups of all pods; `cgroup_root` wins over the kubelet's configuration.
    pub fn of(snapshot: Snapshot, given: Option<GivenConfig>, cgroup_root: Option<&str>) -> Self {
        let found = snapshot.kubelet_config.value().map(|found| &found.value);
        let config = given.as_ref().map(|given| &given.config.value).or(found);
        let (root, per_qos) = kubelet_root(cgroup_root, config.map(|config| &**config));
        let roots = kubelet_roots(&root, per_qos);
        let notes = unknown_facts(&snapshot, given.is_some());
        Self { snapshot, given, roots, notes }
    }

    /// Removes possible secrets ([`Snapshot::redact`]).
    pub fn redact(&mut self) {
        self.snapshot.redact();
        if let Some(given) = &mut self.given {
            forget_secrets(Arc::make_mut(&mut given.config.value));
        }
    }
}

/// A cgroup tree with the names of pods and containers.
pub struct LiveTree {
    /// The gathered facts.
    pub snapshot: Snapshot,
    /// The pods and containers.
    pub workloads: Workloads,
    /// The possible cgroups of all pods.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// The missing facts, and what could not be read of the tree.
    pub notes: Vec<Warning>,
}

impl From<GatheredTree> for LiveTree {
    fn from(gathered: GatheredTree) -> Self {
        let GatheredTree { snapshot, roots, .. } = gathered;
        // Only the root of the configuration matters here; a root that exists was found.
        let tree = snapshot.cgroups.value();
        let is_found = roots.iter().any(|(_, root)| tree.is_some_and(|t| t.get(root).is_some()));
        let notes = unknown_facts(&snapshot, is_found);
        let pods = snapshot.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
        let workloads = Workloads::of(pods.map(|loaded| &loaded.pod), snapshot.runtime.value());
        Self { snapshot, workloads, roots, notes }
    }
}

impl LiveTree {
    /// Returns the tree.
    ///
    /// # Errors
    ///
    /// Fails when it could not be read: then there is no answer.
    pub fn tree(&self) -> Result<&CgroupTree, Failure> {
        cgroup_tree(&self.snapshot)
    }

    /// Returns a tree that has a cgroup of all pods.
    ///
    /// # Errors
    ///
    /// Fails when the tree could not be read, and as [`check_kubepods`] does.
    pub fn tree_of_pods(&self) -> Result<&CgroupTree, Failure> {
        let tree = self.tree()?;
        check_kubepods(tree, &self.roots)?;
        Ok(tree)
    }

    /// Returns the missing facts, and what could not be read of the tree.
    pub fn warnings(&self, tree: &CgroupTree) -> Vec<Warning> {
        self.notes.iter().cloned().chain(tree.warnings()).collect()
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
        .hint("for a kubelet with another cgroupRoot, use --cgroup-root PATH"))
}
