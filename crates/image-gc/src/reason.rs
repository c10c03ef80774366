//! Why a collection runs, why an image goes or stays, and the consequences: facts, and the sentences made of them.

use crate::cycle::Usage;
use crate::knowledge::{ImageTimes, RecordCoverage, Span};
use kq_answer::reason::Reason;
use kq_facts::kubelet_config::Signal;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::{Amount, Precision};
use serde::Serialize;
use std::fmt;

/// Why a collection runs, and what it frees.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum RunReason {
    /// A sentence of the eviction manager's decision; its facts are under `pressure`.
    #[text("{sentence}")]
    EvictionManager {
        #[serde(skip)]
        sentence: String,
    },
    /// Disk pressure removes every unused image that is old enough.
    #[text(
        "under disk pressure, all unused images older than imageMinimumGCAge {minimum_age} are \
         removed; thresholds do not matter"
    )]
    UnusedImages {
        /// `imageMinimumGCAge`
        minimum_age: GoDuration,
    },
    /// `imageMaximumGCAge` is off.
    #[text("imageMaximumGCAge is off: no image goes for its age")]
    MaximumAgeOff,
    /// The kubelet has been up for longer than `imageMaximumGCAge`.
    #[text(
        "the kubelet has been up for {up}, longer than imageMaximumGCAge {maximum_age}: images \
         unused for longer than that go, at any use of the disk",
        up = Amount::Time(up.0)
    )]
    UpForLonger {
        /// Since the kubelet's start.
        up: GoDuration,
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// The kubelet has not been up for longer than `imageMaximumGCAge`.
    #[text(
        "the kubelet has been up for {up}, not longer than imageMaximumGCAge {maximum_age}: no \
         image goes for its age yet",
        up = Amount::Time(up.0)
    )]
    UpForLess {
        /// Since the kubelet's start.
        up: GoDuration,
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// Whether the kubelet has been up for longer than `imageMaximumGCAge` is unknown.
    #[text(
        "imageMaximumGCAge is {maximum_age}, and whether the kubelet has been up for longer is \
         unknown: kq assumes so"
    )]
    UpForUnknown {
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// The loop does not run.
    #[text(
        "imageGCHighThresholdPercent {high_threshold_percent}% with imageMaximumGCAge off: the \
         kubelet collects images only under disk pressure"
    )]
    LoopOff {
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
    },
    /// The high threshold is reached.
    #[text(
        "{formula} >= imageGCHighThresholdPercent {high_threshold_percent}%, so images are removed \
         until {amount_to_free_bytes} more are free: {capacity} x (100 - {low_threshold_percent}) \
         / 100 - {available}, down to imageGCLowThresholdPercent {low_threshold_percent}%",
        formula = usage_text(*usage),
        amount_to_free_bytes = Amount::Bytes(*amount_to_free_bytes),
        capacity = Amount::Number(usage.capacity_bytes),
        available = Amount::Number(usage.available_bytes)
    )]
    HighThresholdReached {
        /// The image file system.
        usage: Usage,
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
        /// `imageGCLowThresholdPercent`
        low_threshold_percent: i32,
        /// In bytes.
        amount_to_free_bytes: i64,
    },
    /// The high threshold is not reached.
    #[text(
        "{usage} < imageGCHighThresholdPercent {high_threshold_percent}%, so no space is needed",
        usage = usage_text(*usage)
    )]
    HighThresholdNotReached {
        /// The image file system.
        usage: Usage,
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
    },
    /// The high threshold is reached until the images that are too old have gone.
    #[text(
        "{usage} >= imageGCHighThresholdPercent {high_threshold_percent}%, but the images that are \
         too old go first, and what they free is unknown: whether space is still needed then is open",
        usage = usage_text(*usage)
    )]
    AgeDecides {
        /// The image file system.
        usage: Usage,
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
    },
    /// The kubelet calls a capacity of 0 invalid.
    #[text("the capacity of the image file system is 0")]
    NoCapacity,
    /// The usage of the image file system is unknown.
    #[text("the usage of the image file system is unknown ({error}): give it with --at-usage")]
    UsageUnknown {
        /// Why.
        error: String,
    },
}

/// The kubelet's memory of an image, where it is most likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageAge {
    /// Only dead containers, which are removed first, keep the image in use.
    pub dead_containers_use_it: bool,
    /// Since the last use; null: no use is known.
    pub unused_for: Option<GoDuration>,
    /// Since the first detection; null: unknown.
    pub detected_for: Option<GoDuration>,
}

