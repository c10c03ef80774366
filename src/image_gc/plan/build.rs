//! From what is known of a node to a plan.

use super::because::{candidate_reason, decision, depends_on, follows, used_reason};
use super::inputs::Inputs;
use super::item::{PlannedImage, Verdict};
use super::report::{Freed, ImageGcPlan, Outcome, Run, Trigger};
use super::ties::Ties;
use crate::answer::{Basis, Certainty, Missing, Worded};
use crate::facts::runtime::Image;
use crate::facts::timestamp::Timestamp;
use crate::image_gc::certainty::{
    PassOutlook, Passes, RemovalForecast, Space, age_pass_runs, foresee,
};
use crate::image_gc::cycle::{
    AgeVerdict, Candidate, Collection, Considered, Cycle, GcInputs, ImageFs, Record, Records,
    SpaceVerdict, delete_unused_images, garbage_collect, image_key, look_at_images,
};
use crate::image_gc::knowledge::{ASSUMPTIONS, ImageTimes, RecordCoverage, Sources, Tristate};
use crate::image_gc::lint::images::looks_like_pause;
use crate::image_gc::policy::ImageGcPolicy;
use crate::image_gc::reason::ImageReason;
use crate::image_gc::storage::freed as really_freed;
use crate::image_gc::uses::{listed, recorded_handler};
use std::collections::{BTreeMap, BTreeSet};

/// A file system from which nobody wants anything.
const EMPTY: ImageFs = ImageFs { capacity: Some(1), available: Some(1) };

/// Plans a collection.
pub fn plan(inputs: Inputs<'_>) -> ImageGcPlan {
    let mut images = listed(inputs.images);
    for image in images.iter_mut().filter(|image| inputs.kept.contains(&image.id)) {
        image.pinned = true;
    }
    let known = known_of(&inputs);
    let mut records = likely_records(&inputs, &known);
    let policy = policy_of(&inputs);
    let start = inputs.kubelet_start.as_ref().map(|start| start.at);
    // A kubelet of which nobody knows when it started is one that has been up for long.
    let began = start.unwrap_or(Timestamp(i64::MIN));
    let cycle = Cycle { policy: &policy, rules: inputs.rules, began, now: inputs.now };
    let fs = match inputs.trigger {
        // Space is not what this part looks at, whatever the file system is like.
        Trigger::Age => Ok(EMPTY),
        // Then the loop does not turn at all.
        Trigger::Periodic if !policy.is_collecting() => Ok(EMPTY),
        _ => inputs.image_fs.as_ref().map(|(fs, _)| *fs),
    };
    let world = GcInputs {
        images: Ok(&images),
        users: Ok(&inputs.uses.users),
        image_fs: fs.map_err(String::as_str),
    };
    let mut remove = |_: &Candidate| Ok(());
    let done = match inputs.trigger {
        Trigger::Eviction if inputs.spares_images() => look_at_images(&mut records, cycle, world),
        Trigger::Eviction => delete_unused_images(&mut records, cycle, world, &mut remove),
        _ => garbage_collect(&mut records, cycle, world, &mut remove),
    };
    let age = match inputs.trigger {
        Trigger::Eviction => Tristate::Never,
        _ => age_pass_runs(cycle, start),
    };
    let space = match (inputs.trigger, &inputs.image_fs) {
        (Trigger::Eviction, _) if inputs.spares_images() => Space::NotWanted,
        (Trigger::Eviction, _) => Space::Wanted(i64::MAX),
        (Trigger::Age, _) => Space::NotWanted,
        (Trigger::Periodic, _) if !policy.is_collecting() => Space::NotWanted,
        (Trigger::Periodic, Err(_)) => Space::Unknown,
        (Trigger::Periodic, Ok(_)) => done.amount.map_or(Space::NotWanted, Space::Wanted),
    };
    let may_be_used = inputs.uses.volumes_unknown.is_some();
    let outlooks = Outlooks::of(&done, &known, cycle, Passes { age, space, may_be_used });
    let items = items(&inputs, &policy, &done, &known, &outlooks, space);
    let run = run(&inputs, &policy, &done, age, space);
    let pause = items.iter().filter(|item| {
        item.verdict.is_removal() && item.tags.iter().any(|tag| looks_like_pause(tag))
    });
    let pause: Vec<String> = pause
        .map(|item| {
            format!(
                "{} looks like the image of sandboxes: once it is gone, no pod starts until it is \
                 pulled again; kq gc apply --keep '/pause:' keeps it",
                item.name()
            )
        })
        .collect();
    let freed = freed(&inputs, &items, &done, &outlooks);
    let mut outcome = Outcome {
        error: done.error.filter(|_| space != Space::Unknown),
        events: done.events,
        follows: Vec::new(),
    };
    outcome.follows = follows(&inputs, &run, &freed, &outcome);
    ImageGcPlan {
        kubelet_start: inputs.kubelet_start.clone(),
        trigger: inputs.trigger,
        at: inputs.now,
        run,
        containers: inputs.containers.clone(),
        items,
        freed,
        outcome,
        basis: basis(&inputs, pause),
    }
}

