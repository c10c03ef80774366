//! Which node it is about, and which of the pods that were given are its own: only of those is it known that
//! what was not measured goes first.

use crate::facts::stats_summary::{PodStats, StatsByPod};
use crate::facts::workloads::effective_uid;
use crate::k8s::pod::Pod;
use std::collections::BTreeSet;

/// Which node it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeIdentity {
    /// Somebody said so.
    Said(String),
    /// Nobody said so; all pods that are bound to a node, or all of these that were measured, are on it.
    OfPods {
        /// The name.
        name: String,
        /// Not all pods are on it: those that were measured are.
        measured: bool,
    },
    /// Pods are bound to several nodes, and nobody says which is meant.
    OneOfSeveral,
    /// No pod is bound to any.
    None,
}

impl NodeIdentity {
    /// Says which node it is about.
    pub fn of(said: Option<&str>, pods: &[&Pod], stats: &StatsByPod<'_>) -> Self {
        if let Some(name) = said {
            return Self::Said(name.to_owned());
        }
        let bound = pods.iter().filter(|pod| !pod.spec.node_name.is_empty());
        let nodes = |measured: bool| -> BTreeSet<&str> {
            let counts = |pod: &&&Pod| !measured || stats.of(pod).is_some();
            bound.clone().filter(counts).map(|pod| &*pod.spec.node_name).collect()
        };
        let only = |measured: bool| {
            let nodes = nodes(measured);
            let name = nodes.first().filter(|_| nodes.len() == 1)?;
            Some(Self::OfPods { name: (*name).to_owned(), measured })
        };
        let unknown = || if nodes(false).is_empty() { Self::None } else { Self::OneOfSeveral };
        only(false).or_else(|| only(true)).unwrap_or_else(unknown)
    }

