//! Eviction thresholds, which the configuration holds as text.
//!
//! Rules and texts: `ParseThresholdConfig` in `pkg/kubelet/eviction/helpers.go`, read in 1.36.2 and
//! pinned by the vectors `eviction.jsonl`. The order is the kubelet's: hard thresholds, soft ones, grace
//! periods, minimum reclaims, then whether every soft threshold has a grace period. Within a map the
//! kubelet's order is random, kq's that of the names.

use super::defaults::EffectiveConfiguration;
use super::signal::Signal;
use kq_k8s::duration::{GoDuration, ParseDurationError};
use kq_k8s::go_text::{NumError, parse_float32};
use kq_k8s::quantity::{Format, ParseQuantityError, Quantity};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// An amount, or a share of the capacity.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdValue {
    /// An amount.
    Quantity(Quantity),
    /// A share: 0.1 for `10%`, in the precision that the kubelet uses.
    Share(f32),
}

impl ThresholdValue {
    /// Returns the amount that the kubelet compares with
    /// (`GetThresholdQuantity`, `pkg/kubelet/eviction/api/types.go`).
    ///
    /// The share is an `f32` that is widened, so a tenth of 10^12 is 100000001490.
    pub fn quantity(&self, capacity: &Quantity) -> Quantity {
        match self {
            Self::Quantity(amount) => amount.clone(),
            Self::Share(share) => {
                let amount = truncated(capacity.value() as f64 * f64::from(*share));
                Quantity::from_units(amount, Format::BinarySi)
            }
        }
    }

    /// Returns true if two values are equal to the kubelet, whatever their texts.
    pub fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quantity(left), Self::Quantity(right)) => left.compare(right) == Ordering::Equal,
            (Self::Share(left), Self::Share(right)) => left == right,
            _ => false,
        }
    }
}

/// Cuts a float to 64 bits as amd64 does: what does not fit, and NaN, becomes the least
/// number there is.
fn truncated(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

/// The operator of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdOperator {
    /// Met when less than the threshold is available.
    LessThan,
    /// Never met: what the kubelet makes for containerfs when there is nothing to copy.
    Unset,
}

impl ThresholdOperator {
    /// Returns the kubelet's text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LessThan => "LessThan",
            Self::Unset => "",
        }
    }
}

/// A threshold below which the kubelet evicts.
#[derive(Clone, Debug, PartialEq)]
pub struct EvictionThreshold {
    pub signal: Signal,
    /// The comparison.
    pub operator: ThresholdOperator,
    pub value: ThresholdValue,
    /// The grace period; zero makes a threshold hard, also one that was configured as soft.
    pub grace_period: GoDuration,
    /// The minimum reclaim.
    pub min_reclaim: Option<ThresholdValue>,
}

impl EvictionThreshold {
    /// Returns true if the kubelet evicts at once.
    pub fn is_hard(&self) -> bool {
        self.grace_period == GoDuration(0)
    }

    /// Returns true if two thresholds are equal to the kubelet, which ignores the minimum
    /// reclaim here (`hasThreshold`).
    pub fn same_as(&self, other: &Self) -> bool {
        self.grace_period == other.grace_period
            && self.operator == other.operator
            && self.signal == other.signal
            && self.value.same_as(&other.value)
    }
}

/// The four maps of a configuration.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are the kubelet's")]
pub struct EvictionSettings<'a> {
    pub hard: &'a BTreeMap<String, String>,
    pub soft: &'a BTreeMap<String, String>,
    pub soft_grace_period: &'a BTreeMap<String, String>,
    pub minimum_reclaim: &'a BTreeMap<String, String>,
}

