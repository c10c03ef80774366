//! What may become of pods whose orders are too many to try. A pod that fits next to all that may come before it is taken in
//! for certain, and one that does not fit next to those that are there for certain is refused. Between the two, some orders are
//! tried, and show what is possible.

use super::search::{MOST_TIED, Search};
use super::state::State;
use super::{EarlierChecks, MOST_ADMISSIONS, PossibleEnds, PossibleRefusal};
use crate::amounts::Amounts;
use crate::{CheckName, DeviceDecision, Occupancy, Refusal, examine, host_ports};
use kq_k8s::pod::ResourceName;
use kq_k8s::priority::is_preemptable;
use std::collections::BTreeSet;
use std::ops::Range;

/// How many pods are put into sets that may leave too little of a resource, for each pod and resource.
const MOST_TRIES: usize = 5_000;

/// Adds to what was found what may become of the pods from a second on, and of those before it that may be killed.
/// `states`: the sets of pods before that second. Some orders are tried; what these do not show of a pod is said as
/// untried.
pub(super) fn leave_open<C: EarlierChecks>(
    search: &mut Search<'_, '_, C>,
    states: &[State<C>],
    second: usize,
) {
    let seconds: Vec<Range<usize>> = search.seconds.get(second..).unwrap_or_default().to_vec();
    let tied = || seconds.iter().filter(|it| it.len() > 1);
    search.found.untried = tied().map(ExactSizeIterator::len).sum();
    for second in tied() {
        // Pods that are not joined are tried one by one.
        let _ = search.tie(second);
    }
    if let Some(state) = states.first() {
        try_some(search, state, &seconds);
    }
    let most = Bounds::of(search, states, &seconds);
    for (ends, most) in search.found.pods.iter_mut().zip(most) {
        ends.add_untried(most);
    }
}

/// Admits the pods in some orders: each pod of a second as its first and as its last.
fn try_some<C: EarlierChecks>(
    search: &mut Search<'_, '_, C>,
    state: &State<C>,
    seconds: &[Range<usize>],
) {
    search.room = MOST_ADMISSIONS;
    let order: Vec<usize> = seconds.iter().cloned().flatten().collect();
    if search.admit_all(state, &order).is_err() {
        return;
    }
    for second in seconds.iter().filter(|it| it.len() > 1) {
        let kinds = second.clone().filter(|at| search.is_first_of_kind(*at));
        for place in kinds.collect::<Vec<_>>() {
            let others = second.clone().filter(|at| *at != place);
            let (first, last) = ([place].into_iter().chain(others.clone()), others.chain([place]));
            for inner in [first.collect::<Vec<usize>>(), last.collect()] {
                let before = order.iter().copied().filter(|at| *at < second.start);
                let after = order.iter().copied().filter(|at| *at >= second.end);
                let order: Vec<usize> = before.chain(inner).chain(after).collect();
                if search.admit_all(state, &order).is_err() {
                    return;
                }
            }
        }
    }
}

impl PossibleEnds {
    /// Adds what may also become of a pod.
    fn add_untried(&mut self, most: Self) {
        let kinds =
            |ends: &Self| [ends.stays, !ends.refusals.is_empty(), !ends.killed_for.is_empty()];
        let possible = kinds(&most);
        let is_open = possible.iter().filter(|is_possible| **is_possible).count() > 1;
        self.is_untried = is_open && kinds(self) != possible;
        self.stays |= most.stays;
        self.killed_for.extend(most.killed_for);
        if self.refusals.is_empty() || !is_open {
            most.refusals.into_iter().for_each(|refusal| self.refuse(refusal));
        }
    }
}

/// What may become of pods at most.
struct Bounds<'b, 's, 'p, C> {
    search: &'b mut Search<'s, 'p, C>,
    most: Vec<PossibleEnds>,
    /// The pods that may lack room and kill others.
    killers: BTreeSet<usize>,
    /// The pods that are taken in for certain, and stay.
    least: Occupancy<'p>,
    /// The pods that may be taken in.
    all: Occupancy<'p>,
}

