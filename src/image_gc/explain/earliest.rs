//! When an image could go at the earliest: for its age, for space, and under disk pressure.
//!
//! Rules: `freeOldImages`, `freeSpace` and `GarbageCollect` in
//! `pkg/kubelet/images/image_gc_manager.go`, read in 1.36. The maximum age counts from the last use and
//! from the kubelet's start, the minimum age from when the kubelet first found the image; both are in
//! its memory only, so a moment lies between two others.

use super::{Asked, candidates, item};
use crate::answer::Certainty;
use crate::facts::timestamp::Timestamp;
use crate::image_gc::cycle::Usage;
use crate::image_gc::knowledge::{ImageTimes, STARTING};
use crate::image_gc::loops::Garbage;
use crate::image_gc::plan::{ImageGcPlan, PlannedImage, Verdict, ago, usage_text};
use serde::Serialize;
use std::fmt;

/// A way in which an image can go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Way {
    /// Which.
    pub by: WayBy,
    /// Whether it is open.
    pub state: WayState,
    /// The moment from which nothing but the trigger is missing, at the earliest; `None`: it is past, or
    /// nobody knows.
    pub not_before: Option<Timestamp>,
    /// The same at the latest; `None`: nobody knows.
    pub not_after: Option<Timestamp>,
    /// How full the disk must be; only where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<SpaceWay>,
    /// Why, a sentence each.
    pub because: Vec<String>,
}

/// Why an image goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WayBy {
    /// It is unused for longer than the maximum age.
    Age,
    /// The disk is as full as the high threshold.
    Space,
    /// The node is under disk pressure.
    Pressure,
}

/// Whether an image can go in one way, as far as it is concerned itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WayState {
    /// It never goes in this way, as things are set.
    Never,
    /// Not before its containers are gone.
    InUse,
    /// Not before a moment.
    Later,
    /// Now or at a later moment: that is not known.
    Perhaps,
    /// As soon as the trigger comes.
    Open,
}

/// How full the disk must be for an image to go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpaceWay {
    /// How full it is.
    pub usage: Option<Usage>,
    /// `imageGCHighThresholdPercent`
    pub high_threshold_percent: i32,
    /// The high threshold is reached with so much available or less, in bytes.
    pub largest_available_bytes: Option<i64>,
    /// How much more must be used until then, in bytes; 0: it is reached.
    pub missing_bytes: Option<i64>,
    /// Its place in the order then, from 1.
    pub place: Option<usize>,
    /// Of so many.
    pub candidates: usize,
    /// How sure its verdict is then.
    pub certainty: Option<Certainty>,
    /// What those before it free, in bytes.
    pub freed_before_bytes: Option<i64>,
    /// How much more must be used until those before it are not enough, in bytes; 0: they are not.
    /// `None`: not known, or they are even on a full disk.
    pub missing_until_its_turn_bytes: Option<i64>,
}

impl fmt::Display for WayBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Age => "for its age",
            Self::Space => "for space",
            Self::Pressure => "under disk pressure",
        })
    }
}

impl fmt::Display for WayState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "never",
            Self::InUse => "not while it is in use",
            Self::Later => "later",
            Self::Perhaps => "perhaps already",
            Self::Open => "any time",
        })
    }
}

/// Returns the most that may be available for the kubelet to find the high threshold reached:
/// `100 - trunc(available x 100 / capacity) >= high`. `None`: the disk has no size, or is so large that
/// the kubelet's own sums wrap around.
pub fn largest_available(capacity: i64, high: i32) -> Option<i64> {
    if capacity <= 0 || capacity.checked_mul(100).is_none() {
        return None;
    }
    // The quotient is at most 100 - high, so the product is below (101 - high) x capacity.
    let bound = (101 - i128::from(high)) * i128::from(capacity);
    let largest = (bound + 99).div_euclid(100) - 1;
    i64::try_from(largest).ok().filter(|largest| *largest >= 0).map(|largest| largest.min(capacity))
}

