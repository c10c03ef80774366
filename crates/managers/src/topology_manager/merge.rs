//! How the hints of several resources become one (`HintMerger` in `policy.go`, read in 1.32 and 1.36), pinned by
//! `topology_merge.jsonl` and `topology_hints.jsonl`.
//!
//! The kubelet goes through every combination of one hint per resource. What a combination makes depends
//! on its nodes and on whether all its hints are the same and preferred; the best of two does not depend on
//! the order in which they come. So kq keeps the different results after each resource, of which there are
//! few, and not the combinations, whose number is a product.

use super::mask::{Hint, NumaNodes, ProviderHints, TopologyHint};
use super::not_computed::NotComputed;
use super::numa::NumaInfo;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

/// Returns what each resource leaves to choose from (`filterProvidersHints`). A provider without an opinion
/// leaves everything as it is.
pub fn choices<'h>(
    providers: impl IntoIterator<Item = &'h ProviderHints>,
) -> Vec<Vec<TopologyHint>> {
    let any = |preferred| vec![TopologyHint { numa_nodes: None, preferred }];
    let resources = providers.into_iter().flat_map(ProviderHints::values);
    resources
        .map(|hints| match hints.as_deref() {
            None => any(true),
            Some([]) => any(false),
            Some(hints) => hints.to_vec(),
        })
        .collect()
}

/// Keeps what is preferred and on one node, or anywhere (`filterSingleNumaHints`).
pub fn single(choices: Vec<Vec<TopologyHint>>) -> Vec<Vec<TopologyHint>> {
    let fits = |choice: &TopologyHint| {
        choice.preferred && choice.numa_nodes.is_none_or(|nodes| nodes.len() == 1)
    };
    choices.into_iter().map(|of_one| of_one.into_iter().filter(fits).collect()).collect()
}

/// Returns the best combination; where there is none, all nodes, not preferred. `closest`: of sets of the same size the one
/// with the smallest distances is better.
/// Fails where the kubelet crashes because a distance is missing, and for more different results than kq keeps.
pub fn merge(
    numa: &NumaInfo,
    choices: &[Vec<TopologyHint>],
    closest: bool,
) -> Result<Hint, NotComputed> {
    let all = numa.all();
    let results = combined(choices)?;
    let ideal = ideal_size(choices);
    let hint = |(nodes, preferred): (Option<NumaNodes>, bool)| Hint {
        numa_nodes: nodes.map_or(all, |nodes| nodes.and(all)),
        preferred,
    };
    let hints: BTreeSet<(bool, NumaNodes)> = results
        .into_iter()
        .map(hint)
        .filter(|hint| !hint.numa_nodes.is_empty())
        .map(|hint| (hint.preferred, hint.numa_nodes))
        .collect();
    if closest && let Some(node) = missing_distance(numa, &hints) {
        return Err(NotComputed::NoDistance(node));
    }
    let ranked = hints.into_iter().map(|(preferred, numa_nodes)| {
        let hint = Hint { numa_nodes, preferred };
        (rank(hint, ideal, closest.then_some(numa)), hint)
    });
    let best = ranked.min_by(|(one, _), (other, _)| one.cmp(other));
    Ok(best.map_or(Hint { numa_nodes: all, preferred: false }, |(_, hint)| hint))
}

/// How many different results kq keeps, as different sets of NUMA nodes with their preference.
const MOST_RESULTS: usize = 1 << (NumaNodes::MOST + 1);

/// Returns the different results of all combinations.
fn combined(
    choices: &[Vec<TopologyHint>],
) -> Result<BTreeSet<(Option<NumaNodes>, bool)>, NotComputed> {
    // While a combination is preferred, its hints have the same nodes, so their intersection is each.
    let mut results: BTreeSet<(Option<NumaNodes>, bool)> = [(None, true)].into();
    for of_one in choices {
        let distinct: BTreeSet<(Option<NumaNodes>, bool)> =
            of_one.iter().map(|choice| (choice.numa_nodes, choice.preferred)).collect();
        let mut next = BTreeSet::new();
        if results.len().saturating_mul(distinct.len()) > MOST_STEPS {
            return Err(NotComputed::TooManyHints);
        }
        for (nodes, preferred) in &results {
            for (choice, choice_preferred) in &distinct {
                let same = match (nodes, choice) {
                    (Some(nodes), Some(more)) => nodes == more,
                    _ => true,
                };
                let both = match (*nodes, *choice) {
                    (Some(nodes), Some(more)) => Some(nodes.and(more)),
                    (nodes, more) => nodes.or(more),
                };
                next.insert((both, *preferred && *choice_preferred && same));
            }
        }
        if next.len() > MOST_RESULTS {
            return Err(NotComputed::TooManyHints);
        }
        results = next;
    }
    Ok(results)
}

