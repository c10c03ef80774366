//! A plan as a whole.

use super::item::{PlannedImage, Verdict};
use crate::containers::ContainerGcPlan;
use crate::cycle::{Event, Usage};
use crate::reason::{Consequence, Dependency, RunReason};
use kq_answer::{Basis, Certainty, Headline, MissingFact, Worded, answer};
use kq_facts::kubelet::KubeletStart;
use kq_facts::kubelet_config::Signal;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use kq_output::units::{and_more, counted};
use serde::Serialize;
use std::fmt;

/// What sets garbage collection going.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    /// The loop of five minutes: images that are too old, then as many as the thresholds want.
    #[default]
    Periodic,
    /// The part of the loop that removes what is too old.
    Age,
    /// Disk pressure: dead containers, then every image that is not in use.
    Eviction,
}

impl Trigger {
    /// Returns when the collection runs.
    pub fn when(self, lacks_kubelet: bool) -> &'static str {
        match self {
            Self::Periodic | Self::Age if lacks_kubelet => {
                "within 5 minutes of the kubelet's start"
            }
            Self::Periodic | Self::Age => "within 5 minutes",
            Self::Eviction => "under disk pressure, before a pod is evicted",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Periodic => "periodic",
            Self::Age => "age",
            Self::Eviction => "eviction",
        })
    }
}

/// What garbage collection would do, in one value.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageGcPlan {
    /// What sets it going.
    pub trigger: Trigger,
    /// The moment that it is computed for.
    pub at: Timestamp,
    /// Whether it runs, and why.
    pub run: Run,
    /// Dead containers, which go first under disk pressure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub containers: Option<ContainerGcPlan>,
    /// The images in the order in which they go, then those that are no candidates.
    pub items: Vec<PlannedImage>,
    /// What comes free.
    pub freed: Freed,
    /// What follows.
    pub outcome: Outcome,
    /// The start of the kubelet, also among the facts.
    #[serde(skip)]
    pub kubelet_start: Option<KubeletStart>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ImageGcPlan", ImageGcPlan; ImageGcPlan::headline);

impl ImageGcPlan {
    /// Returns which images go, how much that is, and when.
    fn headline(&self) -> Headline {
        let own = self.by_settings();
        match self.lacks_settings() {
            true => Headline::new("unknown", format!("with the default settings, {}", own.text)),
            false => own,
        }
    }

    /// Returns true if the plan is that of the default settings, and those of the kubelet are unknown: others remove other images,
    /// or none.
    pub fn lacks_settings(&self) -> bool {
        self.basis.missing.iter().any(|it| it.fact == MissingFact::KubeletConfig)
    }

    fn by_settings(&self) -> Headline {
        let Freed { images, counted_bytes, .. } = self.freed;
        let of = |bytes: i64| kq_output::units::bytes(u64::try_from(bytes).unwrap_or(0));
        let when = self.trigger.when(self.basis.lacks_kubelet);
        let names: Vec<String> = self
            .items
            .iter()
            .filter(|it| it.verdict.is_removal())
            .take(3)
            .map(|it| super::names(&it.tags, &it.digests))
            .collect();
        let more = and_more(images.saturating_sub(names.len()));
        let go = if images == 1 { "goes" } else { "go" };
        let up_to =
            if self.freed.at_least_bytes == self.freed.at_most_bytes { "" } else { "up to " };
        let gone = format!("{up_to}{} {go} {when}", counted(images, "image"));
        let listed = names.join(", ");
        match (images, &self.outcome.error, self.run.wants_space) {
            (0, Some(error), _) => Headline::new("fails", format!("the collection fails: {error}")),
            (0, None, None) => {
                let why = self.run.unknown();
                Headline::new("unknown", format!("whether images go is unknown: {why}"))
            }
            // How full the disk is decides of the periodic collection alone.
            (0, None, Some(_)) => match self.run.usage.as_ref() {
                Some(usage) if self.trigger == Trigger::Periodic => {
                    let (used, from) = (usage.percent, self.run.high_threshold_percent);
                    let text = format!(
                        "no image goes: the disk is {used}% full, and images go from {from}%"
                    );
                    Headline::good("nothing", text)
                }
                _ => Headline::good("nothing", "no image goes"),
            },
            (_, Some(error), _) => {
                let text = format!("{gone} ({}), which is not enough: {error}", of(counted_bytes));
                Headline::new("not-enough", text)
            }
            (_, None, _) => {
                Headline::new("removes", format!("{gone} ({}): {listed}{more}", of(counted_bytes)))
            }
        }
    }
}