impl<'b, 's, 'p, C: EarlierChecks> Bounds<'b, 's, 'p, C> {
    fn of(
        search: &'b mut Search<'s, 'p, C>,
        states: &[State<C>],
        seconds: &[Range<usize>],
    ) -> Vec<PossibleEnds> {
        let sets: Vec<BTreeSet<usize>> =
            states.iter().map(|state| state.taken.iter().copied().collect()).collect();
        let any: BTreeSet<usize> = sets.iter().flatten().copied().collect();
        let mut bounds = Self {
            most: search.found.pods.clone(),
            search,
            killers: BTreeSet::new(),
            least: Occupancy::default(),
            all: Occupancy::default(),
        };
        bounds.find_killers(&any, seconds);
        let in_all = |at: &usize| sets.iter().all(|set| set.contains(at));
        for place in &any {
            let is_killed = bounds.end(*place, true, Vec::new());
            if in_all(place) && !is_killed {
                add(bounds.search, &mut bounds.least, *place);
            }
            add(bounds.search, &mut bounds.all, *place);
        }
        for (nth, second) in seconds.iter().enumerate() {
            let is_exact = nth == 0 && states.len() == 1 && bounds.killers.is_empty();
            bounds.second(second, is_exact);
        }
        bounds.most
    }

    /// Finds the critical pods that may lack room: those that do not fit next to all that may be there.
    fn find_killers(&mut self, before: &BTreeSet<usize>, seconds: &[Range<usize>]) {
        let mut all = Occupancy::default();
        before.iter().for_each(|place| add(self.search, &mut all, *place));
        for second in seconds {
            second.clone().for_each(|place| add(self.search, &mut all, place));
            let is_critical =
                |at: &usize| self.search.turns.get(*at).is_some_and(|it| it.is_critical);
            for place in second.clone().filter(is_critical).collect::<Vec<_>>() {
                let refusals = self.refusals_without(place, second.len(), &mut all);
                if !refusals.is_some_and(|it| it.is_empty()) {
                    self.killers.insert(place);
                }
            }
        }
    }

    /// Returns why a pod is refused next to all that may be there before it. `all` is left with the same pods; of more
    /// than [`MOST_TIED`] of a second, the pod itself counts.
    fn refusals_without(
        &self,
        place: usize,
        of_second: usize,
        all: &mut Occupancy<'p>,
    ) -> Option<Vec<PossibleRefusal>> {
        let own = self.search.turns.get(place).map(|turn| turn.pod);
        let own = own.filter(|_| of_second <= MOST_TIED);
        let taken = own.and_then(|pod| all.take_out(pod));
        let refusals = self.refusals(place, all);
        if let Some((pod, taken)) = own.zip(taken) {
            all.add_counted(pod, taken);
        }
        refusals
    }

    /// Notes what may become of a pod; returns true if it may be killed.
    fn end(&mut self, place: usize, is_taken: bool, refusals: Vec<PossibleRefusal>) -> bool {
        let turns = &self.search.turns;
        let Some(own) = turns.get(place) else { return false };
        let second = self.search.seconds.iter().find(|it| it.contains(&place));
        let start = second.map_or(place, |it| it.start);
        let kills = |at: &&usize| {
            **at != place
                && **at >= start
                && turns.get(**at).is_some_and(|killer| is_preemptable(killer.pod, own.pod))
        };
        let killers: Vec<usize> = self.killers.iter().filter(kills).copied().collect();
        let is_killed = is_taken && !killers.is_empty();
        let Some(ends) = self.most.get_mut(place) else { return is_killed };
        ends.stays |= is_taken;
        refusals.into_iter().for_each(|refusal| ends.refuse(refusal));
        if is_killed {
            ends.killed_for.extend(killers);
        }
        is_killed
    }