/// How many pairs of a result and a hint are combined for one resource. Hints on 8 NUMA nodes make at most 2^17.
const MOST_STEPS: usize = 1 << 26;

/// Returns a node without a distance that the kubelet looks up: it does where two different sets are equally good
/// but for it.
fn missing_distance(numa: &NumaInfo, hints: &BTreeSet<(bool, NumaNodes)>) -> Option<i64> {
    let mut sizes = BTreeSet::new();
    let mut compared = BTreeSet::new();
    for (preferred, nodes) in hints {
        if !sizes.insert((*preferred, nodes.len())) {
            compared.insert((*preferred, nodes.len()));
        }
    }
    let looked_up =
        |(preferred, nodes): &&(bool, NumaNodes)| compared.contains(&(*preferred, nodes.len()));
    hints.iter().filter(looked_up).find_map(|(_, nodes)| numa.without_distance(*nodes))
}

/// Returns how many nodes a combination that is not preferred had best have: as many as the resource needs
/// that needs most (`maxOfMinAffinityCounts`).
fn ideal_size(choices: &[Vec<TopologyHint>]) -> usize {
    let smallest = |of_one: &Vec<TopologyHint>| {
        of_one.iter().filter_map(|choice| choice.numa_nodes).map(NumaNodes::len).min()
    };
    choices.iter().filter_map(smallest).max().unwrap_or_default()
}

/// What makes a combination better, the least first (`compare`): preferred before not; of preferred ones the
/// narrowest; of others the largest of at most the ideal size, then the smallest above it; then the narrowest, which is the
/// smallest, then the closest where that counts, then the lowest.
fn rank(hint: Hint, ideal: usize, distances: Option<&NumaInfo>) -> Rank {
    let size = hint.numa_nodes.len();
    let (too_large, closeness) = match hint.preferred {
        true => (false, 0),
        false if size <= ideal => (false, size),
        false => (true, 0),
    };
    Rank {
        class: (!hint.preferred, too_large, Reverse(closeness), size),
        distance: distances.map_or(0.0, |numa| numa.mean_distance(hint.numa_nodes)),
        bits: hint.numa_nodes.bits(),
    }
}

/// The place of a hint among others.
struct Rank {
    class: (bool, bool, Reverse<usize>, usize),
    distance: f64,
    bits: u64,
}

