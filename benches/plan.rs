//! How long a plan takes: of one pod, and of the pods of a very large list.

use criterion::{Criterion, criterion_group, criterion_main};
use kq_answer::Basis;
use kq_cgroup::plan::{RuntimeFormula, plan};
use kq_cgroup::report::CgroupPlan;
use kq_cgroup::view;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_facts::overrides::Overrides;
use kq_facts::weight_formula::WeightFormula;
use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::manifest::{LoadedPod, load};
use std::hint::black_box;

#[path = "../tests/support/pod_list.rs"]
mod pod_list;

const FORMULA: RuntimeFormula = RuntimeFormula::new(WeightFormula::Quadratic, false);

fn node() -> NodeConfig {
    let mut overrides = Overrides::default();
    for (name, amount) in [("cpu", "64"), ("memory", "256Gi"), ("pid", "4194304")] {
        overrides.capacity.insert(name.into(), amount.parse().expect("a quantity"));
    }
    let node = Node::of_files(overrides).expect("a node");
    node.settings().expect("its settings").clone()
}

fn pods(count: usize, node: &NodeConfig) -> Vec<LoadedPod> {
    let mut pods = load("list.json", pod_list::pod_list(count).as_bytes()).pods;
    for loaded in &mut pods {
        apply_api_defaults(&mut loaded.pod, &node.rules);
    }
    pods
}

fn one_pod(criterion: &mut Criterion) {
    let node = node();
    let pods = pods(1, &node);
    criterion.bench_function("plan one pod", |bencher| {
        bencher.iter(|| plan(black_box(&pods), &node, FORMULA).expect("a plan"));
    });
}

fn ten_thousand_pods(criterion: &mut Criterion) {
    let node = node();
    let text = pod_list::pod_list(10_000);
    let pods = pods(10_000, &node);
    let mut group = criterion.benchmark_group("10000 pods");
    group.sample_size(10);
    group.bench_function("plan", |bencher| {
        bencher.iter(|| plan(black_box(&pods), &node, FORMULA).expect("a plan"));
    });
    group.bench_function("load and plan", |bencher| {
        bencher.iter(|| {
            let loaded = load("list.json", black_box(text.as_bytes()));
            plan(&loaded.pods, &node, FORMULA).expect("a plan").roots.len()
        });
    });
    let planned = plan(&pods, &node, FORMULA).expect("a plan");
    group.bench_function("table", |bencher| {
        bencher.iter(|| view::table(black_box(&planned)).to_string());
    });
    group.bench_function("json", |bencher| {
        bencher.iter(|| {
            let report = CgroupPlan::new(black_box(&planned), Basis::default());
            serde_json::to_vec(&report).expect("JSON")
        });
    });
    group.finish();
}

criterion_group!(benches, one_pod, ten_thousand_pods);
criterion_main!(benches);