    /// Decides about the pods of a second. `is_exact`: the pods before it are known.
    fn second(&mut self, second: &Range<usize>, is_exact: bool) {
        let is_possible = |it: &Self, place: &usize| {
            it.killers.contains(place)
                || it.refusals(*place, &it.least).is_none_or(|refusals| refusals.is_empty())
        };
        let possible: Vec<usize> =
            second.clone().filter(|place| is_possible(self, place)).collect();
        let knapsack = match is_exact {
            true => Knapsack::of(self.search, &possible, &self.least),
            false => None,
        };
        let mut stay = Vec::new();
        let mut all = self.all.clone();
        possible.iter().for_each(|place| add(self.search, &mut all, *place));
        for place in second.clone() {
            let at_most = self.refusals_without(place, possible.len(), &mut all);
            if possible.binary_search(&place).is_err() {
                let at_least = self.refusals(place, &self.least);
                let refusals = at_least.into_iter().chain(at_most).flatten().collect();
                self.end(place, false, refusals);
                continue;
            }
            let refusals = match knapsack.as_ref().map(|it| it.without_room_for(place)) {
                Some(Witness::None) => Vec::new(),
                Some(Witness::Of(refusal)) => {
                    let shown = self.search.found.pods.get_mut(place);
                    shown.into_iter().for_each(|ends| {
                        ends.stays = true;
                        ends.refuse(refusal.clone());
                    });
                    vec![refusal]
                }
                _ => at_most.unwrap_or_else(|| vec![self.unknown(place)]),
            };
            let is_certain = refusals.is_empty();
            if !self.end(place, true, refusals) && is_certain {
                stay.push(place);
            }
        }
        stay.into_iter().for_each(|place| add(self.search, &mut self.least, place));
        self.all = all;
    }

    /// Returns the refusal of a pod whose checks depend on the pods before it: that in the order that was tried.
    fn unknown(&self, place: usize) -> PossibleRefusal {
        let shown = self.search.found.pods.get(place).and_then(|ends| ends.refusals.first());
        shown.cloned().unwrap_or_else(|| {
            PossibleRefusal::Other(Refusal::new(
                CheckName::Placement,
                "UnexpectedAdmissionError",
                "a manager of resources may have none left",
            ))
        })
    }

    /// Returns why a pod is refused among others, none of which it kills; `None`: its checks depend on the pods before
    /// it.
    fn refusals(&self, place: usize, others: &Occupancy<'p>) -> Option<Vec<PossibleRefusal>> {
        let turn = self.search.turns.get(place)?;
        Some(self.search.judge(turn, turn.decided.as_ref()?, others, &[]).refusals)
    }
}

/// Adds the pod at a place to others.
fn add<'p, C: EarlierChecks>(search: &Search<'_, 'p, C>, others: &mut Occupancy<'p>, place: usize) {
    if let Some(turn) = search.turns.get(place) {
        others.add_counted(turn.pod, turn.takes.clone());
    }
}

/// The pods of a second, by the amounts that are compared.
struct Knapsack {
    items: Vec<Item>,
    resources: Vec<ResourceName>,
}

struct Item {
    place: usize,
    requests: Vec<i64>,
    /// What the node has left before the second.
    free: Vec<i64>,
    allocatable: Vec<i64>,
}

/// Whether a set of pods leaves too little room for another.
enum Witness {
    Of(PossibleRefusal),
    None,
    Unknown,
}

