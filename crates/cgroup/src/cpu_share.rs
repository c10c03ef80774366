//! The exact division of CPU time by weight and quota when every cgroup is busy.
//!
//! Pure. The ideal of hierarchical proportional sharing: a level divides what its parent got among
//! those of its children that can use something, in proportion of their weights; who can use less
//! than its share gets just that and the others divide the rest. Nothing moves across levels except
//! through what a subtree can use at most. A kernel comes close, up to its scheduling granularity.
//! Amounts are exact fractions; pinned by `tests/vectors/cpu_share.jsonl`.

use crate::cpu::DEFAULT_PERIOD_US;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

/// A cgroup that competes for CPU time.
///
/// `Id` is the caller's own: an index, a pod, nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<Id = ()> {
    /// What the caller knows it by; returned with the answer.
    pub id: Id,
    /// The name, one part of the path.
    pub name: String,
    /// `cpu.weight` or `cpu.shares`; the arithmetic is the same.
    pub weight: u64,
    /// The quota; unset, zero and negative mean no limit.
    pub cpu_quota_us: Option<i64>,
    /// The period of the quota; unset, zero and negative mean 100000.
    pub cpu_period_us: Option<i64>,
    /// Whether it uses CPU time at all; used in leaves only.
    pub cpu_hungry: bool,
    /// The most CPUs that it can keep busy; used in leaves only.
    pub threads: Option<u64>,
    /// The cgroups inside; none makes it a leaf.
    pub children: Vec<Self>,
}

impl<Id> Node<Id> {
    /// Returns a busy leaf without a limit.
    pub fn new(id: Id, name: impl Into<String>, weight: u64) -> Self {
        Self {
            id,
            name: name.into(),
            weight,
            cpu_quota_us: None,
            cpu_period_us: None,
            cpu_hungry: true,
            threads: None,
            children: Vec::new(),
        }
    }

    /// Returns quota and period when they limit anything.
    fn quota(&self) -> Option<Quota> {
        let quota_us = self.cpu_quota_us.filter(|quota_us| *quota_us > 0)?;
        let period_us = self.cpu_period_us.filter(|period| *period > 0);
        Some(Quota { quota_us, period_us: period_us.unwrap_or(DEFAULT_PERIOD_US) })
    }

    /// Returns the least of this node's own limits and which one it is; for an inner node, without
    /// those of its children.
    fn own_limit(&self) -> Option<(BigRational, Own)> {
        let quota = self.quota().map(|quota| {
            (BigRational::new(quota.quota_us.into(), quota.period_us.into()), Own::Quota(quota))
        });
        let demand = match (self.children.is_empty(), self.cpu_hungry, self.threads) {
            (true, false, _) | (true, _, Some(0)) => Some((BigRational::zero(), Own::Idle)),
            (true, true, Some(n)) => Some((BigRational::from(BigInt::from(n)), Own::Threads(n))),
            _ => None,
        };
        match (quota, demand) {
            (Some(quota), Some(demand)) if quota.0 < demand.0 => Some(quota),
            (quota, demand) => demand.or(quota),
        }
    }
}

/// A quota and its period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// CPU time per period.
    pub quota_us: i64,
    pub period_us: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Idle,
    Threads(u64),
    Quota(Quota),
}

/// How a level divided what it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// The path of the node whose weight counted: the leaf itself or a cgroup above it.
    pub path: String,
    /// Its weight. Among cgroups of weight 0, which only share leftovers, each counts 1.
    pub weight: u64,
    /// The sum of the weights that competed with it, its own included.
    pub competing_weights: u128,
    /// The CPUs that these divided.
    pub cpus: BigRational,
}

/// Why a leaf does not get more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It uses nothing.
    Idle,
    /// Its own quota is used up.
    OwnQuota(Quota),
    /// It has no more threads to run.
    Threads(u64),
    /// The quota of a cgroup above it is used up.
    AncestorQuota {
        /// The path of that cgroup.
        path: String,
        quota: Quota,
        /// How that quota was divided, when more than one competes below that cgroup.
        divided: Option<Division>,
    },
    /// Others compete: the level nearest to the leaf at which a sibling needed more, too.
    Weight(Division),
    /// No sibling needs more: it gets the rest of the node's CPUs.
    WholeNode,
}

