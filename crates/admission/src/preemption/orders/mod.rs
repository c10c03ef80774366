//! What a kubelet that starts may do with its pods in any of the orders in which it may come to them.
//!
//! The kubelet sorts pods by creation time, in whole seconds (`HandlePodAdditions`, `pkg/kubelet/kubelet.go`, and
//! `PodsByCreationTime`, `pkg/kubelet/util/sliceutils`, read in 1.36.2). The sort is not stable, and the pods come
//! from a map: among pods of one second, every order is possible. So is every choice among equal victims, whose list comes
//! from a map too (`getPodsToPreempt`, `pkg/kubelet/preemption/preemption.go`). And so is every order of the sources that the pods
//! are from (`source_orders`): each order of the sources is searched alone.
//!
//! The orders of a second are not walked one by one. The pods that are taken in so far decide what the next one finds, not
//! the order in which they came. Pods with the same amounts, priority and class of service stand for each other. So
//! the search goes over sets of pods, and each is reached once. Where there are too many sets, `bounds` answers.

mod bounds;
mod search;
mod state;
#[cfg(test)]
mod tests;

use super::restart::{are_tied, source_orders};
use crate::filter::shortage;
use crate::{DeviceDecision, Failure, Refusal};
use kq_facts::node_object::NodeObject;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use search::Search;
use std::collections::BTreeSet;

/// How many admissions are computed at most: all sets of some twelve pods of one second that all differ.
pub const MOST_ADMISSIONS: usize = 20_000;

/// The kubelet's checks before the predicates: pressure, sysctls, and the managers of resources.
pub trait EarlierChecks: Clone {
    /// Decides about the next pod.
    fn decide(&mut self, pod: &Pod) -> DeviceDecision;
    /// Returns whether the decision about a pod depends on the pods before it, or decides about those after it.
    fn memory_of(&self, pod: &Pod) -> CheckMemory;
}

/// What checks remember of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckMemory {
    /// Nothing: they decide about it as if it were the only one.
    Nothing,
    /// That it came.
    Pod,
    /// That it came, and after which others.
    Order,
}

/// What may become of the pods of a node when its kubelet starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnyOrder {
    /// The possible ends of each pod, in the given order of the pods.
    pub pods: Vec<PossibleEnds>,
    /// Pods of one second came in more than one order.
    pub has_ties: bool,
    /// The kubelet chose among equal victims.
    pub has_equal_victims: bool,
    /// How many pods of one second were too many to try.
    pub untried: usize,
}

/// A kind of an end of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EndKind {
    Stays,
    Refused,
    Killed,
}

/// What may become of a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PossibleEnds {
    /// It is taken in again and stays.
    pub stays: bool,
    /// It is refused, for one of these reasons.
    pub refusals: Vec<PossibleRefusal>,
    /// It is killed for one of the pods at these places.
    pub killed_for: BTreeSet<usize>,
    /// Not every one of these was seen to be possible: there are too many orders to try.
    pub is_untried: bool,
    /// It has other ends in another order of the sources.
    pub is_by_sources: bool,
    /// In one order of the sources, it has several ends.
    pub is_by_chance: bool,
}

/// A refusal, with all that it may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PossibleRefusal {
    /// The node is short of a resource: the other pods request between `least` and `most` of it.
    Shortage { resource: ResourceName, requested: i64, capacity: i64, least: i64, most: i64 },
    /// Any other.
    Other(Refusal),
}

impl AnyOrder {
    /// Searches the orders in which a kubelet that starts may come to pods. `order` is one of them.
    pub fn of(
        order: &[&Pod],
        node: &NodeObject,
        checks: &impl EarlierChecks,
        rules: &KubeletRules,
        most_admissions: usize,
    ) -> Self {
        let mut any = Self::default();
        for places in source_orders(order) {
            let moved: Vec<&Pod> = places.iter().filter_map(|at| order.get(*at).copied()).collect();
            let one = Search::new(&moved, node, checks, rules, most_admissions).run();
            any.add(one.in_places(&places));
        }
        any
    }

