//! Sets of NUMA nodes (`pkg/kubelet/cm/topologymanager/bitmask`) and hints, which name one.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A set of NUMA nodes; the kubelet's masks have 64 bits, so other nodes are in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumaNodes(u64);

impl NumaNodes {
    /// How many NUMA nodes kq goes through where the kubelet tries every set: each doubles the work.
    pub const MOST: usize = 16;

    /// Returns the set with these nodes; what has no bit is left out.
    pub fn of(nodes: impl IntoIterator<Item = i64>) -> Self {
        Self(nodes.into_iter().fold(0, |mask, node| mask | bit(node)))
    }

    /// Returns true if it contains a node.
    pub fn contains(self, node: i64) -> bool {
        self.0 & bit(node) != 0
    }

    /// Returns how many nodes are in it.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns true if it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the nodes that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the nodes that are in one of them.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if a node is in both.
    pub fn touches(self, other: Self) -> bool {
        !self.and(other).is_empty()
    }

    /// Returns the mask as a number, by which the kubelet breaks ties (`IsLessThan`).
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns true if it has fewer nodes, or as many and lower ones (`IsNarrowerThan`).
    pub fn is_narrower_than(self, other: Self) -> bool {
        (self.len(), self.0) < (other.len(), other.0)
    }

    /// Walks over the nodes in their order.
    pub fn iter(self) -> impl Iterator<Item = i64> {
        (0..64).filter(move |node| self.contains(*node))
    }
}

/// Returns true if the kubelet's masks have a bit for a node.
pub fn has_bit(node: i64) -> bool {
    bit(node) != 0
}

fn bit(node: i64) -> u64 {
    u32::try_from(node).ok().and_then(|node| 1_u64.checked_shl(node)).unwrap_or(0)
}

kq_k8s::schema_as!(NumaNodes, Vec<i64>);

impl Serialize for NumaNodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// A set of NUMA nodes that could provide what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hint {
    pub numa_nodes: NumaNodes,
    /// No smaller set could do, even with everything on it free.
    pub preferred: bool,
}

/// The NUMA nodes for a resource, a container or a pod, as the topology manager handles them (`TopologyHint`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologyHint {
    /// `None`: any.
    pub numa_nodes: Option<NumaNodes>,
    /// It is as good as possible.
    pub preferred: bool,
}

impl From<Hint> for TopologyHint {
    fn from(hint: Hint) -> Self {
        Self { numa_nodes: Some(hint.numa_nodes), preferred: hint.preferred }
    }
}

/// What a provider says, by resource. `None`: NUMA nodes do not matter; an empty list: it is impossible. An empty map: the
/// provider has no opinion.
pub type ProviderHints = BTreeMap<String, Option<Vec<TopologyHint>>>;

/// Returns the hints of a manager as the topology manager gets them.
pub fn provided(hints: &Hints) -> ProviderHints {
    let list = |hints: &Vec<Hint>| hints.iter().copied().map(TopologyHint::from).collect();
    hints.iter().map(|(name, hints)| (name.clone(), hints.as_ref().map(list))).collect()
}

/// What a resource says; `None`: NUMA nodes do not matter; an empty list: it is impossible.
pub type ResourceHints = Option<Vec<Hint>>;

/// What the resources say.
pub type Hints = BTreeMap<String, ResourceHints>;

/// Walks over all sets but the empty one: smaller ones first, those of one size in the order of the
/// positions of their nodes (`IterateBitMasks`).
pub(crate) fn subsets(nodes: &[i64]) -> impl Iterator<Item = NumaNodes> {
    (1..=nodes.len()).flat_map(move |size| {
        let mut at: Option<Vec<usize>> = Some((0..size).collect());
        std::iter::from_fn(move || {
            let positions = at.take()?;
            let set = NumaNodes::of(
                positions.iter().filter_map(|position| nodes.get(*position).copied()),
            );
            at = next_combination(positions, nodes.len());
            Some(set)
        })
    })
}

/// Returns the combination of positions that follows.
fn next_combination(mut positions: Vec<usize>, of: usize) -> Option<Vec<usize>> {
    let size = positions.len();
    let last = (0..size).rev().find(|&place| positions[place] < of - size + place)?;
    positions[last] += 1;
    for place in last + 1..size {
        positions[place] = positions[place - 1] + 1;
    }
    Some(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_come_by_size_and_position() {
        let sets: Vec<Vec<i64>> = subsets(&[2, 0, 1]).map(|set| set.iter().collect()).collect();
        let expected: [&[i64]; 7] = [&[2], &[0], &[1], &[0, 2], &[1, 2], &[0, 1], &[0, 1, 2]];
        assert_eq!(sets, expected);
        assert_eq!(subsets(&[]).count(), 0);
        let sixteen: Vec<i64> = (0..16).collect();
        assert_eq!(subsets(&sixteen).count(), 65_535);
    }

    #[test]
    fn nodes_without_a_bit_are_in_no_set() {
        let nodes = NumaNodes::of([-1, 0, 63, 64, i64::MAX]);
        assert_eq!(nodes.iter().collect::<Vec<_>>(), [0, 63]);
        assert!(!nodes.contains(64) && !nodes.contains(-1) && nodes.contains(63));
        assert!(has_bit(63) && !has_bit(64) && !has_bit(-1));
    }

    #[test]
    fn fewer_nodes_are_narrower_and_then_lower_ones() {
        let set = |nodes: &[i64]| NumaNodes::of(nodes.iter().copied());
        for (one, other, narrower) in [
            (&[3][..], &[0, 1][..], true),
            (&[0, 1], &[3], false),
            (&[0, 2], &[1, 2], true),
            (&[1, 2], &[0, 2], false),
            (&[0, 3], &[1, 2], false),
            (&[1], &[1], false),
        ] {
            assert_eq!(set(one).is_narrower_than(set(other)), narrower, "{one:?} {other:?}");
        }
    }
}
