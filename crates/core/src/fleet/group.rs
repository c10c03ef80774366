//! The group of a node: the value of a label, or its pool.

use std::collections::BTreeMap;

/// Stands for the label of whichever tool made the pool of the node.
const POOL: &str = "pool";

/// The labels of pools: EKS, eksctl, GKE, AKS (today's and the older one), Karpenter (from v1 and before), kOps,
/// DigitalOcean and Scaleway.
const POOL_LABELS: [&str; 10] = [
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    "kops.k8s.io/instancegroup",
    "doks.digitalocean.com/node-pool",
    "k8s.scaleway.com/pool-name",
];

/// Returns the group of a node with these labels; empty: it has none. `pool` is the label of that name, or else the pool of the
/// cloud or the autoscaler.
pub fn node_group(key: &str, labels: &BTreeMap<String, String>) -> String {
    let well_known = POOL_LABELS.into_iter().filter(|_| key == POOL);
    let value = std::iter::once(key).chain(well_known).find_map(|label| labels.get(label));
    value.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_that_of_the_cloud_unless_a_label_says_so() {
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        for (key, pairs, expected) in [
            ("pool", &[("cloud.google.com/gke-nodepool", "spot")][..], "spot"),
            ("pool", &[("karpenter.sh/nodepool", "gpu"), ("zone", "a")], "gpu"),
            ("pool", &[("karpenter.sh/nodepool", "gpu"), ("pool", "own")], "own"),
            ("pool", &[("zone", "a")], ""),
            ("zone", &[("karpenter.sh/nodepool", "gpu"), ("zone", "a")], "a"),
            ("zone", &[("karpenter.sh/nodepool", "gpu")], ""),
        ] {
            assert_eq!(node_group(key, &labels(pairs)), expected, "{key} {pairs:?}");
        }
    }
}
