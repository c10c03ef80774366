//! The search over the sets of pods that a starting kubelet may have taken in, second by second.

use super::bounds;
use super::state::{Key, State, Turn, join_equal, turns};
use super::{AnyOrder, CheckMemory, EarlierChecks, PossibleEnds, PossibleRefusal, seconds};
use crate::amounts::Amounts;
use crate::preemption::equal_victims::any_victims;
use crate::preemption::handle::{Handled, Outcome, make_room_with};
use crate::preemption::victims::{PotentialVictim, Requirement, Trace, pick_among};
use crate::{
    DeviceDecision, Facts, Filtered, HostPort, Occupancy, Verdict, drop_places, examine, finally,
};
use kq_facts::node_object::NodeObject;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// How many sets of pods are kept at a time.
const MOST_STATES: usize = 4_000;

/// The most pods of one second whose orders are gone through for the message of a refused pod alone.
const MOST_FOR_MESSAGES: usize = 8;

/// The most pods of one second whose equal ones are looked for.
pub(super) const MOST_TIED: usize = 1_000;

/// A search over the orders of pods.
pub(super) struct Search<'s, 'p, C> {
    pub turns: Vec<Turn<'p>>,
    pub seconds: Vec<Range<usize>>,
    pub node: &'s NodeObject,
    pub rules: &'s KubeletRules,
    checks: &'s C,
    /// The places of the pods of each kind.
    members: BTreeMap<usize, Vec<usize>>,
    /// How many more admissions may be computed.
    pub room: usize,
    pub found: AnyOrder,
}

/// The search has come to its bound.
pub(super) struct TooMany;

/// What becomes of a pod at its turn.
struct Step<C> {
    /// Why it is refused; empty: it is taken in.
    refusals: Vec<PossibleRefusal>,
    /// The pods that are killed for it, and what is left then: one for each choice among equal victims.
    after: Vec<(BTreeSet<usize>, State<C>)>,
}

/// The judgement of a pod among others.
pub(super) struct Judged {
    /// Why it is refused; empty: it is taken in.
    pub refusals: Vec<PossibleRefusal>,
    /// What pods are killed for; `None`: none are.
    pub requirements: Option<Vec<Requirement>>,
    /// It is refused whatever room there is.
    pub is_not_about_room: bool,
}