/// The part of the loop that removes what is too old has no thresholds.
fn policy_of(inputs: &Inputs<'_>) -> ImageGcPolicy {
    match inputs.trigger {
        Trigger::Age => ImageGcPolicy { high_threshold_percent: i32::MAX, ..inputs.policy },
        _ => inputs.policy,
    }
}

/// Returns what is known of each image, by key.
fn known_of(inputs: &Inputs<'_>) -> BTreeMap<String, ImageTimes> {
    let sources = Sources {
        now: inputs.now,
        kubelet_start: inputs.kubelet_start.as_ref().map(|start| start.at),
        records: inputs.records,
    };
    let known = |image: &Image| {
        let key = image_key(&image.id, &image.runtime_handler, inputs.rules);
        let created = inputs.uses_before.of_key(&key).iter().map(|used| used.created_at).min();
        let handler = recorded_handler(image, inputs.rules);
        let known = ImageTimes::of(sources, &image.id, handler, created);
        (key, known)
    };
    inputs.images.iter().map(known).collect()
}

/// Returns what the kubelet is likely to remember.
fn likely_records(inputs: &Inputs<'_>, known: &BTreeMap<String, ImageTimes>) -> Records {
    let record = |image: &Image| {
        let key = image_key(&image.id, &image.runtime_handler, inputs.rules);
        let mut record = Record::default();
        if let Some(known) = known.get(&key) {
            known.put_likely(&mut record);
        }
        (key, record)
    };
    inputs.images.iter().map(record).collect()
}

/// The outlook of each candidate, by key.
struct Outlooks<'a> {
    by_key: BTreeMap<&'a str, PassOutlook>,
    at_least: i64,
    at_most: i64,
}

impl<'a> Outlooks<'a> {
    fn of(
        done: &'a Collection,
        known: &BTreeMap<String, ImageTimes>,
        cycle: Cycle<'_>,
        passes: Passes,
    ) -> Self {
        let pairs = done.considered.iter().filter_map(|considered| {
            let candidate = &considered.candidate;
            Some((candidate.clone(), *known.get(&candidate.key)?))
        });
        let (candidates, known): (Vec<Candidate>, Vec<ImageTimes>) = pairs.unzip();
        let RemovalForecast { outlooks, at_least, at_most } =
            foresee(&candidates, &known, cycle, passes);
        let keys = done.considered.iter().map(|considered| considered.candidate.key.as_str());
        Self { by_key: keys.zip(outlooks).collect(), at_least, at_most }
    }

    fn get(&self, key: &str) -> PassOutlook {
        let unknown = PassOutlook { age: Tristate::Perhaps, any: Tristate::Perhaps };
        self.by_key.get(key).copied().unwrap_or(unknown)
    }
}

