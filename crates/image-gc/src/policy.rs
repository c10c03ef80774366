//! When images go: the thresholds and ages of a kubelet, and the check of its image manager.
//!
//! Rules and texts: `NewImageGCManager` in `pkg/kubelet/images/image_gc_manager.go`; pinned by
//! `tests/vectors/image_gc.jsonl` and `gc_loop.jsonl`. The configuration was checked before, more
//! strictly: [`image_gc_errors`](kq_facts::kubelet_config::image_gc_errors).

use kq_facts::kubelet_config::EffectiveConfiguration;
use kq_k8s::duration::GoDuration;

/// The policy of image garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageGcPolicy {
    /// The use of the disk, in percent, from which images go.
    pub high_threshold_percent: i32,
    /// The use of the disk down to which they go.
    pub low_threshold_percent: i32,
    /// How long an image is left alone after it was first seen.
    pub min_age: GoDuration,
    /// How long an image may be unused at any use of the disk; zero: for ever.
    pub max_age: GoDuration,
}

/// Why a policy is refused; the texts are the kubelet's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageGcPolicyError {
    /// The high threshold is no percentage.
    #[error("invalid HighThresholdPercent {0}, must be in range [0-100]")]
    HighRange(i32),
    /// The low threshold is no percentage.
    #[error("invalid LowThresholdPercent {0}, must be in range [0-100]")]
    LowRange(i32),
    /// The low threshold is the higher one.
    #[error("LowThresholdPercent {low} can not be higher than HighThresholdPercent {high}")]
    LowAboveHigh {
        /// The low threshold.
        low: i32,
        /// The high threshold.
        high: i32,
    },
}

impl ImageGcPolicy {
    /// Returns the policy that a configuration makes.
    pub fn of(config: &EffectiveConfiguration) -> Self {
        Self {
            high_threshold_percent: config.image_gc_high_threshold_percent,
            low_threshold_percent: config.image_gc_low_threshold_percent,
            min_age: config.image_minimum_gc_age,
            max_age: config.image_maximum_gc_age,
        }
    }

    /// Checks the thresholds as the image manager does; it stops at the first that is wrong.
    pub fn validate(&self) -> Result<(), ImageGcPolicyError> {
        let (high, low) = (self.high_threshold_percent, self.low_threshold_percent);
        if !(0..=100).contains(&high) {
            return Err(ImageGcPolicyError::HighRange(high));
        }
        if !(0..=100).contains(&low) {
            return Err(ImageGcPolicyError::LowRange(low));
        }
        if low > high {
            return Err(ImageGcPolicyError::LowAboveHigh { low, high });
        }
        Ok(())
    }

    /// Returns true if the kubelet runs image garbage collection at all.
    ///
    /// A high threshold of exactly 100 without a maximum age is the way to turn it off
    /// (`StartGarbageCollection` in `pkg/kubelet/kubelet.go`). Under disk pressure the eviction manager
    /// still removes images.
    pub fn is_collecting(&self) -> bool {
        self.high_threshold_percent != 100 || self.max_age.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(high: i32, low: i32, max_age: i64) -> ImageGcPolicy {
        ImageGcPolicy {
            high_threshold_percent: high,
            low_threshold_percent: low,
            min_age: GoDuration(0),
            max_age: GoDuration(max_age),
        }
    }

    #[test]
    fn the_first_wrong_threshold_is_told() {
        for (name, high, low, expected) in [
            ("default", 85, 80, None),
            ("equal", 80, 80, None),
            ("all", 100, 0, None),
            (
                "both wrong",
                101,
                -1,
                Some("invalid HighThresholdPercent 101, must be in range [0-100]"),
            ),
            (
                "low wrong",
                50,
                101,
                Some("invalid LowThresholdPercent 101, must be in range [0-100]"),
            ),
            (
                "crossed",
                50,
                51,
                Some("LowThresholdPercent 51 can not be higher than HighThresholdPercent 50"),
            ),
        ] {
            let error = policy(high, low, 0).validate().err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_high_threshold_of_100_turns_it_off_unless_images_age() {
        for (name, policy, expected) in [
            ("default", policy(85, 80, 0), true),
            ("off", policy(100, 80, 0), false),
            ("off, but images age", policy(100, 80, 1), true),
            ("nearly", policy(99, 80, 0), true),
        ] {
            assert_eq!(policy.is_collecting(), expected, "{name}");
        }
    }
}
