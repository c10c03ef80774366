//! The fields of image garbage collection by themselves.

use super::rule::{Gap, ImageGcRule};
use super::{Found, LintInput, setting};
use kq_facts::kubelet_config::{ImageGcConfigError, image_gc_errors};

const HIGH: &str = "imageGCHighThresholdPercent";
const LOW: &str = "imageGCLowThresholdPercent";
const MINIMUM: &str = "imageMinimumGCAge";
const MAXIMUM: &str = "imageMaximumGCAge";

/// Thresholds that are nearer than this free so little that the next collection is near as well. The
/// kubelet's own defaults are this far apart.
const SMALL_GAP: i32 = 5;

/// Thresholds that are farther apart than this remove most of what is not in use at once.
const LARGE_GAP: i32 = 40;

pub(super) fn findings(linted: LintInput<'_>) -> Vec<Found> {
    let refused = image_gc_errors(linted.config, &linted.gates);
    let mut findings: Vec<Found> = refused.into_iter().map(refusal).collect();
    findings.extend(off(linted));
    findings.extend(gap(linted));
    findings.extend(minimum_age(linted));
    findings.extend(maximum_age(linted));
    findings
}

/// Returns a finding for a rule that stops the kubelet.
fn refusal(error: ImageGcConfigError) -> Found {
    let field = match error {
        ImageGcConfigError::HighRange { .. } => HIGH,
        ImageGcConfigError::LowRange { .. } | ImageGcConfigError::LowNotBelowHigh { .. } => LOW,
        ImageGcConfigError::MinimumAgeNegative { .. } => MINIMUM,
        ImageGcConfigError::MaximumAgeNeedsGate
        | ImageGcConfigError::MaximumAgeNegative { .. }
        | ImageGcConfigError::MaximumAgeNotAboveMinimum { .. } => MAXIMUM,
    };
    setting(field, ImageGcRule::Refused(error))
}

fn off(linted: LintInput<'_>) -> Option<Found> {
    let policy = linted.policy();
    let rule = match policy.is_collecting() {
        false => ImageGcRule::ImageGcOff,
        true => ImageGcRule::ImageGcAtFullDisk,
    };
    (policy.high_threshold_percent == 100).then(|| setting(HIGH, rule))
}

/// Checks the distance of the thresholds; crossed ones are rejected elsewhere.
fn gap(linted: LintInput<'_>) -> Option<Found> {
    let policy = linted.policy();
    let (high, low) = (policy.high_threshold_percent, policy.low_threshold_percent);
    if !policy.is_collecting() || !(0..=100).contains(&high) || !(0..high).contains(&low) {
        return None;
    }
    let apart = high - low;
    let capacity = linted.disks.image_fs_capacity;
    let gap = Gap {
        high_percent: high,
        low_percent: low,
        freed_bytes: capacity.map(|capacity| {
            let amount = u128::from(capacity) * u128::from(apart.unsigned_abs()) / 100;
            amount.try_into().unwrap_or(u64::MAX)
        }),
        capacity_bytes: capacity,
    };
    if apart < SMALL_GAP {
        return Some(setting(LOW, ImageGcRule::SmallGap(gap)));
    }
    (apart > LARGE_GAP).then(|| setting(LOW, ImageGcRule::LargeGap(gap)))
}

fn minimum_age(linted: LintInput<'_>) -> Option<Found> {
    let minimum_age = linted.config.image_minimum_gc_age;
    if linted.given_minimum_age.is_some_and(|given| given.0 == 0) {
        return Some(setting(MINIMUM, ImageGcRule::MinimumAgeReplaced { minimum_age }));
    }
    // Kubelets that refuse it have said so.
    let refused = image_gc_errors(linted.config, &linted.gates);
    let is_refused = refused.contains(&ImageGcConfigError::MinimumAgeNegative { minimum_age });
    (minimum_age.0 < 0 && !is_refused)
        .then(|| setting(MINIMUM, ImageGcRule::MinimumAgeBelowZero { minimum_age }))
}

/// Reports the effect of a maximum age on images that were not used since the kubelet started.
fn maximum_age(linted: LintInput<'_>) -> Option<Found> {
    let maximum_age = linted.config.image_maximum_gc_age;
    let unused = linted.images.zip(linted.in_use).map(|(images, in_use)| {
        let unused =
            images.iter().filter(|image| !image.pinned && !in_use.contains(image.id.as_str()));
        unused.fold((0_usize, 0_u64), |(number, size), image| {
            (number.saturating_add(1), size.saturating_add(image.size))
        })
    });
    let (unused_images, unused_bytes) = unused.unzip();
    let rule = ImageGcRule::MaximumAgeTakesUnused { maximum_age, unused_images, unused_bytes };
    (maximum_age.0 > 0).then(|| setting(MAXIMUM, rule))
}
