//! What is refused, unwise or surprising in the settings of image garbage collection on a node, with the
//! numbers. What is wise is kq's own judgement; what follows from a setting is the kubelet's.
//!
//! * `settings`: the fields by themselves.
//! * `eviction`: the thresholds beside those of the eviction manager, which looks at the same disk.
//! * `images`: the images that are there.

mod eviction;
pub(crate) mod images;
mod settings;
#[cfg(test)]
mod tests;

use crate::facts::kubelet_config::{EffectiveConfiguration, EvictionThreshold};
use crate::facts::runtime::Image;
use crate::facts::snapshot::API_VERSION;
use crate::image_gc::policy::ImageGcPolicy;
use crate::k8s::duration::GoDuration;
use crate::k8s::feature_gates::FeatureGates;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Everything that is looked at; what is `None` is not known.
#[derive(Clone, Copy, Debug)]
pub struct LintInput<'a> {
    /// The kubelet's configuration with every default.
    pub config: &'a EffectiveConfiguration,
    /// `imageMinimumGCAge` as it was given, before the default; `None`: it was not.
    pub given_minimum_age: Option<GoDuration>,
    /// The kubelet's feature gates.
    pub gates: FeatureGates,
    /// Its eviction thresholds, hard and soft.
    pub thresholds: &'a [EvictionThreshold],
    /// The sizes of the file systems.
    pub disks: Disks,
    /// All images.
    pub images: Option<&'a [Image]>,
    /// The ids of the images that containers use.
    pub in_use: Option<&'a BTreeSet<String>>,
    /// The image of sandboxes as the runtime is told: `registry.k8s.io/pause:3.10`.
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

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Does not do what is expected of it.
    Warn,
    /// Is worth knowing.
    Info,
}

/// Something that is refused, unwise or surprising.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which rule found it; it does not change from version to version of kq.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about: a setting, an image.
    pub subject: String,
    /// What was found, with the numbers.
    pub found: String,
    /// Why that matters.
    pub why: String,
    /// What to do.
    pub advice: String,
}

/// The findings as a value: what `-o json` and `-o yaml` print.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GcLint {
    /// `kq/v1`
    pub api_version: &'static str,
    /// `GcLint`
    pub kind: &'static str,
    /// How many findings there are of each severity.
    pub summary: BTreeMap<String, usize>,
    /// What could not be looked at, and why.
    pub not_looked_at: Vec<String>,
    /// The findings; the worst first.
    pub items: Vec<Finding>,
}

impl GcLint {
    /// Looks at a node.
    pub fn of(linted: LintInput<'_>) -> Self {
        let mut items = settings::findings(linted);
        items.extend(eviction::findings(linted));
        items.extend(images::findings(linted));
        // Stable: within a severity they stay in the order of the rules.
        items.sort_by_key(|finding| finding.severity);
        let count = |severity: Severity| {
            let of_it = items.iter().filter(|finding| finding.severity == severity);
            (severity.to_string(), of_it.count())
        };
        let summary = [Severity::Warn, Severity::Info].map(count).into();
        let not_looked_at = images::not_looked_at(linted);
        Self { api_version: API_VERSION, kind: "GcLint", summary, not_looked_at, items }
    }

    /// Tells whether something does not do what is expected of it.
    pub fn has_warnings(&self) -> bool {
        self.items.iter().any(|finding| finding.severity == Severity::Warn)
    }
}

impl LintInput<'_> {
    fn policy(&self) -> ImageGcPolicy {
        ImageGcPolicy::of(self.config)
    }
}

impl Finding {
    fn warn(id: &'static str, subject: impl Into<String>, found: impl Into<String>) -> Self {
        let (subject, found) = (subject.into(), found.into());
        let (why, advice) = (String::new(), String::new());
        Self { id, severity: Severity::Warn, subject, found, why, advice }
    }

    fn info(id: &'static str, subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self { severity: Severity::Info, ..Self::warn(id, subject, found) }
    }

    fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }

    fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: advice.into(), ..self }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Warn => "WARN",
            Self::Info => "INFO",
        })
    }
}

/// Returns a number of percent with at most four digits after the point, and none that say nothing.
fn percent(number: f64) -> String {
    let text = format!("{number:.4}");
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns a number of images: `1 image`, `2 images`.
fn count(number: usize) -> String {
    format!("{number} image{}", if number == 1 { "" } else { "s" })
}