/// Why eviction thresholds are rejected; the texts are the kubelet's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "signal and text are what they are")]
pub enum EvictionError {
    /// A signal that does not exist.
    #[error("unsupported eviction signal {0}")]
    Signal(String),
    /// A percentage that is not a number.
    #[error(transparent)]
    Percentage(#[from] NumError),
    /// An amount that is not a quantity.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    /// A grace period that is not a duration.
    #[error(transparent)]
    Duration(#[from] ParseDurationError),
    /// A percentage below zero.
    #[error("eviction percentage threshold {signal} must be >= 0%: {text}")]
    BelowZero { signal: Signal, text: String },
    /// A percentage above one hundred.
    #[error("eviction percentage threshold {signal} must be <= 100%: {text}")]
    AboveAll { signal: Signal, text: String },
    /// An amount that is not above zero.
    #[error("eviction threshold {signal} must be positive: {text}")]
    NotPositive { signal: Signal, text: String },
    /// A grace period below zero.
    #[error("invalid eviction grace period specified: {0}, must be a positive value")]
    GracePeriod(String),
    /// A soft threshold without a grace period.
    #[error("grace period must be specified for the soft eviction threshold {0}")]
    NoGracePeriod(Signal),
    /// A minimum reclaim whose percentage is not above zero.
    #[error("eviction percentage minimum reclaim {signal} must be positive: {text}")]
    ReclaimPercentage { signal: Signal, text: String },
    /// A minimum reclaim below zero.
    #[error("negative eviction minimum reclaim specified for {0}")]
    NegativeReclaim(Signal),
}

/// A rejected entry of the four maps.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedEntry {
    /// The map, such as `evictionHard`.
    pub field: &'static str,
    /// The name in it.
    pub signal: String,
    /// The value as configured.
    pub text: String,
    /// The kubelet's error.
    pub error: EvictionError,
}

/// Reads `evictionHard`; `0%` and `100%` mean no threshold.
pub fn parse_hard_thresholds(
    hard: &BTreeMap<String, String>,
) -> Result<Vec<EvictionThreshold>, EvictionError> {
    statements(HARD, hard).map_err(|mistakes| mistakes.0.error)
}

/// Reads all thresholds, hard ones first.
/// Of several errors in one map, the one of the first signal; the kubelet reports any of them, see
/// [`possible_eviction_errors`].
pub fn parse_eviction_thresholds(
    settings: EvictionSettings<'_>,
) -> Result<Vec<EvictionThreshold>, EvictionError> {
    parse_all(settings).map_err(|mistakes| mistakes.0.error)
}

/// Returns every error that the kubelet may stop with, because it walks over each map in a random
/// order; empty when the settings are good.
pub fn possible_eviction_errors(settings: EvictionSettings<'_>) -> Vec<EvictionError> {
    match parse_all(settings) {
        Ok(_) => Vec::new(),
        Err(mistakes) => {
            let (first, others) = *mistakes;
            std::iter::once(first).chain(others).map(|entry| entry.error).collect()
        }
    }
}

/// Returns the thresholds that a kubelet with this configuration has.
///
/// A kubelet with `--experimental-allocatable-ignore-eviction` does not watch the memory of the
/// pods as a whole (`NewMainKubelet`, `pkg/kubelet/kubelet.go`).
/// As [`parse_eviction_thresholds`], with the entry.
pub fn eviction_thresholds(
    config: &EffectiveConfiguration,
    allocatable_ignores_eviction: bool,
) -> Result<Vec<EvictionThreshold>, RefusedEntry> {
    let thresholds = parse_all(EvictionSettings {
        hard: &config.eviction_hard,
        soft: &config.eviction_soft,
        soft_grace_period: &config.eviction_soft_grace_period,
        minimum_reclaim: &config.eviction_minimum_reclaim,
    })
    .map_err(|mistakes| mistakes.0)?;
    let enforced: &[String] =
        if allocatable_ignores_eviction { &[] } else { &config.enforce_node_allocatable };
    Ok(with_allocatable_thresholds(thresholds, enforced))
}

/// Adds what the kubelet adds when it limits the pods as a whole (`enforceNodeAllocatable` has
/// `pods`): every hard threshold of memory for the memory of the pods too.
pub fn with_allocatable_thresholds(
    mut thresholds: Vec<EvictionThreshold>,
    enforce_node_allocatable: &[String],
) -> Vec<EvictionThreshold> {
    if enforce_node_allocatable.iter().any(|enforced| enforced == "pods") {
        let copies: Vec<_> = thresholds
            .iter()
            .filter(|threshold| threshold.signal == Signal::MemoryAvailable && threshold.is_hard())
            .map(|threshold| EvictionThreshold {
                signal: Signal::AllocatableMemoryAvailable,
                ..threshold.clone()
            })
            .collect();
        thresholds.extend(copies);
    }
    thresholds
}

/// The first rejected entry of a map, and the others.
type Mistakes = Box<(RefusedEntry, Vec<RefusedEntry>)>;

/// An entry of a map: the signal and the text.
type Entry<'m> = (&'m String, &'m String);

const HARD: &str = "evictionHard";
const SOFT: &str = "evictionSoft";

fn parse_all(settings: EvictionSettings<'_>) -> Result<Vec<EvictionThreshold>, Mistakes> {
    let mut thresholds = statements(HARD, settings.hard)?;
    let soft = statements(SOFT, settings.soft)?;
    let periods: BTreeMap<Signal, GoDuration> =
        every("evictionSoftGracePeriod", settings.soft_grace_period, |(signal, text)| {
            let signal = known(signal)?;
            let period: GoDuration = text.parse()?;
            if period.0 < 0 {
                return Err(EvictionError::GracePeriod(text.clone()));
            }
            Ok((signal, period))
        })?;
    let reclaims: BTreeMap<Signal, ThresholdValue> =
        every("evictionMinimumReclaim", settings.minimum_reclaim, |(signal, text)| {
            let signal = known(signal)?;
            Ok((signal, minimum_reclaim(signal, text)?))
        })?;
    let with_periods: Vec<Option<EvictionThreshold>> =
        every(SOFT, settings.soft, |(signal, _)| {
            let Some(threshold) = soft.iter().find(|it| it.signal.as_str() == signal) else {
                return Ok(None);
            };
            let period = periods.get(&threshold.signal).copied();
            let grace_period = period.ok_or(EvictionError::NoGracePeriod(threshold.signal))?;
            Ok(Some(EvictionThreshold { grace_period, ..threshold.clone() }))
        })?;
    thresholds.extend(with_periods.into_iter().flatten());
    for threshold in &mut thresholds {
        threshold.min_reclaim = reclaims.get(&threshold.signal).cloned();
    }
    Ok(thresholds)
}
/// Reads each entry of a map, or collects all mistakes.
fn every<T, C: FromIterator<T>>(
    field: &'static str,
    entries: &BTreeMap<String, String>,
    read: impl Fn(Entry<'_>) -> Result<T, EvictionError>,
) -> Result<C, Mistakes> {
    let mut mistakes = Vec::new();
    let read = |entry: Entry<'_>| {
        let refuse = |error| {
            let (signal, text) = (entry.0.clone(), entry.1.clone());
            mistakes.push(RefusedEntry { field, signal, text, error });
        };
        read(entry).map_err(refuse).ok()
    };
    let values: C = entries.iter().filter_map(read).collect();
    let mut mistakes = mistakes.into_iter();
    match mistakes.next() {
        Some(first) => Err(Box::new((first, mistakes.collect()))),
        None => Ok(values),
    }
}

fn statements(
    field: &'static str,
    texts: &BTreeMap<String, String>,
) -> Result<Vec<EvictionThreshold>, Mistakes> {
    let thresholds: Vec<Option<EvictionThreshold>> = every(field, texts, |(signal, text)| {
        let signal = known(signal)?;
        Ok(threshold(signal, text)?.map(|value| EvictionThreshold {
            signal,
            operator: ThresholdOperator::LessThan,
            value,
            grace_period: GoDuration(0),
            min_reclaim: None,
        }))
    })?;
    Ok(thresholds.into_iter().flatten().collect())
}

fn known(signal: &str) -> Result<Signal, EvictionError> {
    Signal::from_text(signal).ok_or_else(|| EvictionError::Signal(signal.to_owned()))
}

fn threshold(signal: Signal, text: &str) -> Result<Option<ThresholdValue>, EvictionError> {
    let shown = text.to_owned();
    if text.ends_with('%') {
        if matches!(text, "0%" | "100%") {
            return Ok(None);
        }
        let share = share(text)?;
        if share < 0.0 {
            return Err(EvictionError::BelowZero { signal, text: shown });
        }
        if share > 1.0 {
            return Err(EvictionError::AboveAll { signal, text: shown });
        }
        return Ok(Some(ThresholdValue::Share(share)));
    }
    let amount: Quantity = text.parse()?;
    if amount.sign() <= 0 {
        return Err(EvictionError::NotPositive { signal, text: amount.to_string() });
    }
    Ok(Some(ThresholdValue::Quantity(amount)))
}

fn minimum_reclaim(signal: Signal, text: &str) -> Result<ThresholdValue, EvictionError> {
    if text.ends_with('%') {
        let share = share(text)?;
        if share <= 0.0 {
            return Err(EvictionError::ReclaimPercentage { signal, text: text.to_owned() });
        }
        return Ok(ThresholdValue::Share(share));
    }
    let amount: Quantity = text.parse()?;
    if amount.sign() < 0 {
        return Err(EvictionError::NegativeReclaim(signal));
    }
    Ok(ThresholdValue::Quantity(amount))
}

/// Reads a percentage; all trailing percent signs are cut.
fn share(text: &str) -> Result<f32, NumError> {
    Ok(parse_float32(text.trim_end_matches('%'))? / 100.0)
}

#[cfg(test)]
mod tests;
