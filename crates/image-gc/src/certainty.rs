//! How sure a verdict is, when the times it rests on are only known to lie between two others.
//!
//! An image goes in the space pass unless enough is freed before its turn, or it is too young then. So
//! what may come before it counts: at worst everything that may be older goes first and frees its
//! bytes, at best only what is older in any case. A verdict is sure when it is the same at both ends.

use crate::cycle::{Candidate, Cycle};
use crate::knowledge::{ImageTimes, STARTING, Tristate};
use kq_facts::timestamp::Timestamp;

/// Whether an image goes, as far as that can be known, pass by pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassOutlook {
    /// In the age pass.
    pub age: Tristate,
    /// In either of them.
    pub any: Tristate,
}

/// Whether space is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The usage of the disk is unknown, or what the age pass frees decides and is unknown.
    Unknown,
    /// No.
    NotWanted,
    /// So much.
    Wanted(i64),
}

/// The inputs of the passes besides the times.
#[derive(Clone, Copy, Debug)]
pub struct Passes {
    /// Whether the age pass runs.
    pub age: Tristate,
    /// What the space pass has to free.
    pub space: Space,
    /// Candidates may be in use in a way that could not be read.
    pub may_be_used: bool,
}

/// What is to come, as far as that can be known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalForecast {
    /// Of each candidate, in their order.
    pub outlooks: Vec<PassOutlook>,
    /// What the kubelet counts as freed, at the least.
    pub at_least: i64,
    /// What the kubelet counts as freed, at the most.
    pub at_most: i64,
}

/// Returns true if the age pass runs: not before the kubelet has been up for the maximum age.
pub fn age_pass_runs(cycle: Cycle<'_>, kubelet_start: Option<Timestamp>) -> Tristate {
    let max_age = cycle.policy.max_age.0;
    match kubelet_start {
        _ if max_age == 0 => Tristate::Never,
        None => Tristate::Perhaps,
        // It begins to collect as soon as it has started, which takes it some moments.
        Some(start) => {
            let runs = |began: Timestamp| cycle.now.since(began) > max_age;
            Tristate::of(runs(start), runs(start.plus(STARTING.0)))
        }
    }
}

/// Returns for each candidate whether it is removed, and the bytes freed.
pub fn foresee(
    candidates: &[(&Candidate, ImageTimes)],
    cycle: Cycle<'_>,
    passes: Passes,
) -> RemovalForecast {
    let items: Vec<Item> = candidates
        .iter()
        .map(|(candidate, known)| Item::of(candidate, known, cycle, passes))
        .collect();
    let turns = Turns::of(&items, passes.space);
    let outlooks: Vec<PassOutlook> = items
        .iter()
        .map(|item| PassOutlook { age: item.age, any: item.age.max(turns.goes(item)) })
        .collect();
    let (at_least, at_most) = turns.bounds(&items, &outlooks);
    RemovalForecast { outlooks, at_least, at_most }
}

type Place = (Option<Timestamp>, Option<Timestamp>);

struct Item {
    first: Place,
    last: Place,
    size: i128,
    age: Tristate,
    old_enough: Tristate,
}

impl Item {
    fn of(candidate: &Candidate, known: &ImageTimes, cycle: Cycle<'_>, passes: Passes) -> Self {
        let Cycle { policy, now, .. } = cycle;
        let old_enough = match known.is_younger(policy.min_age, now) {
            Tristate::Always => Tristate::Never,
            // The kubelet spares what it remembers to be in use at a time in the future.
            Tristate::Never if !known.may_be_used_after(now) => Tristate::Always,
            _ => Tristate::Perhaps,
        };
        let at_best = if passes.may_be_used { Tristate::Perhaps } else { Tristate::Always };
        Self {
            first: known.first_place(),
            last: known.last_place(),
            size: candidate.record.size.into(),
            age: passes.age.min(known.is_unused_for(policy.max_age, now)).min(at_best),
            old_enough: old_enough.min(at_best),
        }
    }

    /// It may free its bytes in the space pass.
    fn may_free(&self) -> bool {
        self.age != Tristate::Always && self.old_enough != Tristate::Never
    }

    /// It frees its bytes in the space pass when its turn comes.
    fn must_free(&self) -> bool {
        self.age == Tristate::Never && self.old_enough == Tristate::Always
    }
}