/// Why an image goes or stays.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum ImageReason {
    /// It goes: unused for longer than the maximum age.
    #[text("unused for longer than imageMaximumGCAge {maximum_age}: {age}")]
    MaximumAge {
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It goes, as every unused image does.
    #[text("not in use; {age}")]
    Unused {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It goes: those before it free too little.
    #[text(
        "its turn comes with {freed} of {wanted} freed; {age}",
        freed = Amount::Number(*freed_before_bytes),
        wanted = Amount::Bytes(*wanted_bytes)
    )]
    SpaceWanted {
        /// By those before it.
        freed_before_bytes: i64,
        /// The amount to free.
        wanted_bytes: i64,
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: those before it free enough.
    #[text(
        "{freed} are freed before its turn, {wanted} were wanted; {age}",
        freed = Amount::Bytes(*freed_before_bytes),
        wanted = Amount::Number(*wanted_bytes)
    )]
    TargetReached {
        /// By those before it.
        freed_before_bytes: i64,
        /// The amount to free.
        wanted_bytes: i64,
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: younger than the minimum age.
    #[text(
        detected_for: Some(age) =>
        "first found {age} ago, which is less than imageMinimumGCAge {minimum_age}",
        age = Amount::Time(age.0)
    )]
    #[text("first found - ago, which is less than imageMinimumGCAge {minimum_age}")]
    MinimumAge {
        /// Since the first detection; null: unknown.
        detected_for: Option<GoDuration>,
        /// `imageMinimumGCAge`
        minimum_age: GoDuration,
    },
    /// It stays: the kubelet saw it in use at or after the moment of the pass.
    #[text("used at the moment of the pass or after it: {age}")]
    UsedSince {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: disk pressure is resolved without images.
    #[text("not in use, and disk pressure needs no images; {age}")]
    ImagesNotReclaimed {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It is unknown whether space is needed.
    #[text("whether space is needed is unknown; {age}")]
    SpaceUnknown {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: the collection fails before it comes to remove images for space.
    #[text("not in use, and stays: the collection fails before it removes any for space; {age}")]
    CollectionFails {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: no space is needed.
    #[text("not in use, and no space is needed; {age}")]
    NothingWanted {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: containers use it.
    #[text(first: None => "a container uses it")]
    #[text(containers: ..=1, first: Some(first) => "used by {first}")]
    #[text(first: Some(first) => "used by {first} and {more} more", more = containers - 1)]
    InUse {
        /// How many are known.
        containers: usize,
        /// The first of them; null: none is known.
        first: Option<String>,
    },
    /// It stays: it has no ID.
    #[text("it has no ID, and the kubelet skips it")]
    NoId,
    /// It stays: `--keep`.
    #[text("kq keeps it; the kubelet may remove it")]
    Kept,
    /// It stays: the runtime pins it.
    #[text("the runtime reports it as pinned")]
    Pinned,
    /// It stays: the kubelet could not list the images.
    #[text("the kubelet could not list the images")]
    NotListed,
}

/// The facts on which the verdict about an image depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
pub enum Dependency {
    /// The kubelet's configuration: the plan is that of the defaults.
    #[text(
        "the kubelet's configuration, which is unknown: other thresholds and ages decide otherwise"
    )]
    Configuration,
    /// The eviction manager, which comes first.
    #[text("what the eviction manager removes before, because {signal} is crossed")]
    EvictionManager {
        /// The crossed signal.
        signal: Signal,
    },
    /// The usage of the image file system.
    #[text("the usage of the image file system")]
    Usage,
    /// The images that go for their age, and the bytes that they free.
    #[text("what the images free that go for their age")]
    FreedForAge,
    /// The images that are mounted as volumes.
    #[text("which images are mounted as volumes")]
    ImageVolumes,
    /// The kubelet's memory of the image; `known` has the bounds.
    #[text(known: None => "the kubelet's memory of it")]
    #[text(
        known: Some((known, now)) =>
        "the kubelet's memory of it and of others: last used {used}; first found \
         {found}{narrowed_by}",
        used = last_used(known, *now),
        found = span_text(known.first_detected, *now),
        narrowed_by = narrowed_by(known.basis)
    )]
    KubeletMemory {
        /// The bounds, and the moment of the plan.
        #[serde(skip)]
        known: Option<(ImageTimes, Timestamp)>,
    },
}