    /// Returns what was found in an order of the sources, by the places of the pods in the given order.
    fn in_places(mut self, places: &[usize]) -> Self {
        let mut pods = vec![PossibleEnds::default(); self.pods.len()];
        for (mut ends, at) in std::mem::take(&mut self.pods).into_iter().zip(places) {
            let killers = ends.killed_for.iter().filter_map(|at| places.get(*at).copied());
            ends.killed_for = killers.collect();
            ends.is_by_chance = ends.kinds().len() > 1;
            if let Some(own) = pods.get_mut(*at) {
                *own = ends;
            }
        }
        Self { pods, ..self }
    }

    /// Adds what was found in another order of the sources.
    fn add(&mut self, other: Self) {
        if self.pods.is_empty() {
            *self = other;
            return;
        }
        for (ends, others) in self.pods.iter_mut().zip(other.pods) {
            ends.add(others);
        }
        self.has_ties |= other.has_ties;
        self.has_equal_victims |= other.has_equal_victims;
        self.untried = self.untried.max(other.untried);
    }
}

impl PossibleEnds {
    fn kinds(&self) -> BTreeSet<EndKind> {
        let kinds = [
            (EndKind::Stays, self.stays),
            (EndKind::Refused, !self.refusals.is_empty()),
            (EndKind::Killed, !self.killed_for.is_empty()),
        ];
        kinds.into_iter().filter(|(_, is_possible)| *is_possible).map(|(kind, _)| kind).collect()
    }

    /// Adds the ends in another order of the sources.
    fn add(&mut self, other: Self) {
        self.is_by_sources |= self.kinds() != other.kinds();
        self.is_by_chance |= other.is_by_chance;
        self.stays |= other.stays;
        self.killed_for.extend(other.killed_for);
        self.is_untried |= other.is_untried;
        other.refusals.into_iter().for_each(|refusal| self.refuse(refusal));
    }

    /// Adds a refusal to those that are possible.
    fn refuse(&mut self, new: PossibleRefusal) {
        let has = self.refusals.iter_mut().any(|known| known.includes(&new));
        if !has {
            self.refusals.push(new);
        }
    }
}

impl PossibleRefusal {
    /// Returns what a failure says.
    fn of(failure: &Failure) -> Self {
        match failure {
            Failure::Resource { resource, requested, used, capacity } => Self::Shortage {
                resource: resource.clone(),
                requested: *requested,
                capacity: *capacity,
                least: *used,
                most: *used,
            },
            Failure::Predicate(_) => Self::Other(Refusal::by(failure)),
        }
    }

    /// Takes another refusal up if only the amount differs; returns false if it is a different one.
    fn includes(&mut self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Shortage { resource, requested, capacity, least, most },
                Self::Shortage {
                    resource: name,
                    requested: asked,
                    capacity: has,
                    least: low,
                    most: high,
                },
            ) if (&*resource, &*requested, &*capacity) == (name, asked, has) => {
                (*least, *most) = ((*least).min(*low), (*most).max(*high));
                true
            }
            (known, other) => known == other,
        }
    }

    /// Returns the reason in the pod's status.
    pub fn reason(&self) -> String {
        match self {
            Self::Shortage { resource, .. } => format!("OutOf{resource}"),
            Self::Other(refusal) => refusal.reason.clone(),
        }
    }

    /// Returns the kubelet's message, with a range for an amount that the order decides.
    pub fn message(&self) -> String {
        match self {
            Self::Shortage { resource, requested, capacity, least, most } => {
                let used = match least == most {
                    true => least.to_string(),
                    false => format!("{least} to {most}"),
                };
                shortage(resource, *requested, used, *capacity)
            }
            Self::Other(refusal) => refusal.message.trim_end().to_owned(),
        }
    }
}

/// Returns the ends of the seconds, as places in an order of pods.
fn seconds(order: &[&Pod]) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let range = |second: &[&Pod]| {
        let range = start..start + second.len();
        start = range.end;
        range
    };
    order.chunk_by(|one, other| are_tied(one, other)).map(range).collect()
}