/// What one leaf gets, and why not more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafShare<'a, Id> {
    /// The leaf, with the caller's id.
    pub node: &'a Node<Id>,
    /// The path from the top, such as `/kubepods/pod1/c0`.
    pub path: String,
    /// The CPUs that it gets.
    pub cpus: BigRational,
    /// Why it does not get more.
    pub reason: Reason,
}

/// What every leaf gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuShares<'a, Id> {
    /// The leaves in the order of the tree.
    pub leaves: Vec<LeafShare<'a, Id>>,
    /// The CPUs in use.
    pub total: BigRational,
}

/// A node of the flattened tree; parents come before their children.
struct Flat<'a, Id> {
    node: &'a Node<Id>,
    parent: Option<usize>,
    children: Vec<usize>,
    own: Option<(BigRational, Own)>,
    /// What the subtree can use at most; `None` has no end.
    most: Option<BigRational>,
    cpus: BigRational,
    /// What was divided, by which sum of weights; `None` for who got all it can use.
    divided: Option<Unsaturated>,
}

/// The part of a level that is divided by weight.
#[derive(Clone)]
struct Unsaturated {
    cpus: BigRational,
    weights: u128,
    count: usize,
    /// The weight is 0 and counts as 1, for leftovers.
    leftover: bool,
}

/// Divides `num_cpus` among the leaves of `roots`, as if all of them were busy.
pub fn cpu_shares<Id>(num_cpus: u64, roots: &[Node<Id>]) -> CpuShares<'_, Id> {
    let (mut flat, tops) = flatten(roots);
    for index in (0..flat.len()).rev() {
        let below = if flat[index].children.is_empty() {
            None
        } else {
            flat[index].children.iter().map(|child| flat[*child].most.clone()).sum()
        };
        let own = flat[index].own.as_ref().map(|(cpus, _)| cpus.clone());
        flat[index].most = match (own, below) {
            (Some(own), Some(below)) => Some(own.min(below)),
            (own, below) => own.or(below),
        };
    }

    divide(&mut flat, &tops, BigRational::from(BigInt::from(num_cpus)));
    for index in 0..flat.len() {
        let children = std::mem::take(&mut flat[index].children);
        let cpus = flat[index].cpus.clone();
        divide(&mut flat, &children, cpus);
        flat[index].children = children;
    }

    let mut leaves = Vec::new();
    let mut total = BigRational::zero();
    for (index, entry) in flat.iter().enumerate().filter(|(_, entry)| entry.children.is_empty()) {
        total += &entry.cpus;
        leaves.push(LeafShare {
            node: entry.node,
            path: path(&flat, index),
            cpus: entry.cpus.clone(),
            reason: reason(&flat, index),
        });
    }
    CpuShares { leaves, total }
}

/// Returns the nodes in the order of the tree, and the indexes of the roots.
///
/// Without recursion: the depth of the tree is the caller's.
fn flatten<Id>(roots: &[Node<Id>]) -> (Vec<Flat<'_, Id>>, Vec<usize>) {
    let mut flat: Vec<Flat<'_, Id>> = Vec::new();
    let mut tops = Vec::new();
    let mut waiting: Vec<_> = roots.iter().rev().map(|node| (None, node)).collect();
    while let Some((parent, node)) = waiting.pop() {
        let index = flat.len();
        match parent {
            Some(parent) => {
                let parent: &mut Flat<'_, Id> = &mut flat[parent];
                parent.children.push(index);
            }
            None => tops.push(index),
        }
        flat.push(Flat {
            node,
            parent,
            children: Vec::new(),
            own: node.own_limit(),
            most: None,
            cpus: BigRational::zero(),
            divided: None,
        });
        waiting.extend(node.children.iter().rev().map(|child| (Some(index), child)));
    }
    (flat, tops)
}

