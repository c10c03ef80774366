//! The high threshold and the thresholds of the eviction manager, which measures the same disk.
//!
//! Image garbage collection acts if `100 - trunc(available x 100 / capacity) >= high`, which is the same
//! as `available < (101 - high)%` of the capacity (`GarbageCollect` in
//! `pkg/kubelet/images/image_gc_manager.go`). Eviction acts if `available < threshold`, where a share is
//! `trunc(capacity x share)` (`thresholdsMet` and `GetThresholdQuantity` in `pkg/kubelet/eviction`).

use super::rule::{Availability, Beginnings, ImageGcRule};
use super::{Found, LintInput, setting};
use kq_facts::kubelet_config::{EvictionThreshold, RefusedEntry, Signal, ThresholdValue};
use std::cmp::Ordering;

/// Shares of the capacity that differ by less are the same: they are written as decimals and kept in 32
/// bits.
const SAME_PERCENT: f64 = 1e-5;

/// A distance of fewer percent of the disk between garbage collection and eviction is a finding.
const NEAR_PERCENT: f64 = 1.0;

/// The signals that have a hard threshold by default.
const DEFAULTS: [Signal; 5] = [
    Signal::MemoryAvailable,
    Signal::NodeFsAvailable,
    Signal::NodeFsInodesFree,
    Signal::ImageFsAvailable,
    Signal::ImageFsInodesFree,
];

pub(super) fn findings(linted: LintInput<'_>) -> Vec<Found> {
    let thresholds = match linted.thresholds {
        Ok(thresholds) => thresholds,
        Err(RefusedEntry { field, error, .. }) => {
            let error = error.to_string();
            return vec![setting(field, ImageGcRule::EvictionThresholdRefused { error })];
        }
    };
    let off = signals_off(thresholds).map(|rule| setting("evictionHard", rule));
    let mut found: Vec<Found> = off.into_iter().collect();
    let policy = linted.policy();
    // Without a loop, or with thresholds that are refused, there is nothing to compare.
    if policy.is_collecting() && policy.validate().is_ok() {
        found.extend(compared(linted, thresholds, policy.high_threshold_percent));
    }
    found
}

/// Finds the signals of the defaults that have no threshold, neither hard nor soft.
fn signals_off(thresholds: &[EvictionThreshold]) -> Option<ImageGcRule> {
    let is_off = |signal: &Signal| !thresholds.iter().any(|it| it.signal == *signal);
    let off: Vec<Signal> = DEFAULTS.into_iter().filter(is_off).collect();
    if off.is_empty() {
        return None;
    }
    let is_danger =
        off.contains(&Signal::MemoryAvailable) || off.contains(&Signal::NodeFsAvailable);
    let signals = off.into_iter().map(Signal::as_str).collect();
    Some(ImageGcRule::EvictionSignalsOff { signals, is_danger })
}

fn compared(
    linted: LintInput<'_>,
    thresholds: &[EvictionThreshold],
    high_threshold_percent: i32,
) -> Vec<Found> {
    let of_images = thresholds.iter().filter_map(|threshold| {
        let (capacity, has_images) = disk(linted, threshold.signal)?;
        let capacity = capacity.filter(|bytes| *bytes > 0);
        compare(high_threshold_percent, threshold, capacity, has_images)
    });
    of_images.map(|rule| setting("imageGCHighThresholdPercent", rule)).collect()
}

/// Returns the capacity behind a signal if images are on that disk, and whether they are known to be.
fn disk(linted: LintInput<'_>, signal: Signal) -> Option<(Option<u64>, bool)> {
    let disks = linted.disks;
    match (signal, disks.dedicated_image_fs) {
        (Signal::ImageFsAvailable, _) => Some((disks.image_fs_capacity, true)),
        (Signal::NodeFsAvailable, Some(false)) => {
            Some((disks.node_fs_capacity.or(disks.image_fs_capacity), true))
        }
        (Signal::NodeFsAvailable, None) => Some((disks.node_fs_capacity, false)),
        _ => None,
    }
}

fn compare(
    high_percent: i32,
    threshold: &EvictionThreshold,
    capacity: Option<u64>,
    has_images: bool,
) -> Option<ImageGcRule> {
    let signal = threshold.signal.as_str();
    let Some(eviction) = eviction_begin(&threshold.value, capacity) else {
        let ThresholdValue::Quantity(amount) = &threshold.value else { return None };
        return Some(ImageGcRule::EvictionNotComparable { signal, amount: amount.clone() });
    };
    let collection = collection_begin(high_percent, capacity);
    let between = collection.percent - eviction.percent;
    let beginnings = Beginnings {
        high_percent,
        collection,
        signal,
        eviction,
        grace_period: (!threshold.is_hard()).then_some(threshold.grace_period),
        has_images,
        advised_percent: highest(eviction),
    };
    if between.abs() < SAME_PERCENT {
        return Some(ImageGcRule::EvictionWithImageGc(beginnings));
    }
    match eviction.percent.total_cmp(&collection.percent) {
        Ordering::Less if between > NEAR_PERCENT + SAME_PERCENT => None,
        Ordering::Less => Some(ImageGcRule::EvictionNearImageGc(beginnings)),
        Ordering::Equal | Ordering::Greater => Some(ImageGcRule::EvictionBeforeImageGc(beginnings)),
    }
}

/// Returns below which availability garbage collection acts.
fn collection_begin(high: i32, capacity: Option<u64>) -> Availability {
    let percent = 101_u32.saturating_sub(high.unsigned_abs());
    let bytes = capacity.map(|capacity| {
        let bytes = (u128::from(capacity) * u128::from(percent)).div_ceil(100);
        bytes.try_into().unwrap_or(u64::MAX)
    });
    Availability { percent: f64::from(percent), bytes }
}

/// Returns below which availability eviction acts; `None`: an amount of a disk of unknown size.
fn eviction_begin(value: &ThresholdValue, capacity: Option<u64>) -> Option<Availability> {
    match value {
        ThresholdValue::Share(share) => {
            let share = f64::from(*share);
            let bytes = capacity.map(|capacity| (capacity as f64 * share) as u64);
            Some(Availability { percent: share * 100.0, bytes })
        }
        ThresholdValue::Quantity(amount) => {
            let (capacity, bytes) = (capacity?, u64::try_from(amount.value()).ok()?);
            Some(Availability {
                percent: bytes as f64 * 100.0 / capacity as f64,
                bytes: Some(bytes),
            })
        }
    }
}

/// Returns the highest threshold that leaves a few percent before eviction; `None`: there is none.
fn highest(eviction: Availability) -> Option<i64> {
    const ROOM: f64 = 5.0;
    // Garbage collection acts below (101 - high)%.
    let high = (101.0 - (eviction.percent - SAME_PERCENT).ceil() - ROOM) as i64;
    (high > 0).then_some(high)
}
