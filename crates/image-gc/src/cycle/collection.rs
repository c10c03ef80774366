//! One cycle of image garbage collection, from the lists to the events.
//!
//! Rules: `GarbageCollect` and `DeleteUnusedImages` in `pkg/kubelet/images/image_gc_manager.go`, read
//! in 1.36.

use super::detection::{ImageUser, ListedImage, Records, detect, images_in_use};
use super::passes::{
    AgeVerdict, Candidate, Candidates, Remove, SpaceVerdict, age_pass, age_pass_runs, candidates,
    space_pass,
};
use super::usage::{ImageFs, Usage, size_text};
use crate::policy::ImageGcPolicy;
use kq_facts::timestamp::Timestamp;
use kq_k8s::go_text::aggregate;
use kq_k8s::kubelet_rules::KubeletRules;
use serde::Serialize;
use std::sync::Arc;

/// What the runtime and the statistics say at the time of a cycle, or the text with which they fail.
#[derive(Clone, Copy, Debug)]
pub struct GcInputs<'a> {
    /// `ListImages`
    pub images: Result<&'a [ListedImage], &'a str>,
    /// Every container, in every state.
    pub users: Result<&'a [ImageUser], &'a str>,
    /// The image file system.
    pub image_fs: Result<ImageFs, &'a str>,
}

/// When, and by which rules.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<'a> {
    /// The thresholds and ages.
    pub policy: &'a ImageGcPolicy,
    /// The kubelet's version and gates.
    pub rules: KubeletRules,
    /// When the kubelet began to collect.
    pub began: Timestamp,
    /// The moment of the cycle; the clock stands still in it.
    pub now: Timestamp,
}

/// An event of the kubelet about its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// `Warning`
    pub r#type: &'static str,
    /// `FreeDiskSpaceFailed`
    pub reason: &'static str,
    /// In words.
    pub message: String,
}

impl Event {
    fn warning(reason: &'static str, message: &str) -> Self {
        Self { r#type: "Warning", reason, message: message.to_owned() }
    }
}

/// The result for a candidate in the passes that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// The image.
    pub candidate: Candidate,
    /// `None`: the age pass did not run.
    pub age: Option<AgeVerdict>,
    /// `None`: the space pass did not run, or the image was gone by then.
    pub space: Option<SpaceVerdict>,
}

/// What a cycle did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collection {
    /// With what it failed.
    pub error: Option<String>,
    /// How full the file system was, as far as the cycle came to ask; `None`: it did not, or the
    /// capacity is invalid.
    pub usage: Option<Usage>,
    /// What was to be freed; `None`: the space pass did not run.
    pub amount: Option<i64>,
    /// Who is in use, pinned, or without id.
    pub passed_over: PassedOver,
    /// The candidates in order, with their verdicts.
    pub considered: Vec<Considered>,
    /// The sizes of what the age pass removed.
    pub freed_by_age: i64,
    /// The sizes of what the space pass removed.
    pub freed_by_space: i64,
    pub events: Vec<Event>,
    /// Receives the IDs of the images that stay; `None`: not needed.
    pub remaining: Option<Vec<Arc<str>>>,
}

/// The keys of the images that were no candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    pub in_use: Vec<Arc<str>>,
    /// Pinned, and not in use.
    pub pinned: Vec<Arc<str>>,
    /// Without id.
    pub invalid: Vec<Arc<str>>,
}

/// Runs the cycle of the kubelet's loop: images that are too old go, then as many as the thresholds
/// want.
pub fn garbage_collect(
    records: &mut Records,
    cycle: Cycle<'_>,
    world: GcInputs<'_>,
    remove: Remove<'_>,
) -> Collection {
    let Cycle { policy, rules, began, now } = cycle;
    let mut done = match begin(records, cycle, world) {
        Ok(done) => done,
        Err(error) => return failed(error),
    };
    if age_pass_runs(policy, began, now) && !run_age_pass(&mut done, records, cycle, remove) {
        return done;
    }
    let fs = match world.image_fs {
        Ok(fs) => fs,
        Err(error) => {
            done.error = Some(error.to_owned());
            return done;
        }
    };
    done.usage = fs.usage();
    let Some(usage) = done.usage else {
        let text = "invalid capacity 0 on image filesystem";
        done.events.push(Event::warning("InvalidDiskCapacity", text));
        done.error = Some(text.to_owned());
        return done;
    };
    done.amount = usage.amount_to_free(policy);
    let Some(amount) = done.amount else { return done };
    if !run_space_pass(&mut done, records, cycle, amount, remove) {
        return done;
    }
    let freed = done.freed_by_space;
    if freed < amount {
        let text = not_enough(rules, usage, amount, freed);
        done.events.push(Event::warning("FreeDiskSpaceFailed", &text));
        done.error = Some(text);
    }
    done
}

/// Removes every image that is not in use, as the kubelet does under disk pressure.
pub fn delete_unused_images(
    records: &mut Records,
    cycle: Cycle<'_>,
    world: GcInputs<'_>,
    remove: Remove<'_>,
) -> Collection {
    let mut done = match begin(records, cycle, world) {
        Ok(done) => done,
        Err(error) => return failed(error),
    };
    run_space_pass(&mut done, records, cycle, i64::MAX, remove);
    done
}