/// The space pass: whose turn comes, and what has been freed by then.
struct Turns {
    space: Space,
    /// The sizes are none that add up: one is negative, or their sum is as large as 64 bits hold.
    is_odd: bool,
    /// Something may go in the age pass. The kubelet looks how full the disk is after that, so space may
    /// be wanted no longer, or less of it.
    age_may_free: bool,
    may_go_before: Sums,
    surely_go_before: Sums,
}

impl Turns {
    fn of(items: &[Item], space: Space) -> Self {
        let sum: i128 = items.iter().map(|item| item.size).sum();
        Self {
            space,
            is_odd: items.iter().any(|item| item.size < 0) || sum >= i64::MAX.into(),
            age_may_free: items.iter().any(|item| item.age != Tristate::Never),
            may_go_before: Sums::of(items.iter().filter(|item| item.may_free()), |item| item.first),
            surely_go_before: Sums::of(items.iter().filter(|item| item.must_free()), |item| {
                item.last
            }),
        }
    }

    /// Returns true if an image goes in the space pass, if the age pass leaves it.
    fn goes(&self, item: &Item) -> Tristate {
        let amount = match self.space {
            Space::NotWanted => return Tristate::Never,
            Space::Unknown => return item.old_enough.min(Tristate::Perhaps),
            // Whatever is freed before, this is not.
            Space::Wanted(i64::MAX) if !self.is_odd => return item.old_enough,
            Space::Wanted(_) if self.is_odd => return item.old_enough.min(Tristate::Perhaps),
            Space::Wanted(amount) => i128::from(amount),
        };
        let is_enough = |freed: Option<i128>| freed.is_some_and(|freed| freed >= amount);
        // Itself is among those that may go before it.
        let own = item.may_free().then_some(item.size);
        let at_worst = is_enough(self.may_go_before.up_to(item.last, own));
        let at_best = is_enough(self.surely_go_before.before(item.first));
        let mut reached = Tristate::of(!at_worst, !at_best);
        if self.age_may_free {
            reached = reached.min(Tristate::Perhaps);
        }
        reached.min(item.old_enough)
    }

    /// Returns what is freed at the least and at the most.
    fn bounds(&self, items: &[Item], outlooks: &[PassOutlook]) -> (i64, i64) {
        let pairs = || items.iter().zip(outlooks);
        let sum = |is_meant: &dyn Fn(&Item, &PassOutlook) -> bool| -> i128 {
            let meant = pairs().filter(|(item, outlook)| is_meant(item, outlook));
            meant.map(|(item, _)| item.size).sum()
        };
        let surely = sum(&|_, outlook| outlook.any == Tristate::Always);
        let possibly = sum(&|_, outlook| outlook.any != Tristate::Never);
        if self.is_odd {
            return self.odd_bounds(items);
        }
        let (mut at_least, mut at_most) = (surely, possibly);
        if let Space::Wanted(amount) = self.space {
            // Whatever goes in the age pass, and one that goes beyond the amount.
            let largest = items.iter().filter(|item| item.may_free()).map(|item| item.size).max();
            let for_age = sum(&|item, _| item.age != Tristate::Never);
            let beyond = i128::from(amount).saturating_sub(1).max(0) + largest.unwrap_or(0);
            at_most = at_most.min(for_age + beyond);
            // It goes on until it has the amount or nothing is left that it may take.
            if !self.age_may_free {
                at_least = at_least.max(sum(&|item, _| item.must_free()).min(amount.into()));
            }
        }
        let clamped = |bytes: i128| i64::try_from(bytes).unwrap_or(i64::MAX);
        (clamped(at_least), clamped(at_most))
    }

    /// Sums may turn around on their way, so nothing is known but what cannot be otherwise.
    fn odd_bounds(&self, items: &[Item]) -> (i64, i64) {
        let sum = |is_meant: fn(i128) -> bool| -> Option<i64> {
            let may_go = |item: &&Item| {
                item.age != Tristate::Never
                    || (self.space != Space::NotWanted && item.old_enough != Tristate::Never)
            };
            let sizes = items.iter().filter(may_go).map(|item| item.size);
            i64::try_from(sizes.filter(|size| is_meant(*size)).sum::<i128>()).ok()
        };
        match (sum(|size| size < 0), sum(|size| size > 0)) {
            (Some(at_least), Some(at_most)) => (at_least, at_most),
            _ => (i64::MIN, i64::MAX),
        }
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
