//! `kq gc lint`

use super::records::GcNodeArgs;
use crate::exit::{Code, Failure, note, tell};
use crate::form::Form;
use crate::kubelet_node::KubeletNode;
use kq::answer::finding_view::{advice, table, wide};
use kq::facts::filesystems::FolderRole;
use kq::facts::kubelet_config::{EvictionSettings, EvictionThreshold, parse_eviction_thresholds};
use kq::facts::runtime::Image;
use kq::image_gc::lint::{Disks, GcLint, LintInput};
use kq::image_gc::uses::{Uses, listed};
use kq::node::Needs;
use std::collections::BTreeSet;

/// Find invalid, unwise or surprising garbage collection settings
///
/// lint compares the thresholds with those of eviction, which measures the same
/// disk, compares thresholds and ages with each other, and finds images that
/// would be removed unexpectedly early. The impact of each finding and its fix
/// are printed below the table, or in columns with -o wide.
///
/// Exit code 0: no warnings. 1: a setting does not have its expected effect. 3:
/// the configuration of this node's kubelet is unknown, and the default settings
/// give no warnings.
///
/// Examples:
///
///   kq gc lint
///   kq gc lint --kubelet-config kubelet.yaml -o wide
///   kq gc lint --set imageGCHighThresholdPercent=95
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    node: GcNodeArgs,
}

impl Args {
    /// Gathers, looks and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let files = self.node.kubelet.is_config_given();
        let node = self.node.gather(Needs { files, ..Needs::GC_LINT })?;
        let (thresholds, problem) = thresholds(&node);
        let images = node.images().ok();
        let in_use = images.and_then(|images| in_use(&node, images));
        let runtime = node.snapshot.runtime.value();
        let sandbox_image = runtime.and_then(|runtime| runtime.sandbox_image.value());
        let mut lint = GcLint::of(LintInput {
            config: &node.kubelet.config,
            given_minimum_age: node.kubelet.given.image_minimum_gc_age,
            gates: node.kubelet.rules.gates,
            thresholds: &thresholds,
            disks: disks(&node),
            images,
            in_use: in_use.as_ref(),
            sandbox_image: sandbox_image.map(String::as_str),
        });
        lint.basis.lack_all(node.missing_config());
        lint.basis.warn_all(node.notes.iter().chain(&problem).cloned());
        self.output.write(&lint, |lint| table(&lint.items), |lint| wide(&lint.items))?;
        if self.output.is_for_people() {
            tell(&lint.basis);
        }
        if self.output == Form::Table {
            advice(&lint.items).iter().for_each(|advice| note("fix", advice));
        }
        Ok(match lint.has_warnings() {
            true => Code::No,
            false => Code::Answered.unless(node.lacks_config()),
        })
    }
}

/// Returns the eviction thresholds, or why the kubelet refuses them.
pub fn thresholds(node: &KubeletNode) -> (Vec<EvictionThreshold>, Option<String>) {
    let config = &node.kubelet.config;
    let parsed = parse_eviction_thresholds(EvictionSettings {
        hard: &config.eviction_hard,
        soft: &config.eviction_soft,
        soft_grace_period: &config.eviction_soft_grace_period,
        minimum_reclaim: &config.eviction_minimum_reclaim,
    });
    match parsed {
        Ok(thresholds) => (thresholds, None),
        Err(error) => (Vec::new(), Some(format!("eviction thresholds: {error}"))),
    }
}

/// Returns the ids of the images in use, where that is known.
fn in_use(node: &KubeletNode, images: &[Image]) -> Option<BTreeSet<String>> {
    node.containers().ok()?;
    let rules = node.kubelet.rules;
    let runtime = node.runtime().ok()?;
    let uses = Uses::of(runtime, &node.workloads, rules, &BTreeSet::new());
    uses.in_use(&listed(images), rules).ok()
}

fn disks(node: &KubeletNode) -> Disks {
    let of = |role: FolderRole| node.snapshot.folders.get(&role)?.filesystem.value();
    let (images, kubelet) = (of(FolderRole::Images), of(FolderRole::Kubelet));
    Disks {
        image_fs_capacity: images.map(|filesystem| filesystem.capacity_bytes),
        node_fs_capacity: kubelet.map(|filesystem| filesystem.capacity_bytes),
        dedicated_image_fs: images.zip(kubelet).map(|(a, b)| a.device != b.device),
    }
}