/// A consequence of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum Consequence {
    /// The collection fails.
    #[text("the collection fails: {error}")]
    Fails {
        /// The kubelet's error.
        error: String,
    },
    /// The kubelet reports the second failure in a row.
    #[text(
        "the kubelet reports the second failure in a row as an event ImageGCFailed on its node; it \
         only logs the first"
    )]
    SecondFailureIsEvent,
    /// Enough is freed.
    #[text(
        "the target is met: {freed} are counted as freed, {wanted} were wanted",
        freed = Amount::Bytes(*freed_bytes),
        wanted = Amount::Number(*wanted_bytes)
    )]
    TargetMet {
        /// As the kubelet counts.
        freed_bytes: i64,
        /// The amount to free.
        wanted_bytes: i64,
    },
    /// The usage changes.
    #[text(
        "the bytes really freed, {freed}, bring the usage from {from_percent}% to {to_percent}%",
        freed = Amount::Number(i64::try_from(*freed_bytes).unwrap_or(i64::MAX))
    )]
    UsageFalls {
        /// The bytes that the disk gets back.
        freed_bytes: u64,
        /// Before, in percent.
        from_percent: i64,
        /// After, in percent.
        to_percent: i64,
    },
    /// A sentence about the eviction manager; its facts are under `pressure`.
    #[text("{sentence}")]
    EvictionManager {
        #[serde(skip)]
        sentence: String,
    },
}

/// How full the image file system is for garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Reason)]
pub enum DiskReason {
    /// The kubelet calls a capacity of 0 invalid.
    #[text("its capacity is 0, which the kubelet calls invalid")]
    NoCapacity,
    #[text(usage_text(*usage))]
    Usage {
        /// The image file system.
        usage: Usage,
    },
    /// The loop does not run.
    #[text(
        "the kubelet does not run image garbage collection: imageGCHighThresholdPercent is 100 and \
         imageMaximumGCAge is off"
    )]
    LoopOff,
    /// The high threshold is reached.
    #[text(
        "imageGCHighThresholdPercent {high_threshold_percent}% is reached: {amount_to_free_bytes} \
         bytes are to be freed, down to imageGCLowThresholdPercent {low_threshold_percent}%"
    )]
    HighThresholdReached {
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
        /// `imageGCLowThresholdPercent`
        low_threshold_percent: i32,
        /// In bytes.
        amount_to_free_bytes: i64,
    },
    /// The high threshold is not reached.
    #[text(
        missing_bytes: Some(missing_bytes) =>
        "imageGCHighThresholdPercent {high_threshold_percent}% is reached with {missing_bytes} \
         bytes more in use"
    )]
    #[text("imageGCHighThresholdPercent {high_threshold_percent}% is not reached")]
    HighThresholdNotReached {
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
        /// How much more must be used; null: the kubelet's sums wrap around.
        missing_bytes: Option<i64>,
    },
}

/// Returns the usage with its formula.
pub fn usage_text(usage: Usage) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        let [available, capacity] =
            [usage.available_bytes, usage.capacity_bytes].map(|it| Precision::of(f).bytes(it));
        write!(f, "usage {}% = 100 - {available} x 100 / {capacity}", usage.percent)
    })
}

impl fmt::Display for ImageAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dead_containers_use_it {
            return f.write_str("used by dead containers, which are removed first");
        }
        match self.unused_for {
            Some(unused) => write!(f, "last used {} ago, ", Precision::of(f).time(unused.0))?,
            None => f.write_str("no use is known, ")?,
        }
        match self.detected_for {
            Some(detected) => {
                write!(f, "first found {} ago", Precision::of(f).time(detected.0))
            }
            None => f.write_str("first found at an unknown time"),
        }
    }
}

fn last_used(known: &ImageTimes, now: Timestamp) -> String {
    match (known.last_used.may_be_never, known.last_used.span) {
        (_, None) => "never".to_owned(),
        (true, Some(span)) => format!("never, or {}", span_text(span, now)),
        (false, Some(span)) => span_text(span, now),
    }
}

fn narrowed_by(basis: RecordCoverage) -> &'static str {
    match basis {
        RecordCoverage::Nothing => "; --kubelet-start and kq gc record narrow it",
        RecordCoverage::Start | RecordCoverage::PartialRecords => "; kq gc record narrows it",
        RecordCoverage::Records => "",
    }
}

fn span_text(span: Span, now: Timestamp) -> String {
    let latest = match now.since(span.latest) {
        0 => "now".to_owned(),
        ..0 => "a time in the future".to_owned(),
        nanoseconds => format!("{} ago", Precision::Exact.time(nanoseconds)),
    };
    match span.earliest {
        None if span.latest > now => "at any time".to_owned(),
        None => format!("any time until {latest}"),
        Some(earliest) if earliest == span.latest => latest,
        Some(earliest) => {
            let earliest = Precision::Exact.time(now.since(earliest));
            format!("between {earliest} ago and {latest}")
        }
    }
}
