//! Chooses the reasons of a plan.

use super::build::Inputs;
use super::report::{Freed, Outcome, Run, Trigger};
use crate::certainty::Space;
use crate::cycle::{AgeVerdict, Considered, ImageFs, SpaceVerdict, Usage};
use crate::knowledge::{ImageTimes, Tristate};
use crate::policy::ImageGcPolicy;
use crate::reason::{Consequence, Dependency, ImageAge, ImageReason, RunReason};
use crate::uses::Use;
use kq_answer::Worded;
use kq_k8s::duration::GoDuration;

/// Returns why a collection runs, and what it frees.
pub(super) fn decision(
    inputs: &Inputs<'_>,
    usage: Option<Usage>,
    age: Tristate,
    space: Space,
) -> Vec<Worded<RunReason>> {
    let policy = &inputs.policy;
    if inputs.trigger == Trigger::Eviction {
        let sentences = inputs.reclaim.iter().flat_map(|reclaim| reclaim.because.iter().cloned());
        let manager = sentences.map(|sentence| RunReason::EvictionManager { sentence });
        let unused = RunReason::UnusedImages { minimum_age: policy.min_age };
        let unused = (!inputs.spares_images()).then_some(unused);
        return manager.chain(unused).map(Worded).collect();
    }
    let mut because = vec![Worded(age_decision(inputs, age))];
    if inputs.trigger == Trigger::Periodic {
        because.push(Worded(space_decision(inputs, usage, space)));
    }
    because
}

fn age_decision(inputs: &Inputs<'_>, age: Tristate) -> RunReason {
    let maximum_age = inputs.policy.max_age;
    let up = inputs.kubelet_start.as_ref().map(|start| GoDuration(inputs.now.since(start.at)));
    match (age, up) {
        _ if maximum_age.0 == 0 => RunReason::MaximumAgeOff,
        (Tristate::Always, Some(up)) => RunReason::UpForLonger { up, maximum_age },
        (Tristate::Never, Some(up)) => RunReason::UpForLess { up, maximum_age },
        _ => RunReason::UpForUnknown { maximum_age },
    }
}

fn space_decision(inputs: &Inputs<'_>, usage: Option<Usage>, space: Space) -> RunReason {
    let policy = &inputs.policy;
    let high_threshold_percent = policy.high_threshold_percent;
    let low_threshold_percent = policy.low_threshold_percent;
    if !policy.is_collecting() {
        return RunReason::LoopOff { high_threshold_percent };
    }
    match (usage, space, &inputs.image_fs) {
        (Some(usage), Space::Wanted(amount_to_free_bytes), _) => RunReason::HighThresholdReached {
            usage,
            high_threshold_percent,
            low_threshold_percent,
            amount_to_free_bytes,
        },
        (Some(usage), Space::Unknown, _) => RunReason::AgeDecides { usage, high_threshold_percent },
        (Some(usage), ..) => RunReason::HighThresholdNotReached { usage, high_threshold_percent },
        (None, _, Ok(_)) => RunReason::NoCapacity,
        (None, _, Err(error)) => RunReason::UsageUnknown { error: error.clone() },
    }
}