fn items(
    inputs: &Inputs<'_>,
    policy: &ImageGcPolicy,
    done: &Collection,
    known: &BTreeMap<String, ImageTimes>,
    outlooks: &Outlooks<'_>,
    space: Space,
) -> Vec<PlannedImage> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, considered) in done.considered.iter().enumerate() {
        places.insert(&considered.candidate.key, index);
    }
    let ties = ties(done, known);
    let mut items = Vec::with_capacity(inputs.images.len());
    let mut freed_before = Vec::with_capacity(done.considered.len());
    let mut freed = 0_i64;
    for considered in &done.considered {
        freed_before.push(freed);
        if considered.space == Some(SpaceVerdict::Removed) {
            freed = freed.saturating_add(considered.candidate.record.size);
        }
    }
    let in_use: BTreeSet<&str> = done.passed_over.in_use.iter().map(String::as_str).collect();
    let invalid: BTreeSet<&str> = done.passed_over.invalid.iter().map(String::as_str).collect();
    let pinned: BTreeSet<&str> = done.passed_over.pinned.iter().map(String::as_str).collect();
    // The last entry of a list that names an image twice is the one that counts.
    let by_key: BTreeMap<String, &Image> = inputs
        .images
        .iter()
        .map(|image| (image_key(&image.id, &image.runtime_handler, inputs.rules), image))
        .collect();
    for (key, image) in by_key {
        let mut item = PlannedImage {
            place: None,
            id: image.id.clone(),
            runtime_handler: image.runtime_handler.clone(),
            tags: image.repo_tags.clone(),
            digests: image.repo_digests.clone(),
            size_bytes: image.size as i64,
            verdict: Verdict::NotWanted,
            certainty: Certainty::Certain,
            reason: Worded(ImageReason::NotListed),
            depends_on: None,
            tied_with: Ties::default(),
            tied_places: None,
            used_by: inputs.uses.of_key(&key).to_vec(),
            known: None,
        };
        if let Some(&index) = places.get(key.as_str()) {
            let considered = &done.considered[index];
            let known = known.get(&key);
            item.place = Some(index + 1);
            item.known = known.copied();
            item.verdict = verdict(considered);
            let reason = candidate_reason(inputs, policy, considered, freed_before[index], space);
            item.reason = reason.into();
            let outlook = outlooks.get(&key);
            item.certainty = certainty(item.verdict, outlook, known, space);
            if item.certainty != Certainty::Certain {
                item.depends_on = Some(depends_on(inputs, known, space).into());
            }
            item.tied_with = ties.get(&index).cloned().unwrap_or_default();
            item.tied_places = item.tied_with.places();
        } else {
            let (verdict, reason) = if in_use.contains(key.as_str()) {
                (Verdict::InUse, used_reason(&item.used_by))
            } else if invalid.contains(key.as_str()) {
                (Verdict::NoId, ImageReason::NoId)
            } else if inputs.kept.contains(&image.id) {
                (Verdict::Kept, ImageReason::Kept)
            } else if pinned.contains(key.as_str()) {
                (Verdict::Pinned, ImageReason::Pinned)
            } else {
                (Verdict::NotWanted, ImageReason::NotListed)
            };
            (item.verdict, item.reason) = (verdict, reason.into());
        }
        items.push(item);
    }
    let rank = |item: &PlannedImage| (item.place.unwrap_or(usize::MAX), item.verdict);
    items.sort_by(|a, b| (rank(a), a.name(), &a.id).cmp(&(rank(b), b.name(), &b.id)));
    items
}

fn verdict(considered: &Considered) -> Verdict {
    match (&considered.age, &considered.space) {
        (Some(AgeVerdict::Removed), _) => Verdict::RemovedForAge,
        (_, Some(SpaceVerdict::Removed)) => Verdict::RemovedForSpace,
        (_, Some(SpaceVerdict::NotReached)) => Verdict::TargetReached,
        (_, Some(SpaceVerdict::Young)) => Verdict::TooYoung,
        (_, Some(SpaceVerdict::UsedSince)) => Verdict::UsedSince,
        _ => Verdict::NotWanted,
    }
}

fn certainty(
    verdict: Verdict,
    outlook: PassOutlook,
    known: Option<&ImageTimes>,
    space: Space,
) -> Certainty {
    let is_sure = match verdict {
        Verdict::RemovedForAge => outlook.age == Tristate::Always,
        verdict if verdict.is_removal() => {
            outlook.any == Tristate::Always && outlook.age == Tristate::Never
        }
        _ => outlook.any == Tristate::Never,
    };
    match known.map_or(RecordCoverage::Nothing, |known| known.basis) {
        _ if is_sure => Certainty::Certain,
        _ if space == Space::Unknown => Certainty::Unknown,
        RecordCoverage::Nothing => Certainty::Unknown,
        _ => Certainty::Possible,
    }
}

