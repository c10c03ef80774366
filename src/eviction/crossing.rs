//! Thresholds held against observations.
//!
//! Mirrors `thresholdsMet` and `nodeConditions` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use super::observation::{Observation, Observations};
use crate::facts::kubelet_config::{EvictionThreshold, PressureCondition, ThresholdOperator};
use crate::k8s::quantity::Quantity;
use std::cmp::Ordering;

/// A threshold and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The threshold.
    pub threshold: EvictionThreshold,
    /// The numbers; `None` when the signal was not observed, and then the threshold is not met.
    pub comparison: Option<Comparison>,
}

/// The numbers of a comparison: met when `threshold_quantity`, with `min_reclaim` if that was
/// enforced, is more than what is available.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What was observed.
    pub observation: Observation,
    /// The threshold as an amount.
    pub threshold_quantity: Quantity,
    /// The minimum reclaim as an amount.
    pub min_reclaim: Option<Quantity>,
    /// Whether the minimum reclaim was added to the threshold.
    pub min_reclaim_enforced: bool,
    /// Whether too little is available.
    pub met: bool,
}

impl Crossing {
    /// Tells whether the threshold is met.
    pub fn met(&self) -> bool {
        self.comparison.as_ref().is_some_and(|comparison| comparison.met)
    }
}

/// Holds thresholds against observations, in order.
///
/// A threshold that was crossed stays crossed until its minimum reclaim is available too; for that the
/// kubelet compares again with `enforce_min_reclaim`.
pub fn compare(
    thresholds: &[EvictionThreshold],
    observations: &Observations,
    enforce_min_reclaim: bool,
) -> Vec<Crossing> {
    thresholds
        .iter()
        .map(|threshold| Crossing {
            threshold: threshold.clone(),
            comparison: observations
                .get(&threshold.signal)
                .map(|observation| comparison(threshold, observation, enforce_min_reclaim)),
        })
        .collect()
}

fn comparison(
    threshold: &EvictionThreshold,
    observation: &Observation,
    enforce_min_reclaim: bool,
) -> Comparison {
    let amount = threshold.value.quantity(&observation.capacity);
    let reclaim = threshold.min_reclaim.as_ref().map(|value| value.quantity(&observation.capacity));
    let mut wanted = amount.clone();
    if let Some(reclaim) = reclaim.as_ref().filter(|_| enforce_min_reclaim) {
        wanted += reclaim;
    }
    let met = match threshold.operator {
        ThresholdOperator::LessThan => wanted.compare(&observation.available) == Ordering::Greater,
        ThresholdOperator::Unset => false,
    };
    Comparison {
        observation: observation.clone(),
        threshold_quantity: amount,
        min_reclaim_enforced: enforce_min_reclaim && reclaim.is_some(),
        min_reclaim: reclaim,
        met,
    }
}

/// Returns the conditions of thresholds, in the order of the thresholds and each once.
pub fn node_conditions<'t>(
    thresholds: impl IntoIterator<Item = &'t EvictionThreshold>,
) -> Vec<PressureCondition> {
    let mut conditions = Vec::new();
    for threshold in thresholds {
        let condition = threshold.signal.condition();
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::kubelet_config::{Signal, ThresholdValue};
    use crate::k8s::duration::GoDuration;
    use crate::k8s::quantity::Format;

    fn units(units: i64) -> Quantity {
        Quantity::from_units(units, Format::BinarySi)
    }

    #[test]
    fn a_threshold_is_met_below_it_and_not_at_it() {
        use ThresholdOperator::{LessThan, Unset};
        let amount = |amount| ThresholdValue::Quantity(units(amount));
        let share = ThresholdValue::Share;
        // Operator, value, minimum reclaim, available, capacity; met, and met with the reclaim.
        let rows = [
            ("below", LessThan, amount(10), None, 9, 100, [true, true]),
            ("at", LessThan, amount(10), None, 10, 100, [false, false]),
            ("at, to be reclaimed", LessThan, amount(10), Some(amount(5)), 10, 100, [false, true]),
            ("reclaimed", LessThan, amount(10), Some(amount(5)), 15, 100, [false, false]),
            ("share", LessThan, share(0.1), Some(share(0.05)), 14, 100, [false, true]),
            ("nothing there", LessThan, share(0.1), None, 0, 0, [false, false]),
            ("less than nothing", LessThan, share(0.0), None, -1, 100, [true, true]),
            ("no number", LessThan, share(f32::NAN), None, i64::MIN, 100, [false, false]),
            (
                "reclaim without end",
                LessThan,
                amount(10),
                Some(share(f32::INFINITY)),
                9,
                100,
                [true, false],
            ),
            (
                "most there can be",
                LessThan,
                amount(i64::MAX),
                Some(amount(i64::MAX)),
                i64::MAX,
                1,
                [false, true],
            ),
            ("nothing copied", Unset, amount(10), None, 9, 100, [false, false]),
        ];
        for (name, operator, value, min_reclaim, available, capacity, expected) in rows {
            let threshold = EvictionThreshold {
                signal: Signal::NodeFsAvailable,
                operator,
                value,
                grace_period: GoDuration(0),
                min_reclaim,
            };
            let seen =
                Observation { available: units(available), capacity: units(capacity), time: None };
            let signal = Signal::NodeFsAvailable;
            let observations = Observations::from([(signal, seen)]);
            let got = [false, true]
                .map(|enforce| comparison(&threshold, &observations[&signal], enforce).met);
            assert_eq!(got, expected, "{name}");
            let seen = compare(std::slice::from_ref(&threshold), &observations, false);
            assert_eq!(seen[0].met(), got[0], "{name}");
            let blind = compare(&[threshold], &Observations::new(), false);
            assert!(!blind[0].met() && blind[0].comparison.is_none(), "{name}");
        }
    }
}
