//! How long it takes to find whom a kubelet would kill: on nodes of up to as many pods as are searched, with and
//! without every visit, and on each node of a large cluster.

use criterion::{Criterion, criterion_group, criterion_main};
use kq_admission::preemption::{
    ClusterPreemption, MOST_PODS, NodeAnswer, NodeStanding, Outcome, PodPreemption,
    PreemptionExplanation, Requirement, Trace, explain_preemption, make_room, pick_victims, view,
    why_critical,
};
use kq_admission::{Explanation, Facts, NodePod, Occupancy, examine, explain};
use kq_answer::Basis;
use kq_facts::node_object::NodeObject;
use kq_facts::node_pods::StandingReason;
use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::manifest::load;
use kq_k8s::pod::Pod;
use std::collections::BTreeMap;
use std::hint::black_box;

#[path = "../tests/support/objects.rs"]
mod objects;

#[path = "../tests/support/pod_list.rs"]
mod pod_list;

fn pods(count: usize, rules: &KubeletRules) -> Vec<Pod> {
    let loaded = load("list.json", pod_list::pod_list(count).as_bytes()).pods;
    let mut pods: Vec<Pod> = loaded.into_iter().map(|loaded| loaded.pod.into_inner()).collect();
    for pod in &mut pods {
        apply_api_defaults(pod, rules);
        pod.spec.priority = Some(0);
    }
    pods
}

fn critical(cpu_millis: i64, memory_mebibytes: i64) -> Pod {
    let requests = format!("cpu={cpu_millis}m,memory={memory_mebibytes}Mi");
    objects::pod("new").priority(2_000_000_000).requests(&requests).read()
}

/// A node that has just as much as its pods take.
fn full(name: &str, pods: &[&Pod], rules: &KubeletRules) -> NodeObject {
    let node = objects::node(name).allocatable("cpu=9999999,memory=999Ti,pods=99999");
    let mut node: NodeObject = node.read();
    let nothing = BTreeMap::new();
    let facts = Facts {
        others: &Occupancy::of(pods.iter().copied(), rules),
        cached: Ok(&node),
        fresh: Ok(&node),
        allocated_devices: Ok(&nothing),
    };
    let examined = examine(&critical(1, 1), &facts, rules);
    let used = examined.ledger.expect("amounts are compared").used;
    let allocatable = &mut node.status.allocatable;
    allocatable.insert("cpu".into(), format!("{}m", used.milli_cpu).parse().expect("a quantity"));
    allocatable.insert("memory".into(), used.memory.to_string().parse().expect("a quantity"));
    node
}

fn search(criterion: &mut Criterion) {
    let rules = KubeletRules::default();
    for count in [110, 1_000, MOST_PODS] {
        search_among(criterion, &pods(count, &rules), &rules);
    }
}

fn search_among(criterion: &mut Criterion, pods: &[Pod], rules: &KubeletRules) {
    let pods: Vec<&Pod> = pods.iter().collect();
    let all: i64 = pods
        .iter()
        .map(|pod| kq_admission::preemption::preemption_request(pod, &"cpu".into(), rules))
        .sum();
    let mut group = criterion.benchmark_group(format!("{} pods", pods.len()));
    group.sample_size(20);
    for (name, part) in [("few victims", 100), ("half of the CPUs", 2)] {
        let need = |resource: &str, quantity| Requirement { resource: resource.into(), quantity };
        let requirements = [need("cpu", all / part), need("memory", 1 << 30)];
        let preemptor = critical(1, 1);
        for (kept, trace) in [("chosen", Trace::Chosen), ("visits", Trace::Visits)] {
            group.bench_function(format!("{name}, {kept}"), |bencher| {
                bencher.iter_with_large_drop(|| {
                    pick_victims(&preemptor, black_box(&pods), &requirements, trace, rules)
                });
            });
        }
    }
    group.finish();
}

