//! Eviction thresholds, which the configuration holds as text.
//!
//! Rules and texts: `ParseThresholdConfig` in `pkg/kubelet/eviction/helpers.go`. The order is the
//! kubelet's: hard thresholds, soft ones, grace periods, minimum reclaims, then whether every soft
//! threshold has a grace period. Within a map the kubelet's order is random, kq's that of the names.

use crate::k8s::duration::{GoDuration, ParseDurationError};
use crate::k8s::go_text::{NumError, parse_float32};
use crate::k8s::quantity::{ParseQuantityError, Quantity};
use std::collections::BTreeMap;

/// The signals that the kubelet evicts on.
pub const SIGNALS: [&str; 9] = [
    "allocatableMemory.available",
    "containerfs.available",
    "containerfs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "pid.available",
];

/// An amount, or a share of the capacity.
#[derive(Clone, Debug, PartialEq)]
pub enum ThresholdValue {
    /// An amount.
    Quantity(Quantity),
    /// A share: 0.1 for `10%`, in the precision that the kubelet uses.
    Share(f32),
}

/// A threshold below which the kubelet evicts.
#[derive(Clone, Debug, PartialEq)]
pub struct EvictionThreshold {
    /// The signal, one of [`SIGNALS`].
    pub signal: String,
    /// The threshold.
    pub value: ThresholdValue,
    /// How long it may be crossed; `None` for a hard threshold.
    pub grace_period: Option<GoDuration>,
    /// How much to reclaim at least.
    pub min_reclaim: Option<ThresholdValue>,
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

/// Why eviction thresholds are refused; the texts are the kubelet's.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "signal and text are what they are")]
pub enum EvictionError {
    /// A signal that does not exist.
    #[error("unsupported eviction signal {0}")]
    Signal(String),
    /// A percentage that is no number.
    #[error(transparent)]
    Percentage(#[from] NumError),
    /// An amount that is no quantity.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    /// A grace period that is no duration.
    #[error(transparent)]
    Duration(#[from] ParseDurationError),
    /// A percentage below zero.
    #[error("eviction percentage threshold {signal} must be >= 0%: {text}")]
    BelowZero { signal: String, text: String },
    /// A percentage above one hundred.
    #[error("eviction percentage threshold {signal} must be <= 100%: {text}")]
    AboveAll { signal: String, text: String },
    /// An amount that is not above zero.
    #[error("eviction threshold {signal} must be positive: {text}")]
    NotPositive { signal: String, text: String },
    /// A grace period below zero.
    #[error("invalid eviction grace period specified: {0}, must be a positive value")]
    GracePeriod(String),
    /// A soft threshold without a grace period.
    #[error("grace period must be specified for the soft eviction threshold {0}")]
    NoGracePeriod(String),
    /// A minimum reclaim whose percentage is not above zero.
    #[error("eviction percentage minimum reclaim {signal} must be positive: {text}")]
    ReclaimPercentage { signal: String, text: String },
    /// A minimum reclaim below zero.
    #[error("negative eviction minimum reclaim specified for {0}")]
    NegativeReclaim(String),
}

/// Reads `evictionHard`; `0%` and `100%` mean no threshold.
pub fn parse_hard_thresholds(
    hard: &BTreeMap<String, String>,
) -> Result<Vec<EvictionThreshold>, EvictionError> {
    let mut thresholds = Vec::new();
    for (signal, text) in hard {
        check_signal(signal)?;
        if let Some(value) = threshold(signal, text)? {
            thresholds.push(EvictionThreshold {
                signal: signal.clone(),
                value,
                grace_period: None,
                min_reclaim: None,
            });
        }
    }
    Ok(thresholds)
}

/// Reads all thresholds, hard ones first.
pub fn parse_eviction_thresholds(
    settings: EvictionSettings<'_>,
) -> Result<Vec<EvictionThreshold>, EvictionError> {
    let mut thresholds = parse_hard_thresholds(settings.hard)?;
    let mut soft = parse_hard_thresholds(settings.soft)?;
    let mut periods = BTreeMap::new();
    for (signal, text) in settings.soft_grace_period {
        check_signal(signal)?;
        let period: GoDuration = text.parse()?;
        if period.0 < 0 {
            return Err(EvictionError::GracePeriod(text.clone()));
        }
        periods.insert(signal, period);
    }
    let mut reclaims = BTreeMap::new();
    for (signal, text) in settings.minimum_reclaim {
        check_signal(signal)?;
        reclaims.insert(signal, minimum_reclaim(signal, text)?);
    }
    for threshold in &mut soft {
        let period = periods.get(&threshold.signal).copied();
        threshold.grace_period =
            Some(period.ok_or_else(|| EvictionError::NoGracePeriod(threshold.signal.clone()))?);
    }
    thresholds.append(&mut soft);
    for threshold in &mut thresholds {
        threshold.min_reclaim = reclaims.get(&threshold.signal).cloned();
    }
    Ok(thresholds)
}

fn check_signal(signal: &str) -> Result<(), EvictionError> {
    if SIGNALS.contains(&signal) { Ok(()) } else { Err(EvictionError::Signal(signal.to_owned())) }
}

fn threshold(signal: &str, text: &str) -> Result<Option<ThresholdValue>, EvictionError> {
    let (signal, shown) = (signal.to_owned(), text.to_owned());
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

fn minimum_reclaim(signal: &str, text: &str) -> Result<ThresholdValue, EvictionError> {
    let signal = signal.to_owned();
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