    /// Returns its name, as far as it is known.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Said(name) | Self::OfPods { name, .. } => Some(name),
            Self::OneOfSeveral | Self::None => None,
        }
    }

    /// Returns what is taken for granted about it.
    pub fn assumption(&self) -> Option<String> {
        match self {
            Self::OfPods { name, measured: true } => Some(format!(
                "the node is {name}, where the pods are that were measured: what was measured does not \
                 name it"
            )),
            Self::OfPods { .. } | Self::Said(_) | Self::OneOfSeveral | Self::None => None,
        }
    }

    /// Tells whether this is another node; empty is none.
    pub fn is_another(&self, node_name: &str) -> bool {
        !node_name.is_empty() && self.name().is_some_and(|own| own != node_name)
    }

    /// Says why the pods that are given cannot be those that were measured; `None`: some of them are.
    ///
    /// Else each of them would pass for a pod without stats, or the node for one without pods.
    pub fn mismatch(&self, pods: &[&Pod], measured: &[PodStats]) -> Option<String> {
        let stats = StatsByPod::new(measured);
        let (others, own): (Vec<&Pod>, Vec<&Pod>) =
            pods.iter().partition(|pod| self.is_another(&pod.spec.node_name));
        if own.iter().any(|pod| stats.of(pod).is_some()) {
            return None;
        }
        let node = self.name().unwrap_or_default();
        let elsewhere: BTreeSet<&str> = others.iter().map(|pod| &*pod.spec.node_name).collect();
        let (given, count) = (pods.len(), measured.len());
        match (elsewhere.first(), own.len()) {
            (Some(first), 0) => {
                let more = if elsewhere.len() > 1 { " and others" } else { "" };
                Some(format!(
                    "the pods of {node}: all that are given, {given}, are on {first}{more} (--pods with those \
                     of {node}, or --stats with what the kubelet of {first} measured)"
                ))
            }
            _ if measured.is_empty() => None,
            (None, 0) => Some(format!(
                "the pods of the node: none is given, and {count} were measured (--pods)"
            )),
            (_, own) => Some(format!(
                "the pods that were measured, {count}: none of the {own} that are given is one of them, so \
                 that they are of another node, or of another time (--pods, --stats)"
            )),
        }
    }

    /// Says why it is not known of a pod that was not measured whether the kubelet could have.
    pub fn doubt(&self, pod: &Pod, stats: &StatsByPod<'_>) -> Option<String> {
        if stats.of(pod).is_some() {
            return None;
        }
        let metadata = &pod.metadata;
        let (namespace, name, bound_to) =
            (&metadata.namespace, &metadata.name, &pod.spec.node_name);
        if *self == Self::OneOfSeveral && !bound_to.is_empty() {
            return Some(format!(
                "{namespace}/{name}: whether {bound_to}, its node, is the one in question: what was measured \
                 names no node, so it has no rank (give the pods of one node)"
            ));
        }
        effective_uid(pod).is_empty().then(|| {
            format!(
                "the UID of {namespace}/{name}: by its name nothing that was measured is told to be its \
                 own, so it has no rank (--pods with what kubectl get pods -o json says)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::stats_summary::PodStats;
    use crate::objects;

    fn pod(name: &str, uid: &str, node: &str) -> Pod {
        objects::pod(&format!("s/{name}")).on(node).set("/metadata/uid", uid).read()
    }

    fn stats(uids: &[&str]) -> Vec<PodStats> {
        let one = |uid: &&str| -> PodStats {
            let text =
                format!(r#"{{"podRef":{{"namespace":"s","name":"of-{uid}","uid":"{uid}"}}}}"#);
            serde_json::from_str(&text).expect("stats")
        };
        uids.iter().map(one).collect()
    }

    #[test]
    fn the_node_is_the_one_of_the_pods_where_nobody_names_it() {
        let pods =
            [pod("a", "1", "n1"), pod("b", "2", "n1"), pod("c", "3", "n2"), pod("d", "4", "")];
        let of_pods =
            |name: &str, measured| NodeIdentity::OfPods { name: name.to_owned(), measured };
        // Name of the row, what is said, which pods, who was measured.
        for (name, said, own, measured, expected) in [
            ("said", Some("n2"), 0..4, vec!["1"], NodeIdentity::Said("n2".to_owned())),
            ("all on one", None, 0..2, vec![], of_pods("n1", false)),
            ("those that were measured", None, 0..4, vec!["1", "4"], of_pods("n1", true)),
            ("measured on both", None, 0..4, vec!["1", "3"], NodeIdentity::OneOfSeveral),
            ("nobody was measured", None, 0..4, vec![], NodeIdentity::OneOfSeveral),
            ("on none", None, 3..4, vec!["4"], NodeIdentity::None),
        ] {
            let pods: Vec<&Pod> = pods[own].iter().collect();
            let stats = stats(&measured);
            assert_eq!(NodeIdentity::of(said, &pods, &StatsByPod::new(&stats)), expected, "{name}");
        }
    }

    #[test]
    fn pods_of_which_none_was_measured_are_those_of_another_node() {
        let (own, other) = (pod("a", "1", "n1"), pod("b", "2", "n2"));
        let said = NodeIdentity::Said("n1".to_owned());
        // Name of the row, the node, the pods, who was measured, what is said.
        for (name, node, pods, measured, expected) in [
            ("one of them", &said, vec![&own, &other], vec!["1", "9"], None),
            ("a node without pods", &said, vec![], vec![], None),
            ("nothing was measured", &said, vec![&own], vec![], None),
            ("no pods", &said, vec![], vec!["1"], Some("none is given, and 1 were measured")),
            (
                "all on another node, whatever their UIDs",
                &said,
                vec![&other],
                vec!["2"],
                Some("the pods of n1: all that are given, 1, are on n2 (--pods"),
            ),
            ("all on another, none measured", &said, vec![&other], vec![], Some("are on n2")),
            ("others", &said, vec![&own], vec!["9"], Some("none of the 1 that are given")),
            (
                "no node",
                &NodeIdentity::OneOfSeveral,
                vec![&own, &other],
                vec!["9"],
                Some("none of"),
            ),
        ] {
            let told = node.mismatch(&pods, &stats(&measured));
            let is_said = match (&told, expected) {
                (Some(told), Some(part)) => told.contains(part),
                (told, expected) => told.is_none() && expected.is_none(),
            };
            assert!(is_said, "{name}: {told:?}");
        }
    }

    #[test]
    fn no_stats_is_not_a_pod_that_cannot_be_told() {
        let stats = stats(&["1"]);
        let stats = StatsByPod::new(&stats);
        let said = NodeIdentity::Said("n1".to_owned());
        for (name, node, pod, expected) in [
            ("measured", &NodeIdentity::OneOfSeveral, pod("a", "1", "n1"), None),
            ("no stats", &said, pod("a", "2", "n1"), None),
            ("measured under its name", &said, pod("of-1", "", "n1"), None),
            ("no UID", &said, pod("a", "", "n1"), Some("the UID of s/a")),
            ("of some node", &NodeIdentity::OneOfSeveral, pod("a", "2", "n2"), Some("whether n2")),
            ("of no node", &NodeIdentity::OneOfSeveral, pod("a", "2", ""), None),
        ] {
            let doubt = node.doubt(&pod, &stats);
            match (expected, &doubt) {
                (None, None) => {}
                (Some(part), Some(doubt)) if doubt.contains(part) => {}
                _ => panic!("{name}: {doubt:?}"),
            }
        }
        assert!(said.is_another("n2") && !said.is_another("n1") && !said.is_another(""));
        assert!(!NodeIdentity::OneOfSeveral.is_another("n2"));
    }
}
