//! The node of an answer, and which of the given pods are its own: only these rank first when unmeasured.

use super::rank_report::RankInput;
use kq_answer::{Missing, MissingFact, Warning, WarningCode};
use kq_facts::stats_summary::{PodReference, PodStats, StatsByPod};
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;
use kq_output::units::and_more;
use std::collections::BTreeSet;

/// The node of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeIdentity {
    /// The name is in a flag or in a fact.
    Named(String),
    /// All bound pods, or all measured ones, are on one node.
    OfPods {
        name: String,
        /// Only the measured pods are all on it.
        measured: bool,
    },
    /// Pods are bound to several nodes, and no source names the one in question.
    OneOfSeveral,
    /// No pod is bound to a node.
    None,
}

impl NodeIdentity {
    /// Determines the node from its name, else from its pods.
    pub fn of(said: Option<&str>, pods: &[&Pod], stats: &StatsByPod<'_>) -> Self {
        if let Some(name) = said {
            return Self::Named(name.to_owned());
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

    /// Returns the name, if known.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) | Self::OfPods { name, .. } => Some(name),
            Self::OneOfSeveral | Self::None => None,
        }
    }

    /// Returns the assumption about the node.
    pub fn assumption(&self) -> Option<String> {
        match self {
            Self::OfPods { name, measured: true } => Some(format!(
                "the node is {name}, where the measured pods are: the stats do not name it"
            )),
            Self::OfPods { .. } | Self::Named(_) | Self::OneOfSeveral | Self::None => None,
        }
    }

    /// Returns true if this is another node; an empty name is none.
    pub fn is_another(&self, node_name: &str) -> bool {
        !node_name.is_empty() && self.name().is_some_and(|own| own != node_name)
    }

    /// Returns why the given pods cannot be the measured ones; `None`: some of them are.
    ///
    /// Otherwise each would rank as a pod without stats, or the node as one without pods.
    pub fn mismatch(&self, pods: &[&Pod], measured: &[PodStats]) -> Option<Missing> {
        let stats = StatsByPod::new(measured);
        let (others, own): (Vec<&Pod>, Vec<&Pod>) =
            pods.iter().partition(|pod| self.is_another(&pod.spec.node_name));
        if own.iter().any(|pod| stats.of(pod).is_some()) {
            return None;
        }
        let node = self.name().unwrap_or_default();
        let elsewhere: BTreeSet<&str> = others.iter().map(|pod| &*pod.spec.node_name).collect();
        let (given, count) = (pods.len(), measured.len());
        let missing = |fact, text: String| Some(Missing::new(fact, text));
        match (elsewhere.first(), own.len()) {
            (Some(first), 0) => {
                let more = if elsewhere.len() > 1 { " and others" } else { "" };
                missing(
                    MissingFact::Pods,
                    format!(
                        "the pods of {node}: all {given} given are on {first}{more} (--pods of {node}, or --stats \
                     of {first})"
                    ),
                )
            }
            _ if measured.is_empty() => None,
            (None, 0) => {
                let text = format!("the pods of the node: 0 given, {count} measured (--pods)");
                missing(MissingFact::Pods, text)
            }
            (_, own) => missing(
                MissingFact::PodStats,
                format!(
                    "the {count} measured pods: none of the {own} pods given is one of them: they are of another \
                 node or of another time (--pods, --stats)"
                ),
            ),
        }
    }

    /// Returns why an unmeasured pod has no rank: unknown whether the kubelet could have measured it.
    pub fn doubt(&self, pod: &Pod, stats: &StatsByPod<'_>) -> Option<Missing> {
        if stats.of(pod).is_some() {
            return None;
        }
        let metadata = &pod.metadata;
        let (namespace, name, bound_to) =
            (&metadata.namespace, &metadata.name, &pod.spec.node_name);
        let missing = |fact, text: String| {
            Some(Missing::new(fact, text).about(format!("{namespace}/{name}")))
        };
        if *self == Self::OneOfSeveral && !bound_to.is_empty() {
            return missing(
                MissingFact::PodNode,
                format!(
                    "{namespace}/{name}: unknown whether its node {bound_to} is the one measured, so it has no rank \
                 (give the pods of one node)"
                ),
            );
        }
        if !effective_uid(pod).is_empty() {
            return None;
        }
        missing(
            MissingFact::PodUid,
            format!(
                "the UID of {namespace}/{name}: no stats under its name, so it has no rank (--pods with the \
             output of kubectl get pods -o json)"
            ),
        )
    }
}