impl Knapsack {
    /// Returns the pods at these places; `None`: something else than their requests decides.
    fn of<'p, C: EarlierChecks>(
        search: &Search<'_, 'p, C>,
        places: &[usize],
        others: &Occupancy<'p>,
    ) -> Option<Self> {
        let mut ledgers = Vec::new();
        let mut scalars = BTreeSet::new();
        for place in places {
            let turn = search.turns.get(*place)?;
            let decided: &DeviceDecision = turn.decided.as_ref()?;
            let ledger = examine(turn.pod, &search.facts(others, decided), search.rules).ledger?;
            let is_simple = counted(&turn.takes) == counted(&ledger.requested)
                && host_ports(turn.pod).next().is_none();
            if !is_simple {
                return None;
            }
            scalars.extend(ledger.requested.scalars.keys().cloned());
            ledgers.push((*place, ledger));
        }
        // In the order in which the kubelet compares them: the first that is short is the reason.
        let named = ["pods", "cpu", "memory", "ephemeral-storage"].map(ResourceName::from);
        let resources: Vec<ResourceName> = named.into_iter().chain(scalars).collect();
        let amounts = |of: &Amounts, pods: i64| -> Vec<i64> {
            let amount = |name: &ResourceName| match name.as_str() {
                "pods" => pods,
                _ => of.get(name),
            };
            resources.iter().map(amount).collect()
        };
        let item = |(place, ledger): (usize, crate::Ledger)| {
            let allocatable = amounts(&ledger.allocatable, ledger.allocatable.pods);
            let used = amounts(&ledger.used, ledger.used.pods);
            let free = allocatable.iter().zip(&used).map(|(all, used)| all.saturating_sub(*used));
            Item {
                place,
                requests: amounts(&ledger.requested, 1),
                free: free.collect(),
                allocatable,
            }
        };
        Some(Self { items: ledgers.into_iter().map(item).collect(), resources })
    }

    /// Looks for pods that fit together and leave no room for the one at a place.
    fn without_room_for(&self, place: usize) -> Witness {
        let Some(own) = self.items.iter().find(|item| item.place == place) else {
            return Witness::Unknown;
        };
        let mut is_known = true;
        for (at, resource) in self.resources.iter().enumerate() {
            let (Some(requested), Some(free), Some(capacity)) =
                (own.requests.get(at), own.free.get(at), own.allocatable.get(at))
            else {
                continue;
            };
            if *requested <= 0 {
                continue;
            }
            let over = free.saturating_sub(*requested);
            let mut others: Vec<&Item> =
                self.items.iter().filter(|it| it.place != place && it.amount(at) > 0).collect();
            others.sort_by(|one, other| {
                (other.amount(at), &other.requests).cmp(&(one.amount(at), &one.requests))
            });
            let mut tries = Tries { at, over, items: &others, left: MOST_TRIES };
            let mut sum = vec![0; self.resources.len()];
            match tries.exceeds(0, &mut sum) {
                Some(true) => {
                    return Witness::Of(PossibleRefusal::Shortage {
                        resource: resource.clone(),
                        requested: *requested,
                        capacity: *capacity,
                        least: capacity.saturating_sub(*requested).saturating_add(1),
                        most: *capacity,
                    });
                }
                Some(false) => {}
                None => is_known = false,
            }
        }
        if is_known { Witness::None } else { Witness::Unknown }
    }
}

impl Item {
    fn amount(&self, at: usize) -> i64 {
        self.requests.get(at).copied().unwrap_or(0)
    }

    /// Returns true if it fits on top of a sum.
    fn fits(&self, sum: &[i64]) -> bool {
        let all = self.requests.iter().zip(&self.free).zip(sum);
        all.into_iter().all(|((own, free), sum)| *own <= 0 || *own <= free.saturating_sub(*sum))
    }
}

/// A search for pods that together request more than so much of a resource.
struct Tries<'k> {
    at: usize,
    over: i64,
    /// Those that request most come first.
    items: &'k [&'k Item],
    left: usize,
}

impl Tries<'_> {
    /// Returns true if some of the items from a place on exceed the amount with a sum; `None`: unknown.
    fn exceeds(&mut self, from: usize, sum: &mut [i64]) -> Option<bool> {
        let now = sum.get(self.at).copied().unwrap_or(0);
        if now > self.over {
            return Some(true);
        }
        let rest = self.items.get(from..).unwrap_or_default();
        let rest = rest.iter().fold(now, |all, it| all.saturating_add(it.amount(self.at)));
        if rest <= self.over {
            return Some(false);
        }
        self.left = self.left.checked_sub(1)?;
        let Some(item) = self.items.get(from).copied() else { return Some(false) };
        if item.fits(sum) {
            sum.iter_mut().zip(&item.requests).for_each(|(sum, own)| *sum += own);
            let found = self.exceeds(from + 1, sum);
            sum.iter_mut().zip(&item.requests).for_each(|(sum, own)| *sum -= own);
            if found != Some(false) {
                return found;
            }
        }
        // Without this item, one that is equal to it does no better.
        let others = self.items.get(from..).unwrap_or_default();
        let same = others.iter().take_while(|it| it.requests == item.requests).count();
        self.exceeds(from + same, sum)
    }
}

/// Returns the amounts that are compared.
fn counted(amounts: &Amounts) -> (i64, i64, i64, Vec<(&ResourceName, i64)>) {
    let scalars = amounts.scalars.iter().filter(|(_, amount)| **amount != 0);
    let scalars = scalars.map(|(name, amount)| (name, *amount)).collect();
    (amounts.milli_cpu, amounts.memory, amounts.ephemeral_storage, scalars)
}
