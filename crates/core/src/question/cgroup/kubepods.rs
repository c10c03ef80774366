//! The cgroup of all pods of a node.

use anyhow::anyhow;
use kq_answer::{Failure, Warning};
use kq_cgroup::files::page_size_text;
use kq_cgroup::knowledge::Knowledge;
use kq_cgroup::live::place::{LiveOwner, live_cgroups};
use kq_cgroup::plan::RuntimeFormula;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::live::unknown_facts;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;

/// Returns a tree that has a cgroup of all pods.
///
/// # Errors
///
/// Fails when the tree could not be read, and as [`check_kubepods`] does.
pub fn tree_of_pods(node: &Node) -> Result<&CgroupTree, Failure> {
    let tree = node.tree()?;
    check_kubepods(tree, &node.roots)?;
    Ok(tree)
}

/// Returns the missing facts of an answer about the tree, and what could not be read of it.
pub fn tree_warnings(node: &Node, tree: &CgroupTree) -> Vec<Warning> {
    unknown_names(node).into_iter().chain(tree.warnings()).collect()
}

/// Returns the missing facts of an answer about the tree. Of the configuration it needs the root alone, which is known where it
/// exists.
pub fn unknown_names(node: &Node) -> Vec<Warning> {
    let tree = node.snapshot.cgroups.value();
    let is_found = node.roots.iter().any(|(_, root)| tree.is_some_and(|t| t.get(root).is_some()));
    unknown_facts(&node.snapshot, is_found)
}

/// Refuses a node whose cgroup of all pods is absent, unless its kubelet and its pods are known: then the cgroup is missing.
///
/// # Errors
///
/// Fails where there is nothing to compare with.
pub fn check_comparable(node: &Node) -> Result<(), Failure> {
    let tree = node.tree()?;
    let is_known = !node.config.value.is_null() && node.unknown_pods().is_none();
    if is_known { Ok(()) } else { check_kubepods(tree, &node.roots) }
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

/// Returns the files and texts of the cgroup of all pods that are there until the QoS classes are updated, of each size that
/// the machine has: `enforceNodeAllocatableCgroups` (`pkg/kubelet/cm/node_container_manager_linux.go`, read in 1.36.2)
/// writes what node allocatable has of huge pages over the 2^62 of the classes, 0 of a size without pages too.
pub fn first_hugepages(node: &NodeConfig) -> impl Iterator<Item = FirstHugePages> {
    node.allocatable.absolute.iter().filter_map(|(name, amount)| {
        let size = name.hugepage_size()?.parse::<Quantity>().ok()?;
        let size = page_size_text(size.value()).ok()?;
        let [file, reserved] = [CgroupFile::HugetlbMax, CgroupFile::HugetlbRsvdMax]
            .map(|file| file.sized_name(node.cgroup_version, &size));
        Some(FirstHugePages { file, reserved, value: amount.value().to_string() })
    })
}

/// The limits of a size of huge pages at a start.
pub struct FirstHugePages {
    pub file: String,
    /// The file of the pages that mappings reserve.
    pub reserved: String,
    pub value: String,
}

/// Returns what is known of the facts that a plan rests on.
pub fn knowledge(node: &Node, settings: &NodeConfig, formula: RuntimeFormula) -> Knowledge {
    let unknown = node.unknown_pods().filter(|_| !lacks_best_effort_only(node));
    Knowledge::of(settings, formula, node.has_configuration(), unknown.map(|it| it.text))
        .without(node.refused_fields())
}

/// Returns true if each pod that is not in the list is BestEffort by the place of its cgroup: such a pod
/// requests nothing, and is in no sum.
fn lacks_best_effort_only(node: &Node) -> bool {
    let (Some(tree), Some(pods)) = (node.snapshot.cgroups.value(), node.snapshot.pods.value())
    else {
        return false;
    };
    let sandboxes = node.snapshot.runtime.value().and_then(|runtime| runtime.sandboxes.value());
    let Some(sandboxes) = sandboxes.filter(|_| pods.left_out.is_empty()) else { return false };
    let present = node.roots.iter().filter(|(_, root)| tree.get(root).is_some());
    let cgroups: Vec<_> = present
        .flat_map(|(driver, root)| live_cgroups(tree, root, *driver, &node.workloads))
        .collect();
    let is_best_effort = |uid: &str| {
        cgroups.iter().any(|cgroup| match &cgroup.owner {
            LiveOwner::Pod(pod) => pod.uid == uid && pod.class == QosClass::BestEffort,
            _ => false,
        })
    };
    let is_known = |uid: &str| node.workloads.pod(uid).is_some_and(|pod| pod.known);
    let mut unknown = sandboxes.iter().filter(|it| it.ready && !is_known(&it.uid));
    unknown.all(|sandbox| is_best_effort(&sandbox.uid))
}
