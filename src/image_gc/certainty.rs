//! How sure a verdict is, when the times it rests on are only known to lie between two others.
//!
//! An image goes in the space pass unless enough is freed before its turn, or it is too young then. So
//! what may come before it counts: at worst everything that may be older goes first and frees its
//! bytes, at best only what is older in any case. A verdict is sure when it is the same at both ends.

use crate::facts::timestamp::Timestamp;
use crate::image_gc::cycle::{Candidate, Cycle};
use crate::image_gc::knowledge::{Answer, Known};
use serde::Serialize;

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Certainty {
    /// Whatever the kubelet remembers.
    Sure,
    /// It depends on what the kubelet remembers, about which something is known.
    Possible,
    /// It depends on what the kubelet remembers, about which nothing is known.
    Unknown,
}

/// Whether an image goes, as far as that can be known, pass by pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// In the age pass.
    pub age: Answer,
    /// In either of them.
    pub any: Answer,
}

/// What of the passes is not known, beside the times.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// Whether the age pass runs.
    pub age: Answer,
    /// What the space pass has to free; `None`: it does not run.
    pub amount: Option<i64>,
}

/// Tells whether the age pass runs: not before the kubelet has been up for the maximum age.
pub fn age_pass_runs(cycle: Cycle<'_>, kubelet_start: Option<Timestamp>) -> Answer {
    let max_age = cycle.policy.max_age.0;
    match kubelet_start {
        _ if max_age == 0 => Answer::Never,
        None => Answer::Perhaps,
        // It begins to collect as soon as it has started, which takes it some moments.
        Some(start) => {
            let runs = |began: Timestamp| cycle.now.since(began) > max_age;
            Answer::of(runs(start), runs(start.plus(STARTING)))
        }
    }
}

/// A kubelet needs such a time at most from its start as a process to its first collection.
pub const STARTING: i64 = 60_000_000_000;

/// Tells of each candidate whether it goes. The two lists belong together.
pub fn outlooks(
    candidates: &[Candidate],
    known: &[Known],
    cycle: Cycle<'_>,
    passes: Passes,
) -> Vec<Outlook> {
    let items: Vec<Item> = candidates
        .iter()
        .zip(known)
        .map(|(candidate, known)| Item::of(candidate, known, cycle, passes))
        .collect();
    let may_go_before = Sums::of(items.iter().filter(|item| item.may_free()), |item| item.first);
    let surely_go_before = Sums::of(items.iter().filter(|item| item.must_free()), |item| item.last);
    let outlook = |item: &Item| {
        let space = match passes.amount {
            None => Answer::Never,
            Some(amount) => {
                let is_enough = |freed: Option<i128>| freed.is_some_and(|f| f >= amount.into());
                // Itself is among those that may go before it.
                let own = item.may_free().then_some(item.size);
                let at_worst = is_enough(may_go_before.up_to(item.last, own));
                let at_best = is_enough(surely_go_before.before(item.first));
                let reached = Answer::of(!at_worst, !at_best);
                reached.min(item.old_enough)
            }
        };
        Outlook { age: item.age, any: item.age.max(space) }
    };
    items.iter().map(outlook).collect()
}

type Place = (Option<Timestamp>, Option<Timestamp>);

struct Item {
    first: Place,
    last: Place,
    size: i128,
    age: Answer,
    old_enough: Answer,
}

impl Item {
    fn of(candidate: &Candidate, known: &Known, cycle: Cycle<'_>, passes: Passes) -> Self {
        let Cycle { policy, now, .. } = cycle;
        let old_enough = match known.is_younger(policy.min_age, now) {
            Answer::Never => Answer::Always,
            Answer::Perhaps => Answer::Perhaps,
            Answer::Always => Answer::Never,
        };
        Self {
            first: known.first_place(),
            last: known.last_place(),
            size: candidate.record.size.into(),
            age: passes.age.min(known.is_unused_for(policy.max_age, now)),
            old_enough,
        }
    }

    /// It may free its bytes in the space pass.
    fn may_free(&self) -> bool {
        self.age != Answer::Always && self.old_enough != Answer::Never
    }

    /// It frees its bytes in the space pass when its turn comes.
    fn must_free(&self) -> bool {
        self.age == Answer::Never && self.old_enough == Answer::Always
    }
}

/// Sums of sizes by place.
struct Sums(Vec<(Place, i128)>);

impl Sums {
    fn of<'a>(items: impl Iterator<Item = &'a Item>, place: impl Fn(&Item) -> Place) -> Self {
        let mut sums: Vec<(Place, i128)> = items.map(|item| (place(item), item.size)).collect();
        sums.sort_unstable();
        let mut sum = 0;
        for (_, size) in &mut sums {
            sum += *size;
            *size = sum;
        }
        Self(sums)
    }

    /// Returns what those free that have their place here or before, without one; `None`: there are none.
    fn up_to(&self, place: Place, without: Option<i128>) -> Option<i128> {
        let end = self.0.partition_point(|(other, _)| *other <= place);
        let own = usize::from(without.is_some());
        let sum = self.0.get(end.checked_sub(1)?)?.1;
        (end > own).then(|| sum - without.unwrap_or_default())
    }

    /// Returns what those free that have their place before; `None`: there are none.
    fn before(&self, place: Place) -> Option<i128> {
        let end = self.0.partition_point(|(other, _)| *other < place);
        self.0.get(end.checked_sub(1)?).map(|(_, sum)| *sum)
    }
}
