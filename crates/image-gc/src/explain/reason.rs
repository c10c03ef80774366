//! Why a container holds an image, and when an image could go at the earliest: facts, and the sentences made of them.

use super::WayBy;
use crate::containers::{KeepReason, RemovalReason};
use crate::cycle::Usage;
use crate::loops::Garbage;
use crate::reason::usage_text;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::{Precision, age};
use serde::Serialize;
use std::fmt;

/// The fate of a container that uses an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum UseFate {
    /// It runs.
    Runs {
        /// The limit for dead containers; null: it does not matter.
        limit: Option<DeadLimit>,
    },
    /// The next collection of containers removes it.
    Goes {
        /// Why.
        reason: RemovalReason,
        /// Of the collections; null: under disk pressure, before the images.
        interval: Option<GoDuration>,
    },
    /// It stays.
    Stays {
        /// Why.
        reason: KeepReason,
        /// The limit for dead containers; null: it does not matter.
        limit: Option<DeadLimit>,
    },
    Unknown,
}

/// How many dead containers stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLimit {
    /// Of each container of a pod; null: all.
    pub max_per_pod_container: Option<u64>,
}

/// Why an image can go in one way, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WayReason {
    /// The image has no ID.
    NoId,
    /// The runtime pins it.
    Pinned,
    /// `imageMaximumGCAge` is off.
    MaximumAgeOff,
    /// The loop does not run.
    LoopOff,
    /// Its containers must go first.
    InUse {
        /// The moment before which it stays in any case; null: none.
        not_before: Option<Timestamp>,
        /// The moment of the answer.
        #[serde(skip)]
        now: Timestamp,
    },
    /// Only the trigger is missing.
    OldEnough {
        /// The trigger.
        by: WayBy,
    },
    /// It must grow older.
    OldEnoughAt {
        /// At the earliest; null: now.
        not_before: Option<Timestamp>,
        /// At the latest; null: unknown.
        not_after: Option<Timestamp>,
        /// The trigger.
        by: WayBy,
        /// The moment of the answer.
        #[serde(skip)]
        now: Timestamp,
    },
    /// The rule of the maximum age.
    MaximumAge {
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// The rule of the minimum age.
    MinimumAge {
        /// `imageMinimumGCAge`
        minimum_age: GoDuration,
    },
    /// Disk pressure removes images whatever the thresholds of image garbage collection.
    EvictionSignal,
    /// The usage of the disk is unknown.
    UsageUnknown,
    /// The kubelet's sums wrap around.
    SumsWrap {
        /// The disk.
        usage: Usage,
    },
    /// The high threshold is reached.
    HighThresholdReached {
        /// The disk.
        usage: Usage,
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
    },
    /// The high threshold is not reached.
    HighThresholdNotReached {
        /// The disk.
        usage: Usage,
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
        /// How much more must be used.
        missing_bytes: i64,
        /// The most that may be available then.
        largest_available_bytes: i64,
    },
    /// Its place in the order.
    Order {
        /// From 1.
        place: usize,
        /// Of so many.
        candidates: usize,
        /// The order is certain.
        is_certain: bool,
        /// Freed by those before it.
        freed_before_bytes: i64,
        /// How much more must be used until the high threshold.
        missing_bytes: i64,
        /// How much more must be used until its turn; null: its turn never comes.
        missing_until_its_turn_bytes: Option<i64>,
        /// `imageGCLowThresholdPercent`
        low_threshold_percent: i32,
    },
}

impl fmt::Display for UseFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs { limit: None } => f.write_str("keeps the image while it runs"),
            Self::Runs { limit: Some(limit) } => {
                write!(f, "keeps the image while it runs; then {limit}")
            }
            Self::Goes { reason, interval: Some(interval) } => {
                write!(f, "goes with the next collection of containers, every {interval}: {reason}")
            }
            Self::Goes { reason, interval: None } => {
                write!(f, "is removed before images are checked: {reason}")
            }
            Self::Stays { reason, limit: Some(limit) } => write!(f, "stays: {reason}; {limit}"),
            Self::Stays { reason, limit: None } => write!(f, "stays: {reason}"),
            Self::Unknown => f.write_str("whether it goes is unknown"),
        }
    }
}

impl fmt::Display for DeadLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = "until its pod is deleted or evicted";
        match self.max_per_pod_container {
            None => write!(f, "dead ones of a container stay {until}"),
            Some(0) => f.write_str("no dead one of a container stays"),
            Some(1) => write!(f, "the newest dead one of a container stays {until}"),
            Some(limit) => write!(f, "the {limit} newest dead ones of a container stay {until}"),
        }
    }
}