/// Returns the ids of those that are tied with a candidate: equal in the likely order, with nothing that
/// would tell them apart.
fn ties(done: &Collection, known: &BTreeMap<String, ImageTimes>) -> BTreeMap<usize, Ties> {
    let mut ties = BTreeMap::new();
    let order = |considered: &Considered| {
        let Candidate { key, record } = &considered.candidate;
        let known = known.get(key).map(|known| (known.first_place(), known.last_place()));
        (record.last_used, record.first_detected, known)
    };
    let mut first = 0;
    for group in done.considered.chunk_by(|a, b| order(a) == order(b)) {
        if group.len() > 1 {
            let ids = group.iter().map(|it| it.candidate.record.id.clone()).collect();
            ties.extend((first..).zip(Ties::of_group(ids, first + 1)));
        }
        first += group.len();
    }
    ties
}

fn run(
    inputs: &Inputs<'_>,
    policy: &ImageGcPolicy,
    done: &Collection,
    age: Tristate,
    space: Space,
) -> Run {
    let usage = inputs.image_fs.as_ref().ok().and_then(|(fs, _)| fs.usage());
    Run {
        image_filesystem: inputs.image_fs.as_ref().ok().map(|(_, source)| source.clone()),
        usage,
        high_threshold_percent: inputs.policy.high_threshold_percent,
        low_threshold_percent: inputs.policy.low_threshold_percent,
        minimum_age: policy.min_age,
        maximum_age: policy.max_age,
        removes_old: match age {
            Tristate::Always => Some(true),
            Tristate::Never => Some(false),
            Tristate::Perhaps => None,
        },
        wants_space: match space {
            Space::Unknown => None,
            Space::Wanted(_) => Some(true),
            Space::NotWanted => Some(false),
        },
        amount_to_free_bytes: done.amount,
        because: decision(inputs, usage, age, space),
    }
}

fn freed(
    inputs: &Inputs<'_>,
    items: &[PlannedImage],
    done: &Collection,
    outlooks: &Outlooks<'_>,
) -> Freed {
    let removed: BTreeSet<String> =
        items.iter().filter(|i| i.verdict.is_removal()).map(|i| i.id.clone()).collect();
    let mut freed = Freed {
        images: items.iter().filter(|item| item.verdict.is_removal()).count(),
        counted_bytes: done.freed_by_age.saturating_add(done.freed_by_space),
        by_age_bytes: done.freed_by_age,
        by_space_bytes: done.freed_by_space,
        at_least_bytes: outlooks.at_least,
        at_most_bytes: outlooks.at_most,
        ..Freed::default()
    };
    match inputs.storage.value() {
        Some(storage) => freed.real_bytes = Some(really_freed(storage, &removed)),
        None => freed.real_unknown = Some(inputs.storage.reason()),
    }
    freed
}

fn basis(inputs: &Inputs<'_>, warnings: Vec<String>) -> Basis {
    let mut basis = Basis::default();
    basis.warn_all(warnings);
    match &inputs.kubelet_start {
        Some(start) => basis.know_start(start),
        None => basis.lack(Missing::new(
            "the start of the kubelet; the likely order assumes that it was long ago",
            ["--kubelet-start"],
        )),
    }
    match inputs.records {
        Some(records) if records.detected_at > inputs.now => basis.warn(format!(
            "the last detection of kq gc record, {}, is still to come: the clock was set back, and \
             nothing is known of the times that the kubelet remembers",
            records.detected_at
        )),
        Some(_) => basis.assume_all(ASSUMPTIONS.map(str::to_owned)),
        None => basis.lack(
            "when images were first found and last used: only the kubelet knows; kq gc record keeps \
             records of its own"
                .to_owned(),
        ),
    }
    if let Some(reason) = &inputs.uses.volumes_unknown {
        basis.lack(format!(
            "image volumes: the runtime may have some, and could not be asked ({reason})"
        ));
    }
    basis.warn_all(inputs.uses.astray.iter().cloned());
    for image in inputs.images.iter().filter(|image| i64::try_from(image.size).is_err()) {
        basis.warn(format!(
            "image {}: the runtime says {} bytes, which the kubelet takes for {}",
            image.id, image.size, image.size as i64
        ));
    }
    basis
}