/// Returns a warning about measured pods that cannot be evicted.
pub(super) fn strangers(input: &RankInput<'_>, stats: &StatsByPod<'_>) -> Option<Warning> {
    let found = input.pods.iter().filter_map(|pod| stats.of(pod)).map(|stats| &stats.pod_ref);
    let found: BTreeSet<(&str, &str, &str)> = found.map(identity).collect();
    let known: BTreeSet<&str> =
        input.pods.iter().flat_map(|pod| [&*pod.metadata.uid, effective_uid(pod)]).collect();
    let stats = input.summary.pods.iter().map(|stats| &stats.pod_ref);
    let strangers: Vec<String> = stats
        .filter(|pod| !known.contains(&*pod.uid) || pod.uid.is_empty())
        .filter(|pod| !found.contains(&identity(pod)))
        .map(|pod| match pod.name.is_empty() {
            true => format!("pod{}", pod.uid),
            false => format!("{}/{}", pod.namespace, pod.name),
        })
        .collect();
    match strangers.as_slice() {
        [] => None,
        [first, others @ ..] => {
            let others = and_more(others.len());
            let text = format!(
                "stats of pods that cannot be evicted: {first}{others}; the kubelet ranks only its own \
                 active pods"
            );
            Some(Warning::new(WarningCode::OtherPodStats, text))
        }
    }
}

pub(super) fn identity(pod: &PodReference) -> (&str, &str, &str) {
    (&pod.uid, &pod.namespace, &pod.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use kq_facts::stats_summary::PodStats;

    /// Returns a pod of a node.
    fn on(node: &str, uid: &str) -> Pod {
        objects::pod("s/p").uid(uid).on(node).read()
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
        let pods = [on("n1", "1"), on("n1", "2"), on("n2", "3"), on("", "4")];
        let of_pods =
            |name: &str, measured| NodeIdentity::OfPods { name: name.to_owned(), measured };
        // Name of the row, the name, the pods, the measured pods.
        for (name, said, own, measured, expected) in [
            ("said", Some("n2"), 0..4, vec!["1"], NodeIdentity::Named("n2".to_owned())),
            ("all on one", None, 0..2, vec![], of_pods("n1", false)),
            ("those that were measured", None, 0..4, vec!["1", "4"], of_pods("n1", true)),
            ("measured on both", None, 0..4, vec!["1", "3"], NodeIdentity::OneOfSeveral),
            ("no pod was measured", None, 0..4, vec![], NodeIdentity::OneOfSeveral),
            ("on none", None, 3..4, vec!["4"], NodeIdentity::None),
        ] {
            let pods: Vec<&Pod> = pods[own].iter().collect();
            let stats = stats(&measured);
            assert_eq!(NodeIdentity::of(said, &pods, &StatsByPod::new(&stats)), expected, "{name}");
        }
    }

    #[test]
    fn pods_of_which_none_was_measured_are_those_of_another_node() {
        let (own, other) = (on("n1", "1"), on("n2", "2"));
        let said = NodeIdentity::Named("n1".to_owned());
        // Name of the row, the node, the pods, the measured pods, the mismatch.
        for (name, node, pods, measured, expected) in [
            ("one of them", &said, vec![&own, &other], vec!["1", "9"], None),
            ("a node without pods", &said, vec![], vec![], None),
            ("nothing was measured", &said, vec![&own], vec![], None),
            ("no pods", &said, vec![], vec!["1"], Some("0 given, 1 measured")),
            (
                "all on another node, whatever their UIDs",
                &said,
                vec![&other],
                vec!["2"],
                Some("the pods of n1: all 1 given are on n2 (--pods"),
            ),
            ("all on another, none measured", &said, vec![&other], vec![], Some("are on n2")),
            ("others", &said, vec![&own], vec!["9"], Some("none of the 1 pods given")),
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
                (Some(told), Some(part)) => told.text.contains(part),
                (told, expected) => told.is_none() && expected.is_none(),
            };
            assert!(is_said, "{name}: {told:?}");
        }
    }

    #[test]
    fn no_stats_is_not_a_pod_that_cannot_be_told() {
        let stats = stats(&["1"]);
        let stats = StatsByPod::new(&stats);
        let said = NodeIdentity::Named("n1".to_owned());
        for (name, node, pod, expected) in [
            ("measured", &NodeIdentity::OneOfSeveral, on("n1", "1"), None),
            ("no stats", &said, on("n1", "2"), None),
            (
                "measured under its name",
                &said,
                objects::pod("s/of-1").uid("").on("n1").read(),
                None,
            ),
            ("no UID", &said, on("n1", ""), Some("the UID of s/p")),
            (
                "of some node",
                &NodeIdentity::OneOfSeveral,
                on("n2", "2"),
                Some("whether its node n2"),
            ),
            ("of no node", &NodeIdentity::OneOfSeveral, on("", "2"), None),
        ] {
            let doubt = node.doubt(&pod, &stats);
            match (expected, &doubt) {
                (None, None) => {}
                (Some(part), Some(doubt)) if doubt.text.contains(part) => {}
                _ => panic!("{name}: {doubt:?}"),
            }
        }
        assert!(said.is_another("n2") && !said.is_another("n1") && !said.is_another(""));
        assert!(!NodeIdentity::OneOfSeveral.is_another("n2"));
    }
}
