//! The facts that a plan is made from, and the plan.

use super::because::{candidate_reason, decision, depends_on, follows, used_reason};
use super::item::{PlannedImage, Ties, Verdict};
use super::report::{Freed, ImageGcPlan, Outcome, Run, Trigger};
use crate::certainty::{PassOutlook, Passes, RemovalForecast, Space, age_pass_runs, foresee};
use crate::containers::ContainerGcPlan;
use crate::cycle::KeyMap;
use crate::cycle::{
    AgeVerdict, Candidate, Collection, Considered, Cycle, GcInputs, ImageFs, ListedImage,
    PassedOver, Record, Records, SpaceVerdict, delete_unused_images, detect_images,
    garbage_collect, image_key,
};
use crate::knowledge::{ASSUMPTIONS, ImageTimes, RecordCoverage, Sources, Tristate};
use crate::lint::images::looks_like_pause;
use crate::policy::ImageGcPolicy;
use crate::reason::ImageReason;
use crate::storage::{freed as really_freed, layers_by_image};
use crate::uses::{Uses, listed, recorded_handler};
use kq_answer::{Basis, Certainty, Missing, MissingFact, Warning, WarningCode, Worded};
use kq_facts::image_records::ImageRecords;
use kq_facts::kubelet::KubeletStart;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Image, ImageStorage};
use kq_facts::timestamp::Timestamp;
use kq_k8s::kubelet_rules::KubeletRules;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Everything that a plan is made from.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// What sets the collection going.
    pub trigger: Trigger,
    /// The moment that it is computed for.
    pub now: Timestamp,
    /// The thresholds and ages.
    pub policy: ImageGcPolicy,
    /// The kubelet's version and gates.
    pub rules: KubeletRules,
    /// When the kubelet started; `None`: unknown.
    pub kubelet_start: Option<KubeletStart>,
    /// kq's own records.
    pub records: Option<&'a ImageRecords>,
    /// The images of the runtime.
    pub images: &'a [Image],
    /// The containers that use them when the images are looked at.
    pub uses: &'a Uses,
    /// The containers that used them before dead ones were removed; the same where none are.
    pub uses_before: &'a Uses,
    /// The image file system and where its numbers are from, or why they are unavailable.
    pub image_fs: Result<(ImageFs, String), String>,
    /// What images share.
    pub storage: &'a Lookup<ImageStorage>,
    /// The dead containers that go first.
    pub containers: Option<ContainerGcPlan>,
    /// What disk pressure wants; `None`: every image that is not in use.
    pub reclaim: Option<Reclaim>,
    /// The ids of the images of `--keep`.
    pub kept: &'a BTreeSet<String>,
}

/// What disk pressure wants of the images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reclaim {
    /// True if unused images are removed.
    pub images: bool,
    /// Why, a sentence each.
    pub because: Vec<String>,
}

impl Inputs<'_> {
    /// Returns true if disk pressure leaves the images alone.
    pub(super) fn spares_images(&self) -> bool {
        let reclaim = self.reclaim.as_ref().filter(|_| self.trigger == Trigger::Eviction);
        reclaim.is_some_and(|reclaim| !reclaim.images)
    }
}

/// What is known of each image, by key.
type Known = KeyMap<ImageTimes>;

/// The entries of the list that count, by key.
type ByKey<'a> = KeyMap<&'a Image>;

/// A file system that needs no space.
const EMPTY: ImageFs = ImageFs { capacity: Some(1), available: Some(1) };

