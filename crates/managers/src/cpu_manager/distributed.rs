//! Taking CPUs evenly of NUMA nodes (`takeByTopologyNUMADistributed` in `cpu_assignment.go`), pinned by
//! `cpu_allocate.jsonl`.
//!
//! The balance of a choice is the deviation of the free CPUs of all nodes after it. Mean and deviation are rounded to three
//! decimals, in the kubelet's floats.

use super::accumulator::{Accumulator, TakeError, Taking, take_packed};
use super::combinations::{Combination, Next, each_combination};
use super::topology::{CpuTopology, count};
use crate::topology_manager::NotComputed;
use kq_k8s::cpuset::CpuSet;
use std::collections::BTreeMap;

/// The free CPUs of NUMA nodes.
type Free = BTreeMap<i64, i64>;

/// What was chosen.
struct Best {
    nodes: Combination,
    /// The nodes that give what does not divide evenly.
    remainder: Option<Combination>,
    balance: f64,
}

/// A choice of nodes that is searched.
struct Search<'a> {
    /// The NUMA nodes with free CPUs, sorted.
    nodes: &'a [i64],
    free: &'a Free,
    wanted: i64,
    /// How many CPUs stay together.
    group: i64,
    /// How many numbers may still be looked at.
    work_left: u64,
}

/// How many numbers a search may look at. The kubelet goes on, however long it takes.
const MOST_WORK: u64 = 10_000_000;

/// Takes CPUs evenly of as few NUMA nodes as possible, in groups.
pub(super) fn take_distributed(
    topology: &CpuTopology,
    free: &CpuSet,
    wanted: i64,
    group: i64,
    taking: Taking,
) -> Result<Result<CpuSet, TakeError>, NotComputed> {
    let taking = Taking { by_cache: false, ..taking };
    let packed = || Ok(take_packed(topology, free, wanted, taking));
    if group < 1 || wanted % group != 0 {
        return packed();
    }
    let all = Accumulator::new(topology, free, wanted, taking.sorting);
    if all.is_satisfied() {
        return Ok(Ok(all.into_taken()));
    }
    if all.is_failed() {
        return Ok(Err(TakeError::NotEnough { requested: wanted, available: count(free) }));
    }
    let nodes = all.sorted_nodes();
    let of_node = |node: &i64| (*node, count(&all.free_in_node(*node)));
    let free_in: Free = nodes.iter().map(of_node).collect();
    let mut search = Search { nodes: &nodes, free: &free_in, wanted, group, work_left: MOST_WORK };
    for size in range(topology, &all, group) {
        if let Some(best) = search.best_of(size)? {
            return give(all, topology, &best, group, taking);
        }
    }
    packed()
}

/// Returns how many NUMA nodes are tried (`rangeNUMANodesNeededToSatisfy`).
fn range(
    topology: &CpuTopology,
    all: &Accumulator<'_>,
    group: i64,
) -> std::ops::RangeInclusive<usize> {
    let int = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let per = |all: i64, each: i64| (all - 1).checked_div(each).unwrap_or(0) + 1;
    let groups_per_node =
        per(per(int(topology.details().len()), group), int(topology.count_nodes()));
    let groups_needed = per(all.needed(), group);
    let least = per(groups_needed, groups_per_node);
    let most = groups_needed.min(int(all.count_free_nodes()));
    let size = |count: i64| usize::try_from(count).unwrap_or(0);
    size(least)..=size(most)
}