/// Returns why a candidate goes or stays.
pub(super) fn candidate_reason(
    inputs: &Inputs<'_>,
    policy: &ImageGcPolicy,
    considered: &Considered,
    freed_before_bytes: i64,
    space: Space,
) -> ImageReason {
    let record = &considered.candidate.record;
    let since = |time| GoDuration(inputs.now.since(time));
    let was_used = !inputs.uses_before.of_key(&considered.candidate.key).is_empty();
    let age = ImageAge {
        dead_containers_use_it: was_used && record.last_used.is_none(),
        unused_for: record.last_used.map(since),
        detected_for: record.first_detected.map(since),
    };
    let wanted_bytes = match space {
        Space::Wanted(i64::MAX) => None,
        Space::Wanted(amount) => Some(amount),
        _ => None,
    };
    match (&considered.age, &considered.space) {
        (Some(AgeVerdict::Removed), _) => {
            ImageReason::MaximumAge { maximum_age: policy.max_age, age }
        }
        (_, Some(SpaceVerdict::Removed)) => match wanted_bytes {
            None => ImageReason::Unused { age },
            Some(wanted_bytes) => {
                ImageReason::SpaceWanted { freed_before_bytes, wanted_bytes, age }
            }
        },
        (_, Some(SpaceVerdict::NotReached)) => {
            let wanted_bytes = wanted_bytes.unwrap_or_default();
            ImageReason::TargetReached { freed_before_bytes, wanted_bytes, age }
        }
        (_, Some(SpaceVerdict::Young)) => {
            ImageReason::MinimumAge { detected_for: age.detected_for, minimum_age: policy.min_age }
        }
        (_, Some(SpaceVerdict::UsedSince)) => ImageReason::UsedSince { age },
        _ if inputs.spares_images() => ImageReason::ImagesNotReclaimed { age },
        _ if space == Space::Unknown => ImageReason::SpaceUnknown { age },
        _ if fails(inputs) => ImageReason::CollectionFails { age },
        _ => ImageReason::NothingWanted { age },
    }
}

/// Returns true if the collection ends with an error before it removes for space: of a capacity of 0 the kubelet computes no
/// usage (`freeSpace`, `pkg/kubelet/images/image_gc_manager.go`).
fn fails(inputs: &Inputs<'_>) -> bool {
    let has_no_usage = inputs.image_fs.as_ref().is_ok_and(|(fs, _)| fs.usage().is_none());
    inputs.trigger == Trigger::Periodic && inputs.policy.is_collecting() && has_no_usage
}

/// Returns why an image in use stays.
pub(super) fn used_reason(used_by: &[Use]) -> ImageReason {
    ImageReason::InUse { containers: used_by.len(), first: used_by.first().map(Use::to_string) }
}

/// Returns the facts on which an uncertain verdict depends.
pub(super) fn depends_on(inputs: &Inputs<'_>, known: &ImageTimes, space: Space) -> Dependency {
    if space == Space::Unknown && inputs.image_fs.is_err() {
        return Dependency::Usage;
    }
    if space == Space::Unknown {
        return Dependency::FreedForAge;
    }
    if inputs.uses.volumes_unknown.is_some() {
        return Dependency::ImageVolumes;
    }
    Dependency::KubeletMemory { known: Some((*known, inputs.now)) }
}

/// Returns the consequences.
pub(super) fn follows(
    inputs: &Inputs<'_>,
    run: &Run,
    found: Option<Usage>,
    freed: &Freed,
    outcome: &Outcome,
) -> Vec<Worded<Consequence>> {
    let mut follows = Vec::new();
    if let Some(error) = &outcome.error {
        follows.push(Consequence::Fails { error: error.clone() });
        if inputs.trigger != Trigger::Eviction {
            follows.push(Consequence::SecondFailureIsEvent);
        }
    } else if let (Some(wanted_bytes), Trigger::Periodic) =
        (run.amount_to_free_bytes, inputs.trigger)
    {
        follows.push(Consequence::TargetMet { freed_bytes: freed.by_space_bytes, wanted_bytes });
    }
    let real = found.zip(freed.real_bytes).filter(|_| freed.images > 0);
    if let Some((usage, freed_bytes)) = real {
        let available = u64::try_from(usage.available_bytes).ok();
        let after = ImageFs {
            capacity: u64::try_from(usage.capacity_bytes).ok(),
            available: available.map(|available| available.saturating_add(freed_bytes)),
        };
        follows.extend(after.usage().map(|after| Consequence::UsageFalls {
            freed_bytes,
            from_percent: usage.percent,
            to_percent: after.percent,
        }));
    }
    follows.into_iter().map(Worded).collect()
}
