//! The reasons of a plan, in words and numbers.

use super::build::Inputs;
use super::report::{Freed, Outcome, Run, Trigger};
use crate::facts::timestamp::Timestamp;
use crate::image_gc::certainty::Space;
use crate::image_gc::cycle::{AgeVerdict, Considered, ImageFs, Record, SpaceVerdict, Usage};
use crate::image_gc::knowledge::{Answer, ImageTimes, RecordCoverage, Span};
use crate::image_gc::policy::ImageGcPolicy;
use crate::image_gc::uses::Use;
use crate::k8s::duration::GoDuration;

/// Returns a length of time in whole seconds, as Go writes it.
pub fn ago(nanoseconds: i64) -> String {
    GoDuration(nanoseconds - nanoseconds % 1_000_000_000).to_string()
}

/// Returns the decision to run, with its numbers.
pub(super) fn decision(
    inputs: &Inputs<'_>,
    usage: Option<Usage>,
    age: Answer,
    space: Space,
) -> Vec<String> {
    let policy = &inputs.policy;
    let mut because = Vec::new();
    if inputs.trigger == Trigger::Eviction {
        because.extend(inputs.reclaim.iter().flat_map(|reclaim| reclaim.because.clone()));
        if inputs.spares_images() {
            return because;
        }
        because.push(format!(
            "under disk pressure every image that is not in use goes, but for those younger than \
             imageMinimumGCAge {}; thresholds do not matter",
            policy.min_age
        ));
        return because;
    }
    because.push(age_decision(inputs, age));
    if inputs.trigger == Trigger::Age {
        return because;
    }
    let (high, low) = (policy.high_threshold_percent, policy.low_threshold_percent);
    if !policy.is_collecting() {
        because.push(format!(
            "imageGCHighThresholdPercent {high}% with imageMaximumGCAge off: the kubelet does not \
             collect images, but under disk pressure"
        ));
        return because;
    }
    match (usage, space) {
        (Some(usage), Space::Wanted(amount)) => because.push(format!(
            "{} >= imageGCHighThresholdPercent {high}%, so images go until {amount} bytes are free \
             more: {} x (100 - {low}) / 100 - {}, down to imageGCLowThresholdPercent {low}%",
            usage_text(usage),
            usage.capacity_bytes,
            usage.available_bytes
        )),
        (Some(usage), _) => because.push(format!(
            "{} < imageGCHighThresholdPercent {high}%, so no space is wanted",
            usage_text(usage)
        )),
        (None, _) => match &inputs.image_fs {
            Ok(_) => because.push("the capacity of the image file system is 0".to_owned()),
            Err(reason) => because.push(format!(
                "how full the image file system is could not be found out ({reason}): say \
                 --at-usage"
            )),
        },
    }
    because
}

/// Returns the usage with its formula.
pub fn usage_text(usage: Usage) -> String {
    format!(
        "usage {}% = 100 - {} x 100 / {}",
        usage.percent, usage.available_bytes, usage.capacity_bytes
    )
}

fn age_decision(inputs: &Inputs<'_>, age: Answer) -> String {
    let max = inputs.policy.max_age;
    let start = inputs.kubelet_start.as_ref().map(|start| start.at);
    let up = start.map(|start| ago(inputs.now.since(start)));
    match (age, up) {
        _ if max.0 == 0 => "imageMaximumGCAge is off: no image goes for its age".to_owned(),
        (Answer::Always, Some(up)) => format!(
            "the kubelet has been up for {up}, longer than imageMaximumGCAge {max}: images unused for \
             longer than that go, at any use of the disk"
        ),
        (Answer::Never, Some(up)) => format!(
            "the kubelet has been up for {up}, not longer than imageMaximumGCAge {max}: no image goes \
             for its age yet"
        ),
        _ => format!(
            "imageMaximumGCAge is {max}, and whether the kubelet has been up for longer is not known: \
             taken to be so"
        ),
    }
}