impl Search<'_> {
    fn free_in(&self, node: i64) -> i64 {
        self.free.get(&node).copied().unwrap_or(0)
    }

    fn work(&mut self) -> Result<(), NotComputed> {
        let work = u64::try_from(self.nodes.len()).unwrap_or(u64::MAX);
        let left = self.work_left.checked_sub(work);
        self.work_left =
            left.ok_or(NotComputed::TooManyCombinations { nodes: self.nodes.len() })?;
        Ok(())
    }

    /// Returns the best combination of so many nodes.
    fn best_of(&mut self, size: usize) -> Result<Option<Best>, NotComputed> {
        let nodes = self.nodes;
        let mut best: Option<Best> = None;
        each_combination(nodes, size, &mut |combination| {
            if best.as_ref().is_some_and(|best| best.balance == 0.0) {
                return Next::Break;
            }
            match self.of_combination(combination) {
                Ok(Some(found)) if best.as_ref().is_none_or(|it| found.balance < it.balance) => {
                    best = Some(found);
                }
                Ok(_) => {}
                Err(reason) => return Next::Stop(reason),
            }
            Next::Continue
        })?;
        Ok(best)
    }

    /// Returns the best choice with these nodes, if there is one.
    fn of_combination(&mut self, nodes: Combination) -> Result<Option<Best>, NotComputed> {
        self.work()?;
        let each = share(self.wanted, nodes.len(), self.group);
        // A node that lies in several sockets is listed for each; its CPUs are there once.
        let distinct: std::collections::BTreeSet<i64> = nodes.iter().collect();
        let free: i64 = distinct.iter().map(|node| self.free_in(*node)).sum();
        let groups: i64 = nodes.iter().map(|node| self.free_in(node) / self.group).sum();
        let is_possible = free >= self.wanted
            && groups * self.group >= self.wanted
            && nodes.iter().all(|node| self.free_in(node) >= each);
        if !is_possible {
            return Ok(None);
        }
        let mut left = self.free.clone();
        for node in nodes.iter() {
            *left.entry(node).or_default() -= each;
        }
        let remainder = self.wanted - each * int(nodes.len());
        if remainder == 0 {
            let balance = deviation(&left);
            return Ok(Some(Best { nodes, remainder: None, balance }));
        }
        let givers: Vec<i64> = nodes
            .iter()
            .filter(|node| left.get(node).is_some_and(|it| *it >= self.group))
            .collect();
        let mut best: Option<(Combination, f64)> = None;
        for size in (1..=givers.len()).rev() {
            each_combination(&givers, size, &mut |subset| {
                match self.of_subset(&subset, &left, remainder) {
                    Ok(Some(found)) if best.as_ref().is_none_or(|(_, it)| found < *it) => {
                        best = Some((subset, found));
                    }
                    Ok(_) => {}
                    Err(reason) => return Next::Stop(reason),
                }
                Next::Continue
            })?;
        }
        Ok(best.map(|(subset, balance)| Best { nodes, remainder: Some(subset), balance }))
    }

    /// Returns the balance if some of the nodes give the remainder, round after round.
    fn of_subset(
        &mut self,
        subset: &Combination,
        left: &Free,
        mut remainder: i64,
    ) -> Result<Option<f64>, NotComputed> {
        self.work()?;
        let mut left = left.clone();
        let sum: i64 = subset.iter().filter_map(|node| left.get(&node)).sum();
        if sum < remainder {
            return Ok(None);
        }
        while remainder > 0 {
            self.work()?;
            let before = remainder;
            for node in subset.iter() {
                let free = left.entry(node).or_default();
                if remainder == 0 || *free < self.group {
                    continue;
                }
                *free -= self.group;
                remainder -= self.group;
            }
            if remainder == before {
                return Err(NotComputed::KubeletHangs);
            }
        }
        Ok(Some(deviation(&left)))
    }
}

/// Takes what was chosen: an equal share of each node, then groups of the nodes for the remainder.
fn give(
    mut all: Accumulator<'_>,
    topology: &CpuTopology,
    best: &Best,
    group: i64,
    taking: Taking,
) -> Result<Result<CpuSet, TakeError>, NotComputed> {
    let wanted = all.needed();
    let each = share(wanted, best.nodes.len(), group);
    let take_in = |all: &mut Accumulator<'_>, node: i64, cpus: i64| {
        if let Ok(cpus) = take_packed(topology, &all.free_in_node(node), cpus, taking) {
            all.take(&cpus);
        }
    };
    for node in best.nodes.iter() {
        take_in(&mut all, node, each);
    }
    let mut remainder = wanted - each * int(best.nodes.len());
    while remainder > 0 {
        let before = remainder;
        for node in best.remainder.iter().flat_map(Combination::iter) {
            if remainder == 0 {
                break;
            }
            if count(&all.free_in_node(node)) >= group {
                take_in(&mut all, node, group);
                remainder -= group;
            }
        }
        if remainder == before {
            return Err(NotComputed::KubeletHangs);
        }
    }
    Ok(match all.needed() {
        0 => Ok(all.into_taken()),
        needed if needed > 0 => Err(TakeError::TooFewTaken(needed)),
        needed => Err(TakeError::TooManyTaken(needed)),
    })
}

/// Returns what each of the nodes gives: an equal share in whole groups.
fn share(wanted: i64, nodes: usize, group: i64) -> i64 {
    wanted.checked_div(int(nodes)).and_then(|it| it.checked_div(group)).unwrap_or(0) * group
}

fn int(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the standard deviation of the free CPUs (`standardDeviation`).
fn deviation(free: &Free) -> f64 {
    let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
    let count = free.len() as f64;
    let mean = rounded(free.values().map(|it| *it as f64).sum::<f64>() / count);
    let squares = free.values().map(|it| (*it as f64 - mean) * (*it as f64 - mean)).sum::<f64>();
    rounded((squares / count).sqrt())
}
