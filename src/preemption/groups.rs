//! One round without looking at every pod: those that give and ask for the same are one group, and the
//! groups stand in a tree whose nodes know the most that any below gives, and the least that any asks for.
//!
//! The result is that of `plain`, to the last bit. That rests on this: no distance becomes smaller where
//! less is given, not even by rounding, since each of its steps is monotone; so what a node knows bounds
//! the distances below it. The kubelet takes the last of the pods whose distance, and then request, is the
//! least; its first guess never stays, because no pod that gives nothing or more is that far away.

use super::requirement::shortfall;
use super::search::{Candidate, Missing, Pick};
use super::victims::Round;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Pods in groups. Pods are told by their places in the list, which change as the list does.
pub(super) struct Groups {
    /// How many resources are missing.
    width: usize,
    /// The group of each place.
    group_of: Vec<usize>,
    /// The places of each group.
    places: Vec<BTreeSet<usize>>,
    /// How many leaves the tree has: a power of two. The root is 1, the children of a node are at twice
    /// its number, the leaf of a group is at its own after all inner nodes.
    leaves: usize,
    /// The most that is given below a node, of each that is missing.
    most: Vec<i64>,
    /// The least that is asked for below a node; `None`: nobody is left there.
    least: Vec<Option<(i64, i64)>>,
}

/// What the pods of a group have alike.
type Alike = (Vec<i64>, (i64, i64));

/// The nearest groups so far.
struct Nearest {
    distance: f64,
    asks: (i64, i64),
    groups: Vec<usize>,
}

impl Groups {
    /// Puts pods into groups.
    pub(super) fn new(pods: &[Candidate], missing: &[Missing]) -> Self {
        let mut by_amounts: BTreeMap<Alike, BTreeSet<usize>> = BTreeMap::new();
        for (place, pod) in pods.iter().enumerate() {
            let gives = missing.iter().map(|it| pod.gives(it.at)).collect();
            by_amounts.entry((gives, pod.asks)).or_default().insert(place);
        }
        let mut groups: Vec<(Alike, BTreeSet<usize>)> = by_amounts.into_iter().collect();
        let (width, leaves) = (missing.len(), groups.len().next_power_of_two());
        arrange(&mut groups, leaves, width, 0);
        let mut all = Self {
            width,
            group_of: vec![0; pods.len()],
            places: Vec::with_capacity(groups.len()),
            leaves,
            most: vec![0; 2 * leaves * width],
            least: vec![None; 2 * leaves],
        };
        for (group, ((gives, asks), places)) in groups.into_iter().enumerate() {
            for place in &places {
                if let Some(of) = all.group_of.get_mut(*place) {
                    *of = group;
                }
            }
            let leaf = leaves + group;
            if let Some(most) = all.most.get_mut(leaf * width..(leaf + 1) * width) {
                most.copy_from_slice(&gives);
            }
            if let Some(least) = all.least.get_mut(leaf) {
                *least = Some(asks);
            }
            all.places.push(places);
        }
        for node in (1..leaves).rev() {
            all.learn(node);
        }
        all
    }

    /// Looks for the pod that is nearest to what is missing; `room` is how many ties may be kept.
    pub(super) fn round(&self, pods: &[Candidate], missing: &[Missing], room: &mut usize) -> Pick {
        let mut nearest =
            Nearest { distance: f64::INFINITY, asks: (i64::MAX, i64::MAX), groups: Vec::new() };
        self.look(1, self.bound(1, missing), missing, &mut nearest);
        let groups = || nearest.groups.iter().filter_map(|group| self.places.get(*group));
        let place = groups().filter_map(BTreeSet::last).max().copied().unwrap_or(0);
        let pod = |place: usize| pods.get(place).map(|pod| pod.pod);
        let equal = groups().map(BTreeSet::len).sum::<usize>().saturating_sub(1);
        let mut ties = Vec::new();
        if equal <= *room {
            *room -= equal;
            ties.extend(groups().flatten().copied().filter(|it| *it != place));
            ties.sort_unstable();
        }
        let more_ties = equal - ties.len();
        let round = Round {
            requirements: Vec::new(),
            visits: Vec::new(),
            chosen: pod(place).unwrap_or(0),
            distance: nearest.distance,
            ties: ties.into_iter().filter_map(pod).collect(),
            more_ties,
            remaining: Vec::new(),
        };
        Pick { place, round }
    }

