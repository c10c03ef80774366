//! What kq does not compute, and why.

use super::mask::NumaNodes;

/// Why there is no answer. Not an error of the kubelet, which goes on, hangs or crashes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComputed {
    /// There are too many combinations of NUMA nodes to spread CPUs over.
    #[error(
        "{nodes} NUMA nodes with free CPUs make too many combinations to go through; a kubelet may take very long"
    )]
    TooManyCombinations {
        /// How many nodes.
        nodes: usize,
    },
    /// There are too many sets of NUMA nodes.
    #[error(
        "{nodes} NUMA nodes make too many sets to go through: kq stops at {}, the kubelet normally starts on at most 8",
        NumaNodes::MOST
    )]
    TooManyNodes {
        /// How many nodes.
        nodes: usize,
    },
    /// The hints of several resources have too many different combinations.
    #[error(
        "the hints have too many different combinations to go through; a kubelet may take very long"
    )]
    TooManyHints,
    /// This kubelet loops forever while it admits the pod.
    #[error(
        "the kubelet hangs: no chosen NUMA node has a whole free core left, and it goes on to look for one"
    )]
    KubeletHangs,
    /// Kubelets crash: they have no bit for a NUMA node.
    #[error("the kubelet crashes: NUMA node {_0} is {} 63", if *_0 < 0 { "not 0 to" } else { "above" })]
    NodeOutOfRange(i64),
    /// This kubelet crashes: the numbers of NUMA nodes have gaps, and it looks up a distance by number.
    #[error(
        "the kubelet crashes: prefer-closest-numa-nodes needs the distance to NUMA node {0}, and distances are listed \
         for fewer nodes (index out of range)"
    )]
    NoDistance(i64),
    /// Of devices, where too many NUMA nodes are to be gone through, or a kubelet crashes.
    #[error("{0}")]
    Devices(crate::manager::hints::HintError),
    /// Another reason of a provider.
    #[error("{0}")]
    Other(String),
}
