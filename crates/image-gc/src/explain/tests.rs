//! Stories of made-up images.

use super::*;
use crate::containers::{GcState, GcTrigger};
use crate::cycle::ImageFs;
use crate::plan::{Inputs, plan};
use kq_facts::kubelet::KubeletStart;
use kq_facts::runtime::{Container, ContainerState, RuntimeFacts};
use kq_facts::workloads::Workloads;
use kq_k8s::duration::GoDuration;
use std::collections::BTreeSet;

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;
const NOW: Timestamp = Timestamp(1_000 * HOUR);

/// A node of which the tests change what they are about.
#[derive(Clone)]
struct Node {
    images: Vec<Image>,
    containers: Vec<Container>,
    start: Option<Timestamp>,
    policy: ImageGcPolicy,
    available: Option<u64>,
}

impl Node {
    /// Returns a node with an old kubelet and an empty disk of 1000 bytes.
    fn new(images: &[(&str, u64)]) -> Self {
        let image =
            |&(id, size): &(&str, u64)| Image { id: id.to_owned(), size, ..Image::default() };
        Self {
            images: images.iter().map(image).collect(),
            containers: Vec::new(),
            start: Some(NOW.plus(-10 * HOUR)),
            policy: ImageGcPolicy {
                high_threshold_percent: 85,
                low_threshold_percent: 80,
                min_age: GoDuration(120 * SECOND),
                max_age: GoDuration(0),
            },
            available: Some(1_000),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn runs(&mut self, id: &str, state: ContainerState, age: i64) {
        self.containers.push(Container {
            id: format!("c-{id}"),
            name: "c".to_owned(),
            pod_uid: "u".to_owned(),
            state,
            image_id: Some(id.to_owned()),
            created_at: NOW.plus(-age).0,
            ..Container::default()
        });
    }

    fn explain(&self, id: &str) -> ImageExplanation {
        let rules = KubeletRules::default();
        let runtime = RuntimeFacts {
            images: Lookup::found("s", self.images.clone().into()),
            containers: Lookup::found("s", self.containers.clone().into()),
            ..RuntimeFacts::default()
        };
        let uses_without =
            |gone: &BTreeSet<&str>| Uses::of(&runtime, &Workloads::default(), rules, gone);
        let state = GcState {
            now: NOW.0,
            containers: self.containers.iter().map(Into::into).collect(),
            all_sources_ready: true,
            ..GcState::default()
        };
        let collected = |trigger| {
            let policy = ContainerGcPolicy::default();
            let failures = crate::containers::Failures::default();
            crate::containers::plan(&policy, &state, trigger, &failures).expect("a good policy")
        };
        let all = uses_without(&BTreeSet::new());
        let storage = Lookup::default();
        let planned = |trigger, available: Option<u64>| {
            let fs = available
                .map(|available| ImageFs { capacity: Some(1_000), available: Some(available) });
            plan(Inputs {
                trigger,
                now: NOW,
                policy: self.policy,
                rules,
                kubelet_start: self
                    .start
                    .map(|at| KubeletStart { at, source: "a test".to_owned() }),
                records: None,
                images: &self.images,
                uses: &all,
                uses_before: &all,
                image_fs: fs.map(|fs| (fs, "a disk".to_owned())).ok_or("no disk".to_owned()),
                storage: &storage,
                containers: (trigger == Trigger::Eviction).then(|| collected(GcTrigger::Eviction)),
                kept: &BTreeSet::new(),
                reclaim: None,
            })
        };
        let largest = largest_available(1_000, self.policy.high_threshold_percent);
        let largest = largest.and_then(|largest| u64::try_from(largest).ok());
        let periodic = planned(Trigger::Periodic, self.available);
        let then = planned(Trigger::Periodic, largest);
        explain(ExplainInput {
            image: self.images.iter().find(|image| image.id == id).expect("an image"),
            images: &self.images,
            periodic: &periodic,
            age: &planned(Trigger::Age, self.available),
            eviction: &planned(Trigger::Eviction, self.available),
            at_threshold: (periodic.run.wants_space == Some(false)).then_some(&then),
            containers: &collected(GcTrigger::Loop),
            container_policy: ContainerGcPolicy::default(),
            uses: &all,
            storage: &storage,
            sources: Sources { now: NOW, kubelet_start: self.start, records: None },
            policy: self.policy,
            rules,
        })
        .expect("a story")
    }
}

/// Returns the state of each way, and its moments in seconds from now.
fn ways(story: &ImageExplanation) -> Vec<(WayState, Option<i64>, Option<i64>)> {
    let seconds = |at: Option<Timestamp>| at.map(|at| at.since(NOW) / SECOND);
    let ways = story.earliest.iter();
    ways.map(|way| (way.state, seconds(way.not_before), seconds(way.not_after))).collect()
}

#[test]
fn each_way_opens_in_its_time() {
    use WayState::{InUse, Later, Never, Open, Perhaps};
    let node = || Node::new(&[("a", 100)]);
    let aging = |hours: i64| move |node: &mut Node| node.policy.max_age = GoDuration(hours * HOUR);
    let never = (Never, None, None);
    let open = (Open, None, None);
    let young = (Perhaps, None, Some(120));
    let in_use = (InUse, None, None);
    for (name, node, expected) in [
        ("nothing known but the start", node(), vec![never, young]),
        ("pinned", node().with(|node| node.images[0].pinned = true), vec![never]),
        (
            "pinned and in use",
            node().with(|node| {
                node.images[0].pinned = true;
                node.runs("a", ContainerState::Running, HOUR);
            }),
            vec![never],
        ),
        (
            "a kubelet that just started",
            node().with(|node| node.start = Some(NOW.plus(-30 * SECOND))),
            vec![never, (Later, Some(90), Some(120))],
        ),
        (
            "in use for long",
            node().with(|node| node.runs("a", ContainerState::Running, HOUR)),
            vec![never, in_use],
        ),
        (
            "a maximum age, never seen in use",
            node().with(aging(11)),
            vec![(Later, Some(3_600), Some(11 * 3_600)), young],
        ),
        (
            "a maximum age that may be over",
            node().with(aging(9)),
            vec![(Perhaps, None, Some(9 * 3_600)), young],
        ),
        (
            "a maximum age, in use for long: counted from the last look at the least",
            node().with(aging(9)).with(|node| node.runs("a", ContainerState::Running, HOUR)),
            vec![(InUse, Some(9 * 3_600 - 315), None), in_use],
        ),
        (
            "a maximum age, in use for a moment: perhaps never seen",
            node().with(aging(11)).with(|node| node.runs("a", ContainerState::Exited, SECOND)),
            vec![(InUse, Some(3_600), None), in_use],
        ),
        (
            "no start known",
            node().with(aging(9)).with(|node| node.start = None),
            vec![(Perhaps, None, Some(9 * 3_600)), young],
        ),
        (
            "no loop",
            node().with(|node| node.policy.high_threshold_percent = 100),
            vec![never, never, young],
        ),
        (
            "no minimum age",
            node().with(|node| node.policy.min_age = GoDuration(0)),
            vec![never, open, open],
        ),
    ] {
        let mut found = ways(&node.explain("a"));
        assert_eq!(found.len(), 3, "{name}");
        // What is said of the last way counts for those after it.
        let mut expected = expected;
        let last = *expected.last().expect("a way");
        expected.resize(3, last);
        found.truncate(expected.len());
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn its_turn_comes_when_those_before_it_are_not_enough() {
    // The kubelet never saw one in use, and found all at once: they tie, and go by their ids here.
    let node = Node::new(&[("a", 30), ("b", 50), ("c", 40)])
        .with(|node| node.policy.min_age = GoDuration(0));
    for (name, available, id, missing, before, turn) in [
        ("the first", 1_000, "a", 841, 0, Some(841)),
        // 200 - 159 = 41 are wanted at the threshold, and 30 are freed.
        ("not enough at the threshold", 1_000, "b", 841, 30, Some(841)),
        // 80 are freed before: it is its turn when 81 are wanted, with 119 available.
        ("enough at the threshold", 1_000, "c", 841, 80, Some(881)),
        ("over the threshold", 100, "c", 0, 80, Some(0)),
        ("just not its turn", 120, "c", 0, 80, Some(1)),
        ("over, the first", 100, "a", 0, 0, Some(0)),
    ] {
        let story = node.clone().with(|node| node.available = Some(available)).explain(id);
        let space = story.earliest[1].space.as_ref().expect("a disk");
        let found =
            (space.missing_bytes, space.freed_before_bytes, space.missing_until_its_turn_bytes);
        assert_eq!(space.largest_available_bytes, Some(159), "{name}");
        assert_eq!(found, (Some(missing), Some(before), turn), "{name}");
        // The plan of such a disk says the same.
        if let Some(turn) = turn {
            for (more, is_removed) in [(turn, true), (turn - 1, false)] {
                let left = i64::try_from(available).expect("a small disk") - more;
                let Ok(left) = u64::try_from(left) else { continue };
                let then = node.clone().with(|node| node.available = Some(left)).explain(id);
                if more >= 0 {
                    let is_gone = then.triggers[0].verdict.is_removal();
                    assert_eq!(is_gone, is_removed, "{name}: {more} more");
                }
            }
        }
    }
    let full = Node::new(&[("a", 500), ("b", 50)])
        .with(|node| node.policy.min_age = GoDuration(0))
        .explain("b");
    let space = full.earliest[1].space.as_ref().expect("a disk");
    assert_eq!(space.missing_until_its_turn_bytes, None, "enough even on a full disk");
    let unknown = node.with(|node| node.available = None).explain("a");
    let space = unknown.earliest[1].space.as_ref().expect("a way");
    assert_eq!((space.missing_bytes, space.place), (None, None), "no disk");
}

#[test]
fn containers_let_go_in_their_time() {
    let node = Node::new(&[("a", 1), ("b", 1)]).with(|node| {
        node.runs("a", ContainerState::Exited, 2 * HOUR);
        node.runs("b", ContainerState::Exited, HOUR);
    });
    let first = |id: &str| {
        let story = node.explain(id);
        let user = story.used_by.first().expect("a user").clone();
        (user.in_loop.to_string(), user.under_pressure.to_string())
    };
    let (in_loop, under_pressure) = first("a");
    assert!(in_loop.starts_with("goes with the next collection of containers, every 1m0s: "));
    assert!(under_pressure.starts_with("is removed before images are checked: "));
    let (in_loop, under_pressure) = first("b");
    assert!(in_loop.starts_with("stays: "), "{in_loop}");
    assert!(in_loop.ends_with("until its pod is deleted or evicted"), "{in_loop}");
    assert!(under_pressure.starts_with("stays: "), "{under_pressure}");
}