/// Detects the images and removes none, as the detection between two collections does.
pub fn detect_images(records: &mut Records, cycle: Cycle<'_>, world: GcInputs<'_>) -> Collection {
    begin(records, cycle, world).unwrap_or_else(failed)
}

/// Lists, detects, and finds the candidates.
fn begin(
    records: &mut Records,
    cycle: Cycle<'_>,
    world: GcInputs<'_>,
) -> Result<Collection, String> {
    let images = world.images?;
    let in_use = images_in_use(images, world.users?, cycle.rules)?;
    detect(records, images, &in_use, cycle.now, cycle.rules);
    let Candidates { ordered, in_use, pinned, invalid } = candidates(records, cycle.rules);
    let event = |key: &Arc<str>| {
        let text = format!("ImageID is not valid, skipping, image: {key}");
        // The reason took the place of the text until it was given one.
        match cycle.rules.names_invalid_image_ids() {
            true => Event::warning("InvalidImageID", &text),
            false => Event::warning("ImageID is not valid, skipping, ImageID: %v", ""),
        }
    };
    Ok(Collection {
        events: invalid.iter().map(event).collect(),
        passed_over: PassedOver { in_use, pinned, invalid },
        considered: ordered
            .into_iter()
            .map(|candidate| Considered { candidate, age: None, space: None })
            .collect(),
        ..Collection::default()
    })
}

fn failed(error: String) -> Collection {
    Collection { error: Some(error), ..Collection::default() }
}

/// Runs the age pass; returns whether the cycle goes on.
fn run_age_pass(
    done: &mut Collection,
    records: &mut Records,
    cycle: Cycle<'_>,
    remove: Remove<'_>,
) -> bool {
    let ordered = done.considered.iter().map(|considered| &considered.candidate);
    let verdicts = age_pass(ordered, cycle.policy, cycle.now, remove);
    let mut errors = Vec::new();
    for (considered, verdict) in done.considered.iter_mut().zip(verdicts) {
        match &verdict {
            AgeVerdict::Removed => {
                let Candidate { key, record } = &considered.candidate;
                records.remove(key);
                done.freed_by_age = done.freed_by_age.wrapping_add(record.size);
            }
            AgeVerdict::Failed(reason) => add_once(&mut errors, reason),
            AgeVerdict::Kept => {}
        }
        considered.age = Some(verdict);
    }
    if !errors.is_empty() {
        done.error = Some(format!(
            "wanted to free images older than {}, encountered errors in image deletion: {}",
            cycle.policy.max_age,
            aggregate(&errors)
        ));
    }
    errors.is_empty()
}

/// Runs the space pass; returns whether it went without failures.
fn run_space_pass(
    done: &mut Collection,
    records: &mut Records,
    cycle: Cycle<'_>,
    amount: i64,
    remove: Remove<'_>,
) -> bool {
    let is_left = |considered: &Considered| considered.age != Some(AgeVerdict::Removed);
    let left = || done.considered.iter().filter(|considered| is_left(considered));
    let ordered = left().map(|considered| &considered.candidate);
    let (verdicts, freed) = space_pass(ordered, amount, cycle.policy, cycle.now, remove);
    done.freed_by_space = freed;
    let (mut errors, mut remaining) = (Vec::new(), Vec::new());
    let left = done.considered.iter_mut().filter(|considered| is_left(considered));
    for (considered, verdict) in left.zip(verdicts) {
        let Candidate { key, record } = &considered.candidate;
        match &verdict {
            SpaceVerdict::Removed => {
                records.remove(key);
            }
            SpaceVerdict::Failed(reason) => add_once(&mut errors, reason),
            SpaceVerdict::UsedSince | SpaceVerdict::Young => remaining.push(Arc::clone(&record.id)),
            SpaceVerdict::NotReached => {}
        }
        considered.space = Some(verdict);
    }
    if errors.is_empty() {
        done.remaining = Some(remaining);
        return true;
    }
    done.error = Some(format!(
        "wanted to free {amount} bytes, but freed {freed} bytes space with errors in image deletion: {}",
        aggregate(&errors)
    ));
    false
}

fn add_once(errors: &mut Vec<String>, error: &String) {
    if !errors.contains(error) {
        errors.push(error.clone());
    }
}

/// Returns what the kubelet says when it could not free enough.
fn not_enough(rules: KubeletRules, usage: Usage, amount: i64, freed: i64) -> String {
    if !rules.explains_full_image_filesystem() {
        return format!(
            "Failed to garbage collect required amount of images. Attempted to free {amount} bytes, \
             but only found {freed} bytes eligible to free."
        );
    }
    format!(
        "Insufficient free disk space on the node's image filesystem ({}% of {} used). Failed to free \
         sufficient space by deleting unused images (freed {freed} bytes). Investigate disk usage, as \
         it could be used by active images, logs, volumes, or other data.",
        usage.percent,
        size_text(usage.capacity_bytes)
    )
}
