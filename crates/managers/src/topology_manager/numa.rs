//! The NUMA nodes of the machine with their distances (`numa_info.go`).

use super::mask::NumaNodes;
use std::collections::BTreeMap;

/// A NUMA node of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaNode {
    pub id: i64,
    /// The distances to the others, which the kubelet looks up by their numbers; `None`: not known.
    pub distances: Option<Vec<u64>>,
}

/// All NUMA nodes of the machine, also such without CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaInfo {
    nodes: BTreeMap<i64, Option<Vec<u64>>>,
}

impl NumaInfo {
    pub fn new(nodes: impl IntoIterator<Item = NumaNode>) -> Self {
        Self { nodes: nodes.into_iter().map(|node| (node.id, node.distances)).collect() }
    }

    /// Returns nodes whose distances are not known.
    pub fn of_nodes(nodes: impl IntoIterator<Item = i64>) -> Self {
        Self { nodes: nodes.into_iter().map(|node| (node, None)).collect() }
    }

    /// Walks over the numbers of the nodes.
    pub fn ids(&self) -> impl Iterator<Item = i64> {
        self.nodes.keys().copied()
    }

    /// Returns how many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the set of all nodes (`DefaultAffinityMask`).
    pub fn all(&self) -> NumaNodes {
        NumaNodes::of(self.ids())
    }

    /// Returns true if the distances of each node are known.
    pub fn has_distances(&self) -> bool {
        self.nodes.values().all(Option::is_some)
    }

    fn distance(&self, from: i64, to: i64) -> Option<u64> {
        let row = self.nodes.get(&from)?.as_ref()?;
        row.get(usize::try_from(to).ok()?).copied()
    }

    /// Returns a node of a set to which another one has no distance.
    pub(super) fn without_distance(&self, nodes: NumaNodes) -> Option<i64> {
        nodes.iter().find(|to| nodes.iter().any(|from| self.distance(from, *to).is_none()))
    }

    /// Returns the mean of the distances between all nodes of a set, each to itself among them
    /// (`CalculateAverageFor`).
    pub(super) fn mean_distance(&self, nodes: NumaNodes) -> f64 {
        let pairs = nodes.iter().flat_map(|from| nodes.iter().map(move |to| (from, to)));
        let (mut sum, mut count) = (0.0, 0.0);
        for (from, to) in pairs {
            sum += self.distance(from, to).unwrap_or(0) as f64;
            count += 1.0;
        }
        if count == 0.0 { 0.0 } else { sum / count }
    }
}
