//! Reasons in a table, the properties of a fair division, and a large level.

use super::*;
use proptest::prelude::*;

fn leaf(name: &str, weight: u64) -> Node {
    Node::new((), name, weight)
}

fn capped(mut node: Node, quota_us: i64) -> Node {
    node.cpu_quota_us = Some(quota_us);
    node
}

fn group(name: &str, weight: u64, children: Vec<Node>) -> Node {
    Node { children, ..leaf(name, weight) }
}

fn idle(node: Node) -> Node {
    Node { cpu_hungry: false, ..node }
}

fn cpus(numerator: i64, denominator: i64) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

fn quota(quota_us: i64) -> Quota {
    Quota { quota_us, period_us: 100_000 }
}

fn division(path: &str, weight: u64, competing_weights: u128, cpus: BigRational) -> Division {
    Division { path: path.to_owned(), weight, competing_weights, cpus }
}

#[test]
fn every_leaf_has_its_reason() {
    let half = || division("/g/a", 1, 2, cpus(1, 2));
    let cases = [
        ("alone", vec![leaf("a", 1)], cpus(4, 1), Reason::WholeNode),
        ("idle", vec![idle(leaf("a", 1)), leaf("b", 1)], cpus(0, 1), Reason::Idle),
        (
            "own quota",
            vec![capped(leaf("a", 1), 50_000)],
            cpus(1, 2),
            Reason::OwnQuota(quota(50_000)),
        ),
        (
            "threads below the quota",
            vec![Node { threads: Some(1), ..capped(leaf("a", 1), 200_000) }],
            cpus(1, 1),
            Reason::Threads(1),
        ),
        ("no threads", vec![Node { threads: Some(0), ..leaf("a", 1) }], cpus(0, 1), Reason::Idle),
        (
            "an ancestor's quota, alone below it",
            vec![capped(group("g", 1, vec![leaf("a", 1)]), 50_000), leaf("b", 1)],
            cpus(1, 2),
            Reason::AncestorQuota { path: "/g".to_owned(), quota: quota(50_000), divided: None },
        ),
        (
            "an ancestor's quota, divided",
            vec![capped(group("g", 1, vec![leaf("a", 1), leaf("b", 1)]), 50_000)],
            cpus(1, 4),
            Reason::AncestorQuota {
                path: "/g".to_owned(),
                quota: quota(50_000),
                divided: Some(half()),
            },
        ),
        (
            "weight",
            vec![leaf("a", 1), leaf("b", 2), idle(leaf("c", 9))],
            cpus(4, 3),
            Reason::Weight(division("/a", 1, 3, cpus(4, 1))),
        ),
        (
            "weight of the group of a lone leaf",
            vec![group("g", 3, vec![leaf("a", 7)]), leaf("b", 1)],
            cpus(3, 1),
            Reason::Weight(division("/g", 3, 4, cpus(4, 1))),
        ),
        (
            "the saturated leave the competition",
            vec![leaf("a", 1), leaf("b", 1), capped(leaf("c", 2), 100_000)],
            cpus(3, 2),
            Reason::Weight(division("/a", 1, 2, cpus(3, 1))),
        ),
        (
            "a weight of zero gets what is left",
            vec![leaf("a", 0), capped(leaf("b", 1), 100_000)],
            cpus(3, 1),
            Reason::WholeNode,
        ),
        (
            "weights of zero divide evenly",
            vec![leaf("a", 0), leaf("b", 0)],
            cpus(2, 1),
            Reason::Weight(division("/a", 1, 2, cpus(4, 1))),
        ),
        (
            "a quota or period that is not positive is none",
            vec![Node { cpu_period_us: Some(0), ..capped(leaf("a", 1), -1) }],
            cpus(4, 1),
            Reason::WholeNode,
        ),
    ];
    for (name, tree, expected_cpus, expected_reason) in cases {
        let shares = cpu_shares(4, &tree);
        assert_eq!(shares.leaves[0].cpus, expected_cpus, "{name}");
        assert_eq!(shares.leaves[0].reason, expected_reason, "{name}");
    }
}