impl<'s, 'p, C: EarlierChecks> Search<'s, 'p, C> {
    pub fn new(
        order: &[&'p Pod],
        node: &'s NodeObject,
        checks: &'s C,
        rules: &'s KubeletRules,
        room: usize,
    ) -> Self {
        let found =
            AnyOrder { pods: vec![PossibleEnds::default(); order.len()], ..AnyOrder::default() };
        let turns = turns(order, checks, rules);
        let members = (0..turns.len()).map(|at| (at, vec![at])).collect();
        Self { turns, seconds: seconds(order), node, rules, checks, members, room, found }
    }

    pub fn run(mut self) -> AnyOrder {
        let mut states = vec![State::new(self.checks)];
        for (at, second) in self.seconds.clone().into_iter().enumerate() {
            let next = match self.second(&states, &second) {
                Ok(next) => next,
                Err(TooMany) => {
                    bounds::leave_open(&mut self, &states, at);
                    return self.found;
                }
            };
            states = self.merged(next, second.end);
        }
        for state in &states {
            self.keep(state);
        }
        self.found
    }

    /// Notes the pods of a set: they stay in one of the orders.
    pub fn keep(&mut self, state: &State<C>) {
        for kind in state.key(&self.turns).0 {
            self.each_of(kind, |ends| ends.stays = true);
        }
    }

    /// Changes the ends of each pod of a kind.
    fn each_of(&mut self, kind: usize, change: impl Fn(&mut PossibleEnds)) {
        for place in self.members.get(&kind).into_iter().flatten() {
            self.found.pods.get_mut(*place).into_iter().for_each(&change);
        }
    }

    /// Returns the sets, of those that differ in nothing for the pods from a place on, one.
    fn merged(&mut self, states: BTreeMap<Key, State<C>>, from: usize) -> Vec<State<C>> {
        let later = self.turns.get(from..).unwrap_or_default();
        if states.len() == 1 || later.iter().any(|turn| turn.is_critical) {
            return states.into_values().collect();
        }
        let mut different = BTreeMap::new();
        for state in states.into_values() {
            // No later pod kills one of them.
            self.keep(&state);
            let others = state.occupancy(&self.turns);
            let Amounts { milli_cpu, memory, ephemeral_storage, pods, scalars } = others.used();
            let used = (*milli_cpu, *memory, *ephemeral_storage, *pods, scalars.clone());
            let ports: Vec<HostPort<'p>> = others.ports().keys().copied().collect();
            different.entry((used, ports, state.remembered.clone())).or_insert(state);
        }
        different.into_values().collect()
    }

    /// Returns the sets of pods after a second.
    fn second(
        &mut self,
        states: &[State<C>],
        second: &Range<usize>,
    ) -> Result<BTreeMap<Key, State<C>>, TooMany> {
        let mut next = BTreeMap::new();
        let never: Vec<usize> = second.clone().filter(|at| self.is_never_taken(*at)).collect();
        for state in states {
            if let Some(all) = self.all_fit(state, second, &never)? {
                self.note_never(&never, [state, &all])?;
                if never.is_empty() || !(2..=MOST_FOR_MESSAGES).contains(&second.len()) {
                    next.insert(all.key(&self.turns), all);
                    continue;
                }
                // Between the first and the last, what is short may change.
                self.tie(second)?;
                self.orders(state, second, &never, &mut BTreeMap::new())?;
                next.insert(all.key(&self.turns), all);
                continue;
            }
            if second.len() > 1 {
                self.tie(second)?;
            }
            self.orders(state, second, &never, &mut next)?;
            if next.len() > MOST_STATES {
                return Err(TooMany);
            }
        }
        Ok(next)
    }

    /// Prepares a second whose order decides: finds its equal pods.
    pub fn tie(&mut self, second: &Range<usize>) -> Result<(), TooMany> {
        self.found.has_ties = true;
        if second.len() > MOST_TIED {
            return Err(TooMany);
        }
        let Some(tied) = self.turns.get_mut(second.clone()) else { return Ok(()) };
        join_equal(tied, self.node, self.rules);
        for (place, turn) in second.clone().zip(tied).filter(|(place, turn)| *place != turn.kind) {
            self.members.remove(&place);
            let members = self.members.entry(turn.kind).or_default();
            if !members.contains(&place) {
                members.push(place);
            }
        }
        Ok(())
    }

    /// Returns true if a pod is refused even where it is alone, and kills none: it takes nothing from the others.
    fn is_never_taken(&self, place: usize) -> bool {
        let Some(turn) = self.turns.get(place) else { return false };
        let Some(decided) = &turn.decided else { return false };
        let judged = self.judge(turn, decided, &Occupancy::default(), &[]);
        // What a critical pod lacks, it may take from others.
        match turn.is_critical {
            true => judged.is_not_about_room,
            false => !judged.refusals.is_empty(),
        }
    }

    /// Notes why pods that are never taken in are refused next to these sets of pods.
    fn note_never<'a>(
        &mut self,
        never: &[usize],
        states: impl IntoIterator<Item = &'a State<C>>,
    ) -> Result<(), TooMany>
    where
        C: 'a,
    {
        if never.is_empty() {
            return Ok(());
        }
        for state in states {
            let others = state.occupancy(&self.turns);
            for place in never {
                let step = self.step(state.clone(), &others, *place)?;
                self.note(*place, &step);
            }
        }
        Ok(())
    }

    /// Returns the set after a second of which every pod is taken in without a victim: then that is so in every order.
    fn all_fit(
        &mut self,
        before: &State<C>,
        second: &Range<usize>,
        never: &[usize],
    ) -> Result<Option<State<C>>, TooMany> {
        let mut state = before.clone();
        let mut others = state.occupancy(&self.turns);
        for place in second.clone().filter(|at| never.binary_search(at).is_err()) {
            let Step { refusals, mut after } = self.step(state, &others, place)?;
            match (after.pop(), after.is_empty()) {
                (Some((victims, after)), true) if refusals.is_empty() && victims.is_empty() => {
                    state = after;
                }
                _ => return Ok(None),
            }
            if let Some(turn) = self.turns.get(place) {
                others.add_counted(turn.pod, turn.takes.clone());
            }
        }
        Ok(Some(state))
    }

