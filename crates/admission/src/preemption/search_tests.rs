//! Each round of a search picks what a model picks that goes through nothing: the pod whose distance, and then request,
//! is the least, and of equal ones the last. The kubelet's first guess is one more of them: the first pod, farther
//! away than any that gives nothing.

use super::*;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;
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

/// A round: the chosen pod, the bits of its distance, the ties, and what is missing then.
type ModelRound = (usize, u64, Vec<usize>, Vec<(ResourceName, i64)>);

fn model(pods: &[Pod], at: &[usize], requirements: &[Requirement]) -> Vec<ModelRound> {
    let rules = KubeletRules::default();
    let gives = |at: usize, of: &ResourceName| preemption_request(&pods[at], of, &rules);
    let mut left = at.to_vec();
    let mut missing = requirements.to_vec();
    let mut rounds = Vec::new();
    while !missing.is_empty() && !left.is_empty() {
        let asks = |at: usize| (gives(at, &ResourceName::Memory), gives(at, &ResourceName::Cpu));
        let far = |at: usize| {
            let given: Vec<i64> = missing.iter().map(|it| gives(at, &it.resource)).collect();
            distance(&missing, &given)
        };
        let guess = (missing.len() as f64 + 1.0, asks(left[0]), 0);
        let each = left.iter().enumerate().map(|(place, at)| (far(*at), asks(*at), place));
        let all: Vec<_> = std::iter::once(guess).chain(each).collect();
        let order = |one: &(f64, (i64, i64), usize), other: &(f64, (i64, i64), usize)| {
            one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
        };
        let least = *all.iter().min_by(|one, other| order(one, other)).expect("the guess");
        let mut equal: Vec<usize> =
            all.iter().filter(|it| order(it, &least).is_eq()).map(|it| it.2).collect();
        let chosen = equal.pop().expect("the least");
        let ties = equal.iter().map(|place| left[*place]).collect();
        let victim = left.swap_remove(chosen);
        missing.retain_mut(|it| {
            it.quantity = it.quantity.wrapping_sub(gives(victim, &it.resource));
            it.quantity > 0
        });
        let stays = missing.iter().map(|it| (it.resource.clone(), it.quantity)).collect();
        rounds.push((victim, least.0.to_bits(), ties, stays));
    }
    rounds
}

fn same(pods: &[Pod], requirements: &[Requirement]) -> Result<(), TestCaseError> {
    let mut preemptor = Pod::default();
    preemptor.spec.priority = Some(2_000_000_000);
    let refs: Vec<&Pod> = pods.iter().collect();
    let rules = KubeletRules::default();
    let find = |trace| pick_victims(&preemptor, &refs, requirements, trace, &rules);
    let (mut told, found) = (find(Trace::Visits), find(Trace::Chosen));
    for stage in &found.stages {
        let class = match stage.class {
            QosClass::Guaranteed => &found.guaranteed,
            QosClass::Burstable => &found.burstable,
            QosClass::BestEffort => &found.best_effort,
        };
        let of = |round: &Round| -> ModelRound {
            let stays = round.remaining.iter().map(|it| (it.resource.clone(), it.quantity));
            (round.chosen, round.distance.to_bits(), round.ties.clone(), stays.collect())
        };
        let rounds: Vec<ModelRound> = stage.rounds.iter().map(of).collect();
        prop_assert_eq!(rounds, model(pods, class, &stage.requirements));
    }
    for round in told.stages.iter_mut().flat_map(|stage| &mut stage.rounds) {
        round.visits.clear();
    }
    prop_assert_eq!(told, found, "visits change nothing");
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
    fn each_round_picks_what_the_model_does(
        pods in vec(pod(amount()), 0..40), requirements in requirements(), part in 1i64..=8
    ) {
        let requirements = within_reach(&pods, requirements, part);
        same(&pods, &requirements)?;
    }

    #[test]
    fn pods_that_give_less_than_nothing_are_no_exception(
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
