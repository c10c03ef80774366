//! A threshold with its measurement.

use super::layout::Layout;
use super::observation::Crossing;
use super::reclaim::{ReclaimFunction, reclaim_functions};
use crate::facts::kubelet_config::{Signal, ThresholdValue};
use crate::k8s::duration::GoDuration;
use serde::Serialize;

/// A threshold and its measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThresholdRow {
    /// The signal.
    pub signal: Signal,
    /// How long it may be crossed; zero: a hard threshold.
    pub grace_period: GoDuration,
    /// As it is configured: an amount or a percentage.
    pub configured: String,
    /// As an amount, in bytes or inodes.
    pub threshold: Option<i64>,
    /// The amount that must be available beyond it once it was crossed.
    pub min_reclaim: Option<i64>,
    /// The available amount.
    pub available: Option<i64>,
    /// The total amount.
    pub capacity: Option<i64>,
    /// The available amount minus the threshold; negative: it is crossed.
    pub margin: Option<i64>,
    /// Whether it is crossed; `None`: not measured.
    pub met: Option<bool>,
    /// What would be reclaimed for it, in order.
    pub reclaim: &'static [ReclaimFunction],
}

pub(super) fn row(crossing: &Crossing, layout: Layout) -> ThresholdRow {
    let Crossing { threshold, comparison } = crossing;
    let numbers = comparison.as_ref();
    let amount = numbers.map(|numbers| numbers.threshold_quantity.value());
    let available = numbers.map(|numbers| numbers.observation.available.value());
    ThresholdRow {
        signal: threshold.signal,
        grace_period: threshold.grace_period,
        configured: configured(&threshold.value),
        threshold: amount,
        min_reclaim: numbers.and_then(|numbers| Some(numbers.min_reclaim.as_ref()?.value())),
        available,
        capacity: numbers.map(|numbers| numbers.observation.capacity.value()),
        margin: available.zip(amount).and_then(|(available, amount)| available.checked_sub(amount)),
        met: numbers.map(|numbers| numbers.met),
        reclaim: reclaim_functions(threshold.signal, layout),
    }
}

/// Returns a threshold as users write it. Percentages are kept in 32 bits, so their last digits are not those
/// configured.
fn configured(value: &ThresholdValue) -> String {
    match value {
        ThresholdValue::Quantity(amount) => amount.to_string(),
        ThresholdValue::Share(share) => {
            let text = format!("{:.4}", f64::from(*share) * 100.0);
            format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}
