//! What is refused, unwise or surprising in the settings of image garbage collection on a node, with the
//! numbers. What is wise is kq's own judgement; what follows from a setting is the kubelet's.
//!
//! * `settings`: the fields by themselves.
//! * `eviction`: the thresholds compared with those of the eviction manager, which looks at the same disk.
//! * `images`: the images that are there.
//! * `rule`: the rules, their facts and all sentences.

mod eviction;
pub(crate) mod images;
mod rule;
mod settings;
#[cfg(test)]
mod tests;

use crate::cycle::Keys;
use crate::policy::ImageGcPolicy;
use kq_answer::{Basis, Finding, Headline, Severity, Subject, answer};
use kq_facts::kubelet_config::{EffectiveConfiguration, EvictionThreshold, RefusedEntry};
use kq_facts::runtime::Image;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::FeatureGates;
use rule::ImageGcRule;
use serde::Serialize;
use std::collections::BTreeMap;

/// The sentences about signals without a threshold, also of a change that takes theirs.
pub mod signals_off {
    pub const WHY: &str = "an evictionHard that is set replaces all defaults, unless mergeDefaultEvictionSettings is \
                           true";
    pub const LEADS_TO: &str = "the kubelet does not evict when they run out: the kernel kills processes, or the disk \
                                fills up";
    pub const ADVICE: &str = "name every signal in evictionHard";
}

/// Everything that is looked at; what is `None` is not known.
#[derive(Clone, Copy, Debug)]
pub struct LintInput<'a> {
    /// The kubelet's configuration with every default.
    pub config: &'a EffectiveConfiguration,
    /// `imageMinimumGCAge` as it was given, before the default; `None`: it was not.
    pub given_minimum_age: Option<GoDuration>,
    /// The kubelet's feature gates.
    pub gates: FeatureGates,
    /// Its eviction thresholds, hard and soft, or the entry that it refuses.
    pub thresholds: Result<&'a [EvictionThreshold], &'a RefusedEntry>,
    /// The sizes of the file systems.
    pub disks: Disks,
    /// All images.
    pub images: Option<&'a [Image]>,
    /// The ids of the images that containers use.
    pub in_use: Option<&'a Keys>,
    /// The image of sandboxes as the runtime is configured: `registry.k8s.io/pause:3.10`.
    pub sandbox_image: Option<&'a str>,
}

/// The file systems on which images can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disks {
    /// All bytes of the file system with the images.
    pub image_fs_capacity: Option<u64>,
    /// All bytes of the file system with the kubelet's folder.
    pub node_fs_capacity: Option<u64>,
    /// Images have a file system of their own.
    pub dedicated_image_fs: Option<bool>,
}

/// The findings as a value: what `-o json` and `-o yaml` print.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcLint {
    /// How many findings there are of each severity.
    pub summary: BTreeMap<String, usize>,
    /// The findings; the worst first.
    pub items: Vec<Finding>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("GcLint", GcLint; GcLint::headline);

impl GcLint {
    fn headline(&self) -> Headline {
        Headline::of_findings(&self.items)
    }
}

impl GcLint {
    /// Looks at a node.
    pub fn of(linted: LintInput<'_>) -> Self {
        let mut found = settings::findings(linted);
        found.extend(eviction::findings(linted));
        found.extend(images::findings(linted));
        let items = found.into_iter().map(|(subject, rule)| Finding::of(subject, &rule));
        let mut items: Vec<Finding> = items.collect();
        // Stable: within a severity they stay in the order of the rules.
        items.sort_by_key(|finding| finding.severity);
        let mut basis = Basis::default();
        basis.lack_all(images::missing_fact(linted));
        Self { summary: Severity::count(&items), items, basis }
    }
}

impl LintInput<'_> {
    fn policy(&self) -> ImageGcPolicy {
        ImageGcPolicy::of(self.config)
    }
}

/// A rule that applies, and its subject.
type Found = (Subject, ImageGcRule);

fn setting(name: &str, rule: ImageGcRule) -> Found {
    (Subject::Setting { name: name.to_owned() }, rule)
}
