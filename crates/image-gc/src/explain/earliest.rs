//! When an image could go at the earliest: for its age, for space, and under disk pressure.
//!
//! Rules: `freeOldImages`, `freeSpace` and `GarbageCollect` in
//! `pkg/kubelet/images/image_gc_manager.go`, read in 1.36. The maximum age counts from the last use and
//! from the kubelet's start, the minimum age from when the kubelet first found the image; both are in
//! its memory only, so a moment lies between two others. A container holds its image until the runtime has removed it; which
//! dead containers go is the question of `src/image_gc/containers` (`evictContainers` in
//! `pkg/kubelet/kuberuntime/kuberuntime_gc.go`).

use super::reason::{DeadLimit, UseFate, WayReason};
use super::{ExplainInput, candidates, item};
use crate::containers::{ContainerGcPlan, Step};
use crate::cycle::Usage;
use crate::knowledge::{ImageTimes, STARTING};
use crate::loops::Garbage;
use crate::plan::{ImageGcPlan, PlannedImage, Verdict};
use crate::uses::Use;
use kq_answer::{Certainty, Worded};
use kq_facts::runtime::ContainerState;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
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
    /// The moment from which nothing but the trigger is missing, at the earliest; null: it is past, or unknown.
    pub not_before: Option<Timestamp>,
    /// The same at the latest; null: unknown.
    pub not_after: Option<Timestamp>,
    /// How full the disk must be; only where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<SpaceWay>,
    /// Why.
    pub because: Vec<Worded<WayReason>>,
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
    /// Never removed in this way with these settings.
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
    /// How much more must be used until those before it are not enough, in bytes; 0: they are not. Null: unknown, or
    /// they are even on a full disk.
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
pub(super) fn ways(input: ExplainInput<'_>, known: &ImageTimes) -> Option<Vec<Way>> {
    let now = item(input.periodic, input.image)?;
    let pressed = item(input.eviction, input.image)?;
    Some(vec![
        by_age(input, known, now),
        by_space(input, known, now),
        by_pressure(input, known, pressed),
    ])
}

/// Returns why an image never goes, whatever the trigger.
fn never(input: ExplainInput<'_>, item: &PlannedImage) -> Option<WayReason> {
    match item.verdict {
        Verdict::NoId => Some(WayReason::NoId),
        _ if input.image.pinned => Some(WayReason::Pinned),
        _ => None,
    }
}

/// Returns a way for one reason; it is closed until more is known.
fn closed(by: WayBy, because: WayReason) -> Way {
    Way {
        by,
        state: WayState::Never,
        not_before: None,
        not_after: None,
        space: None,
        because: vec![because.into()],
    }
}

fn by_age(input: ExplainInput<'_>, known: &ImageTimes, item: &PlannedImage) -> Way {
    let ExplainInput { policy, sources, .. } = input;
    let max = policy.max_age;
    if let Some(because) = never(input, item) {
        return closed(WayBy::Age, because);
    }
    if max.0 == 0 {
        return closed(WayBy::Age, WayReason::MaximumAgeOff);
    }
    let start = sources.kubelet_start;
    let from = start.max(known.first_place().0);
    let until = start.map_or(sources.now, |start| start.plus(STARTING.0).min(sources.now));
    let until = known.last_place().0.map_or(until, |used| used.max(until));
    let mut way = Way {
        by: WayBy::Age,
        not_before: from.map(|from| from.plus(max.0)),
        not_after: Some(until.plus(max.0)),
        ..closed(WayBy::Age, WayReason::MaximumAge { maximum_age: max })
    };
    // Longer than the age is more than the age.
    settle(&mut way, input, item, 1);
    way
}

fn by_space(input: ExplainInput<'_>, known: &ImageTimes, now: &PlannedImage) -> Way {
    let policy = input.policy;
    if let Some(because) = never(input, now) {
        return closed(WayBy::Space, because);
    }
    if !policy.is_collecting() {
        return closed(WayBy::Space, WayReason::LoopOff);
    }
    let mut way = young(input, known, now, WayBy::Space);
    let space = space(input, now);
    way.because.extend(space_because(input, &space).into_iter().map(Worded));
    way.space = Some(space);
    way
}

fn by_pressure(input: ExplainInput<'_>, known: &ImageTimes, item: &PlannedImage) -> Way {
    if let Some(because) = never(input, item) {
        return closed(WayBy::Pressure, because);
    }
    let mut way = young(input, known, item, WayBy::Pressure);
    way.because.push(WayReason::EvictionSignal.into());
    way
}

/// Begins a way that is open from the minimum age on.
fn young(input: ExplainInput<'_>, known: &ImageTimes, item: &PlannedImage, by: WayBy) -> Way {
    let min = input.policy.min_age;
    let found = known.first_detected;
    let mut way = Way {
        by,
        not_before: found.earliest.map(|earliest| earliest.plus(min.0)),
        not_after: Some(found.latest.plus(min.0)),
        ..closed(by, WayReason::MinimumAge { minimum_age: min })
    };
    settle(&mut way, input, item, 0);
    way
}

