//! The facts that a plan is made from.

use super::report::Trigger;
use crate::facts::image_records::ImageRecords;
use crate::facts::kubelet::KubeletStart;
use crate::facts::lookup::Lookup;
use crate::facts::runtime::{Image, ImageStorage};
use crate::facts::timestamp::Timestamp;
use crate::image_gc::containers::ContainerGcPlan;
use crate::image_gc::cycle::ImageFs;
use crate::image_gc::policy::ImageGcPolicy;
use crate::image_gc::uses::Uses;
use crate::k8s::kubelet_rules::KubeletRules;
use std::collections::BTreeSet;

/// Everything that a plan is made from.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// What sets the collection going.
    pub trigger: Trigger,
    /// The moment that it is computed for.
    pub now: Timestamp,
    /// The thresholds and ages.
    pub policy: ImageGcPolicy,
    /// The kubelet's version and gates.
    pub rules: KubeletRules,
    /// When the kubelet started; `None`: unknown.
    pub kubelet_start: Option<KubeletStart>,
    /// kq's own records.
    pub records: Option<&'a ImageRecords>,
    /// The images of the runtime.
    pub images: &'a [Image],
    /// The containers that use them when the images are looked at.
    pub uses: &'a Uses,
    /// The containers that used them before dead ones were removed; the same where none are.
    pub uses_before: &'a Uses,
    /// The image file system and where its numbers are from, or why they are unavailable.
    pub image_fs: Result<(ImageFs, String), String>,
    /// What images share.
    pub storage: &'a Lookup<ImageStorage>,
    /// The dead containers that go first.
    pub containers: Option<ContainerGcPlan>,
    /// What disk pressure wants; `None`: every image that is not in use.
    pub reclaim: Option<Reclaim>,
    /// The ids of the images of `--keep`.
    pub kept: &'a BTreeSet<String>,
}

/// What disk pressure wants of the images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reclaim {
    /// That those not in use go.
    pub images: bool,
    /// Why, a sentence each.
    pub because: Vec<String>,
}

impl Inputs<'_> {
    /// Returns true if disk pressure leaves the images alone.
    pub(super) fn spares_images(&self) -> bool {
        let reclaim = self.reclaim.as_ref().filter(|_| self.trigger == Trigger::Eviction);
        reclaim.is_some_and(|reclaim| !reclaim.images)
    }
}