/// Plans a collection.
pub fn plan(mut inputs: Inputs<'_>) -> ImageGcPlan {
    let mut images = listed(inputs.images);
    for image in images.iter_mut().filter(|image| inputs.kept.contains(&*image.id)) {
        image.pinned = true;
    }
    let by_key = by_key(&inputs, &images);
    let known = known_of(&inputs, &by_key);
    let mut records = likely_records(&known);
    let policy = policy_of(&inputs);
    let start = inputs.kubelet_start.as_ref().map(|start| start.at);
    // A kubelet with an unknown start counts as one that has been up for long.
    let began = start.unwrap_or(Timestamp(i64::MIN));
    let cycle = Cycle { policy: &policy, rules: inputs.rules, began, now: inputs.now };
    let age = match inputs.trigger {
        Trigger::Eviction => Tristate::Never,
        _ => age_pass_runs(cycle, start),
    };
    let may_be_used = inputs.uses.volumes_unknown.is_some();
    let found = inputs.image_fs.as_ref().ok().and_then(|(fs, _)| fs.usage());
    let freed_by_age = match inputs.trigger {
        Trigger::Periodic if policy.is_collecting() => {
            FreedByAge::of(&inputs, &images, &known, records.clone(), cycle, age)
        }
        _ => FreedByAge::default(),
    };
    let disk = inputs.image_fs.as_ref().ok().map(|(fs, _)| *fs);
    let wanted = |freed: u64| disk.and_then(|fs| fs.with(freed).usage()?.amount_to_free(&policy));
    let at_most_wanted = wanted(freed_by_age.at_least);
    let is_open = at_most_wanted.is_some() != wanted(freed_by_age.at_most).is_some();
    if freed_by_age.likely > 0
        && !is_open
        && let Ok((fs, source)) = &mut inputs.image_fs
    {
        *fs = fs.with(freed_by_age.likely);
        source.push_str(", without what is too old");
    }
    let fs = match inputs.trigger {
        // This part ignores the usage of the file system.
        Trigger::Age => Ok(EMPTY),
        // Then the loop does not turn at all.
        Trigger::Periodic if !policy.is_collecting() => Ok(EMPTY),
        // Nothing is known of the second pass.
        _ if is_open => Err(""),
        _ => inputs.image_fs.as_ref().map(|(fs, _)| *fs).map_err(String::as_str),
    };
    let world = GcInputs { images: Ok(&images), users: Ok(&inputs.uses.users), image_fs: fs };
    let mut remove = |_: &Candidate| Ok(());
    let done = match inputs.trigger {
        Trigger::Eviction if inputs.spares_images() => detect_images(&mut records, cycle, world),
        Trigger::Eviction => delete_unused_images(&mut records, cycle, world, &mut remove),
        _ => garbage_collect(&mut records, cycle, world, &mut remove),
    };
    let space = match (inputs.trigger, &inputs.image_fs) {
        (Trigger::Eviction, _) if inputs.spares_images() => Space::NotWanted,
        (Trigger::Eviction, _) => Space::Wanted(i64::MAX),
        (Trigger::Age, _) => Space::NotWanted,
        (Trigger::Periodic, _) if !policy.is_collecting() => Space::NotWanted,
        (Trigger::Periodic, Err(_)) => Space::Unknown,
        (Trigger::Periodic, Ok(_)) if is_open => Space::Unknown,
        (Trigger::Periodic, Ok(_)) => done.amount.map_or(Space::NotWanted, Space::Wanted),
    };
    let at_most = match (inputs.trigger, space, at_most_wanted) {
        (Trigger::Periodic, Space::Wanted(_), Some(amount)) => Space::Wanted(amount),
        _ => space,
    };
    let passes = Passes { age, space: at_most, may_be_used };
    let outlooks = Outlooks::of(&done.considered, &known, cycle, passes);
    let items = items(&inputs, &policy, &done, by_key, &outlooks, space);
    let run = run(&inputs, &policy, &done, age, space);
    let pause = items.iter().filter(|item| {
        item.verdict.is_removal() && item.tags.iter().any(|tag| looks_like_pause(tag))
    });
    let pause: Vec<Warning> = pause
        .map(|item| {
            let text = format!(
                "{} looks like the image of sandboxes: once it is gone, no pod starts until it is \
                 pulled again; kq gc apply --keep '/pause:' keeps it",
                item.name()
            );
            Warning::new(WarningCode::SandboxImage, text).about(item.name())
        })
        .collect();
    let freed = freed(&inputs, &items, &done, &outlooks);
    let mut outcome = Outcome {
        error: done.error.filter(|_| space != Space::Unknown),
        events: done.events,
        follows: Vec::new(),
    };
    outcome.follows = follows(&inputs, &run, found, &freed, &outcome);
    let is_open = |it: &PlannedImage| it.certainty != Certainty::Certain;
    let needs_records = policy.max_age.0 > 0 || items.iter().any(is_open);
    let mut basis = basis(&inputs, needs_records, pause);
    if let (Space::Unknown, Err(reason)) = (space, &inputs.image_fs) {
        let text = format!("the image file system: {reason}");
        basis.lack(Missing::new(MissingFact::ImageFilesystems, text));
    }
    ImageGcPlan {
        kubelet_start: inputs.kubelet_start.clone(),
        trigger: inputs.trigger,
        at: inputs.now,
        run,
        containers: inputs.containers.clone(),
        items,
        freed,
        outcome,
        basis,
    }
}