    /// Goes through the orders of a second, and adds the sets of pods at its end.
    fn orders(
        &mut self,
        before: &State<C>,
        second: &Range<usize>,
        never: &[usize],
        ends: &mut BTreeMap<Key, State<C>>,
    ) -> Result<(), TooMany> {
        let of_second = self.members.range(second.clone());
        let of_second = of_second.filter(|(kind, _)| never.binary_search(kind).is_err());
        let kinds: BTreeMap<usize, Vec<usize>> =
            of_second.map(|(kind, places)| (*kind, places.clone())).collect();
        let left: BTreeMap<usize, usize> =
            kinds.iter().map(|(kind, places)| (*kind, places.len())).collect();
        let mut level = BTreeMap::from([((before.key(&self.turns), left.clone()), before.clone())]);
        while !level.is_empty() {
            let mut next = BTreeMap::new();
            for ((key, left), state) in level {
                self.note_never(never, [&state])?;
                let others = state.occupancy(&self.turns);
                // Without a pod that kills, what does not fit now does not fit later either.
                let is_final = |kind: &usize| {
                    let places = kinds.get(kind).map_or(&[][..], Vec::as_slice);
                    let mut turns = places.iter().filter_map(|at| self.turns.get(*at));
                    turns.all(|turn| !turn.is_critical && turn.memory == CheckMemory::Nothing)
                };
                let refusals_last = left.keys().all(is_final);
                let mut is_end = true;
                for (kind, count) in &left {
                    let places = kinds.get(kind).map_or(&[][..], Vec::as_slice);
                    let Some(place) = places.get(places.len() - count) else { continue };
                    let step = self.step(state.clone(), &others, *place)?;
                    self.note(*place, &step);
                    if refusals_last && !step.refusals.is_empty() {
                        continue;
                    }
                    is_end = false;
                    let mut left = left.clone();
                    match count {
                        1 => _ = left.remove(kind),
                        count => _ = left.insert(*kind, count - 1),
                    }
                    for (_, after) in step.after {
                        next.insert((after.key(&self.turns), left.clone()), after);
                    }
                }
                if is_end {
                    ends.insert(key, state);
                }
            }
            if next.len() > MOST_STATES {
                return Err(TooMany);
            }
            level = next;
        }
        Ok(())
    }

    /// Admits pods in one order, and notes their ends.
    pub fn admit_all(&mut self, before: &State<C>, order: &[usize]) -> Result<(), TooMany> {
        let mut state = before.clone();
        let mut others = state.occupancy(&self.turns);
        for place in order {
            // A pod that kills none has one set after it.
            let is_critical = self.turns.get(*place).is_some_and(|turn| turn.is_critical);
            let before = is_critical.then(|| state.clone());
            let mut step = self.step(state, &others, *place)?;
            self.note(*place, &step);
            let (victims, after) = match (step.after.pop(), before) {
                (Some(after), _) => after,
                (None, Some(before)) => {
                    state = before;
                    continue;
                }
                (None, None) => return Err(TooMany),
            };
            let is_taken = after.taken.last() == Some(place);
            state = after;
            match self.turns.get(*place) {
                Some(turn) if victims.is_empty() && is_taken => {
                    others.add_counted(turn.pod, turn.takes.clone());
                }
                _ if victims.is_empty() => {}
                _ => others = state.occupancy(&self.turns),
            }
        }
        self.keep(&state);
        Ok(())
    }

    /// Returns true for the first pod of those of its kind.
    pub fn is_first_of_kind(&self, place: usize) -> bool {
        self.turns.get(place).is_some_and(|turn| turn.kind == place)
    }

    /// Notes the end of a pod, and of those that are killed for it.
    fn note(&mut self, place: usize, step: &Step<C>) {
        let Some(kind) = self.turns.get(place).map(|turn| turn.kind) else { return };
        for refusal in &step.refusals {
            self.each_of(kind, |ends| ends.refuse(refusal.clone()));
        }
        let killers = self.members.get(&kind).cloned().unwrap_or_default();
        for victim in step.after.iter().flat_map(|(victims, _)| victims) {
            let Some(kind) = self.turns.get(*victim).map(|turn| turn.kind) else { continue };
            self.each_of(kind, |ends| ends.killed_for.extend(&killers));
        }
    }

