//! Why a collection runs, why an image goes or stays, and the consequences: facts, and the sentences made of them.

use crate::cycle::Usage;
use crate::knowledge::{ImageTimes, RecordCoverage, Span};
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::Precision;
use serde::Serialize;
use std::fmt;

/// Why a collection runs, and what it frees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunReason {
    /// A sentence of the eviction manager's decision; its facts are under `pressure`.
    EvictionManager {
        #[serde(skip)]
        sentence: String,
    },
    /// Disk pressure removes every unused image that is old enough.
    UnusedImages {
        /// `imageMinimumGCAge`
        minimum_age: GoDuration,
    },
    /// `imageMaximumGCAge` is off.
    MaximumAgeOff,
    /// The kubelet has been up for longer than `imageMaximumGCAge`.
    UpForLonger {
        /// Since the kubelet's start.
        up: GoDuration,
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// The kubelet has not been up for longer than `imageMaximumGCAge`.
    UpForLess {
        /// Since the kubelet's start.
        up: GoDuration,
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// Whether the kubelet has been up for longer than `imageMaximumGCAge` is unknown.
    UpForUnknown {
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
    },
    /// The loop does not run.
    LoopOff {
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
    },
    /// The high threshold is reached.
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
    HighThresholdNotReached {
        /// The image file system.
        usage: Usage,
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
    },
    /// The kubelet calls a capacity of 0 invalid.
    NoCapacity,
    /// The usage of the image file system is unknown.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ImageReason {
    /// It goes: unused for longer than the maximum age.
    MaximumAge {
        /// `imageMaximumGCAge`
        maximum_age: GoDuration,
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It goes, as every unused image does.
    Unused {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It goes: those before it free too little.
    SpaceWanted {
        /// By those before it.
        freed_before_bytes: i64,
        /// The amount to free.
        wanted_bytes: i64,
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: those before it free enough.
    TargetReached {
        /// By those before it.
        freed_before_bytes: i64,
        /// The amount to free.
        wanted_bytes: i64,
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: younger than the minimum age.
    MinimumAge {
        /// Since the first detection; null: unknown.
        detected_for: Option<GoDuration>,
        /// `imageMinimumGCAge`
        minimum_age: GoDuration,
    },
    /// It stays: the kubelet saw it in use at or after the moment of the pass.
    UsedSince {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: disk pressure is resolved without images.
    ImagesNotReclaimed {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It is unknown whether space is needed.
    SpaceUnknown {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: no space is needed.
    NothingWanted {
        /// The kubelet's memory of it.
        age: ImageAge,
    },
    /// It stays: containers use it.
    InUse {
        /// How many are known.
        containers: usize,
        /// The first of them; null: none is known.
        first: Option<String>,
    },
    /// It stays: it has no ID.
    NoId,
    /// It stays: `--keep`.
    Kept,
    /// It stays: the runtime pins it.
    Pinned,
    /// It stays: the kubelet could not list the images.
    NotListed,
}

/// The facts on which the verdict about an image depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Dependency {
    /// The usage of the image file system.
    Usage,
    /// The images that are mounted as volumes.
    ImageVolumes,
    /// The kubelet's memory of the image; `known` has the bounds.
    KubeletMemory {
        /// The bounds, and the moment of the plan.
        #[serde(skip)]
        known: Option<(ImageTimes, Timestamp)>,
    },
}

/// A consequence of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Consequence {
    /// The collection fails.
    Fails {
        /// The kubelet's error.
        error: String,
    },
    /// The kubelet reports the second failure in a row.
    SecondFailureIsEvent,
    /// Enough is freed.
    TargetMet {
        /// As the kubelet counts.
        freed_bytes: i64,
        /// The amount to free.
        wanted_bytes: i64,
    },
    /// The usage changes.
    UsageFalls {
        /// The bytes that the disk gets back.
        freed_bytes: u64,
        /// Before, in percent.
        from_percent: i64,
        /// After, in percent.
        to_percent: i64,
    },
    /// A sentence about the eviction manager; its facts are under `pressure`.
    EvictionManager {
        #[serde(skip)]
        sentence: String,
    },
}

/// How full the image file system is for garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DiskReason {
    /// The kubelet calls a capacity of 0 invalid.
    NoCapacity,
    Usage {
        /// The image file system.
        usage: Usage,
    },
    /// The loop does not run.
    LoopOff,
    /// The high threshold is reached.
    HighThresholdReached {
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
        /// `imageGCLowThresholdPercent`
        low_threshold_percent: i32,
        /// In bytes.
        amount_to_free_bytes: i64,
    },
    /// The high threshold is not reached.
    HighThresholdNotReached {
        /// `imageGCHighThresholdPercent`
        high_threshold_percent: i32,
        /// How much more must be used; null: the kubelet's sums wrap around.
        missing_bytes: Option<i64>,
    },
}

/// Returns the usage with its formula.
pub fn usage_text(usage: Usage, amounts: Precision) -> String {
    let [available, capacity] =
        [usage.available_bytes, usage.capacity_bytes].map(|bytes| amounts.bytes(bytes));
    format!("usage {}% = 100 - {available} x 100 / {capacity}", usage.percent)
}

impl fmt::Display for RunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amounts = Precision::of(f);
        match self {
            Self::EvictionManager { sentence } => f.write_str(sentence),
            Self::UnusedImages { minimum_age } => write!(
                f,
                "under disk pressure, all unused images older than imageMinimumGCAge {minimum_age} are \
                 removed; thresholds do not matter"
            ),
            Self::MaximumAgeOff => {
                f.write_str("imageMaximumGCAge is off: no image goes for its age")
            }
            Self::UpForLonger { up, maximum_age } => write!(
                f,
                "the kubelet has been up for {}, longer than imageMaximumGCAge {maximum_age}: images \
                 unused for longer than that go, at any use of the disk",
                amounts.time(up.0)
            ),
            Self::UpForLess { up, maximum_age } => write!(
                f,
                "the kubelet has been up for {}, not longer than imageMaximumGCAge {maximum_age}: no \
                 image goes for its age yet",
                amounts.time(up.0)
            ),
            Self::UpForUnknown { maximum_age } => write!(
                f,
                "imageMaximumGCAge is {maximum_age}, and whether the kubelet has been up for longer is \
                 unknown: kq assumes so"
            ),
            Self::LoopOff { high_threshold_percent } => write!(
                f,
                "imageGCHighThresholdPercent {high_threshold_percent}% with imageMaximumGCAge off: the \
                 kubelet collects images only under disk pressure"
            ),
            Self::HighThresholdReached {
                usage,
                high_threshold_percent: high,
                low_threshold_percent: low,
                amount_to_free_bytes: amount,
            } => write!(
                f,
                "{} >= imageGCHighThresholdPercent {high}%, so images are removed until {}{} more are free: \
                 {} x (100 - {low}) / 100 - {}, down to imageGCLowThresholdPercent {low}%",
                usage_text(*usage, amounts),
                amounts.bytes(*amount),
                amounts.unit(),
                amounts.bytes(usage.capacity_bytes),
                amounts.bytes(usage.available_bytes)
            ),
            Self::HighThresholdNotReached { usage, high_threshold_percent: high } => write!(
                f,
                "{} < imageGCHighThresholdPercent {high}%, so no space is needed",
                usage_text(*usage, amounts)
            ),
            Self::NoCapacity => f.write_str("the capacity of the image file system is 0"),
            Self::UsageUnknown { error } => write!(
                f,
                "the usage of the image file system is unknown ({error}): give it with --at-usage"
            ),
        }
    }
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

impl fmt::Display for ImageReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amounts = Precision::of(f);
        let text = |age: &ImageAge| amounts.text(age);
        let bytes = |amount: &i64| amounts.bytes(*amount);
        match self {
            Self::MaximumAge { maximum_age, age } => {
                write!(f, "unused for longer than imageMaximumGCAge {maximum_age}: {}", text(age))
            }
            Self::Unused { age } => write!(f, "not in use; {}", text(age)),
            Self::SpaceWanted { freed_before_bytes, wanted_bytes, age } => write!(
                f,
                "its turn comes with {} of {}{} freed; {}",
                bytes(freed_before_bytes),
                bytes(wanted_bytes),
                amounts.unit(),
                text(age)
            ),
            Self::TargetReached { freed_before_bytes, wanted_bytes, age } => write!(
                f,
                "{}{} are freed before its turn, {} were wanted; {}",
                bytes(freed_before_bytes),
                amounts.unit(),
                bytes(wanted_bytes),
                text(age)
            ),
            Self::MinimumAge { detected_for, minimum_age } => write!(
                f,
                "first found {} ago, which is less than imageMinimumGCAge {minimum_age}",
                detected_for.map_or_else(|| "-".to_owned(), |detected| amounts.time(detected.0))
            ),
            Self::UsedSince { age } => {
                write!(f, "used at the moment of the pass or after it: {}", text(age))
            }
            Self::ImagesNotReclaimed { age } => {
                write!(f, "not in use, and disk pressure needs no images; {}", text(age))
            }
            Self::SpaceUnknown { age } => {
                write!(f, "whether space is needed is unknown; {}", text(age))
            }
            Self::NothingWanted { age } => {
                write!(f, "not in use, and no space is needed; {}", text(age))
            }
            Self::InUse { first: None, .. } => f.write_str("a container uses it"),
            Self::InUse { containers: ..=1, first: Some(first) } => write!(f, "used by {first}"),
            Self::InUse { containers, first: Some(first) } => {
                write!(f, "used by {first} and {} more", containers - 1)
            }
            Self::NoId => f.write_str("it has no ID, and the kubelet skips it"),
            Self::Kept => f.write_str("kq keeps it; the kubelet may remove it"),
            Self::Pinned => f.write_str("the runtime reports it as pinned"),
            Self::NotListed => f.write_str("the kubelet could not list the images"),
        }
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (known, now) = match self {
            Self::Usage => return f.write_str("the usage of the image file system"),
            Self::ImageVolumes => return f.write_str("which images are mounted as volumes"),
            Self::KubeletMemory { known: None } => {
                return f.write_str("the kubelet's memory of it");
            }
            Self::KubeletMemory { known: Some((known, now)) } => (known, *now),
        };
        let used = match (known.last_used.may_be_never, known.last_used.span) {
            (_, None) => "never".to_owned(),
            (true, Some(span)) => format!("never, or {}", span_text(span, now)),
            (false, Some(span)) => span_text(span, now),
        };
        let found = span_text(known.first_detected, now);
        let more = match known.basis {
            RecordCoverage::Nothing => "; --kubelet-start and kq gc record narrow it",
            RecordCoverage::Start | RecordCoverage::PartialRecords => "; kq gc record narrows it",
            RecordCoverage::Records => "",
        };
        write!(
            f,
            "the kubelet's memory of it and of others: last used {used}; first found {found}{more}"
        )
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

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amounts = Precision::of(f);
        match self {
            Self::Fails { error } => write!(f, "the collection fails: {error}"),
            Self::SecondFailureIsEvent => f.write_str(
                "the kubelet reports the second failure in a row as an event ImageGCFailed on its node; \
                 it only logs the first",
            ),
            Self::TargetMet { freed_bytes, wanted_bytes } => write!(
                f,
                "the target is met: {}{} are counted as freed, {} were wanted",
                amounts.bytes(*freed_bytes),
                amounts.unit(),
                amounts.bytes(*wanted_bytes)
            ),
            Self::UsageFalls { freed_bytes, from_percent, to_percent } => write!(
                f,
                "the bytes really freed, {}, bring the usage from {from_percent}% to {to_percent}%",
                amounts.bytes(i64::try_from(*freed_bytes).unwrap_or(i64::MAX))
            ),
            Self::EvictionManager { sentence } => f.write_str(sentence),
        }
    }
}

impl fmt::Display for DiskReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCapacity => f.write_str("its capacity is 0, which the kubelet calls invalid"),
            Self::Usage { usage } => f.write_str(&usage_text(*usage, Precision::of(f))),
            Self::LoopOff => f.write_str(
                "the kubelet does not run image garbage collection: imageGCHighThresholdPercent is 100 \
                 and imageMaximumGCAge is off",
            ),
            Self::HighThresholdReached {
                high_threshold_percent: high,
                low_threshold_percent: low,
                amount_to_free_bytes: amount,
            } => write!(
                f,
                "imageGCHighThresholdPercent {high}% is reached: {amount} bytes are to be freed, down to \
                 imageGCLowThresholdPercent {low}%"
            ),
            Self::HighThresholdNotReached {
                high_threshold_percent: high,
                missing_bytes: Some(missing),
            } => write!(
                f,
                "imageGCHighThresholdPercent {high}% is reached with {missing} bytes more in use"
            ),
            Self::HighThresholdNotReached { high_threshold_percent: high, missing_bytes: None } => {
                write!(f, "imageGCHighThresholdPercent {high}% is not reached")
            }
        }
    }
}
