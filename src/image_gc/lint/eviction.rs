//! The high threshold beside the thresholds of the eviction manager, which looks at the same disk.
//!
//! Image garbage collection acts if `100 - trunc(available x 100 / capacity) >= high`, which is the same
//! as `available < (101 - high)%` of the capacity (`GarbageCollect` in
//! `pkg/kubelet/images/image_gc_manager.go`). Eviction acts if `available < threshold`, where a share is
//! `trunc(capacity x share)` (`thresholdsMet` and `GetThresholdQuantity` in `pkg/kubelet/eviction`).

use super::{LintInput, info, percent, warning};
use crate::answer::Finding;
use crate::facts::kubelet_config::{EvictionThreshold, Signal, ThresholdValue};
use crate::image_gc::loops::Garbage;
use crate::output::units::bytes;
use std::cmp::Ordering;

/// Shares of the capacity that differ by less are the same: they are written as decimals and kept in 32
/// bits.
const SAME_PERCENT: f64 = 1e-5;

/// Who has less than this many percent of the disk between garbage collection and eviction is told.
const NEAR_PERCENT: f64 = 1.0;

const SUBJECT: &str = "imageGCHighThresholdPercent";

/// Where one of them begins to act: below so much that is available.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Begin {
    /// In percent of the capacity.
    percent: f64,
    /// In bytes; `None`: the capacity is not known.
    bytes: Option<u64>,
}

pub(super) fn findings(linted: LintInput<'_>) -> Vec<Finding> {
    let policy = linted.policy();
    // Without a loop, or with thresholds that are refused, there is nothing to compare.
    if !policy.is_collecting() || policy.validate().is_err() {
        return Vec::new();
    }
    let of_images = linted.thresholds.iter().filter_map(|threshold| {
        let (capacity, whose) = disk(linted, threshold.signal)?;
        compare(
            policy.high_threshold_percent,
            threshold,
            capacity.filter(|bytes| *bytes > 0),
            whose,
        )
    });
    of_images.collect()
}

/// Returns the capacity behind a signal if images are on that disk, and what is to be said about it.
fn disk(linted: LintInput<'_>, signal: Signal) -> Option<(Option<u64>, &'static str)> {
    let disks = linted.disks;
    match (signal, disks.dedicated_image_fs) {
        (Signal::ImageFsAvailable, _) => Some((disks.image_fs_capacity, "")),
        (Signal::NodeFsAvailable, Some(false)) => {
            Some((disks.node_fs_capacity.or(disks.image_fs_capacity), ""))
        }
        (Signal::NodeFsAvailable, None) => {
            Some((disks.node_fs_capacity, ", if images are on that disk"))
        }
        _ => None,
    }
}

fn compare(
    high: i32,
    threshold: &EvictionThreshold,
    capacity: Option<u64>,
    whose: &str,
) -> Option<Finding> {
    let signal = threshold.signal.as_str();
    let Some(eviction) = eviction_begin(&threshold.value, capacity) else {
        let ThresholdValue::Quantity(amount) = &threshold.value else { return None };
        return Some(
            info(
                "eviction-not-comparable",
                SUBJECT,
                format!(
                    "{signal} < {amount} is an amount, and the capacity of the disk is not known"
                ),
            )
            .because("which of them acts first depends on the size of the disk")
            .advise("give the capacity, or run kq on the node"),
        );
    };
    let collection = collection_begin(high, capacity);
    let kind = match threshold.is_hard() {
        true => "eviction".to_owned(),
        false => format!("soft eviction (after {})", threshold.grace_period),
    };
    let found = format!(
        "{high} acts below {} available, {kind} by {signal} below {}{whose}",
        shown(collection),
        shown(eviction)
    );
    let between = collection.percent - eviction.percent;
    let order = match between.abs() < SAME_PERCENT {
        true => Ordering::Equal,
        false => eviction.percent.total_cmp(&collection.percent),
    };
    let interval = Garbage::Images.interval();
    let (id, why) = match order {
        Ordering::Greater => (
            "eviction-before-image-gc",
            format!(
                "eviction begins {} earlier: it removes dead containers and all unused images, not \
                 only down to the low threshold, and then pods; image garbage collection has nothing \
                 left to do",
                percent(-between)
            ),
        ),
        Ordering::Equal => (
            "eviction-with-image-gc",
            format!(
                "both act at the same use of the disk, and eviction looks every 10s, image \
                 garbage collection every {interval}: eviction comes first"
            ),
        ),
        Ordering::Less if between <= NEAR_PERCENT + SAME_PERCENT => (
            "eviction-near-image-gc",
            format!(
                "there is {} of the disk between them: what is written in {interval} can be more, and \
                 then eviction comes first",
                percent(between)
            ),
        ),
        Ordering::Less => return None,
    };
    // With a grace period of at least a turn of the loop, images go before pods do.
    let in_time = threshold.grace_period >= interval;
    let finding = match order == Ordering::Less || in_time {
        true => info(id, SUBJECT, found),
        false => warning(id, SUBJECT, found),
    };
    Some(finding.because(why).advise(advice(eviction)))
}

/// Returns below which availability garbage collection acts.
fn collection_begin(high: i32, capacity: Option<u64>) -> Begin {
    let percent = 101_u32.saturating_sub(high.unsigned_abs());
    let bytes = capacity.map(|capacity| {
        let bytes = (u128::from(capacity) * u128::from(percent)).div_ceil(100);
        bytes.try_into().unwrap_or(u64::MAX)
    });
    Begin { percent: f64::from(percent), bytes }
}

/// Returns below which availability eviction acts; `None`: an amount of a disk of unknown size.
fn eviction_begin(value: &ThresholdValue, capacity: Option<u64>) -> Option<Begin> {
    match value {
        ThresholdValue::Share(share) => {
            let share = f64::from(*share);
            let bytes = capacity.map(|capacity| (capacity as f64 * share) as u64);
            Some(Begin { percent: share * 100.0, bytes })
        }
        ThresholdValue::Quantity(amount) => {
            let (capacity, bytes) = (capacity?, u64::try_from(amount.value()).ok()?);
            Some(Begin { percent: bytes as f64 * 100.0 / capacity as f64, bytes: Some(bytes) })
        }
    }
}

fn shown(begin: Begin) -> String {
    match begin.bytes {
        Some(amount) => format!("{} ({})", percent(begin.percent), bytes(amount)),
        None => percent(begin.percent),
    }
}

/// Returns the highest threshold that leaves a few percent before eviction.
fn advice(eviction: Begin) -> String {
    const ROOM: f64 = 5.0;
    // Garbage collection acts below (101 - high)%.
    let high = (101.0 - (eviction.percent - SAME_PERCENT).ceil() - ROOM) as i64;
    match high {
        1.. => format!(
            "set it to {high} or less, with imageGCLowThresholdPercent below it, or lower the eviction \
             threshold"
        ),
        _ => "lower the eviction threshold".to_owned(),
    }
}
