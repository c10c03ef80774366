//! What the rules find, as facts, and the sentences made of them.

use super::signals_off;
use crate::loops::Garbage;
use kq_answer::{Rule, Severity, Topic, Wording};
use kq_facts::kubelet_config::ImageGcConfigError;
use kq_k8s::duration::GoDuration;
use kq_k8s::quantity::Quantity;
use kq_output::units::{bytes, counted};
use serde::Serialize;

/// A rule that applies, with its facts.
#[derive(Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum ImageGcRule {
    /// `imageGCHighThresholdPercent` is 100, and there is no maximum age.
    #[text("100 without a maximum age turns the loop off")]
    #[why("unused images stay until the eviction manager has to act, and it removes all")]
    #[advice("set it below the use of the disk at which eviction begins")]
    ImageGcOff,
    /// `imageGCHighThresholdPercent` is 100, and there is a maximum age.
    #[text("100: no space is made before the disk is full")]
    #[why("images only go for their age; the eviction manager comes before a full disk")]
    #[advice("set it below the use of the disk at which eviction begins")]
    ImageGcAtFullDisk,
    #[text(_0.found())]
    #[why(
        "what grows by more than that in {interval} is over the high threshold again at the next \
         run",
        interval = Garbage::Images.interval()
    )]
    #[advice("set it at least 5 below imageGCHighThresholdPercent")]
    SmallGap(Gap),
    #[text(_0.found())]
    #[why("nearly all images that are not in use go at once, and are pulled again")]
    #[advice("set it nearer to imageGCHighThresholdPercent")]
    LargeGap(Gap),
    /// A zero was given.
    #[text("0s was given, {minimum_age} is in force")]
    #[why("the kubelet treats zero as unset, and uses its default")]
    #[advice("set it to 1ns if no image may be too young")]
    MinimumAgeReplaced {
        /// The age in force.
        minimum_age: GoDuration,
    },
    #[text("{minimum_age}: no image is too young")]
    #[why("this kubelet takes it, and kubelets since 1.36 do not start with it")]
    #[advice("set it to 1ns if no image may be too young")]
    MinimumAgeBelowZero { minimum_age: GoDuration },
    #[text(unused_images: None => "{maximum_age}")]
    #[text(unused_images: Some(0) => "{maximum_age}; every image is in use or pinned")]
    #[text(
        unused_images: Some(images) =>
        "{maximum_age}; neither in use nor pinned: {images} ({unused_bytes})",
        images = counted(*images, "image"),
        unused_bytes = bytes(unused_bytes.unwrap_or_default())
    )]
    #[why(
        "the kubelet forgets the last use when it restarts, and a never used image counts as old \
         whenever it was pulled: once the kubelet has run for {maximum_age}, each run takes all of \
         them, pre-pulled ones too, at any use of the disk"
    )]
    #[advice("pin images that must stay in the container runtime")]
    MaximumAgeTakesUnused {
        maximum_age: GoDuration,
        /// Neither in use nor pinned; `None`: not known.
        unused_images: Option<usize>,
        unused_bytes: Option<u64>,
    },
    /// `evictionHard` leaves out signals that have a default.
    #[text("no hard threshold: {signals}", signals = signals.join(", "))]
    #[why(signals_off::WHY)]
    #[leads_to(signals_off::LEADS_TO)]
    #[advice(signals_off::ADVICE)]
    EvictionSignalsOff {
        signals: Vec<&'static str>,
        /// The memory or the disk of the kubelet is among them.
        is_danger: bool,
    },
    /// The kubelet does not start with a threshold.
    #[text("{error}")]
    #[why("the kubelet does not start with it")]
    #[advice("correct it: the eviction thresholds are compared with image garbage collection then")]
    EvictionThresholdRefused { error: String },
    /// The threshold is an amount, and the capacity of the disk is not known.
    #[text("{signal} < {amount} is an amount, and the capacity of the disk is not known")]
    #[why("which of them acts first depends on the size of the disk")]
    #[advice("give the capacity, or run kq on the node")]
    EvictionNotComparable { signal: &'static str, amount: Quantity },
    #[text(_0.found())]
    #[why(
        "eviction begins {earlier} earlier: it removes dead containers and all unused images, not \
         only down to the low threshold, and then pods; image garbage collection has nothing left \
         to do",
        earlier = percent(_0.eviction.percent - _0.collection.percent)
    )]
    #[advice(_0.advice())]
    EvictionBeforeImageGc(Beginnings),
    #[text(_0.found())]
    #[why(
        "both act at the same use of the disk, and eviction checks every 10s, image garbage \
         collection every {interval}: eviction comes first",
        interval = Garbage::Images.interval()
    )]
    #[advice(_0.advice())]
    EvictionWithImageGc(Beginnings),
    #[text(_0.found())]
    #[why(
        "there is {room} of the disk between them: writes in {interval} can exceed it, and then \
         eviction comes first",
        room = percent(_0.collection.percent - _0.eviction.percent),
        interval = Garbage::Images.interval()
    )]
    #[advice(_0.advice())]
    EvictionNearImageGc(Beginnings),
    #[text("the image of sandboxes is not on the node")]
    #[why("the next pod has to wait for it")]
    #[advice("pull it, and let the container runtime pin it")]
    SandboxImageMissing,
    #[text(named_by_runtime: true => "the image of sandboxes is not pinned")]
    #[text("looks like an image of sandboxes, and is not pinned")]
    #[why(
        "sandboxes do not count as users: once nothing pins it, it goes as an unused image, and no \
         pod starts while it cannot be pulled"
    )]
    #[advice(
        "name it as the sandbox image in the configuration of the container runtime, which pins it \
         unless it is old"
    )]
    SandboxImageNotPinned {
        /// The runtime names it; else its tag looks like one.
        named_by_runtime: bool,
    },
    #[text("{images} without an id", images = counted(*images, "image"))]
    #[why(
        "the kubelet knows images by their ids: it takes all of these for one, and cannot have it \
         removed"
    )]
    #[advice("remove it with the container runtime's own tool, and pull it again")]
    ImageWithoutId { images: usize },
    #[text(
        "{images} without a tag, {size}{used}",
        images = counted(*images, "image"),
        size = bytes(*size_bytes),
        used = used_images.map_or_else(String::new, |used| format!(", {used} of them in use"))
    )]
    #[why(
        "they were pulled by digest, or their tag moved on to a newer image; the kubelet does not \
         prefer them, they go when their turn comes"
    )]
    #[advice("nothing, or remove those that are not in use")]
    ImageWithoutTag {
        images: usize,
        size_bytes: u64,
        /// `None`: not known.
        used_images: Option<usize>,
    },
    /// The kubelet does not start with it. Its id is the error's.
    #[serde(untagged)]
    #[text("{0}")]
    #[why("the kubelet does not start with it")]
    #[advice(correction(_0))]
    Refused(ImageGcConfigError),
}