impl ImageGcPlan {
    /// Leaves open what becomes of the images that no container uses: the plan is that of the default settings, and those of the
    /// kubelet are unknown.
    pub fn leave_open_for_settings(&mut self) {
        let candidates = || self.items.iter().filter(|it| it.place.is_some());
        let sizes = candidates().fold(0_i64, |sum, it| sum.saturating_add(it.size_bytes.max(0)));
        self.freed.at_least_bytes = self.freed.at_least_bytes.min(0);
        self.freed.at_most_bytes = self.freed.at_most_bytes.max(sizes);
        self.leave_open(|_| true, Dependency::Configuration);
    }

    /// Leaves open whether the images stay that this collection keeps: the eviction manager removes unused images before it.
    pub fn leave_open_for_eviction(&mut self, signal: Signal) {
        self.leave_open(|verdict| !verdict.is_removal(), Dependency::EvictionManager { signal });
    }

    fn leave_open(&mut self, is_meant: fn(Verdict) -> bool, depends_on: Dependency) {
        let candidates = self.items.iter_mut().filter(|it| it.place.is_some());
        let is_open =
            |it: &&mut PlannedImage| it.certainty == Certainty::Certain && is_meant(it.verdict);
        for item in candidates.filter(is_open) {
            item.certainty = Certainty::Possible;
            item.depends_on = Some(Worded(depends_on));
        }
    }
}

impl Run {
    /// Returns what is unknown, where it is unknown whether space is needed.
    pub fn unknown(&self) -> &'static str {
        match self.usage {
            Some(_) => "what the images free that go for their age is unknown",
            None => "the usage of the image file system is unknown",
        }
    }
}

/// Whether a collection runs, and what it wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The image file system: where its numbers are from.
    pub image_filesystem: Option<String>,
    /// How full it is; null: unknown, or the capacity is invalid.
    pub usage: Option<Usage>,
    /// `imageGCHighThresholdPercent`
    pub high_threshold_percent: i32,
    /// `imageGCLowThresholdPercent`
    pub low_threshold_percent: i32,
    /// `imageMinimumGCAge`
    pub minimum_age: GoDuration,
    /// `imageMaximumGCAge`; zero: off.
    pub maximum_age: GoDuration,
    /// Images that are too old go; null: it depends on how long the kubelet has been up.
    pub removes_old: Option<bool>,
    /// Space is needed; null: unknown, because the usage of the file system is, or the bytes that images free which are
    /// removed for their age.
    pub wants_space: Option<bool>,
    /// The amount in bytes; zero or less still removes one image. Null: nothing is needed, or everything that is unused
    /// is removed.
    pub amount_to_free_bytes: Option<i64>,
    /// Why.
    pub because: Vec<Worded<RunReason>>,
}

/// What comes free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Freed {
    /// How many images go.
    pub images: usize,
    /// Their sizes, as the kubelet adds them up.
    pub counted_bytes: i64,
    /// Of these, for their age.
    pub by_age_bytes: i64,
    /// Of these, for space.
    pub by_space_bytes: i64,
    /// What is counted at the least, whatever the kubelet remembers.
    pub at_least_bytes: i64,
    /// What is counted at the most, whatever the kubelet remembers.
    pub at_most_bytes: i64,
    /// The bytes that come free, without those that other images and containers share; null: the runtime does not
    /// report them.
    pub real_bytes: Option<u64>,
    /// Why that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_unknown: Option<String>,
}

/// What follows from a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The kubelet's error; null: it succeeds.
    pub error: Option<String>,
    /// The kubelet's events.
    pub events: Vec<Event>,
    /// The consequences.
    pub follows: Vec<Worded<Consequence>>,
}
