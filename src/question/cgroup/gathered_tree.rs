//! The cgroup tree of a gathered node, before the node is described.

use crate::answer::Failure;
use crate::facts::cgroup_mode::CgroupDriver;
use crate::facts::cgroup_tree::{CgroupPath, CgroupTree};
use crate::facts::snapshot::Snapshot;
use crate::node::GivenConfig;
use anyhow::anyhow;

/// What was gathered, and where the cgroup of all pods may be.
pub struct GatheredTree {
    /// As it was gathered.
    pub snapshot: Snapshot,
    /// The kubelet's configuration, where it was given.
    pub given: Option<GivenConfig>,
    /// Where the cgroup of all pods may be.
    pub roots: Vec<(CgroupDriver, CgroupPath)>,
    /// What is unknown.
    pub notes: Vec<String>,
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
