//! The choice among equal victims. The kubelet goes through a list that comes from a map, and takes the last of those that are
//! as near to what is missing and request as little (`getPodsToPreemptByDistance`, `pkg/kubelet/preemption/preemption.go`, read
//! in 1.36.2): each of them can be the last.

use super::search::{Candidate, Missing, Search};
use super::victims::{PotentialVictim, Requirement, Trace, shortfall, subtract};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::priority::is_preemptable;
use kq_k8s::qos::QosClass;
use std::collections::{BTreeMap, BTreeSet};

/// How many candidates are kept at a time, over all choices.
const MOST_KEPT: usize = 200_000;

/// With how many pods each is compared to find equal ones.
const MOST_COMPARED: usize = 1_000;

/// The victims that the kubelet may choose for a pod: among equal pods, the order of a map decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnyVictims {
    /// The possible sets, as places in the given list. Of sets that differ in pods of the same kind alone, one.
    pub sets: BTreeSet<BTreeSet<usize>>,
    /// The kubelet chooses one of several equal pods.
    pub is_chosen_among_equals: bool,
}

/// The pods that the kubelet kills for another, whichever of equal ones it chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VictimChoice {
    /// Those that it kills in any case, as places in the given list.
    pub certain: BTreeSet<usize>,
    /// Those that it may kill, with the certain ones.
    pub possible: BTreeSet<usize>,
}

/// Returns which pods the kubelet kills or may kill to free the required amounts; `None`: not all pods together are enough, or
/// there are too many choices.
pub fn choose_victims(
    preemptor: &Pod,
    pods: &[&Pod],
    requirements: &[Requirement],
    rules: &KubeletRules,
) -> Option<VictimChoice> {
    let pods: Vec<PotentialVictim<'_>> =
        pods.iter().map(|pod| PotentialVictim::of(pod, rules)).collect();
    let mut kinds: Vec<usize> = Vec::new();
    for (at, pod) in pods.iter().enumerate() {
        let before = pods.iter().take(at.min(MOST_COMPARED)).zip(&kinds);
        let is_same = |other: &PotentialVictim<'_>| {
            pod.gives_as(other) && pod.pod.spec.priority == other.pod.spec.priority
        };
        let mut same = before.filter(|(other, _)| is_same(other)).map(|(_, kind)| *kind);
        kinds.push(same.next().unwrap_or(at));
    }
    let any = any_victims(preemptor, &pods, &kinds, requirements, MOST_KEPT)?;
    let mut members: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, kind) in kinds.iter().enumerate() {
        members.entry(*kind).or_default().insert(at);
    }
    let mut choice = VictimChoice::default();
    let kind_of = |at: &usize| kinds.get(*at).copied();
    for set in &any.sets {
        for kind in set.iter().filter_map(kind_of) {
            choice.possible.extend(members.get(&kind).into_iter().flatten());
        }
    }
    // Of a kind, all go or none in particular.
    choice.certain = choice.possible.clone();
    for set in &any.sets {
        let count = |kind: usize| set.iter().filter(|at| kind_of(at) == Some(kind)).count();
        choice.certain.retain(|at| {
            let kind = kinds.get(*at).copied().unwrap_or(*at);
            members.get(&kind).is_some_and(|all| all.len() == count(kind))
        });
    }
    Some(choice)
}