impl Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.class
            .cmp(&other.class)
            .then(self.distance.total_cmp(&other.distance))
            .then(self.bits.cmp(&other.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::hints::Hints;
    use crate::manager::topology::{TopologyManager, TopologyPolicy, TopologyScope};

    /// The hints of one resource: nodes, and whether they are preferred.
    type Listed<'a> = Option<&'a [(&'a [i64], bool)]>;

    fn hints(lists: &[Listed<'_>]) -> Hints {
        let hint = |(nodes, preferred): &(&[i64], bool)| Hint {
            numa_nodes: NumaNodes::of(nodes.iter().copied()),
            preferred: *preferred,
        };
        let list = |hints: &[(&[i64], bool)]| hints.iter().map(hint).collect::<Vec<_>>();
        let named = lists.iter().enumerate();
        named.map(|(at, hints)| (format!("r{at}"), hints.map(list))).collect()
    }

    type Row<'a> = (&'a str, &'a [Listed<'a>], Expected<'a>);
    /// Per policy: the nodes, preferred, admitted.
    type Expected<'a> = [(Option<&'a [i64]>, bool, bool); 3];

    const NODE_0: (&[i64], bool) = (&[0], true);
    const NODE_1: (&[i64], bool) = (&[1], true);
    const BOTH: (&[i64], bool) = (&[0, 1], false);

    #[test]
    fn policies_choose_and_refuse() {
        let any: Option<&[i64]> = None;
        let rows: &[Row<'_>] = &[
            (
                "nothing to say",
                &[],
                [(Some(&[0, 1]), true, true), (Some(&[0, 1]), true, true), (any, true, true)],
            ),
            (
                "no topology",
                &[None],
                [(Some(&[0, 1]), true, true), (Some(&[0, 1]), true, true), (any, true, true)],
            ),
            (
                "impossible",
                &[Some(&[])],
                [(Some(&[0, 1]), false, true), (Some(&[0, 1]), false, false), (any, false, false)],
            ),
            (
                "two ways of one: the lower node",
                &[Some(&[NODE_0, NODE_1, BOTH])],
                [(Some(&[0]), true, true), (Some(&[0]), true, true), (Some(&[0]), true, true)],
            ),
            (
                "both agree on the second",
                &[Some(&[NODE_0, NODE_1, BOTH]), Some(&[NODE_1, BOTH])],
                [(Some(&[1]), true, true), (Some(&[1]), true, true), (Some(&[1]), true, true)],
            ),
            (
                "preferred but not the same",
                &[Some(&[NODE_0]), Some(&[NODE_1])],
                [(Some(&[0, 1]), false, true), (Some(&[0, 1]), false, false), (any, false, false)],
            ),
            (
                "one needs both nodes: good enough unless one node is demanded",
                &[Some(&[(&[0, 1], true)])],
                [(Some(&[0, 1]), true, true), (Some(&[0, 1]), true, true), (any, false, false)],
            ),
            (
                "no smaller set is free",
                &[Some(&[BOTH])],
                [(Some(&[0, 1]), false, true), (Some(&[0, 1]), false, false), (any, false, false)],
            ),
            (
                "the one that needs most decides how large the best is that is not preferred",
                &[Some(&[NODE_0, NODE_1, BOTH]), Some(&[(&[0, 1], true)])],
                [(Some(&[0, 1]), false, true), (Some(&[0, 1]), false, false), (any, false, false)],
            ),
        ];
        let policies = [
            TopologyPolicy::BestEffort,
            TopologyPolicy::Restricted,
            TopologyPolicy::SingleNumaNode,
        ];
        for (name, lists, expected) in rows {
            for (policy, (nodes, preferred, admitted)) in policies.into_iter().zip(expected) {
                let scope = TopologyScope::Container;
                let manager = TopologyManager::new(policy, scope, vec![0, 1], Default::default());
                let decision = manager.decide(hints(lists)).expect("a decision");
                let nodes = nodes.map(|nodes| NumaNodes::of(nodes.iter().copied()));
                assert_eq!(decision.numa_nodes, nodes, "{name}: {policy}");
                assert_eq!(decision.preferred, *preferred, "{name}: {policy}");
                assert_eq!(decision.admitted, *admitted, "{name}: {policy}");
            }
        }
        let none = TopologyManager::default().decide(hints(&[Some(&[])])).expect("a decision");
        assert_eq!((none.numa_nodes, none.admitted), (None, true), "no policy, no refusal");
    }

    /// Goes through the combinations one by one, and compares two by two in the order in which they come.
    fn slowly(all: NumaNodes, choices: &[Vec<TopologyHint>]) -> Hint {
        let ideal = ideal_size(choices);
        let mut combinations: Vec<Vec<TopologyHint>> = vec![vec![]];
        for of_one in choices {
            let longer = |combination: &Vec<TopologyHint>| {
                let combination = combination.clone();
                of_one.iter().map(move |choice| [&combination[..], &[*choice]].concat())
            };
            combinations = combinations.iter().flat_map(longer).collect();
        }
        let mut best: Option<Hint> = None;
        for combination in combinations {
            let nodes: Vec<NumaNodes> =
                combination.iter().filter_map(|choice| choice.numa_nodes).collect();
            let candidate = Hint {
                numa_nodes: nodes.iter().fold(all, |both, nodes| both.and(*nodes)),
                preferred: combination.iter().all(|choice| choice.preferred)
                    && nodes.iter().all(|some| *some == nodes[0]),
            };
            let Some(current) = best else {
                best = (!candidate.numa_nodes.is_empty()).then_some(candidate);
                continue;
            };
            let narrower = candidate.numa_nodes.is_narrower_than(current.numa_nodes);
            let (new, old) = (candidate.numa_nodes.len(), current.numa_nodes.len());
            let replaces = match (current.preferred, candidate.preferred) {
                _ if new == 0 => false,
                (false, true) => true,
                (true, false) => false,
                (true, true) => narrower,
                (false, false) if old > ideal => narrower,
                (false, false) if old == ideal => new == ideal && narrower,
                (false, false) if new > ideal => false,
                (false, false) if new == ideal => true,
                (false, false) => new > old || new == old && narrower,
            };
            if replaces {
                best = Some(candidate);
            }
        }
        best.unwrap_or(Hint { numa_nodes: all, preferred: false })
    }

    #[test]
    fn going_through_results_is_going_through_combinations() {
        // Numbers that look random and are always the same.
        let mut seed = 7_u64;
        let mut below = |end: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % end
        };
        for round in 0..3_000 {
            let all = NumaNodes::of([0, 1, 2, 3]);
            let lists = (0..below(4))
                .map(|_| {
                    let count = below(4);
                    let choice = |_| TopologyHint {
                        numa_nodes: match below(17) {
                            16 => None,
                            mask => {
                                Some(NumaNodes::of((0..4).filter(|node| mask >> node & 1 == 1)))
                            }
                        },
                        preferred: below(2) == 0,
                    };
                    (0..count).map(choice).collect::<Vec<_>>()
                })
                .collect::<Vec<_>>();
            let numa = NumaInfo::of_nodes([0, 1, 2, 3]);
            assert_eq!(
                merge(&numa, &lists, false),
                Ok(slowly(all, &lists)),
                "round {round}: {lists:?}"
            );
        }
    }
}
