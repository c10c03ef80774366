//! The images of a node with their users.

use crate::answer::Failure;
use crate::image_gc::images::ImageList;
use crate::image_gc::uses::Uses;
use crate::node::{KubeletNode, Needs};
use std::collections::BTreeSet;

/// Returns the facts that the list needs.
pub fn image_list_needs() -> Needs {
    Needs::GC_IMAGES
}

/// Lists the images of a node.
///
/// # Errors
///
/// Fails where the images or the runtime are unknown.
pub fn image_list(node: &KubeletNode) -> Result<ImageList, Failure> {
    let images = node.images()?;
    let runtime = node.runtime()?;
    let rules = node.kubelet.rules;
    let uses = Uses::of(runtime, &node.workloads, rules, &BTreeSet::new());
    let records = node.snapshot.image_records.value();
    let mut list = ImageList::of(images, &uses, records, rules, node.now);
    if runtime.containers.found.is_none() {
        list.basis.lack(format!("the users of the images: {}", runtime.containers.reason()));
    }
    Ok(list)
}