/// How many bytes of the disk the removal of what is too old frees. It comes before the kubelet asks how full the disk is.
#[derive(Clone, Copy, Default)]
struct FreedByAge {
    at_least: u64,
    likely: u64,
    at_most: u64,
}

impl FreedByAge {
    fn of(
        inputs: &Inputs<'_>,
        images: &[ListedImage],
        known: &Known,
        mut records: Records,
        cycle: Cycle<'_>,
        age: Tristate,
    ) -> Self {
        if age == Tristate::Never {
            return Self::default();
        }
        let world =
            GcInputs { images: Ok(images), users: Ok(&inputs.uses.users), image_fs: Ok(EMPTY) };
        let done = garbage_collect(&mut records, cycle, world, &mut |_| Ok(()));
        let may_be_used = inputs.uses.volumes_unknown.is_some();
        let passes = Passes { age, space: Space::NotWanted, may_be_used };
        let outlooks = Outlooks::of(&done.considered, known, cycle, passes).candidates;
        let freed = |goes: &dyn Fn(&Considered, Tristate) -> bool| {
            let pairs = done.considered.iter().zip(&outlooks);
            let gone = pairs.filter(|(considered, (_, outlook))| goes(considered, outlook.age));
            let gone = gone.map(|(considered, _)| &considered.candidate.record);
            match inputs.storage.value() {
                Some(storage) => really_freed(storage, gone.map(|record| &*record.id)),
                None => gone.fold(0_u64, |sum, record| {
                    sum.saturating_add(u64::try_from(record.size).unwrap_or(0))
                }),
            }
        };
        // Other images may hold the same layers.
        let at_least = match inputs.storage.value() {
            Some(_) => freed(&|_, age| age == Tristate::Always),
            None => 0,
        };
        Self {
            at_least,
            likely: freed(&|considered, _| considered.age == Some(AgeVerdict::Removed)),
            at_most: freed(&|_, age| age != Tristate::Never),
        }
    }
}

/// The part of the loop that removes what is too old has no thresholds.
fn policy_of(inputs: &Inputs<'_>) -> ImageGcPolicy {
    match inputs.trigger {
        Trigger::Age => ImageGcPolicy { high_threshold_percent: i32::MAX, ..inputs.policy },
        _ => inputs.policy,
    }
}

/// Returns the images by key. The last entry of a list that names an image twice is the one that counts.
fn by_key<'a>(inputs: &Inputs<'a>, listed: &[ListedImage]) -> ByKey<'a> {
    let key = |image: &ListedImage| {
        image_key(Arc::clone(&image.id), &image.runtime_handler, inputs.rules)
    };
    listed.iter().map(key).zip(inputs.images).collect()
}

/// Returns what is known of each image.
fn known_of(inputs: &Inputs<'_>, by_key: &ByKey<'_>) -> Known {
    let sources = Sources {
        now: inputs.now,
        kubelet_start: inputs.kubelet_start.as_ref().map(|start| start.at),
        records: inputs.records,
    };
    let known = |(key, image): (&Arc<str>, &&Image)| {
        let created = inputs.uses_before.of_key(key).iter().map(|used| used.created_at).min();
        let handler = recorded_handler(image, inputs.rules);
        (Arc::clone(key), ImageTimes::of(sources, &image.id, handler, created))
    };
    by_key.iter().map(known).collect()
}

/// Returns what the kubelet is likely to remember.
fn likely_records(known: &Known) -> Records {
    let record = |(key, known): (&Arc<str>, &ImageTimes)| {
        let mut record = Record::default();
        known.put_likely(&mut record);
        (Arc::clone(key), record)
    };
    known.iter().map(record).collect()
}

/// What is known of each candidate and of its removal, in their order.
struct Outlooks {
    candidates: Vec<(ImageTimes, PassOutlook)>,
    at_least: i64,
    at_most: i64,
}

