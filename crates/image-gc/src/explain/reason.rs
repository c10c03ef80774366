//! Why a container holds an image, and when an image could go at the earliest: facts, and the sentences made of them.

use super::WayBy;
use crate::containers::{KeepReason, RemovalReason};
use crate::cycle::Usage;
use crate::loops::Garbage;
use crate::reason::usage_text;
use kq_answer::reason::Reason;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::{Amount, age};
use serde::Serialize;
use std::fmt;

/// The fate of a container that uses an image.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum UseFate {
    /// It runs.
    #[text(limit: Some(limit) => "keeps the image while it runs; then {limit}")]
    #[text("keeps the image while it runs")]
    Runs {
        /// The limit for dead containers; null: it does not matter.
        limit: Option<DeadLimit>,
    },
    /// The next collection of containers removes it.
    #[text(
        interval: Some(interval) =>
        "goes with the next collection of containers, every {interval}: {reason}"
    )]
    #[text("is removed before images are checked: {reason}")]
    Goes {
        /// Why.
        reason: RemovalReason,
        /// Of the collections; null: under disk pressure, before the images.
        interval: Option<GoDuration>,
    },
    /// It stays.
    #[text(limit: Some(limit) => "stays: {reason}; {limit}")]
    #[text("stays: {reason}")]
    Stays {
        /// Why.
        reason: KeepReason,
        /// The limit for dead containers; null: it does not matter.
        limit: Option<DeadLimit>,
    },
    #[text("whether it goes is unknown")]
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
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum WayReason {
    /// The image has no ID.
    #[text("it has no ID, and the kubelet skips it")]
    NoId,
    /// The runtime pins it.
    #[text("as long as the runtime reports it as pinned")]
    Pinned,
    /// `imageMaximumGCAge` is off.
    #[text("imageMaximumGCAge is off")]
    MaximumAgeOff,
    /// The loop does not run.
    #[text(
        "imageGCHighThresholdPercent is 100 and imageMaximumGCAge is off: the kubelet does not run \
         image garbage collection"
    )]
    LoopOff,
    /// Its containers must go first.
    #[text(
        not_before: Some(moment) =>
        "not before its containers are removed, and not before {moment}",
        moment = at(*moment, *now)
    )]
    #[text("not before its containers are removed")]
    InUse {
        /// The moment before which it stays in any case; null: none.
        not_before: Option<Timestamp>,
        /// The moment of the answer.
        #[serde(skip)]
        now: Timestamp,
    },
    /// Only the trigger is missing.
    #[text("old enough: {pass}", pass = by.pass())]
    OldEnough {
        /// The trigger.
        by: WayBy,
    },
    /// It must grow older.
    #[text(
        not_before: Some(from), not_after: Some(until) if from == until => "{from}, then {pass}",
        from = at(*from, *now),
        pass = by.pass()
    )]
    #[text(
        not_before: Some(from), not_after: Some(until) => "between {from} and {until}, then {pass}",
        from = at(*from, *now),
        until = at(*until, *now),
        pass = by.pass()
    )]
    #[text(
        not_after: Some(until) => "now already, or by {until}, then {pass}",
        until = at(*until, *now),
        pass = by.pass()
    )]
    #[text(
        not_before: Some(from) => "from {from} on, then {pass}",
        from = at(*from, *now),
        pass = by.pass()
    )]
    #[text("at an unknown time, then {pass}", pass = by.pass())]
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
    #[text(
        "it must be unused for longer than imageMaximumGCAge {maximum_age}, and the kubelet be up \
         for longer than that; never used counts as always unused, and imageMinimumGCAge does not \
         matter"
    )]
    MaximumAge {
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// The rule of the minimum age.
    #[text("it must be known to the kubelet for imageMinimumGCAge {minimum_age}")]
    MinimumAge {
        /// `imageMinimumGCAge`
        minimum_age: GoDuration,
    },
    /// Disk pressure removes images whatever the thresholds of image garbage collection.
    #[text(
        "an eviction signal of a file system that is freed by images sets it off at once; \
         thresholds of image garbage collection do not matter"
    )]
    EvictionSignal,
    /// The usage of the disk is unknown.
    #[text("the usage of the image file system is unknown: set it with --at-usage")]
    UsageUnknown,
    /// The kubelet's sums wrap around.
    #[text(
        "{usage}: with such a size the kubelet's sums overflow, and the result is unknown",
        usage = usage_text(*usage)
    )]
    SumsWrap {
        /// The disk.
        usage: Usage,
    },
    /// The high threshold is reached.
    #[text(
        "{usage} >= imageGCHighThresholdPercent {high_threshold_percent}%",
        usage = usage_text(*usage)
    )]
    HighThresholdReached {
        /// The disk.
        usage: Usage,
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
    },
    /// The high threshold is not reached.
    #[text(
        "{usage}; imageGCHighThresholdPercent {high_threshold_percent}% is reached with {missing} \
         more in use, when {available} or less are available",
        usage = usage_text(*usage),
        missing = Amount::Bytes(*missing_bytes),
        available = Amount::Bytes(*largest_available_bytes)
    )]
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
    #[text(
        freed_before_bytes: 0, missing_until_its_turn_bytes: Some(turn) if turn == missing_bytes =>
        "it is number {place} of {candidates} in the order{certainty}, and none goes before it",
        certainty = if *is_certain { "" } else { ", as far as is known" }
    )]
    #[text(
        missing_until_its_turn_bytes: Some(0) =>
        "it is number {place} of {candidates} in the order{certainty}: those before it free \
         {freed}, which is not enough",
        certainty = if *is_certain { "" } else { ", as far as is known" },
        freed = Amount::Bytes(*freed_before_bytes)
    )]
    #[text(
        missing_until_its_turn_bytes: Some(turn) if turn == missing_bytes =>
        "it is number {place} of {candidates} in the order{certainty}: those before it free \
         {freed}, which is not enough then",
        certainty = if *is_certain { "" } else { ", as far as is known" },
        freed = Amount::Bytes(*freed_before_bytes)
    )]
    #[text(
        missing_until_its_turn_bytes: Some(turn) =>
        "it is number {place} of {candidates} in the order{certainty}: those before it free \
         {freed}, and its turn comes with {turn} more in use than now",
        certainty = if *is_certain { "" } else { ", as far as is known" },
        freed = Amount::Bytes(*freed_before_bytes),
        turn = Amount::Bytes(*turn)
    )]
    #[text(
        "it is number {place} of {candidates} in the order{certainty}: those before it free \
         {freed}, which is enough even on a full disk to come down to imageGCLowThresholdPercent \
         {low_threshold_percent}%",
        certainty = if *is_certain { "" } else { ", as far as is known" },
        freed = Amount::Bytes(*freed_before_bytes)
    )]
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

fn at(moment: Timestamp, now: Timestamp) -> String {
    format!("{moment} (in {})", age(moment.since(now)))
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
