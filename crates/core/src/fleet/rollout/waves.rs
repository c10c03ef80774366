//! The order of the nodes: waves of nodes that change at the same time.
//!
//! A wave holds no more nodes than it may, and disrupts no more pods of a PodDisruptionBudget than the budget permits. Waves
//! are filled greedily: each node, those with the fewest disrupted pods first, goes into the first wave of its step that
//! takes it. Other orders may need fewer waves.

use super::answer::{BudgetUse, DisruptedPods, Wave, WaveStep};
use super::judge::{RolloutNode, shown};
use kq_k8s::disruption_budget::DisruptionBudget;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the nodes of each step, in the order in which they are put into waves.
fn steps(nodes: &[RolloutNode]) -> BTreeMap<WaveStep, Vec<&RolloutNode>> {
    let mut nodes: Vec<&RolloutNode> =
        nodes.iter().filter(|node| node.left_out.is_none()).collect();
    nodes.sort_by_key(|node| node.pods.sum());
    let mut steps: BTreeMap<WaveStep, Vec<&RolloutNode>> = BTreeMap::new();
    let mut pools = BTreeSet::new();
    for node in nodes {
        let step = match (pools.insert(&node.pool), node.pods.sum()) {
            (true, 0) => WaveStep::Canary,
            (false, 0) => WaveStep::LosesNothing,
            (true, _) => WaveStep::LosingCanary,
            (false, _) => WaveStep::Loses,
        };
        steps.entry(step).or_default().push(node);
    }
    steps
}

/// Returns the waves, with at most so many nodes in each.
pub(super) fn waves(nodes: &[RolloutNode], budgets: &[DisruptionBudget], most: usize) -> Vec<Wave> {
    let allowed = |at: usize| budgets[at].room.map_or(0, |room| room.allowed);
    let mut waves = Vec::new();
    for (step, nodes) in steps(nodes) {
        let mut filled: Vec<Filled<'_>> = Vec::new();
        // The first wave with room for another node, and for so many pods of a budget: before it, none has.
        let (mut open, mut first) = (0, BTreeMap::new());
        for node in nodes {
            while filled.get(open).is_some_and(|wave| wave.nodes.len() >= most) {
                open += 1;
            }
            let mut at = open;
            for (budget, pods) in &node.uses {
                let first = first.entry((*budget, *pods)).or_insert(0);
                while filled
                    .get(*first)
                    .is_some_and(|it| it.with(*budget, *pods) > allowed(*budget))
                {
                    *first += 1;
                }
                at = at.max(*first);
            }
            let takes = |wave: &Filled<'_>| {
                let mut uses = node.uses.iter();
                wave.nodes.len() < most
                    && uses.all(|(budget, pods)| wave.with(*budget, *pods) <= allowed(*budget))
            };
            while filled.get(at).is_some_and(|wave| !takes(wave)) {
                at += 1;
            }
            if at == filled.len() {
                filled.push(Filled::default());
            }
            filled[at].put(node);
        }
        for Filled { mut nodes, pods, uses } in filled {
            nodes.sort_unstable();
            let budgets = uses.into_iter().map(|(at, pods)| BudgetUse {
                budget: shown(&budgets[at]),
                pods,
                allowed: allowed(at),
            });
            waves.push(Wave {
                wave: waves.len() + 1,
                step,
                nodes: nodes.into_iter().map(str::to_owned).collect(),
                pods,
                budgets: budgets.collect(),
            });
        }
    }
    waves
}

/// A wave while nodes are put into it.
#[derive(Default)]
struct Filled<'r> {
    nodes: Vec<&'r str>,
    pods: DisruptedPods,
    uses: BTreeMap<usize, u32>,
}

impl<'r> Filled<'r> {
    /// Returns how many pods of a budget the wave disrupts with so many more.
    fn with(&self, budget: usize, more: u32) -> u32 {
        self.uses.get(&budget).map_or(more, |used| used.saturating_add(more))
    }

    fn put(&mut self, node: &'r RolloutNode) {
        self.nodes.push(&node.node);
        self.pods.add_all(node.pods);
        for (budget, pods) in &node.uses {
            self.uses.insert(*budget, self.with(*budget, *pods));
        }
    }
}