impl Outlooks {
    fn of(considered: &[Considered], known: &Known, cycle: Cycle<'_>, passes: Passes) -> Self {
        let candidates = considered.iter().map(|considered| &considered.candidate);
        // Every candidate is an image of the list, so that its times are known.
        let pairs: Vec<(&Candidate, ImageTimes)> = candidates
            .filter_map(|candidate| Some((candidate, *known.get(&candidate.key)?)))
            .collect();
        let RemovalForecast { outlooks, at_least, at_most } = foresee(&pairs, cycle, passes);
        let known = pairs.into_iter().map(|(_, known)| known);
        Self { candidates: known.zip(outlooks).collect(), at_least, at_most }
    }
}

fn items(
    inputs: &Inputs<'_>,
    policy: &ImageGcPolicy,
    done: &Collection,
    mut by_key: ByKey<'_>,
    outlooks: &Outlooks,
    space: Space,
) -> Vec<PlannedImage> {
    let mut items = Vec::with_capacity(inputs.images.len());
    let mut freed = 0_i64;
    let candidates = done.considered.iter().zip(&outlooks.candidates).zip(ties(done, outlooks));
    for (index, ((considered, (known, outlook)), tied_with)) in candidates.enumerate() {
        let Candidate { key, record } = &considered.candidate;
        let Some(image) = by_key.remove(key) else { continue };
        let verdict = verdict(considered);
        let certainty = certainty(verdict, *outlook, known, space);
        let is_certain = certainty == Certainty::Certain;
        items.push(PlannedImage {
            place: Some(index + 1),
            certainty,
            depends_on: (!is_certain).then(|| depends_on(inputs, known, space).into()),
            tied_places: tied_with.places(),
            tied_with,
            known: Some(*known),
            ..item(
                inputs,
                key,
                image,
                verdict,
                candidate_reason(inputs, policy, considered, freed, space),
            )
        });
        if considered.space == Some(SpaceVerdict::Removed) {
            freed = freed.saturating_add(record.size);
        }
    }
    let first_of_others = items.len();
    let PassedOver { in_use, pinned, invalid } = &done.passed_over;
    for key in in_use {
        if let Some(image) = by_key.remove(key) {
            let reason = used_reason(inputs.uses.of_key(key));
            items.push(item(inputs, key, image, Verdict::InUse, reason));
        }
    }
    for key in invalid {
        if let Some(image) = by_key.remove(key) {
            items.push(item(inputs, key, image, Verdict::NoId, ImageReason::NoId));
        }
    }
    for key in pinned {
        if let Some(image) = by_key.remove(key) {
            let (verdict, reason) = match inputs.kept.contains(&image.id) {
                true => (Verdict::Kept, ImageReason::Kept),
                false => (Verdict::Pinned, ImageReason::Pinned),
            };
            items.push(item(inputs, key, image, verdict, reason));
        }
    }
    // Those that the kubelet did not come to look at.
    for (key, image) in by_key {
        let (verdict, reason) = match inputs.kept.contains(&image.id) {
            true => (Verdict::Kept, ImageReason::Kept),
            false => (Verdict::NotWanted, ImageReason::NotListed),
        };
        items.push(item(inputs, &key, image, verdict, reason));
    }
    let layers = inputs.storage.value().map(layers_by_image).unwrap_or_default();
    for item in &mut items {
        let of_image = layers.get(item.id.as_str());
        item.own_bytes = of_image.map(|layers| layers.own_bytes);
        item.shared_bytes = of_image.map(|layers| layers.shared_bytes);
    }
    items[first_of_others..].sort_unstable_by(|a, b| {
        (a.verdict, a.name(), &a.id, &a.runtime_handler).cmp(&(
            b.verdict,
            b.name(),
            &b.id,
            &b.runtime_handler,
        ))
    });
    items
}