/// Returns why a candidate goes or stays.
pub(super) fn candidate_reason(
    inputs: &Inputs<'_>,
    policy: &ImageGcPolicy,
    considered: &Considered,
    freed_before: i64,
    space: Space,
) -> String {
    let record = &considered.candidate.record;
    let now = inputs.now;
    let was_used = !inputs.uses_before.of_key(&considered.candidate.key).is_empty();
    let age = match was_used && record.last_used.is_none() {
        true => "used by dead containers, which go first".to_owned(),
        false => age_text(record, now),
    };
    let wanted = match space {
        Space::Wanted(i64::MAX) => None,
        Space::Wanted(amount) => Some(amount),
        _ => None,
    };
    match (&considered.age, &considered.space) {
        (Some(AgeVerdict::Removed), _) => {
            format!("unused for longer than imageMaximumGCAge {}: {age}", policy.max_age)
        }
        (_, Some(SpaceVerdict::Removed)) => match wanted {
            None => format!("not in use; {age}"),
            Some(amount) => {
                format!("its turn comes with {freed_before} of {amount} bytes freed; {age}")
            }
        },
        (_, Some(SpaceVerdict::NotReached)) => format!(
            "{freed_before} bytes are freed before its turn, {} were wanted; {age}",
            wanted.unwrap_or_default()
        ),
        (_, Some(SpaceVerdict::Young)) => format!(
            "first found {} ago, which is less than imageMinimumGCAge {}",
            record.first_detected.map_or_else(|| "-".to_owned(), |at| ago(now.since(at))),
            policy.min_age
        ),
        (_, Some(SpaceVerdict::UsedSince)) => {
            format!("used at the moment of the pass or after it: {age}")
        }
        _ if inputs.spares_images() => {
            format!("not in use, and disk pressure wants no images; {age}")
        }
        _ if space == Space::Unknown => format!("whether space is wanted is not known; {age}"),
        _ => format!("not in use, and nothing is wanted; {age}"),
    }
}

fn age_text(record: &Record, now: Timestamp) -> String {
    let used = match record.last_used {
        Some(used) => format!("last used {} ago", ago(now.since(used))),
        None => "no use is known".to_owned(),
    };
    let found = match record.first_detected {
        Some(found) => format!("first found {} ago", ago(now.since(found))),
        None => "first found at a time that is not known".to_owned(),
    };
    format!("{used}, {found}")
}

/// Returns why an image in use stays.
pub(super) fn used_reason(used_by: &[Use]) -> String {
    match used_by {
        [] => "a container uses it".to_owned(),
        [only] => format!("used by {only}"),
        [first, others @ ..] => format!("used by {first} and {} more", others.len()),
    }
}

/// Returns what a verdict that is not sure depends on.
pub(super) fn depends_on(inputs: &Inputs<'_>, known: Option<&ImageTimes>, space: Space) -> String {
    if space == Space::Unknown {
        return "how full the image file system is".to_owned();
    }
    if inputs.uses.volumes_unknown.is_some() {
        return "which images are mounted as volumes".to_owned();
    }
    let Some(known) = known else { return "the kubelet's memory of it".to_owned() };
    let used = match (known.last_used.may_be_never, known.last_used.span) {
        (_, None) => "never".to_owned(),
        (true, Some(span)) => format!("never, or {}", span_text(span, inputs.now)),
        (false, Some(span)) => span_text(span, inputs.now),
    };
    let found = span_text(known.first_detected, inputs.now);
    let more = match known.basis {
        RecordCoverage::Nothing => "; --kubelet-start and kq gc record narrow it",
        RecordCoverage::Start | RecordCoverage::PartialRecords => "; kq gc record narrows it",
        RecordCoverage::Records => "",
    };
    format!(
        "what the kubelet remembers of it and of others: last used {used}; first found {found}{more}"
    )
}

fn span_text(span: Span, now: Timestamp) -> String {
    let latest = match now.since(span.latest) {
        0 => "now".to_owned(),
        ..0 => "a time that is still to come".to_owned(),
        nanoseconds => format!("{} ago", ago(nanoseconds)),
    };
    match span.earliest {
        None if span.latest > now => "at any time".to_owned(),
        None => format!("any time until {latest}"),
        Some(earliest) if earliest == span.latest => latest,
        Some(earliest) => format!("between {} ago and {latest}", ago(now.since(earliest))),
    }
}

/// Returns what follows, a sentence each.
pub(super) fn follows(
    inputs: &Inputs<'_>,
    run: &Run,
    freed: &Freed,
    outcome: &Outcome,
) -> Vec<String> {
    let mut follows = Vec::new();
    if let Some(error) = &outcome.error {
        follows.push(format!("the collection fails: {error}"));
        if inputs.trigger != Trigger::Eviction {
            follows.push(
                "the kubelet tells a second failure in a row as an event ImageGCFailed on its node, a \
                 first one only in its log"
                    .to_owned(),
            );
        }
    } else if let (Some(amount), Trigger::Periodic) = (run.amount_to_free_bytes, inputs.trigger) {
        follows.push(format!(
            "the target is met: {} bytes are counted as freed, {amount} were wanted",
            freed.by_space_bytes
        ));
    }
    let after = run.usage.zip(freed.real_bytes).filter(|_| freed.images > 0);
    if let Some((usage, real)) = after {
        let after = ImageFs {
            capacity: u64::try_from(usage.capacity_bytes).ok(),
            available: u64::try_from(usage.available_bytes)
                .ok()
                .map(|available| available.saturating_add(real)),
        };
        if let Some(after) = after.usage() {
            follows.push(format!(
                "what really comes free, {real} bytes, brings the usage from {}% to {}%",
                usage.percent, after.percent
            ));
        }
    }
    follows
}