/// Divides `cpus` among siblings: by weight first, what is left then among those of weight 0.
fn divide<Id>(flat: &mut [Flat<'_, Id>], siblings: &[usize], cpus: BigRational) {
    let (weightless, weighted): (Vec<usize>, Vec<usize>) =
        siblings.iter().partition(|index| flat[**index].node.weight == 0);
    let rest = divide_by_weight(flat, &weighted, cpus, false);
    divide_by_weight(flat, &weightless, rest, true);
}

/// Divides `cpus` by weight and returns the rest that no cgroup can use.
///
/// Saturated siblings are found in one pass over the siblings sorted by most-to-weight: giving the
/// smallest ratio its maximum only raises what the others get per weight, so all siblings after
/// the first one that can use more than its share can, too.
fn divide_by_weight<Id>(
    flat: &mut [Flat<'_, Id>],
    siblings: &[usize],
    cpus: BigRational,
    leftover: bool,
) -> BigRational {
    let weight_of = |flat: &[Flat<'_, Id>], index: usize| {
        if leftover { 1 } else { flat[index].node.weight }
    };
    let mut rest = cpus;
    let mut weights: u128 = siblings.iter().map(|i| u128::from(weight_of(flat, *i))).sum();
    let mut limited: Vec<(BigRational, usize)> = siblings
        .iter()
        .filter_map(|index| {
            let most = flat[*index].most.as_ref()?;
            Some((most / BigInt::from(weight_of(flat, *index)), *index))
        })
        .collect();
    limited.sort();

    let mut saturated = 0;
    for (ratio, index) in &limited {
        if ratio * BigInt::from(weights) > rest {
            break;
        }
        let most = flat[*index].most.clone().unwrap_or_default();
        rest -= &most;
        flat[*index].cpus = most;
        weights -= u128::from(weight_of(flat, *index));
        saturated += 1;
    }
    let count = siblings.len() - saturated;
    if count == 0 {
        return rest;
    }

    // The rest of `limited` and all without an end; the saturated ones are marked by taking them
    // out, so that nothing is searched for.
    let mut open = vec![true; siblings.len()];
    for (_, index) in &limited[..saturated] {
        if let Ok(place) = siblings.binary_search(index) {
            open[place] = false;
        }
    }
    let per_weight = &rest / BigInt::from(weights);
    for (index, _) in siblings.iter().zip(open).filter(|(_, open)| *open) {
        flat[*index].cpus = &per_weight * BigInt::from(weight_of(flat, *index));
        flat[*index].divided = Some(Unsaturated { cpus: rest.clone(), weights, count, leftover });
    }
    BigRational::zero()
}

fn path<Id>(flat: &[Flat<'_, Id>], index: usize) -> String {
    let mut names = Vec::new();
    let mut next = Some(index);
    while let Some(index) = next {
        names.push(flat[index].node.name.as_str());
        next = flat[index].parent;
    }
    names.iter().rev().flat_map(|name| ["/", name]).collect()
}

/// Returns why a leaf does not get more than it got.
fn reason<Id>(flat: &[Flat<'_, Id>], leaf: usize) -> Reason {
    let entry = &flat[leaf];
    if let (None, Some((_, own))) = (&entry.divided, &entry.own) {
        return match *own {
            Own::Idle => Reason::Idle,
            Own::Threads(threads) => Reason::Threads(threads),
            Own::Quota(quota) => Reason::OwnQuota(quota),
        };
    }
    let mut division = None;
    let mut next = Some(leaf);
    while let Some(index) = next {
        let entry = &flat[index];
        next = entry.parent;
        let Some(divided) = &entry.divided else {
            // Saturated, and yet the leaf below it could use more: by its own quota.
            if let Some((_, Own::Quota(quota))) = entry.own {
                return Reason::AncestorQuota { path: path(flat, index), quota, divided: division };
            }
            continue;
        };
        if division.is_none() && divided.count > 1 {
            division = Some(Division {
                path: path(flat, index),
                weight: if divided.leftover { 1 } else { entry.node.weight },
                competing_weights: divided.weights,
                cpus: divided.cpus.clone(),
            });
        }
    }
    division.map_or(Reason::WholeNode, Reason::Weight)
}

#[cfg(test)]
mod tests;