/// Returns each set of pods that the kubelet may kill to free the required amounts; `None`: not all pods together are
/// enough, or there are too many sets. `kinds`: the kind of each pod; pods of one kind differ in nothing.
pub fn any_victims(
    preemptor: &Pod,
    pods: &[PotentialVictim<'_>],
    kinds: &[usize],
    requirements: &[Requirement],
    most: usize,
) -> Option<AnyVictims> {
    let mut classes: [Vec<Candidate>; 3] = Default::default();
    for (at, pod) in pods.iter().enumerate() {
        let class = pod.class.filter(|_| is_preemptable(preemptor, pod.pod));
        let candidates = match class {
            None => continue,
            Some(QosClass::BestEffort) => 0,
            Some(QosClass::Burstable) => 1,
            Some(QosClass::Guaranteed) => 2,
        };
        classes[candidates].push(Candidate::of(at, pod, requirements));
    }
    Search::new(requirements, Trace::Chosen).any_classes(&classes, kinds, most)
}

/// Some victims of a class, and what is left to choose from.
struct Partial {
    victims: Vec<Candidate>,
    left: Vec<Candidate>,
    missing: Vec<Missing>,
}

impl Search<'_> {
    /// Returns the sets of victims that are possible where equal pods come in any order.
    pub(super) fn any_classes(
        &self,
        [best_effort, burstable, guaranteed]: &[Vec<Candidate>; 3],
        kinds: &[usize],
        most: usize,
    ) -> Option<AnyVictims> {
        let mut any = AnyVictims::default();
        let all = [best_effort, burstable, guaranteed].into_iter().flatten();
        if !self.without(all).is_empty() {
            return None;
        }
        let missing = self.without(best_effort.iter().chain(burstable));
        for guaranteed in self.any_stage(guaranteed, missing, kinds, &mut any, most)? {
            let missing = self.without(best_effort.iter().chain(&guaranteed));
            for burstable in self.any_stage(burstable, missing, kinds, &mut any, most)? {
                let missing = self.without(burstable.iter().chain(&guaranteed));
                for best_effort in self.any_stage(best_effort, missing, kinds, &mut any, most)? {
                    let victims = [&best_effort, &burstable, &guaranteed].into_iter().flatten();
                    any.sets.insert(victims.map(|victim| victim.pod).collect());
                    if any.sets.len() > most {
                        return None;
                    }
                }
            }
        }
        Some(any)
    }

    /// Picks victims of one class until nothing is missing, in each way that is possible.
    fn any_stage(
        &self,
        pods: &[Candidate],
        missing: Vec<Missing>,
        kinds: &[usize],
        any: &mut AnyVictims,
        most: usize,
    ) -> Option<Vec<Vec<Candidate>>> {
        let kind = |it: &Candidate| kinds.get(it.pod).copied().unwrap_or(it.pod);
        let mut sets = Vec::new();
        let start = Partial { victims: Vec::new(), left: pods.to_vec(), missing };
        let mut level = BTreeMap::from([(Vec::new(), start)]);
        while !level.is_empty() {
            let mut next = BTreeMap::new();
            for (chosen, partial) in level {
                if partial.missing.is_empty() {
                    sets.push(partial.victims);
                    continue;
                }
                let nearest = nearest(&partial.left, &partial.missing);
                any.is_chosen_among_equals |= nearest.len() > 1;
                let one_of_each: BTreeMap<usize, usize> =
                    nearest.into_iter().map(|at| (kind(&partial.left[at]), at)).collect();
                let count = one_of_each.len();
                let mut rest = Some(partial);
                for (nth, (kind, at)) in one_of_each.into_iter().enumerate() {
                    let partial = match nth + 1 == count {
                        true => rest.take(),
                        false => rest.as_ref().map(Partial::copy),
                    };
                    let Some(partial) = partial else { continue };
                    let mut chosen = chosen.clone();
                    let place = chosen.partition_point(|other| *other < kind);
                    chosen.insert(place, kind);
                    next.insert(chosen, partial.with(at));
                    if next.len() > most || next.len().saturating_mul(pods.len()) > MOST_KEPT {
                        return None;
                    }
                }
            }
            level = next;
        }
        Some(sets)
    }
}

impl Partial {
    fn copy(&self) -> Self {
        let Self { victims, left, missing } = self;
        Self { victims: victims.clone(), left: left.clone(), missing: missing.clone() }
    }

    /// Adds the pod at a place to the victims.
    fn with(mut self, at: usize) -> Self {
        let chosen = self.left.swap_remove(at);
        let stays = |it: &Missing| {
            let quantity = subtract(it.quantity, [chosen.gives(it.at)])?;
            Some(Missing { quantity, ..*it })
        };
        self.missing = self.missing.iter().filter_map(stays).collect();
        self.victims.push(chosen);
        self
    }
}

/// Returns the places of the pods that are nearest to what is missing and request the least: one of them is picked.
fn nearest(pods: &[Candidate], missing: &[Missing]) -> Vec<usize> {
    let mut nearest = Vec::new();
    let mut best: Option<(f64, (i64, i64))> = None;
    for (at, pod) in pods.iter().enumerate() {
        let distance = shortfall(missing.iter().map(|it| (it.quantity, pod.gives(it.at))));
        let own = (distance, pod.asks);
        if best.is_none_or(|best| own < best) {
            best = Some(own);
            nearest.clear();
        }
        if best == Some(own) {
            nearest.push(at);
        }
    }
    nearest
}