    /// Admits the pod at a place. What the checks remember is copied where another set shares it.
    fn step(
        &mut self,
        mut after: State<C>,
        others: &Occupancy<'p>,
        place: usize,
    ) -> Result<Step<C>, TooMany> {
        let Some(turn) = self.turns.get(place) else { return Err(TooMany) };
        // A pod may ask for thousands of resources, each of which is compared.
        let cost = 1 + turn.takes.scalars.len() / 4;
        self.room = self.room.checked_sub(cost).ok_or(TooMany)?;
        let asked;
        let decided: &DeviceDecision = match &turn.decided {
            Some(decided) => decided,
            None => {
                asked = Rc::make_mut(&mut after.checks).decide(turn.pod);
                after.remembered.push(place);
                &asked
            }
        };
        let candidates = self.candidates(&after, turn);
        let Judged { refusals, requirements, .. } = self.judge(turn, decided, others, &candidates);
        let mut choices = vec![BTreeSet::new()];
        if let Some(requirements) = requirements {
            let kinds = after.taken.iter().filter_map(|at| self.turns.get(*at));
            let kinds: Vec<usize> = kinds.map(|turn| turn.kind).collect();
            let any = any_victims(turn.pod, &candidates, &kinds, &requirements, MOST_STATES);
            let any = any.ok_or(TooMany)?;
            self.found.has_equal_victims |= any.is_chosen_among_equals;
            choices = any.sets.into_iter().collect();
        }
        let is_taken = refusals.is_empty();
        let without = |victims: BTreeSet<usize>| {
            let (taken, mut after) = (&after.taken, after.clone());
            if !victims.is_empty() {
                drop_places(&mut after.taken, &victims);
            }
            if is_taken {
                after.taken.push(place);
            }
            let killed = victims.iter().filter_map(|at| taken.get(*at).copied()).collect();
            (killed, after)
        };
        Ok(Step { refusals, after: choices.into_iter().map(without).collect() })
    }

    /// Returns the pods of a set as possible victims of a pod; only a critical one kills.
    fn candidates(&self, state: &State<C>, of: &Turn<'p>) -> Vec<PotentialVictim<'p>> {
        if !of.is_critical {
            return Vec::new();
        }
        let all = state.taken.iter().filter_map(|at| self.turns.get(*at));
        all.map(|turn| turn.victim.clone()).collect()
    }

    /// Judges a pod among others.
    pub fn judge(
        &self,
        turn: &Turn<'p>,
        decided: &DeviceDecision,
        others: &Occupancy<'p>,
        candidates: &[PotentialVictim<'p>],
    ) -> Judged {
        if let Some(refusal) = &decided.refusal {
            let refusals = vec![PossibleRefusal::Other(refusal.clone())];
            return Judged { refusals, requirements: None, is_not_about_room: true };
        }
        let examined = examine(turn.pod, &self.facts(others, decided), self.rules);
        let (verdict, handled) = make_room_with(turn.pod, &examined, |requirements| {
            pick_among(turn.pod, candidates, requirements, Trace::Chosen)
        });
        let Filtered { failures, unordered } = &examined.filtered;
        let outcome = handled.as_ref().map(|handled| &handled.outcome);
        let is_by_failure = outcome == Some(&Outcome::NotCritical);
        let is_not_about_room =
            examined.refusal.is_some() || matches!(outcome, Some(Outcome::OtherFailures(_)));
        let refusals = match &verdict {
            Verdict::Refused(_) if is_by_failure => failures.get(..1),
            Verdict::RefusedByOneOf(_) if is_by_failure => failures.get(unordered.clone()),
            _ => None,
        };
        let refusals = match refusals {
            Some(failures) => failures.iter().map(PossibleRefusal::of).collect(),
            None => {
                let refusals = finally(turn.pod, verdict.refusals(), self.rules);
                refusals.into_iter().map(PossibleRefusal::Other).collect()
            }
        };
        let requirements = match handled {
            Some(Handled { outcome: Outcome::Kills(_), preemption: Some(preemption) }) => {
                Some(preemption.requirements)
            }
            _ => None,
        };
        Judged { refusals, requirements, is_not_about_room }
    }

    /// Returns what a pod is examined with.
    pub fn facts<'f>(
        &'f self,
        others: &'f Occupancy<'p>,
        decided: &'f DeviceDecision,
    ) -> Facts<'f> {
        Facts {
            others,
            cached: Ok(self.node),
            fresh: Ok(self.node),
            allocated_devices: Ok(&decided.allocated),
        }
    }
}
