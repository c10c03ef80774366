//! What holds on every node: the need is covered, no spared pod is killed, and the pod fits then.

use super::*;
use crate::{Facts, Occupancy, Verdict, examine};
use kq_facts::node_object::NodeObject;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod, ResourceList, ResourceName};
use kq_k8s::priority::{is_critical_pod, is_preemptable};
use kq_k8s::quantity::Quantity;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use std::collections::BTreeMap;

const RESOURCES: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "example.com/gpu"];

/// Amounts of some resources; zero is left out.
fn amounts() -> impl Strategy<Value = ResourceList> {
    vec(0i64..6, RESOURCES.len()).prop_map(|amounts| list(&amounts))
}

fn list(amounts: &[i64]) -> ResourceList {
    let named = RESOURCES.iter().zip(amounts).filter(|(_, amount)| **amount != 0);
    named.map(|(name, amount)| (ResourceName::from(*name), units(*amount))).collect()
}

fn units(amount: i64) -> Quantity {
    amount.to_string().parse().expect("a quantity")
}

pub(super) fn pod() -> impl Strategy<Value = Pod> {
    let containers = vec((amounts(), any::<bool>()), 1..3);
    let init = vec((amounts(), any::<bool>()), 0..3);
    let priority = of(prop_oneof![0i32..4, Just(2_000_000_000), Just(2_000_001_000)]);
    let source = of(prop_oneof![Just("file"), Just("api")]);
    (containers, init, of(amounts()), priority, source).prop_map(
        |(containers, init, overhead, priority, source)| {
            let mut pod = Pod::default();
            pod.spec.containers = containers.into_iter().map(container).collect();
            pod.spec.init_containers = init.into_iter().map(container).collect();
            // The kubelet does not count the overhead of a pod that asks for nothing when it preempts.
            let asks = |container: &Container| {
                RESOURCES.iter().all(|name| container.resources.requests.contains(&(*name).into()))
            };
            pod.spec.overhead = overhead.filter(|_| pod.spec.containers.iter().any(asks));
            pod.spec.priority = priority;
            pod.metadata.annotations.config_source = source.map(str::to_owned);
            pod
        },
    )
}

/// A container, with limits like its requests, and a sidecar where it is an init container.
fn container((requests, flag): (ResourceList, bool)) -> Container {
    let mut container = Container::default();
    if flag {
        container.resources.limits = requests.clone();
        container.restart_policy = Some("Always".to_owned());
    }
    container.resources.requests = requests;
    container
}

pub(super) fn node() -> impl Strategy<Value = NodeObject> {
    (vec(1i64..40, RESOURCES.len()), 1i64..12).prop_map(|(amounts, pods)| {
        let mut node = NodeObject::default();
        node.status.allocatable = list(&amounts);
        node.status.allocatable.insert(ResourceName::from("pods"), units(pods));
        node
    })
}

fn admitted(pod: &Pod, others: &[&Pod], node: &NodeObject, rules: &KubeletRules) -> bool {
    let nothing = BTreeMap::new();
    let others = Occupancy::of(others.iter().copied(), rules);
    let facts = Facts {
        others: &others,
        cached: Ok(node),
        fresh: Ok(node),
        allocated_devices: Ok(&nothing),
    };
    examine(pod, &facts, rules).verdict() == Verdict::Admitted
}

proptest! {
    #[test]
    fn victims_make_the_pod_fit_and_nobody_else_goes(
        preemptor in pod(), pods in vec(pod(), 0..12), node in node()
    ) {
        let rules = KubeletRules::default();
        let others: Vec<&Pod> = pods.iter().collect();
        let nothing = BTreeMap::new();
        let occupancy = Occupancy::of(&pods, &rules);
        let facts =
            Facts { others: &occupancy, cached: Ok(&node), fresh: Ok(&node), allocated_devices: Ok(&nothing) };
        let examined = examine(&preemptor, &facts, &rules);
        let (verdict, handled) =
            make_room(&preemptor, &examined, facts.others.pods(), Trace::Chosen, &rules);
        let Some(handled) = handled else {
            prop_assert_eq!(verdict, Verdict::Admitted);
            return Ok(());
        };
        match handled.outcome {
            Outcome::NotCritical => prop_assert!(!is_critical_pod(&preemptor)),
            Outcome::OtherFailures(_) => prop_assert!(false, "only resources are short here"),
            Outcome::NotEnough(error) => {
                let spared: Vec<&Pod> =
                    others.iter().copied().filter(|it| !is_preemptable(&preemptor, it)).collect();
                prop_assert!(!admitted(&preemptor, &spared, &node, &rules), "{}", error);
            }
            Outcome::Kills(victims) => {
                prop_assert_eq!(verdict, Verdict::Admitted);
                prop_assert!(!victims.is_empty() && !examined.filtered.failures.is_empty());
                let mut once = victims.clone();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), victims.len());
                for victim in &victims {
                    prop_assert!(is_preemptable(&preemptor, others[*victim]));
                }
                let stay: Vec<&Pod> = (0..others.len())
                    .filter(|at| !victims.contains(at))
                    .map(|at| others[at])
                    .collect();
                prop_assert!(admitted(&preemptor, &stay, &node, &rules));
            }
        }
    }

    #[test]
    fn ties_are_those_that_another_order_would_have_chosen(
        preemptor in pod(), pods in vec(pod(), 1..8), need in 1i64..12
    ) {
        let rules = KubeletRules::default();
        let requirements =
            [Requirement { resource: ResourceName::Cpu, quantity: need.wrapping_mul(1000) }];
        let others: Vec<&Pod> = pods.iter().collect();
        let find = |pods: &[&Pod]| pick_victims(&preemptor, pods, &requirements, Trace::Chosen, &rules);
        let found = find(&others);
        let Some(round) = found.stages.iter().flat_map(|stage| &stage.rounds).next() else {
            return Ok(());
        };
        for tie in &round.ties {
            // The one that comes last is chosen among equals.
            let mut order: Vec<usize> = (0..others.len()).filter(|at| at != tie).collect();
            order.push(*tie);
            let again = find(&order.iter().map(|at| others[*at]).collect::<Vec<_>>());
            let first = again.stages.iter().flat_map(|stage| &stage.rounds).next();
            prop_assert_eq!(first.map(|round| order[round.chosen]), Some(*tie));
        }
    }
}
