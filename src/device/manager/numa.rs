//! Sets of NUMA nodes (`pkg/kubelet/cm/topologymanager/bitmask`).

use serde::{Serialize, Serializer};

/// A set of NUMA nodes; the kubelet's masks have 64 bits, so other nodes are in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumaNodes(u64);

impl NumaNodes {
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

crate::schema::schema_as!(NumaNodes, Vec<i64>);

impl Serialize for NumaNodes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