impl WayBy {
    /// Returns the time of the removal, once the image is old enough.
    fn pass(self) -> String {
        let interval = Garbage::Images.interval();
        match self {
            Self::Pressure => "when disk pressure comes".to_owned(),
            Self::Space => {
                format!("with the next pass of the loop, every {interval}, when space is needed")
            }
            Self::Age => format!("with the next pass of the loop, every {interval}"),
        }
    }
}

impl fmt::Display for WayReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at =
            |moment: Timestamp, now: Timestamp| format!("{moment} (in {})", age(moment.since(now)));
        let amounts = Precision::of(f);
        let unit = amounts.unit();
        match self {
            Self::NoId => f.write_str("it has no ID, and the kubelet skips it"),
            Self::Pinned => f.write_str("as long as the runtime reports it as pinned"),
            Self::MaximumAgeOff => f.write_str("imageMaximumGCAge is off"),
            Self::LoopOff => f.write_str(
                "imageGCHighThresholdPercent is 100 and imageMaximumGCAge is off: the kubelet does not \
                 run image garbage collection",
            ),
            Self::InUse { not_before: None, .. } => {
                f.write_str("not before its containers are removed")
            }
            Self::InUse { not_before: Some(moment), now } => write!(
                f,
                "not before its containers are removed, and not before {}",
                at(*moment, *now)
            ),
            Self::OldEnough { by } => write!(f, "old enough: {}", by.pass()),
            Self::OldEnoughAt { not_before, not_after, by, now } => {
                match (not_before, not_after) {
                    (Some(from), Some(until)) if from == until => {
                        f.write_str(&at(*from, *now))?;
                    }
                    (Some(from), Some(until)) => {
                        write!(f, "between {} and {}", at(*from, *now), at(*until, *now))?;
                    }
                    (None, Some(until)) => write!(f, "now already, or by {}", at(*until, *now))?,
                    (Some(from), None) => write!(f, "from {} on", at(*from, *now))?,
                    (None, None) => f.write_str("at an unknown time")?,
                }
                write!(f, ", then {}", by.pass())
            }
            Self::MaximumAge { maximum_age } => write!(
                f,
                "it must be unused for longer than imageMaximumGCAge {maximum_age}, and the kubelet be up \
                 for longer than that; never used counts as always unused, and imageMinimumGCAge does \
                 not matter"
            ),
            Self::MinimumAge { minimum_age } => {
                write!(f, "it must be known to the kubelet for imageMinimumGCAge {minimum_age}")
            }
            Self::EvictionSignal => f.write_str(
                "an eviction signal of a file system that is freed by images sets it off at once; \
                 thresholds of image garbage collection do not matter",
            ),
            Self::UsageUnknown => f.write_str(
                "the usage of the image file system is unknown: set it with --at-usage",
            ),
            Self::SumsWrap { usage } => write!(
                f,
                "{}: with such a size the kubelet's sums overflow, and the result is unknown",
                usage_text(*usage, Precision::of(f))
            ),
            Self::HighThresholdReached { usage, high_threshold_percent: high } => {
                write!(f, "{} >= imageGCHighThresholdPercent {high}%", usage_text(*usage, Precision::of(f)))
            }
            Self::HighThresholdNotReached {
                usage,
                high_threshold_percent: high,
                missing_bytes: missing,
                largest_available_bytes: largest,
            } => write!(
                f,
                "{}; imageGCHighThresholdPercent {high}% is reached with {}{unit} more in use, when \
                 {}{unit} or less are available",
                usage_text(*usage, amounts),
                amounts.bytes(*missing),
                amounts.bytes(*largest)
            ),
            Self::Order {
                place,
                candidates,
                is_certain,
                freed_before_bytes: before,
                missing_bytes: missing,
                missing_until_its_turn_bytes: turn,
                low_threshold_percent: low,
            } => {
                write!(f, "it is number {place} of {candidates} in the order")?;
                if !is_certain {
                    f.write_str(", as far as is known")?;
                }
                let freed = amounts.bytes(*before);
                match (turn, before) {
                    (Some(turn), 0) if turn == missing => f.write_str(", and none goes before it"),
                    (Some(0), _) => {
                        write!(f, ": those before it free {freed}{unit}, which is not enough")
                    }
                    (Some(turn), _) if turn == missing => {
                        write!(f, ": those before it free {freed}{unit}, which is not enough then")
                    }
                    (Some(turn), _) => write!(
                        f,
                        ": those before it free {freed}{unit}, and its turn comes with {}{unit} more \
                         in use than now",
                        amounts.bytes(*turn)
                    ),
                    (None, _) => write!(
                        f,
                        ": those before it free {freed}{unit}, which is enough even on a full disk to \
                         come down to imageGCLowThresholdPercent {low}%"
                    ),
                }
            }
        }
    }
}