/// Returns an image that is no candidate, which is certain.
fn item(
    inputs: &Inputs<'_>,
    key: &str,
    image: &Image,
    verdict: Verdict,
    reason: ImageReason,
) -> PlannedImage {
    PlannedImage {
        place: None,
        id: image.id.clone(),
        runtime_handler: image.runtime_handler.clone(),
        tags: image.repo_tags.clone(),
        digests: image.repo_digests.clone(),
        size_bytes: image.size as i64,
        own_bytes: None,
        shared_bytes: None,
        verdict,
        certainty: Certainty::Certain,
        reason: Worded(reason),
        depends_on: None,
        tied_with: Ties::default(),
        tied_places: None,
        used_by: inputs.uses.of_key(key).to_vec(),
        known: None,
    }
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
    known: &ImageTimes,
    space: Space,
) -> Certainty {
    let is_sure = match verdict {
        Verdict::RemovedForAge => outlook.age == Tristate::Always,
        verdict if verdict.is_removal() => {
            outlook.any == Tristate::Always && outlook.age == Tristate::Never
        }
        _ => outlook.any == Tristate::Never,
    };
    match known.basis {
        _ if is_sure => Certainty::Certain,
        _ if space == Space::Unknown => Certainty::Unknown,
        RecordCoverage::Nothing => Certainty::Unknown,
        _ => Certainty::Possible,
    }
}

/// Returns with which other candidates each one is tied: equal in the likely order, with nothing that would tell
/// them apart.
fn ties(done: &Collection, outlooks: &Outlooks) -> Vec<Ties> {
    type One<'a> = (&'a Record, &'a ImageTimes);
    let order = |(record, known): &One<'_>| {
        (record.last_used, record.first_detected, known.first_place(), known.last_place())
    };
    let records = done.considered.iter().map(|considered| &considered.candidate.record);
    let all: Vec<One<'_>> =
        records.zip(outlooks.candidates.iter().map(|(known, _)| known)).collect();
    let mut ties = Vec::with_capacity(all.len());
    for group in all.chunk_by(|a, b| order(a) == order(b)) {
        match group {
            [_] => ties.push(Ties::default()),
            group => {
                let ids = group.iter().map(|(record, _)| Arc::clone(&record.id)).collect();
                ties.extend(Ties::of_group(ids, ties.len() + 1));
            }
        }
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
    outlooks: &Outlooks,
) -> Freed {
    let removed = || items.iter().filter(|item| item.verdict.is_removal());
    let mut freed = Freed {
        images: removed().count(),
        counted_bytes: done.freed_by_age.saturating_add(done.freed_by_space),
        by_age_bytes: done.freed_by_age,
        by_space_bytes: done.freed_by_space,
        at_least_bytes: outlooks.at_least,
        at_most_bytes: outlooks.at_most,
        ..Freed::default()
    };
    match inputs.storage.value() {
        Some(storage) => {
            freed.real_bytes = Some(really_freed(storage, removed().map(|item| item.id.as_str())))
        }
        None => freed.real_unknown = Some(inputs.storage.reason()),
    }
    freed
}

fn basis(inputs: &Inputs<'_>, needs_records: bool, warnings: Vec<Warning>) -> Basis {
    let mut basis = Basis::default();
    basis.warn_all(warnings);
    match &inputs.kubelet_start {
        Some(start) => start.record(&mut basis),
        None => {
            let text = "the start of the kubelet; the likely order assumes that it was long ago";
            let missing = Missing::new(MissingFact::KubeletStart, text);
            basis.lack(missing.with_flags(["--kubelet-start"]));
        }
    }
    match inputs.records {
        Some(records) if records.detected_at > inputs.now => {
            let text = format!(
                "the last detection of kq gc record, {}, is still to come: the clock was set back, and \
                 nothing is known of the times that the kubelet remembers",
                records.detected_at
            );
            basis.warn(Warning::new(WarningCode::ClockSetBack, text));
        }
        Some(_) => basis.assume_all(ASSUMPTIONS.map(str::to_owned)),
        None if !needs_records => {}
        None => basis.lack(Missing::new(
            MissingFact::ImageRecords,
            "when images were first found and last used: only the kubelet knows; kq gc record keeps \
             records of its own",
        )),
    }
    if let Some(reason) = &inputs.uses.volumes_unknown {
        let text = format!(
            "image volumes: the runtime may have some, and its answer is missing ({reason})"
        );
        basis.lack(Missing::new(MissingFact::ImageVolumes, text));
    }
    basis.warn_all(inputs.uses.astray.iter().cloned());
    for image in inputs.images.iter().filter(|image| i64::try_from(image.size).is_err()) {
        let text = format!(
            "image {}: the runtime reports {} bytes, which the kubelet reads as {}",
            image.id, image.size, image.size as i64
        );
        basis.warn(Warning::new(WarningCode::AmountOverflow, text).about(&image.id));
    }
    basis
}
