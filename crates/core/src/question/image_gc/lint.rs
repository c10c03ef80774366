//! Unwise settings of image garbage collection.

use kq_facts::filesystems::FolderRole;
use kq_facts::kubelet_config::eviction_thresholds;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::runtime::Image;
use kq_image_gc::cycle::Keys;
use kq_image_gc::lint::{Disks, GcLint, LintInput};
use kq_image_gc::uses::{Uses, listed};
use std::collections::BTreeSet;

/// Returns the facts that the rules need.
pub fn gc_lint_needs() -> Needs {
    Needs::GC_LINT
}

/// Checks the settings and the images of a node.
pub fn gc_lint(node: &Node) -> GcLint {
    let thresholds = eviction_thresholds(&node.kubelet.config, true);
    let images = node.images().ok();
    let in_use = images.and_then(|images| in_use(node, images));
    let runtime = node.snapshot.runtime.value();
    let sandbox_image = runtime.and_then(|runtime| runtime.sandbox_image.value());
    let mut lint = GcLint::of(LintInput {
        config: &node.kubelet.config,
        given_minimum_age: node.kubelet.given.image_minimum_gc_age,
        gates: node.kubelet.rules.gates,
        thresholds: thresholds.as_deref(),
        disks: disks(node),
        images,
        in_use: in_use.as_ref(),
        sandbox_image: sandbox_image.map(String::as_str),
    });
    if node.snapshot.runtime.was_not_queried() {
        // Files that were named are the question then.
        lint.basis.missing.clear();
        lint.basis.assume(
            "the rules about images are not part of the answer: no container runtime was queried"
                .to_owned(),
        );
    }
    lint.basis.lack_all(node.missing_config());
    lint.basis.warn_all(node.warnings());
    lint
}

/// Returns the ids of the images in use, where that is known.
fn in_use(node: &Node, images: &[Image]) -> Option<Keys> {
    node.containers().ok()?;
    let rules = node.kubelet.rules;
    let runtime = node.runtime().ok()?;
    let uses = Uses::of(runtime, &node.workloads, rules, &BTreeSet::new());
    uses.in_use(&listed(images), rules).ok()
}

fn disks(node: &Node) -> Disks {
    let of = |role: FolderRole| node.snapshot.folders.get(&role)?.filesystem.value();
    let (images, kubelet) = (of(FolderRole::Images), of(FolderRole::Kubelet));
    Disks {
        image_fs_capacity: images.map(|filesystem| filesystem.capacity_bytes),
        node_fs_capacity: kubelet.map(|filesystem| filesystem.capacity_bytes),
        dedicated_image_fs: images.zip(kubelet).map(|(a, b)| a.device != b.device),
    }
}