/// Answers for a pod, with these lines in the ledger; and says who is killed.
fn plan<'p>(
    pod: &Pod,
    others: &[&'p Pod],
    ledger: &[NodePod<'_>],
    node: &NodeObject,
    trace: Trace,
) -> (Explanation, PreemptionExplanation, Vec<&'p Pod>) {
    let rules = KubeletRules::default();
    let nothing = BTreeMap::new();
    let facts = Facts {
        others: &Occupancy::of(others.iter().copied(), &rules),
        cached: Ok(node),
        fresh: Ok(node),
        allocated_devices: Ok(&nothing),
    };
    let (admission, examined) = explain(pod, ledger, &[], &facts, &rules);
    let (verdict, handled) = make_room(pod, &examined, others, trace, &rules);
    let refusals = verdict.refusals();
    let preemption = explain_preemption(pod, refusals, handled.as_ref(), others, &rules);
    let victims = match handled.map(|handled| handled.outcome) {
        Some(Outcome::Kills(places)) => places.iter().map(|at| others[*at]).collect(),
        _ => Vec::new(),
    };
    (admission, preemption, victims)
}

fn answer(pod: &Pod, pods: &[NodePod<'_>], node: &NodeObject, trace: Trace) -> PodPreemption {
    let others: Vec<&Pod> = pods.iter().map(|it| it.pod).collect();
    let (admission, preemption, _) = plan(pod, &others, pods, node, trace);
    PodPreemption::new(preemption, admission, Basis::default())
}

fn whole_answers(criterion: &mut Criterion) {
    let rules = KubeletRules::default();
    let pods = pods(1_000, &rules);
    let refs: Vec<&Pod> = pods.iter().collect();
    let node = full("n", &refs, &rules);
    let on_node = |pod| NodePod { pod, counts: true, why: StandingReason::OnNode };
    let on_node: Vec<NodePod<'_>> = refs.iter().copied().map(on_node).collect();
    let mut group = criterion.benchmark_group("explain on 1000 pods");
    group.sample_size(10);
    for (name, cpu_millis) in [("few victims", 4_000), ("hundreds of victims", 150_000)] {
        let pod = critical(cpu_millis, 1);
        group.bench_function(format!("{name}, table"), |bencher| {
            bencher.iter(|| view::table(&answer(&pod, black_box(&on_node), &node, Trace::Chosen)));
        });
        group.bench_function(format!("{name}, wide"), |bencher| {
            bencher.iter(|| view::wide(&answer(&pod, black_box(&on_node), &node, Trace::Visits)));
        });
    }
    group.finish();
}

fn all_nodes(criterion: &mut Criterion) {
    const NODES: usize = 1_000;
    const PODS: usize = 110;
    let rules = KubeletRules::default();
    // Nodes that are not all alike: each has a part of a longer list.
    let pods = pods(PODS * 10, &rules);
    let nodes: Vec<(NodeObject, Vec<&Pod>)> = (0..NODES)
        .map(|at| {
            let first = at * 97 % (PODS * 9);
            let on_node: Vec<&Pod> = pods.iter().skip(first).take(PODS).collect();
            (full(&format!("n{at}"), &on_node, &rules), on_node)
        })
        .collect();
    let pod = critical(4_000, 4_096);
    let ask = |(node, others): &(NodeObject, Vec<&Pod>)| {
        let (admission, preemption, victims) = plan(&pod, others, &[], node, Trace::Chosen);
        let standing = NodeStanding { name: node.metadata.name.clone(), ..NodeStanding::default() };
        NodeAnswer::new(&standing, &admission, preemption, &victims, Basis::default())
    };
    let mut group = criterion.benchmark_group("1000 nodes of 110 pods");
    group.sample_size(10);
    group.bench_function("answers, in order", |bencher| {
        bencher.iter(|| {
            let answers = black_box(&nodes).iter().map(ask).collect();
            let critical = why_critical(&pod);
            let answer = ClusterPreemption::new(&pod, critical, answers, Basis::default());
            assert_eq!(answer.summary.preempts, NODES);
        });
    });
    group.finish();
}

criterion_group!(benches, search, whole_answers, all_nodes);
criterion_main!(benches);
