//! The state and fate of one image, and the disk that holds the images.

use super::{
    ImageFsUsage, after_eviction, collected_containers, container_policy, crossed_for_images,
    plan_collection,
};
use anyhow::anyhow;
use kq_answer::Failure;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_image_gc::containers::GcTrigger;
use kq_image_gc::cycle::ImageFs;
use kq_image_gc::disk::{DiskFacts, ImageDisk};
use kq_image_gc::explain::{self, ExplainInput, ImageExplanation, largest_available};
use kq_image_gc::image_name::find_image;
use kq_image_gc::knowledge::Sources;
use kq_image_gc::plan::{ImageGcPlan, Trigger};
use kq_image_gc::policy::ImageGcPolicy;
use kq_image_gc::uses::Uses;
use std::collections::BTreeSet;

/// Returns the facts that the explanation of an image needs.
pub fn image_story_needs() -> Needs {
    Needs::GC_PLAN.with(&[FactKey::ContainerStatuses])
}

/// Returns the facts that the explanation of the disk needs.
pub fn image_disk_needs() -> Needs {
    Needs::GC_DISK
}

/// Explains the disk that holds the images of a node.
pub fn image_disk(node: &Node) -> ImageDisk {
    let mut disk = ImageDisk::of(DiskFacts {
        now: node.now,
        folders: &node.snapshot.folders,
        runtime: &node.snapshot.runtime,
        summary: &node.snapshot.stats_summary,
        workloads: &node.workloads,
        config: node.config(),
        rules: node.kubelet.rules,
    });
    disk.basis.warn_all(node.notes.iter().cloned());
    disk
}

/// Explains one image: an ID, the start of one, a tag, or a name with a digest.
///
/// # Errors
///
/// Fails for an image that the node does not have, and where the images or the runtime are unknown.
pub fn image_story(
    node: &Node,
    name: &str,
    usage: &ImageFsUsage,
) -> Result<ImageExplanation, Failure> {
    let images = node.images()?;
    let rules = node.kubelet.rules;
    let image = find_image(images, name, rules).map_err(|error| {
        let hint = error.hint();
        let failure = Failure::usage(error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure.hint("kq gc images lists the images"),
        }
    })?;
    let image_fs = usage.image_fs(node);
    let planned = |trigger| plan_collection(node, trigger, image_fs.clone(), &BTreeSet::new());
    let mut periodic = planned(Trigger::Periodic)?;
    if let Some(signal) = crossed_for_images(node).filter(|_| usage.percent.is_none()) {
        after_eviction(&mut periodic, signal);
    }
    let at_threshold = at_threshold(node, &periodic)?;
    let runtime = node.runtime()?;
    let containers = collected_containers(node, GcTrigger::Loop);
    let story = explain::explain(ExplainInput {
        image,
        images,
        periodic: &periodic,
        age: &planned(Trigger::Age)?,
        eviction: &planned(Trigger::Eviction)?,
        at_threshold: at_threshold.as_ref(),
        containers: &containers?,
        container_policy: container_policy(node),
        uses: &Uses::of(runtime, &node.workloads, rules, &BTreeSet::new()),
        storage: &runtime.image_storage,
        sources: Sources {
            now: node.now,
            kubelet_start: node.kubelet_start.as_ref().map(|start| start.at),
            records: node.snapshot.image_records.value(),
        },
        policy: ImageGcPolicy::of(node.config()),
        rules,
    });
    // Every plan has a line for every image that is listed.
    story.ok_or_else(|| Failure::missing(anyhow!("{name:?} is in no plan")))
}

/// Plans the collection as it would be if just as much space was used as sets it off; `None`: it is set
/// off, or the usage of the disk is unknown.
fn at_threshold(node: &Node, periodic: &ImageGcPlan) -> Result<Option<ImageGcPlan>, Failure> {
    let Some(usage) = periodic.run.usage.filter(|_| periodic.run.wants_space == Some(false)) else {
        return Ok(None);
    };
    let high = ImageGcPolicy::of(node.config()).high_threshold_percent;
    let Some(available) = largest_available(usage.capacity_bytes, high) else { return Ok(None) };
    let fs = ImageFs {
        capacity: u64::try_from(usage.capacity_bytes).ok(),
        available: u64::try_from(available).ok(),
    };
    let source = format!("as it would be at imageGCHighThresholdPercent {high}%");
    let none = BTreeSet::new();
    plan_collection(node, Trigger::Periodic, Ok((fs, source)), &none).map(Some)
}
