//! The search that does not look at every pod finds what the kubelet's own does, to the last bit.

use super::*;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{Container, Pod, ResourceName};
use crate::k8s::quantity::Quantity;
use proptest::collection::vec;
use proptest::prelude::*;

const RESOURCES: [&str; 5] = ["cpu", "memory", "ephemeral-storage", "example.com/gpu", "pods"];

/// Amounts that are often the same, that floats cannot tell apart, and that overflow.
fn amount() -> BoxedStrategy<i64> {
    let large = 1i64 << 53;
    prop_oneof![
        8 => 0i64..4,
        4 => (0i64..1000).prop_map(|it| it * 100),
        2 => (0i64..8).prop_map(move |it| large + it),
        1 => (0i64..4).prop_map(|it| i64::MAX - it),
    ]
    .boxed()
}

fn anything() -> BoxedStrategy<i64> {
    prop_oneof![6 => amount(), 1 => -3i64..0, 1 => Just(i64::MIN + 1)].boxed()
}

fn pod(amounts: impl Strategy<Value = i64>) -> impl Strategy<Value = Pod> {
    vec(amounts, 4).prop_map(|amounts| {
        let mut container = Container::default();
        for (name, amount) in RESOURCES.iter().zip(amounts) {
            // Thousandths of a CPU, and whole units of the others.
            let suffix = if *name == "cpu" { "m" } else { "" };
            let quantity: Quantity = format!("{amount}{suffix}").parse().expect("a quantity");
            container.resources.requests.insert(ResourceName::from(*name), quantity);
        }
        let mut pod = Pod::default();
        pod.spec.containers = vec![container];
        pod
    })
}

fn requirements() -> impl Strategy<Value = Vec<Requirement>> {
    let quantity = prop_oneof![1i64..12, 1i64..100_000, Just(1i64 << 55), Just(i64::MAX)];
    (Just(RESOURCES.to_vec()).prop_shuffle(), vec(quantity, 1..=RESOURCES.len())).prop_map(
        |(names, quantities)| {
            let named = names.into_iter().zip(quantities);
            named.map(|(name, quantity)| Requirement { resource: name.into(), quantity }).collect()
        },
    )
}

fn same(pods: &[Pod], requirements: &[Requirement]) -> Result<(), TestCaseError> {
    let mut preemptor = Pod::default();
    preemptor.spec.priority = Some(2_000_000_000);
    let (pods, rules): (Vec<&Pod>, _) = (pods.iter().collect(), KubeletRules::default());
    let find = |trace| pick_victims(&preemptor, &pods, requirements, trace, &rules);
    let (mut plain, quick) = (find(Trace::Visits), find(Trace::Chosen));
    let bits = |found: &Preemption| -> Vec<u64> {
        let rounds = found.stages.iter().flat_map(|stage| &stage.rounds);
        rounds.map(|round| round.distance.to_bits()).collect()
    };
    prop_assert_eq!(bits(&plain), bits(&quick));
    for round in plain.stages.iter_mut().flat_map(|stage| &mut stage.rounds) {
        round.visits.clear();
    }
    prop_assert_eq!(plain, quick);
    Ok(())
}

/// Makes what is required at most what all pods give, so that there are victims; the rounds are many
/// where it is nearly all of it.
fn within_reach(pods: &[Pod], requirements: Vec<Requirement>, part: i64) -> Vec<Requirement> {
    let rules = KubeletRules::default();
    let of = |it: Requirement| {
        let gives = pods.iter().map(|pod| preemption_request(pod, &it.resource, &rules));
        let all = gives.fold(0i64, i64::saturating_add);
        Requirement { quantity: it.quantity.min(all / 8 * part + all % 8).max(1), ..it }
    };
    requirements.into_iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_quick_search_is_the_plain_one(
        pods in vec(pod(amount()), 0..40), requirements in requirements(), part in 1i64..=8
    ) {
        let requirements = within_reach(&pods, requirements, part);
        same(&pods, &requirements)?;
    }

    #[test]
    fn pods_that_give_less_than_nothing_change_nothing(
        pods in vec(pod(anything()), 0..12), requirements in requirements()
    ) {
        same(&pods, &requirements)?;
    }
}

#[test]
fn equals_and_many_rounds_are_the_same() {
    let of = |cpu: usize, memory: usize| {
        let mut pod = Pod::default();
        let mut container = Container::default();
        let requests = &mut container.resources.requests;
        requests.insert(ResourceName::Cpu, format!("{cpu}m").parse().expect("a quantity"));
        requests.insert(ResourceName::Memory, memory.to_string().parse().expect("a quantity"));
        pod.spec.containers = vec![container];
        pod
    };
    let need = |name: &str, quantity| Requirement { resource: name.into(), quantity };
    let all_equal: Vec<Pod> = (0..60).map(|_| of(100, 7)).collect();
    let all_differ: Vec<Pod> = (0..200).map(|at| of(at * 37 % 101, at * 53 % 199)).collect();
    for (pods, requirements) in [
        (&all_equal, vec![need("cpu", 3_000)]),
        (&all_equal, vec![need("pods", 59), need("memory", 60)]),
        (&all_differ, vec![need("cpu", 9_000)]),
        (&all_differ, vec![need("pods", 150)]),
        (&all_differ, vec![need("cpu", 8_000), need("memory", 15_000)]),
        (&all_differ, vec![need("memory", 100), need("pods", 180), need("cpu", 5_000)]),
    ] {
        same(pods, &requirements).expect("the same");
        let mut preemptor = Pod::default();
        preemptor.spec.priority = Some(2_000_000_000);
        let pods: Vec<&Pod> = pods.iter().collect();
        let rules = KubeletRules::default();
        let found = pick_victims(&preemptor, &pods, &requirements, Trace::Chosen, &rules);
        assert!(found.victims.is_ok_and(|victims| victims.len() > 29));
    }
}
