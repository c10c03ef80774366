//! The events that a snapshot keeps: those about the pods of its node, the newest ones, and no more than a snapshot can
//! hold. Pure.

use crate::events::{PodEvent, PodReference};
use kq_output::credentials::redact;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most that are kept of one pod.
const OF_EACH: usize = 20;

/// The most that are kept in all.
const OF_ALL: usize = 2000;

/// The longest message that is kept, in characters: as many bytes as the API server takes.
const LONGEST: usize = 1024;

/// Returns true if an event is about this node: about one of its pods, by its kubelet, or of a preemption on it.
pub fn is_of_node(event: &PodEvent, pods: &BTreeSet<(String, String)>, node: Option<&str>) -> bool {
    let PodReference { namespace, name, .. } = &event.pod;
    pods.contains(&(namespace.clone(), name.clone()))
        || node.is_some_and(|node| event.host == node)
        || event.preempted_by().is_some_and(|(_, on)| Some(on) == node)
}

/// Returns the newest events of each pod, the newest first.
pub fn kept(mut events: Vec<PodEvent>) -> Vec<PodEvent> {
    events.sort_by_key(|event| Reverse(event.at));
    let mut counts: BTreeMap<PodReference, usize> = BTreeMap::new();
    events.retain(|event| {
        let count = counts.entry(event.pod.clone()).or_default();
        *count += 1;
        *count <= OF_EACH
    });
    events.truncate(OF_ALL);
    for event in &mut events {
        // The cut would make another word of a credential in it.
        if let Cow::Owned(redacted) = redact(&event.message) {
            event.message = redacted;
        }
        if let Some((at, _)) = event.message.char_indices().nth(LONGEST) {
            event.message.truncate(at);
            event.message.push_str(" ...");
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, second: usize) -> PodEvent {
        let pod = PodReference {
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            uid: String::new(),
        };
        let at = format!("2026-11-20T11:{:02}:{:02}Z", second / 60, second % 60);
        PodEvent { pod, at: Some(at.parse().expect("a time")), ..PodEvent::default() }
    }

    #[test]
    fn the_newest_are_kept() {
        let of_each = kept((0..50).flat_map(|at| [event("a", at), event("b", at)]).collect());
        assert_eq!(of_each.len(), 2 * OF_EACH);
        assert_eq!(of_each[0].at, event("a", 49).at);
        assert_eq!(of_each.last().map(|last| last.at), Some(event("a", 30).at));
        let many = (0..3000).map(|at| event(&format!("pod-{at}"), at)).collect();
        let all = kept(many);
        assert_eq!(all.len(), OF_ALL);
        assert_eq!(all[0].pod.name, "pod-2999");
        // Events without a time come last.
        let mut silent = event("a", 0);
        silent.at = None;
        let two = kept(vec![silent, event("a", 1)]);
        assert_eq!(two[1].at, None);
    }

    #[test]
    fn a_long_message_is_cut() {
        for (length, expected) in [(LONGEST, LONGEST), (LONGEST + 1, LONGEST + 4)] {
            let long = PodEvent { message: "ä".repeat(length), ..event("a", 0) };
            assert_eq!(kept(vec![long])[0].message.chars().count(), expected);
        }
    }

    #[test]
    fn events_of_other_nodes_are_not_kept() {
        let pods = [("shop".to_owned(), "web".to_owned())].into();
        let by = |host: &str, message: &str| PodEvent {
            host: host.to_owned(),
            reason: "Preempted".to_owned(),
            message: message.to_owned(),
            ..event("gone", 0)
        };
        for (event, expected) in [
            (event("web", 0), true),
            (event("other", 0), false),
            (by("n1", ""), true),
            (by("n2", ""), false),
            (by("", "Preempted by pod u on node n1"), true),
            (by("", "Preempted by pod u on node n2"), false),
        ] {
            assert_eq!(is_of_node(&event, &pods, Some("n1")), expected, "{event:?}");
            let of_pod = event.pod.name == "web";
            assert_eq!(is_of_node(&event, &pods, None), of_pod, "{event:?}");
        }
    }
}