#[test]
fn nothing_to_divide_is_no_panic() {
    assert_eq!(cpu_shares::<()>(4, &[]).leaves, []);
    for weight in [0, 1, u64::MAX] {
        let tree = [leaf("a", weight), capped(leaf("b", weight), i64::MAX)];
        for num_cpus in [0, u64::MAX] {
            let total = cpu_shares(num_cpus, &tree).total;
            assert_eq!(total, BigRational::from(BigInt::from(num_cpus)));
        }
    }
}

#[test]
fn ten_thousand_siblings_with_different_limits() {
    let tree: Vec<Node> = (1..=10_000_u32)
        .map(|n| capped(leaf(&n.to_string(), u64::from(n * 7919 % 1009) + 1), i64::from(n) * 10))
        .collect();
    let shares = cpu_shares(128, &tree);
    assert_eq!(shares.leaves.len(), 10_000);
    assert_eq!(shares.total, cpus(128, 1));
}

fn any_leaf() -> impl Strategy<Value = Node> {
    let quota_us = proptest::option::weighted(0.4, 1000_i64..400_000);
    let threads = proptest::option::weighted(0.3, 0_u64..5);
    (0_u64..50, quota_us, proptest::bool::weighted(0.9), threads).prop_map(
        |(weight, cpu_quota_us, cpu_hungry, threads)| Node {
            cpu_quota_us,
            cpu_hungry,
            threads,
            ..leaf("n", weight)
        },
    )
}

fn any_tree() -> impl Strategy<Value = Vec<Node>> {
    let node = any_leaf().prop_recursive(3, 24, 5, |inner| {
        (any_leaf(), proptest::collection::vec(inner, 0..5))
            .prop_map(|(node, children)| Node { children, ..node })
    });
    proptest::collection::vec(node, 0..6)
}

/// Returns the most that a node can use; the plain definition.
fn most(node: &Node) -> Option<BigRational> {
    let quota = node.quota().map(|q| cpus(q.quota_us, q.period_us));
    let inside = if !node.children.is_empty() {
        node.children.iter().map(most).sum()
    } else if node.cpu_hungry {
        node.threads.map(|threads| BigRational::from(BigInt::from(threads)))
    } else {
        Some(BigRational::zero())
    };
    [quota, inside].into_iter().flatten().min()
}

proptest! {
    #[test]
    fn all_that_can_be_used_is_used(num_cpus in 0_u64..20, tree in any_tree()) {
        let shares = cpu_shares(num_cpus, &tree);
        let all = BigRational::from(BigInt::from(num_cpus));
        let usable: Option<BigRational> = tree.iter().map(most).sum();
        prop_assert_eq!(&shares.total, &usable.map_or(all.clone(), |usable| usable.min(all)));
        for leaf in &shares.leaves {
            prop_assert!(most(leaf.node).is_none_or(|most| leaf.cpus <= most));
            prop_assert!(leaf.cpus >= BigRational::zero());
        }
    }

    #[test]
    fn the_unsaturated_share_by_weight(
        num_cpus in 1_u64..20,
        tree in proptest::collection::vec(any_leaf(), 1..12),
    ) {
        let shares = cpu_shares(num_cpus, &tree);
        let mut per_weight = None;
        for leaf in shares.leaves.iter().filter(|leaf| leaf.node.weight > 0) {
            let Reason::Weight(divided) = &leaf.reason else { continue };
            let ratio = &leaf.cpus / BigInt::from(leaf.node.weight);
            prop_assert_eq!(&ratio, &(&divided.cpus / BigInt::from(divided.competing_weights)));
            prop_assert_eq!(per_weight.get_or_insert(ratio.clone()), &ratio);
        }
        // Who is saturated never has more per weight than who is not.
        for leaf in shares.leaves.iter().filter(|leaf| leaf.node.weight > 0) {
            let ratio = &leaf.cpus / BigInt::from(leaf.node.weight);
            prop_assert!(per_weight.as_ref().is_none_or(|unsaturated| ratio <= *unsaturated));
        }
    }

    #[test]
    fn the_order_of_siblings_does_not_matter(num_cpus in 0_u64..20, mut tree in any_tree()) {
        let sorted = |tree: &[Node]| {
            let shares = cpu_shares(num_cpus, tree);
            let mut cpus: Vec<_> = shares.leaves.into_iter().map(|leaf| leaf.cpus).collect();
            cpus.sort();
            cpus
        };
        let before = sorted(&tree);
        tree.reverse();
        prop_assert_eq!(before, sorted(&tree));
    }
}