/// Finds the state of a way, says when, and drops a moment that is past. `strictly` is 1 where the moment
/// itself is too early.
fn settle(way: &mut Way, input: ExplainInput<'_>, item: &PlannedImage, strictly: i64) {
    let now = input.sources.now;
    let is_past = |moment: Option<Timestamp>| moment.is_some_and(|at| at.plus(strictly) <= now);
    way.state = match (item.verdict, way.not_before) {
        (Verdict::InUse, _) => WayState::InUse,
        _ if is_past(way.not_after) => WayState::Open,
        (_, Some(_)) if !is_past(way.not_before) => WayState::Later,
        _ => WayState::Perhaps,
    };
    let by = way.by;
    let reason = match way.state {
        WayState::Never => return,
        WayState::InUse => {
            // The last use moves on for as long as it is used.
            way.not_after = None;
            way.not_before = way.not_before.filter(|_| !is_past(way.not_before));
            WayReason::InUse { not_before: way.not_before, now }
        }
        WayState::Open => {
            (way.not_before, way.not_after) = (None, None);
            WayReason::OldEnough { by }
        }
        WayState::Later | WayState::Perhaps => {
            way.not_before = way.not_before.filter(|_| !is_past(way.not_before));
            let (not_before, not_after) = (way.not_before, way.not_after);
            WayReason::OldEnoughAt { not_before, not_after, by, now }
        }
    };
    way.because.insert(0, reason.into());
}

/// Finds out how full the disk must be.
fn space(input: ExplainInput<'_>, now: &PlannedImage) -> SpaceWay {
    let policy = input.policy;
    let mut space = SpaceWay {
        usage: input.periodic.run.usage,
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
    let is_reached = input.periodic.run.wants_space == Some(true);
    let plan = if is_reached { Some(input.periodic) } else { input.at_threshold };
    let Some((plan, then)) = plan.and_then(|plan| Some((plan, item(plan, input.image)?))) else {
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
        // The first one is removed, even if no space is needed any more.
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

fn space_because(input: ExplainInput<'_>, space: &SpaceWay) -> Vec<WayReason> {
    let high_threshold_percent = space.high_threshold_percent;
    let Some(usage) = space.usage else { return vec![WayReason::UsageUnknown] };
    let known = space.largest_available_bytes.zip(space.missing_bytes);
    let Some((largest_available_bytes, missing_bytes)) = known else {
        return vec![WayReason::SumsWrap { usage }];
    };
    let mut because = vec![match missing_bytes {
        0 => WayReason::HighThresholdReached { usage, high_threshold_percent },
        _ => WayReason::HighThresholdNotReached {
            usage,
            high_threshold_percent,
            missing_bytes,
            largest_available_bytes,
        },
    }];
    because.extend(space.place.zip(space.freed_before_bytes).map(|(place, freed_before_bytes)| {
        WayReason::Order {
            place,
            candidates: space.candidates,
            is_certain: space.certainty.is_none_or(|certainty| certainty == Certainty::Certain),
            freed_before_bytes,
            missing_bytes,
            missing_until_its_turn_bytes: space.missing_until_its_turn_bytes,
            low_threshold_percent: input.policy.low_threshold_percent,
        }
    }));
    because
}

/// A container that uses the image, and when that use ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedUse {
    /// The container.
    #[serde(flatten)]
    pub used: Use,
    /// What the loop of containers does with it.
    pub in_loop: Worded<UseFate>,
    /// The result under disk pressure.
    pub under_pressure: Worded<UseFate>,
}

impl ExplainedUse {
    pub(super) fn of(used: &Use, input: ExplainInput<'_>) -> Self {
        let max_per_pod_container = input.container_policy.max_per_pod_container;
        let limit = Some(DeadLimit { max_per_pod_container });
        let (in_loop, under_pressure) = if used.state == ContainerState::Running {
            (UseFate::Runs { limit }, UseFate::Runs { limit: None })
        } else {
            let interval = Some(Garbage::Containers.interval());
            let pressed = input.eviction.containers.as_ref();
            (
                fate(input.containers, &used.container_id, limit, interval),
                pressed.map_or(UseFate::Unknown, |it| fate(it, &used.container_id, None, None)),
            )
        };
        Self { used: used.clone(), in_loop: in_loop.into(), under_pressure: under_pressure.into() }
    }
}

/// Returns the fate of a dead container.
fn fate(
    plan: &ContainerGcPlan,
    id: &str,
    limit: Option<DeadLimit>,
    interval: Option<GoDuration>,
) -> UseFate {
    let step = plan.steps.iter().find(|step| matches!(step, Step::Container(_)) && step.id() == id);
    if let Some(step) = step {
        return UseFate::Goes { reason: step.reason().clone(), interval };
    }
    let left = plan.containers.iter().find(|left| left.id == id);
    left.map_or(UseFate::Unknown, |left| UseFate::Stays { reason: left.reason.clone(), limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::ImageFs;

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