    /// Follows the list: the pod at a place goes, and the last takes its place.
    pub(super) fn swap_remove(&mut self, place: usize) {
        let last = self.group_of.len().saturating_sub(1);
        let Some(group) = self.group_of.get(place).copied() else { return };
        if let Some(places) = self.places.get_mut(group) {
            places.remove(&place);
        }
        if let Some(moved) = self.group_of.get(last).copied().filter(|_| last != place)
            && let Some(places) = self.places.get_mut(moved)
        {
            places.remove(&last);
            places.insert(place);
        }
        self.group_of.swap_remove(place);
        if self.places.get(group).is_some_and(BTreeSet::is_empty) {
            let mut node = self.leaves + group;
            if let Some(least) = self.least.get_mut(node) {
                *least = None;
            }
            while node > 1 {
                node /= 2;
                self.learn(node);
            }
        }
    }

    /// Makes a node know what its children know.
    fn learn(&mut self, node: usize) {
        let of = |child: usize| self.least.get(child).copied().flatten();
        let (left, right) = (2 * node, 2 * node + 1);
        let (of_left, of_right) = (of(left), of(right));
        for at in 0..self.width {
            let of = |child: usize| self.gives(child).get(at).copied().unwrap_or(0);
            let most = match (of_left, of_right) {
                (Some(_), Some(_)) => of(left).max(of(right)),
                (None, Some(_)) => of(right),
                _ => of(left),
            };
            if let Some(known) = self.most.get_mut(node * self.width + at) {
                *known = most;
            }
        }
        if let Some(least) = self.least.get_mut(node) {
            *least = of_left.into_iter().chain(of_right).min();
        }
    }

    fn gives(&self, node: usize) -> &[i64] {
        self.most.get(node * self.width..(node + 1) * self.width).unwrap_or_default()
    }

    /// Returns the distance that nobody below a node is nearer than; of a leaf, its own.
    fn bound(&self, node: usize, missing: &[Missing]) -> f64 {
        let quantities = missing.iter().map(|it| it.quantity);
        shortfall(quantities.zip(self.gives(node).iter().copied()))
    }

    /// Looks below a node, whose bound is given, for groups that are as near as the nearest or nearer.
    fn look(&self, node: usize, bound: f64, missing: &[Missing], nearest: &mut Nearest) {
        let Some(asks) = self.least.get(node).copied().flatten() else { return };
        let order = bound.total_cmp(&nearest.distance).then(asks.cmp(&nearest.asks));
        if order == Ordering::Greater {
            return;
        }
        if node >= self.leaves {
            if order == Ordering::Less {
                (nearest.distance, nearest.asks) = (bound, asks);
                nearest.groups.clear();
            }
            nearest.groups.push(node - self.leaves);
            return;
        }
        let child = |child: usize| {
            let asks = self.least.get(child).copied().flatten();
            (self.bound(child, missing), asks.unwrap_or((i64::MAX, i64::MAX)), child)
        };
        let (mut first, mut second) = (child(2 * node), child(2 * node + 1));
        if second.0.total_cmp(&first.0).then(second.1.cmp(&first.1)) == Ordering::Less {
            (first, second) = (second, first);
        }
        self.look(first.2, first.0, missing, nearest);
        self.look(second.2, second.0, missing, nearest);
    }
}

/// Puts groups in an order in which those below each node of the tree are alike: halves them by what they
/// give of one resource, the halves by the next, and then by what they ask for.
fn arrange(groups: &mut [(Alike, BTreeSet<usize>)], leaves: usize, width: usize, depth: usize) {
    let half = leaves / 2;
    if groups.len() <= 1 || half == 0 {
        return;
    }
    if groups.len() <= half {
        arrange(groups, half, width, depth);
        return;
    }
    let by = depth % (width + 1);
    let key = |alike: &Alike| alike.0.get(by).copied();
    groups.select_nth_unstable_by(half, |(one, _), (other, _)| {
        key(one).cmp(&key(other)).then_with(|| one.1.cmp(&other.1))
    });
    let (left, right) = groups.split_at_mut(half);
    arrange(left, half, width, depth + 1);
    arrange(right, half, width, depth + 1);
}
