//! The available amount of each signal, by the stats.
//!
//! Mirrors `makeSignalObservations` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.
//!
//! Thresholds, compared with observations.
//!
//! Mirrors `thresholdsMet` and `nodeConditions` of `pkg/kubelet/eviction/helpers.go`, read in 1.36.2.

use super::disks::Layout;
use super::reclaim_outcome::{ReclaimFunction, reclaim_functions};
use jiff::Timestamp;
use kq_facts::kubelet_config::{
    EvictionThreshold, PressureCondition, Signal, ThresholdOperator, ThresholdValue,
};
use kq_facts::stats_summary::{FsStats, MemoryStats, StatsSummary};
use kq_k8s::duration::GoDuration;
use kq_k8s::quantity::{Format, Quantity};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The total and the available amount of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The available amount; of processes, possibly negative.
    pub available: Quantity,
    /// The total amount.
    pub capacity: Quantity,
    /// When it was measured; `None`: not in the stats.
    pub time: Option<Timestamp>,
}

/// Observations by signal. A signal without one was not measured, or not completely.
pub type Observations = BTreeMap<Signal, Observation>;

/// The system container of all pods.
const PODS: &str = "pods";

/// Returns the observations of a summary.
pub fn observe(summary: &StatsSummary) -> Observations {
    let mut observations = Observations::new();
    let node = &summary.node;
    let mut keep = |signal, observation: Option<Observation>| {
        if let Some(observation) = observation {
            observations.insert(signal, observation);
        }
    };
    keep(Signal::MemoryAvailable, node.memory.as_ref().and_then(memory));
    let pods = node.system_containers.iter().find(|container| container.name == PODS);
    keep(
        Signal::AllocatableMemoryAvailable,
        pods.and_then(|pods| pods.memory.as_ref()).and_then(memory),
    );
    let runtime = node.runtime.as_ref();
    for (fs, space, inodes) in [
        (node.fs.as_ref(), Signal::NodeFsAvailable, Signal::NodeFsInodesFree),
        (
            runtime.and_then(|runtime| runtime.image_fs.as_ref()),
            Signal::ImageFsAvailable,
            Signal::ImageFsInodesFree,
        ),
        (
            runtime.and_then(|runtime| runtime.container_fs.as_ref()),
            Signal::ContainerFsAvailable,
            Signal::ContainerFsInodesFree,
        ),
    ] {
        if let Some(fs) = fs {
            keep(space, space_of(fs));
            keep(inodes, inodes_of(fs));
        }
    }
    keep(
        Signal::PidAvailable,
        node.rlimit.as_ref().and_then(|rlimit| {
            let (most, running) = (rlimit.max_pid?, rlimit.running_processes?);
            Some(Observation {
                available: Quantity::from_units(most.wrapping_sub(running), Format::DecimalSi),
                capacity: Quantity::from_units(most, Format::DecimalSi),
                time: rlimit.time,
            })
        }),
    );
    observations
}

/// The capacity is the used plus the available amount, added in 64 bits as in the kubelet.
fn memory(memory: &MemoryStats) -> Option<Observation> {
    let (available, working_set) = (memory.available_bytes?, memory.working_set_bytes?);
    Some(Observation {
        available: unsigned(available, Format::BinarySi),
        capacity: unsigned(available.wrapping_add(working_set), Format::BinarySi),
        time: memory.time,
    })
}

fn space_of(fs: &FsStats) -> Option<Observation> {
    Some(Observation {
        available: unsigned(fs.available_bytes?, Format::BinarySi),
        capacity: unsigned(fs.capacity_bytes?, Format::BinarySi),
        time: fs.time,
    })
}

fn inodes_of(fs: &FsStats) -> Option<Observation> {
    Some(Observation {
        available: unsigned(fs.inodes_free?, Format::DecimalSi),
        capacity: unsigned(fs.inodes?, Format::DecimalSi),
        time: fs.time,
    })
}

/// Reads an unsigned number as signed, as the kubelet does.
pub(super) fn unsigned(number: u64, format: Format) -> Quantity {
    Quantity::from_units(number as i64, format)
}

/// A threshold and its comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    pub threshold: EvictionThreshold,
    /// `None`: the signal was not observed, and the threshold is not met.
    pub comparison: Option<Comparison>,
}

/// The numbers of a comparison: met if `threshold_quantity`, plus an enforced `min_reclaim`, is more than the
/// available amount.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
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
    /// Returns true if the threshold is met.
    pub fn met(&self) -> bool {
        self.comparison.as_ref().is_some_and(|comparison| comparison.met)
    }
}

/// Compares thresholds with observations, in order.
///
/// A crossed threshold stays crossed until its minimum reclaim is available too; for that the kubelet
/// compares again with `enforce_min_reclaim`.
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

/// A threshold and its measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThresholdRow {
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
    /// Whether it is crossed; null: not measured.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_measured_completely_is_observed() {
        type Row<'r> = (&'r str, &'r str, &'r [(Signal, i64, i64)]);
        let rows: [Row<'_>; 7] = [
            ("nothing", "{}", &[]),
            (
                "memory without its use",
                r#"{"memory":{"availableBytes":1},"fs":{"availableBytes":1,"inodes":2}}"#,
                &[],
            ),
            (
                "the first system container of the name",
                r#"{"systemContainers":[{"name":"pods"},
                    {"name":"pods","memory":{"availableBytes":1,"workingSetBytes":2}}]}"#,
                &[],
            ),
            (
                "more bytes than fit",
                r#"{"memory":{"availableBytes":18446744073709551615,"workingSetBytes":3}}"#,
                &[(Signal::MemoryAvailable, -1, 2)],
            ),
            (
                "filesystems",
                r#"{"runtime":{"imageFs":{"inodesFree":1,"inodes":2},
                    "containerFs":{"availableBytes":3,"capacityBytes":4}}}"#,
                &[(Signal::ContainerFsAvailable, 3, 4), (Signal::ImageFsInodesFree, 1, 2)],
            ),
            (
                "more processes than there may be",
                r#"{"rlimit":{"maxpid":10,"curproc":15}}"#,
                &[(Signal::PidAvailable, -5, 10)],
            ),
            (
                "processes beyond all measure",
                r#"{"rlimit":{"maxpid":-9223372036854775808,"curproc":1}}"#,
                &[(Signal::PidAvailable, i64::MAX, i64::MIN)],
            ),
        ];
        for (name, node, expected) in rows {
            let summary: StatsSummary =
                serde_json::from_str(&format!(r#"{{"node":{node}}}"#)).unwrap();
            let got: Vec<_> = observe(&summary)
                .into_iter()
                .map(|(signal, seen)| (signal, seen.available.value(), seen.capacity.value()))
                .collect();
            assert_eq!(got, expected, "{name}");
        }
    }
}

#[cfg(test)]
mod crossing_tests {
    use super::*;
    use kq_facts::kubelet_config::{Signal, ThresholdValue};
    use kq_k8s::duration::GoDuration;
    use kq_k8s::quantity::Format;

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
