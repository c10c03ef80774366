//! Which images are candidates, in which order they go, and where it ends.
//!
//! Rules: `imagesInEvictionOrder`, `freeOldImages` and `freeSpace` in
//! `pkg/kubelet/images/image_gc_manager.go`, read in 1.36.

use super::detection::{Record, Records};
use crate::policy::ImageGcPolicy;
use kq_facts::timestamp::Timestamp;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use std::cmp::Ordering;
use std::sync::Arc;

/// An image that is neither in use nor pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The properties by which the kubelet distinguishes images.
    pub key: Arc<str>,
    /// What it remembers of it.
    pub record: Record,
}

/// All records, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The candidates; those that tie are in the order of their keys.
    pub ordered: Vec<Candidate>,
    /// The keys of those that are in use.
    pub in_use: Vec<Arc<str>>,
    /// The keys of those that are pinned, and not in use.
    pub pinned: Vec<Arc<str>>,
    /// The keys of those that have no id, which the kubelet passes over with an event. Only looked for
    /// where handlers distinguish images.
    pub invalid: Vec<Arc<str>>,
}

/// What the age pass says of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgeVerdict {
    /// It was unused for too long.
    Removed,
    /// It was to go, and the runtime refused with this.
    Failed(String),
    /// It is not that old.
    Kept,
}

/// What the space pass says of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpaceVerdict {
    /// It goes.
    Removed,
    /// It was to go, and the runtime refused with this.
    Failed(String),
    /// It was used at or after the moment of the pass: the clock went back.
    UsedSince,
    /// It has not been known for the minimum age.
    Young,
    /// Enough was freed before.
    NotReached,
}

/// Removes an image by its key and id, or says why not.
pub type Remove<'a> = &'a mut dyn FnMut(&Candidate) -> Result<(), String>;

/// Separates the records by key and puts the candidates into the order in which they go: by last use, never
/// first, then by first detection.
pub fn candidates(records: &Records, rules: KubeletRules) -> Candidates {
    let by_handler = rules.gates.enabled(Gate::RuntimeClassInImageCriApi);
    let mut found = Candidates::default();
    for (key, record) in records {
        let key = Arc::clone(key);
        if record.in_use {
            found.in_use.push(key);
        } else if record.pinned {
            found.pinned.push(key);
        } else if by_handler && key.split(',').next().is_none_or(str::is_empty) {
            found.invalid.push(key);
        } else {
            found.ordered.push(Candidate { key, record: record.clone() });
        }
    }
    for keys in [&mut found.in_use, &mut found.pinned, &mut found.invalid] {
        keys.sort_unstable();
    }
    let order = |a: &Candidate, b: &Candidate| {
        age_order(&a.record, &b.record).then_with(|| a.key.cmp(&b.key))
    };
    found.ordered.sort_unstable_by(order);
    found
}

/// Compares by age alone: what is equal here goes in any order.
pub fn age_order(a: &Record, b: &Record) -> Ordering {
    (a.last_used, a.first_detected).cmp(&(b.last_used, b.first_detected))
}

/// Returns the groups of candidates that go in any order, by their place.
pub fn ties(ordered: &[Candidate]) -> impl Iterator<Item = &[Candidate]> {
    ordered
        .chunk_by(|a, b| age_order(&a.record, &b.record) == Ordering::Equal)
        .filter(|group| group.len() > 1)
}

/// Returns how long ago something was; never is as long as can be.
pub fn age_of(now: Timestamp, then: Option<Timestamp>) -> i64 {
    then.map_or(i64::MAX, |then| now.since(then))
}

/// Returns true if the age pass runs at all: not before the kubelet itself has run for the maximum age.
pub fn age_pass_runs(policy: &ImageGcPolicy, began: Timestamp, now: Timestamp) -> bool {
    policy.max_age.0 != 0 && now.since(began) > policy.max_age.0
}

/// Returns true if the age pass takes an image: unused for longer than the maximum age. Neither the
/// minimum age nor the first detection matters.
pub fn is_old(record: &Record, policy: &ImageGcPolicy, now: Timestamp) -> bool {
    age_of(now, record.last_used) > policy.max_age.0
}

/// Returns why the space pass leaves an image alone when it comes to it; `None`: it does not.
pub fn spared(record: &Record, policy: &ImageGcPolicy, now: Timestamp) -> Option<SpaceVerdict> {
    if record.last_used.is_some_and(|used| used >= now) {
        return Some(SpaceVerdict::UsedSince);
    }
    (age_of(now, record.first_detected) < policy.min_age.0).then_some(SpaceVerdict::Young)
}

/// Removes everything that is too old; returns a verdict for each.
pub fn age_pass<'a>(
    ordered: impl Iterator<Item = &'a Candidate>,
    policy: &ImageGcPolicy,
    now: Timestamp,
    remove: Remove<'_>,
) -> Vec<AgeVerdict> {
    let verdict = |candidate: &Candidate| {
        if !is_old(&candidate.record, policy, now) {
            return AgeVerdict::Kept;
        }
        remove(candidate).map_or_else(AgeVerdict::Failed, |()| AgeVerdict::Removed)
    };
    ordered.map(verdict).collect()
}

/// Removes one after the other until enough is freed; returns a verdict for each, and what was freed.
/// After a failed removal it goes on without asking whether that was enough.
pub fn space_pass<'a>(
    ordered: impl Iterator<Item = &'a Candidate>,
    amount: i64,
    policy: &ImageGcPolicy,
    now: Timestamp,
    remove: Remove<'_>,
) -> (Vec<SpaceVerdict>, i64) {
    let mut freed = 0_i64;
    let mut is_enough = false;
    let mut verdicts = Vec::with_capacity(ordered.size_hint().0);
    for candidate in ordered {
        if is_enough {
            verdicts.push(SpaceVerdict::NotReached);
            continue;
        }
        let spared = spared(&candidate.record, policy, now);
        verdicts.push(spared.unwrap_or_else(|| match remove(candidate) {
            Ok(()) => {
                freed = freed.wrapping_add(candidate.record.size);
                is_enough = freed >= amount;
                SpaceVerdict::Removed
            }
            Err(reason) => SpaceVerdict::Failed(reason),
        }));
    }
    (verdicts, freed)
}
