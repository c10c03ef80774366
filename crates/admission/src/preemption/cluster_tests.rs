//! The node that comes first is one that kube-scheduler's rule could pick, by going through the rule step by
//! step.

use super::*;
use kq_answer::Basis;
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::Pod;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

type Worth = (Option<i32>, Option<Timestamp>);

fn worth() -> impl Strategy<Value = Worth> {
    let priority = of(prop_oneof![-2i32..3, Just(i32::MIN), Just(1_999_999_999)]);
    (priority, of((0i64..3).prop_map(Timestamp::from_seconds)))
}

fn answer(name: usize, result: NodeResult, victims: &[Worth]) -> NodeAnswer {
    let node = NodeStanding { name: format!("n{name}"), ..NodeStanding::default() };
    NodeAnswer {
        result,
        cost: Cost::of(victims),
        ..NodeAnswer::missing(&node, String::new(), Basis::default())
    }
}

fn together(nodes: Vec<NodeAnswer>) -> ClusterPreemption {
    ClusterPreemption::new(&Pod::default(), why_critical(&Pod::default()), nodes, Basis::default())
}

/// Keeps those with the highest score.
fn keep(left: Vec<usize>, score: impl Fn(usize) -> i64) -> Vec<usize> {
    let best = left.iter().map(|at| score(*at)).max();
    left.into_iter().filter(|at| Some(score(*at)) == best).collect()
}

/// Returns the nodes that the scheduler may pick: those that stay when each score in turn is asked.
fn picked(nodes: &[Vec<Worth>]) -> Vec<usize> {
    let now = Timestamp::from_seconds(1_000);
    let priority = |it: &Worth| i64::from(it.0.unwrap_or(0));
    let highest = |at: usize| nodes[at].iter().map(priority).max().unwrap_or(0);
    let all = (0..nodes.len()).collect();
    let left = keep(all, |at| -highest(at));
    let sum = |at: usize| nodes[at].iter().map(|it| priority(it) + (1 << 31)).sum::<i64>();
    let left = keep(left, |at| -sum(at));
    let left = keep(left, |at| -i64::try_from(nodes[at].len()).expect("few"));
    keep(left, |at| {
        let of_highest = nodes[at].iter().filter(|it| priority(it) == highest(at));
        let started = of_highest.map(|it| it.1.unwrap_or(now)).min().unwrap_or(now);
        started.since(Timestamp::from_seconds(0))
    })
}

proptest! {
    #[test]
    fn the_first_is_the_one_that_the_scheduler_would_pick(
        nodes in vec(vec(worth(), 1..4), 1..8)
    ) {
        let answers = nodes.iter().enumerate();
        let answers = answers.map(|(at, it)| answer(at, NodeResult::Preempts, it)).collect();
        let sorted = together(answers);
        // Of several that the rule leaves, the first by name.
        let expected = picked(&nodes).first().map(|at| format!("n{at}"));
        prop_assert_eq!(sorted.nodes.first().map(|it| it.node.clone()), expected);
        let costs: Vec<Cost> = sorted.nodes.iter().filter_map(|it| it.cost).collect();
        prop_assert!(costs.is_sorted());
    }
}

#[test]
fn what_takes_the_pod_comes_before_what_does_not() {
    let at = |second| Some(Timestamp::from_seconds(second));
    let rows = [
        ("it fits", NodeResult::Fits, vec![]),
        ("less than no priority", NodeResult::Preempts, vec![(Some(-5), at(1))]),
        ("one without any", NodeResult::Preempts, vec![(None, at(1))]),
        ("two, late", NodeResult::Preempts, vec![(Some(0), None), (Some(0), None)]),
        (
            "two, the first of them early",
            NodeResult::Preempts,
            vec![(Some(0), at(9)), (None, at(2))],
        ),
        ("one of more", NodeResult::Preempts, vec![(Some(1), None)]),
        ("not enough", NodeResult::NotEnough, vec![]),
        ("refused", NodeResult::Refused, vec![]),
        ("not known", NodeResult::Missing, vec![]),
    ];
    let nodes: Vec<NodeAnswer> =
        (0..rows.len()).map(|it| answer(it, rows[it].1, &rows[it].2)).rev().collect();
    let sorted = together(nodes);
    for (place, (what, ..)) in rows.iter().enumerate() {
        let node = sorted.nodes.get(place).map(|node| node.node.clone());
        assert_eq!(node, Some(format!("n{place}")), "{what}");
    }
    let Summary { fits, preempts, not_enough, refused, missing } = sorted.summary;
    assert_eq!((fits, preempts, not_enough, refused, missing), (1, 5, 1, 1, 1));
    assert!(sorted.is_taken() && sorted.lacks_facts());
}

#[test]
fn what_all_nodes_assume_is_said_once() {
    let assume = |name: usize, texts: &[&str]| {
        let mut node = answer(name, NodeResult::Fits, &[]);
        node.basis.assumptions = texts.iter().map(|text| (*text).into()).collect();
        node
    };
    let unknown = answer(2, NodeResult::Missing, &[]);
    let said = together(vec![assume(0, &["all", "a"]), assume(1, &["b", "all"]), unknown]);
    assert_eq!(said.basis.assumptions, ["all"]);
    let of_nodes: Vec<_> = said.nodes.iter().map(|node| node.basis.assumptions.clone()).collect();
    assert_eq!(
        of_nodes,
        [vec!["a".into()], vec!["b".into()], vec![]] as [Vec<kq_answer::Assumption>; 3]
    );
}