/// How far the thresholds are apart.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gap {
    pub high_percent: i32,
    pub low_percent: i32,
    /// By a collection; `None`: the capacity is not known.
    pub freed_bytes: Option<u64>,
    pub capacity_bytes: Option<u64>,
}

/// So much is available of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Availability {
    /// Of the capacity.
    pub percent: f64,
    /// `None`: the capacity is not known.
    pub bytes: Option<u64>,
}

/// Below which availability image garbage collection and eviction begin.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Beginnings {
    pub high_percent: i32,
    pub collection: Availability,
    pub signal: &'static str,
    pub eviction: Availability,
    /// `None`: the threshold is hard.
    pub grace_period: Option<GoDuration>,
    /// Images are known to be on the disk of the signal; else they may be.
    pub has_images: bool,
    /// The highest threshold that leaves room before eviction; `None`: there is none.
    pub advised_percent: Option<i64>,
}

impl Rule for ImageGcRule {
    fn severity(&self) -> Severity {
        match self {
            Self::Refused(_) | Self::EvictionThresholdRefused { .. } => Severity::Error,
            // With a grace period of at least a turn of the loop, images go before pods do.
            Self::EvictionBeforeImageGc(Beginnings { grace_period: Some(period), .. })
            | Self::EvictionWithImageGc(Beginnings { grace_period: Some(period), .. })
                if *period >= Garbage::Images.interval() =>
            {
                Severity::Info
            }
            Self::EvictionSignalsOff { is_danger: true, .. }
            | Self::ImageGcOff
            | Self::MaximumAgeTakesUnused { unused_images: Some(1..), .. }
            | Self::EvictionBeforeImageGc(_)
            | Self::EvictionWithImageGc(_)
            | Self::SandboxImageNotPinned { .. }
            | Self::ImageWithoutId { .. } => Severity::Warning,
            _ => Severity::Info,
        }
    }

    fn topic(&self) -> Topic {
        match self {
            Self::ImageGcOff
            | Self::ImageGcAtFullDisk
            | Self::ImageWithoutId { .. }
            | Self::ImageWithoutTag { .. } => Topic::Images,
            _ => Topic::default(),
        }
    }
}

impl Gap {
    fn found(self) -> String {
        let share = self.freed_bytes.zip(self.capacity_bytes);
        let share = share.map(|(freed, all)| format!(", {} of {}", bytes(freed), bytes(all)));
        let Self { high_percent: high, low_percent: low, .. } = self;
        let share = share.unwrap_or_default();
        format!("{high} - {low}: a collection frees about {}%{share}", high - low)
    }
}

impl Beginnings {
    fn found(self) -> String {
        let kind = match self.grace_period {
            None => "eviction".to_owned(),
            Some(period) => format!("soft eviction (after {period})"),
        };
        format!(
            "{} acts below {} available, {kind} by {} below {}{}",
            self.high_percent,
            self.collection.text(),
            self.signal,
            self.eviction.text(),
            if self.has_images { "" } else { ", if images are on that disk" },
        )
    }

    fn advice(self) -> String {
        match self.advised_percent {
            Some(highest) => format!(
                "set it to {highest} or less, with imageGCLowThresholdPercent below it, or lower the \
                 eviction threshold"
            ),
            None => "lower the eviction threshold".to_owned(),
        }
    }
}

impl Availability {
    fn text(self) -> String {
        match self.bytes {
            Some(amount) => format!("{} ({})", percent(self.percent), bytes(amount)),
            None => percent(self.percent),
        }
    }
}

fn correction(error: &ImageGcConfigError) -> &'static str {
    match error {
        ImageGcConfigError::HighRange { .. } | ImageGcConfigError::LowRange { .. } => {
            "set it to 0 up to 100"
        }
        ImageGcConfigError::LowNotBelowHigh { .. } => "set it below imageGCHighThresholdPercent",
        ImageGcConfigError::MaximumAgeNeedsGate => {
            "remove it, or do not turn the feature gate ImageMaximumGCAge off"
        }
        ImageGcConfigError::MinimumAgeNegative { .. } => "set it to a duration above 0",
        ImageGcConfigError::MaximumAgeNegative { .. } => {
            "set it to a duration above 0, or remove it"
        }
        ImageGcConfigError::MaximumAgeNotAboveMinimum { .. } => {
            "set it above imageMinimumGCAge, or remove it"
        }
    }
}

/// Returns a number of percent with at most four digits after the point, and none that say nothing.
fn percent(number: f64) -> String {
    let text = format!("{number:.4}");
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}