/// Returns the three ways; `None`: a plan is about other images.
pub(super) fn ways(asked: Asked<'_>, known: &ImageTimes) -> Option<Vec<Way>> {
    let now = item(asked.periodic, asked.image)?;
    let pressed = item(asked.eviction, asked.image)?;
    Some(vec![
        by_age(asked, known, now),
        by_space(asked, known, now),
        by_pressure(asked, known, pressed),
    ])
}

/// Returns why an image never goes; what it is set to itself.
fn never(asked: Asked<'_>, item: &PlannedImage) -> Option<&'static str> {
    match item.verdict {
        Verdict::NoId => Some("it has no id, and the kubelet passes it over"),
        _ if asked.image.pinned => Some("as long as the runtime says that it is pinned"),
        _ => None,
    }
}

fn closed(by: WayBy, because: &str) -> Way {
    Way {
        by,
        state: WayState::Never,
        not_before: None,
        not_after: None,
        space: None,
        because: vec![because.to_owned()],
    }
}

fn by_age(asked: Asked<'_>, known: &ImageTimes, item: &PlannedImage) -> Way {
    let Asked { policy, sources, .. } = asked;
    let max = policy.max_age;
    if let Some(because) = never(asked, item) {
        return closed(WayBy::Age, because);
    }
    if max.0 == 0 {
        return closed(WayBy::Age, "imageMaximumGCAge is off");
    }
    let start = sources.kubelet_start;
    let from = start.max(known.first_place().0);
    let until = start.map_or(sources.now, |start| start.plus(STARTING.0).min(sources.now));
    let until = known.last_place().0.map_or(until, |used| used.max(until));
    let mut way = Way {
        by: WayBy::Age,
        not_before: from.map(|from| from.plus(max.0)),
        not_after: Some(until.plus(max.0)),
        ..closed(WayBy::Age, "")
    };
    way.because = vec![format!(
        "it must be unused for longer than imageMaximumGCAge {max}, and the kubelet be up for longer \
         than that; never used counts as unused for ever, and imageMinimumGCAge does not matter"
    )];
    // Longer than the age is more than the age.
    settle(&mut way, asked, item, 1);
    way
}

fn by_space(asked: Asked<'_>, known: &ImageTimes, now: &PlannedImage) -> Way {
    let policy = asked.policy;
    if let Some(because) = never(asked, now) {
        return closed(WayBy::Space, because);
    }
    if !policy.is_collecting() {
        return closed(
            WayBy::Space,
            "imageGCHighThresholdPercent is 100 and imageMaximumGCAge is off: the kubelet does not \
             run image garbage collection",
        );
    }
    let mut way = young(asked, known, now, WayBy::Space);
    let space = space(asked, now);
    way.because.extend(space_because(asked, &space));
    way.space = Some(space);
    way
}

fn by_pressure(asked: Asked<'_>, known: &ImageTimes, item: &PlannedImage) -> Way {
    if let Some(because) = never(asked, item) {
        return closed(WayBy::Pressure, because);
    }
    let mut way = young(asked, known, item, WayBy::Pressure);
    way.because.push(
        "an eviction signal of a file system that is freed by images sets it off at once; thresholds \
         of image garbage collection do not matter"
            .to_owned(),
    );
    way
}

/// Begins a way that is open from the minimum age on.
fn young(asked: Asked<'_>, known: &ImageTimes, item: &PlannedImage, by: WayBy) -> Way {
    let min = asked.policy.min_age;
    let found = known.first_detected;
    let mut way = Way {
        by,
        not_before: found.earliest.map(|earliest| earliest.plus(min.0)),
        not_after: Some(found.latest.plus(min.0)),
        ..closed(by, "")
    };
    way.because = vec![format!("it must be known to the kubelet for imageMinimumGCAge {min}")];
    settle(&mut way, asked, item, 0);
    way
}

/// Finds the state of a way, says when, and drops a moment that is past. `strictly` is 1 where the moment
/// itself is too early.
fn settle(way: &mut Way, asked: Asked<'_>, item: &PlannedImage, strictly: i64) {
    let now = asked.sources.now;
    let is_past = |moment: Option<Timestamp>| moment.is_some_and(|at| at.plus(strictly) <= now);
    way.state = match (item.verdict, way.not_before) {
        (Verdict::InUse, _) => WayState::InUse,
        _ if is_past(way.not_after) => WayState::Open,
        (_, Some(_)) if !is_past(way.not_before) => WayState::Later,
        _ => WayState::Perhaps,
    };
    let pass = match way.by {
        WayBy::Pressure => "when disk pressure comes".to_owned(),
        WayBy::Space => format!(
            "with the next pass of the loop, every {}, when space is wanted",
            Garbage::Images.interval()
        ),
        WayBy::Age => {
            format!("with the next pass of the loop, every {}", Garbage::Images.interval())
        }
    };
    let at = |moment: Timestamp| format!("{moment} (in {})", ago(moment.since(now)));
    match way.state {
        WayState::InUse => {
            // While it is used the last use moves on, and nobody knows for how long.
            way.not_after = None;
            way.not_before = way.not_before.filter(|_| !is_past(way.not_before));
            way.because.insert(
                0,
                match way.not_before {
                    Some(moment) => format!(
                        "not before its containers are removed, and not before {}",
                        at(moment)
                    ),
                    None => "not before its containers are removed".to_owned(),
                },
            );
        }
        WayState::Open => {
            (way.not_before, way.not_after) = (None, None);
            way.because.insert(0, format!("old enough: {pass}"));
        }
        WayState::Later | WayState::Perhaps => {
            way.not_before = way.not_before.filter(|_| !is_past(way.not_before));
            let text = match (way.not_before, way.not_after) {
                (Some(from), Some(until)) if from == until => at(from),
                (Some(from), Some(until)) => format!("between {} and {}", at(from), at(until)),
                (None, Some(until)) => format!("now already, or by {}", at(until)),
                (Some(from), None) => format!("from {} on", at(from)),
                (None, None) => "at a time that is not known".to_owned(),
            };
            way.because.insert(0, format!("{text}, then {pass}"));
        }
        WayState::Never => {}
    }
}

/// Finds out how full the disk must be.
fn space(asked: Asked<'_>, now: &PlannedImage) -> SpaceWay {
    let policy = asked.policy;
    let mut space = SpaceWay {
        usage: asked.periodic.run.usage,
        high_threshold_percent: policy.high_threshold_percent,
        ..SpaceWay::default()
    };
    let Some(usage) = space.usage else { return space };
    space.largest_available_bytes =
        largest_available(usage.capacity_bytes, policy.high_threshold_percent);
    let Some(largest) = space.largest_available_bytes else { return space };
    space.missing_bytes = Some(usage.available_bytes.saturating_sub(largest).max(0));
    if now.verdict == Verdict::InUse {
        return space;
    }
    // Where space is wanted now, the plan of now says what goes before; else the one at the threshold.
    let is_reached = asked.periodic.run.wants_space == Some(true);
    let plan = if is_reached { Some(asked.periodic) } else { asked.at_threshold };
    let Some((plan, then)) = plan.and_then(|plan| Some((plan, item(plan, asked.image)?))) else {
        return space;
    };
    space.place = then.place;
    space.candidates = candidates(plan);
    space.certainty = Some(then.certainty);
    let before = freed_before(plan, then);
    space.freed_before_bytes = before.or(Some(0)).filter(|_| then.place.is_some());
    let low = i128::from(policy.low_threshold_percent);
    let target = i128::from(usage.capacity_bytes) * (100 - low) / 100;
    let turn = match before {
        // Whoever is first goes, even where nothing is wanted any more.
        None => i128::from(largest),
        Some(before) => i128::from(largest).min(target - i128::from(before) - 1),
    };
    if turn >= 0 && then.place.is_some() {
        let missing = i128::from(usage.available_bytes) - turn;
        space.missing_until_its_turn_bytes = i64::try_from(missing.max(0)).ok();
    }
    space
}

/// Returns what those free that come before an image; `None`: none goes before it.
fn freed_before(plan: &ImageGcPlan, then: &PlannedImage) -> Option<i64> {
    let goes = |item: &&PlannedImage| {
        matches!(item.verdict, Verdict::RemovedForSpace | Verdict::TargetReached)
            && item.place.is_some()
            && item.place < then.place
    };
    let sizes = plan.items.iter().filter(goes).map(|item| item.size_bytes);
    sizes.reduce(i64::saturating_add)
}

fn space_because(asked: Asked<'_>, space: &SpaceWay) -> Vec<String> {
    let high = space.high_threshold_percent;
    let Some(usage) = space.usage else {
        return vec!["how full the image file system is is not known: say --at-usage".to_owned()];
    };
    let Some((largest, missing)) = space.largest_available_bytes.zip(space.missing_bytes) else {
        return vec![format!(
            "{}: with such a size the kubelet's sums wrap around, and nothing can be said",
            usage_text(usage)
        )];
    };
    let mut because = vec![match missing {
        0 => format!("{} >= imageGCHighThresholdPercent {high}%", usage_text(usage)),
        _ => format!(
            "{}; imageGCHighThresholdPercent {high}% is reached with {missing} bytes more in use, when \
             {largest} bytes or less are available",
            usage_text(usage)
        ),
    }];
    let (Some(place), Some(before)) = (space.place, space.freed_before_bytes) else {
        return because;
    };
    let mut order = format!("it is number {place} of {} in the order", space.candidates);
    if space.certainty.is_some_and(|certainty| certainty != Certainty::Certain) {
        order.push_str(", as far as is known");
    }
    because.push(match (space.missing_until_its_turn_bytes, before) {
        (Some(turn), 0) if turn == missing => format!("{order}, and none goes before it"),
        (Some(0), _) => format!("{order}: those before it free {before} bytes, which is not enough"),
        (Some(turn), _) if turn == missing => {
            format!("{order}: those before it free {before} bytes, which is not enough then")
        }
        (Some(turn), _) => format!(
            "{order}: those before it free {before} bytes, and its turn comes with {turn} bytes more in \
             use than now"
        ),
        (None, _) => format!(
            "{order}: those before it free {before} bytes, which is enough even on a full disk to come \
             down to imageGCLowThresholdPercent {}%",
            asked.policy.low_threshold_percent
        ),
    });
    because
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image_gc::cycle::ImageFs;

    #[test]
    fn the_largest_available_is_where_the_kubelet_begins() {
        for capacity in (1..=230).chain([1_000, 12_345, 99_999]) {
            for high in 0..=100 {
                let reached = |available: i64| {
                    let fs = ImageFs {
                        capacity: u64::try_from(capacity).ok(),
                        available: u64::try_from(available).ok(),
                    };
                    fs.usage().is_some_and(|usage| usage.percent >= i64::from(high))
                };
                let largest = largest_available(capacity, high).expect("it can be said");
                assert!(reached(largest), "{capacity} {high}: {largest}");
                assert!(
                    largest == capacity || !reached(largest + 1),
                    "{capacity} {high}: more than {largest}"
                );
            }
        }
        for (name, capacity, high) in [
            ("no size", 0, 85),
            ("negative", -1, 85),
            ("wraps", i64::MAX / 100 + 1, 85),
            ("no percentage", 100, 102),
        ] {
            assert_eq!(largest_available(capacity, high), None, "{name}");
        }
        assert!(largest_available(i64::MAX / 100, 1).is_some(), "just not");
    }
}
