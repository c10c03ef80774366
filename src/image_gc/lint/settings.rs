//! The fields of image garbage collection by themselves.

use super::{LintInput, count, info, percent, warning};
use crate::answer::{Finding, Severity};
use crate::facts::kubelet_config::{ImageGcConfigError, image_gc_errors};
use crate::image_gc::loops::Garbage;
use crate::output::units::bytes;

const HIGH: &str = "imageGCHighThresholdPercent";
const LOW: &str = "imageGCLowThresholdPercent";
const MINIMUM: &str = "imageMinimumGCAge";
const MAXIMUM: &str = "imageMaximumGCAge";

/// Thresholds that are nearer than this free so little that the next collection is near as well. The
/// kubelet's own defaults are this far apart.
const SMALL_GAP: i32 = 5;

/// Thresholds that are farther apart than this remove most of what is not in use at once.
const LARGE_GAP: i32 = 40;

pub(super) fn findings(linted: LintInput<'_>) -> Vec<Finding> {
    let refused = image_gc_errors(linted.config, &linted.gates);
    let mut findings: Vec<Finding> = refused.iter().map(refusal).collect();
    findings.extend(off(linted));
    findings.extend(gap(linted));
    findings.extend(minimum_age(linted));
    findings.extend(maximum_age(linted));
    findings
}

/// Returns a finding for a rule that stops the kubelet, in the kubelet's words.
fn refusal(error: &ImageGcConfigError) -> Finding {
    let (id, subject, advice) = match error {
        ImageGcConfigError::HighRange(_) => ("high-range", HIGH, "set it to 0 up to 100"),
        ImageGcConfigError::LowRange(_) => ("low-range", LOW, "set it to 0 up to 100"),
        ImageGcConfigError::LowNotBelowHigh { .. } => {
            ("low-not-below-high", LOW, "set it below imageGCHighThresholdPercent")
        }
        ImageGcConfigError::MaximumAgeNeedsGate => (
            "maximum-age-needs-gate",
            MAXIMUM,
            "remove it, or do not turn the feature gate ImageMaximumGCAge off",
        ),
        ImageGcConfigError::MinimumAgeNegative(_) => {
            ("minimum-age-negative", MINIMUM, "set it to a duration above 0")
        }
        ImageGcConfigError::MaximumAgeNegative(_) => {
            ("maximum-age-negative", MAXIMUM, "set it to a duration above 0, or remove it")
        }
        ImageGcConfigError::MaximumAgeNotAboveMinimum { .. } => (
            "maximum-age-not-above-minimum",
            MAXIMUM,
            "set it above imageMinimumGCAge, or remove it",
        ),
    };
    Finding { severity: Severity::Error, ..warning(id, subject, error.to_string()) }
        .because("the kubelet does not start with it")
        .advise(advice)
}

fn off(linted: LintInput<'_>) -> Option<Finding> {
    let policy = linted.policy();
    if policy.high_threshold_percent != 100 {
        return None;
    }
    Some(match policy.is_collecting() {
        false => warning("image-gc-off", HIGH, "100 without a maximum age turns the loop off")
            .because("unused images stay until the eviction manager has to act, and it removes all")
            .advise("set it below the use of the disk at which eviction begins"),
        true => {
            info("image-gc-at-full-disk", HIGH, "100: no space is made before the disk is full")
                .because(
                    "images only go for their age; the eviction manager comes before a full disk",
                )
                .advise("set it below the use of the disk at which eviction begins")
        }
    })
}

/// Looks at how far the thresholds are apart; that they cross is a refusal.
fn gap(linted: LintInput<'_>) -> Option<Finding> {
    let policy = linted.policy();
    let (high, low) = (policy.high_threshold_percent, policy.low_threshold_percent);
    if !policy.is_collecting() || !(0..=100).contains(&high) || !(0..high).contains(&low) {
        return None;
    }
    let gap = high - low;
    let share = linted.disks.image_fs_capacity.map(|capacity| {
        let amount = u128::from(capacity) * u128::from(gap.unsigned_abs()) / 100;
        format!(", {} of {}", bytes(amount.try_into().unwrap_or(u64::MAX)), bytes(capacity))
    });
    let found = format!(
        "{high} - {low}: a collection frees about {}{}",
        percent(f64::from(gap)),
        share.unwrap_or_default()
    );
    let interval = Garbage::Images.interval();
    if gap < SMALL_GAP {
        return Some(
            info("small-gap", LOW, found)
                .because(format!(
                    "what grows by more than that in {interval} is over the high threshold again at \
                     the next run"
                ))
                .advise("set it at least 5 below imageGCHighThresholdPercent"),
        );
    }
    (gap > LARGE_GAP).then(|| {
        info("large-gap", LOW, found)
            .because("nearly all images that are not in use go at once, and are pulled again")
            .advise("set it nearer to imageGCHighThresholdPercent")
    })
}

fn minimum_age(linted: LintInput<'_>) -> Option<Finding> {
    let age = linted.config.image_minimum_gc_age;
    if linted.given_minimum_age.is_some_and(|given| given.0 == 0) {
        return Some(
            info("minimum-age-replaced", MINIMUM, format!("0s was given, {age} is in force"))
                .because("the kubelet takes a zero for nothing said, and fills in its default")
                .advise("set it to 1ns if no image may be too young"),
        );
    }
    // Kubelets that refuse it have said so.
    let refused = image_gc_errors(linted.config, &linted.gates);
    let is_refused = refused.contains(&ImageGcConfigError::MinimumAgeNegative(age));
    (age.0 < 0 && !is_refused).then(|| {
        info("minimum-age-below-zero", MINIMUM, format!("{age}: no image is too young"))
            .because("this kubelet takes it, and kubelets since 1.36 do not start with it")
            .advise("set it to 1ns if no image may be too young")
    })
}

/// Tells what a maximum age does to images that were not used since the kubelet started.
fn maximum_age(linted: LintInput<'_>) -> Option<Finding> {
    const ID: &str = "maximum-age-takes-unused";
    let maximum = linted.config.image_maximum_gc_age;
    if maximum.0 <= 0 {
        return None;
    }
    let unused = linted.images.zip(linted.in_use).map(|(images, in_use)| {
        let unused = images.iter().filter(|image| !image.pinned && !in_use.contains(&image.id));
        unused.fold((0_usize, 0_u64), |(number, size), image| {
            (number.saturating_add(1), size.saturating_add(image.size))
        })
    });
    let finding = match unused {
        Some((0, _)) => info(ID, MAXIMUM, format!("{maximum}; every image is in use or pinned")),
        Some((number, size)) => warning(
            ID,
            MAXIMUM,
            format!("{maximum}; neither in use nor pinned: {} ({})", count(number), bytes(size)),
        ),
        None => info(ID, MAXIMUM, maximum.to_string()),
    };
    Some(
        finding
            .because(format!(
                "the kubelet forgets the last use when it restarts, and a never used image counts as \
                 old whenever it was pulled: once the kubelet has run for {maximum}, each run takes \
                 all of them, pre-pulled ones too, at any use of the disk"
            ))
            .advise("pin images that must stay in the container runtime"),
    )
}
