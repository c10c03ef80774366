//! `kq gc explain`

use super::question::{UsageArgs, write_notes};
use super::records::GcNodeArgs;
use crate::exit::{Code, Failure, tell};
use crate::form::Form;
use crate::kubelet_node::KubeletNode;
use anyhow::anyhow;
use kq::edge::cri::{RuntimeNeeds, StatusNeeds};
use kq::image_gc::containers::GcTrigger;
use kq::image_gc::cycle::ImageFs;
use kq::image_gc::disk::{self, DiskFacts, ImageDisk};
use kq::image_gc::explain::{self, Asked, ImageExplanation, largest_available};
use kq::image_gc::image_name::find_image;
use kq::image_gc::knowledge::Sources;
use kq::image_gc::plan::{ImageGcPlan, Trigger};
use kq::image_gc::uses::Uses;
use kq::node::Needs;
use kq::question::image_gc::{collected_containers, container_policy, plan_collection};
use std::collections::BTreeSet;

/// Explain the state and fate of one image, or the disk that holds the images
///
/// For an image: its properties and shared layers, its users, the times that the
/// kubelet may have recorded, the outcome of each trigger now, and the earliest
/// possible removal by age, for space and under disk pressure. IMAGE is an ID,
/// the unique start of one with at least 4 digits, a tag (nginx means
/// docker.io/library/nginx:latest), or a name with a digest.
///
/// For the disk (--disk): the file system that the kubelet measures, which of
/// nodefs, imagefs and containerfs are the same and the effect on eviction, the
/// largest consumers, and the reasons why statfs, the runtime and the kubelet
/// report different numbers. Measuring directories takes time; --timeout limits
/// it.
///
/// Nothing is changed. Exit code 2: there is no such image, or IMAGE is
/// ambiguous. 3: data required for an answer is unavailable, such as the location
/// of the images.
///
/// Examples:
///
///   kq gc explain nginx:1.25
///   kq gc explain 3f8a00 -o wide
///   kq gc explain nginx --at-usage 90%
///   kq gc explain nginx -o json | jq '.earliest[] | {by, state, notBefore}'
///   kq gc explain --disk
///   kq gc explain --disk -o json | jq '.parts[] | {what, path, bytes}'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    what: What,

    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    usage: UsageArgs,

    #[command(flatten)]
    node: GcNodeArgs,
}

/// What is to be explained.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// The image: an ID, the start of one, a tag, or a name with a digest
    #[arg(value_name = "IMAGE")]
    image: Option<String>,

    /// Explain the disk that holds the images
    #[arg(long, conflicts_with_all = ["at_usage", "image_fs_capacity"])]
    disk: bool,
}

/// What a plan needs, and when containers ended.
const WANTS: Needs = Needs {
    runtime: RuntimeNeeds { container_statuses: StatusNeeds::All, ..Needs::GC_PLAN.runtime },
    ..Needs::GC_PLAN
};

impl Args {
    /// Gathers, explains and shows.
    pub fn run(self) -> Result<Code, Failure> {
        match &self.what.image {
            Some(name) => self.explain_image(name),
            None => self.explain_disk(),
        }
    }

    fn explain_image(&self, name: &str) -> Result<Code, Failure> {
        let node = self.node.gather(WANTS)?;
        let told = self.story(&node, name)?;
        self.output.write(&told, explain::describe, explain::describe_wide)?;
        if self.output.is_for_people() {
            write_notes(&told.basis);
        }
        Ok(Code::Answered.unless(node.lacks_config()))
    }

    fn explain_disk(&self) -> Result<Code, Failure> {
        let node = self.node.gather(Needs::GC_DISK)?;
        let mut disk = ImageDisk::of(DiskFacts {
            now: node.now,
            folders: &node.snapshot.folders,
            runtime: &node.snapshot.runtime,
            summary: &node.snapshot.stats_summary,
            workloads: &node.workloads,
            config: &node.kubelet.config,
            rules: node.kubelet.rules,
        });
        disk.basis.warn_all(node.notes.iter().cloned());
        self.output.write(&disk, disk::describe, disk::describe_wide)?;
        if self.output.is_for_people() {
            tell(&disk.basis);
        }
        Ok(if disk.judged.unknown.is_some() { Code::Missing } else { Code::Answered })
    }

    fn story(&self, node: &KubeletNode, name: &str) -> Result<ImageExplanation, Failure> {
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
        let image_fs = self.usage.usage().image_fs(node);
        let planned = |trigger| plan_collection(node, trigger, image_fs.clone(), &BTreeSet::new());
        let periodic = planned(Trigger::Periodic)?;
        let at_threshold = at_threshold(node, &periodic)?;
        let runtime = node.runtime()?;
        let containers = collected_containers(node, GcTrigger::Loop);
        let told = explain::explain(Asked {
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
            policy: node.policy(),
            rules,
        });
        // Every plan has a line for every image that is listed.
        told.ok_or_else(|| Failure::missing(anyhow!("{name:?} is in no plan")))
    }
}

/// Plans the collection as it would be if just as much space was used as sets it off; `None`: it is set
/// off, or nobody knows how full the disk is.
fn at_threshold(
    node: &KubeletNode,
    periodic: &ImageGcPlan,
) -> Result<Option<ImageGcPlan>, Failure> {
    let Some(usage) = periodic.run.usage.filter(|_| periodic.run.wants_space == Some(false)) else {
        return Ok(None);
    };
    let high = node.policy().high_threshold_percent;
    let Some(available) = largest_available(usage.capacity_bytes, high) else { return Ok(None) };
    let fs = ImageFs {
        capacity: u64::try_from(usage.capacity_bytes).ok(),
        available: u64::try_from(available).ok(),
    };
    let source = format!("as it would be at imageGCHighThresholdPercent {high}%");
    let none = BTreeSet::new();
    plan_collection(node, Trigger::Periodic, Ok((fs, source)), &none).map(Some)
}
