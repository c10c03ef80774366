//! How long the computations take that the kubelet repeats most: the cgroups of QoS classes, once a minute from all pods;
//! those of pods and containers; the request of an HTTP probe.

use criterion::{Criterion, criterion_group, criterion_main};
use kq_cgroup::container::container_cgroups;
use kq_cgroup::pod::pod_resource_config;
use kq_cgroup::qos::{QosSums, qos_cgroups};
use kq_cgroup::settings::CgroupSettings;
use kq_facts::node::Node;
use kq_facts::overrides::Overrides;
use kq_k8s::pod::{HttpGetAction, Pod};
use kq_probe::http::build_request;
use serde_json::json;
use std::hint::black_box;

#[path = "../tests/support/objects.rs"]
mod objects;

/// A full node.
const PODS: usize = 110;

fn settings() -> CgroupSettings {
    let mut overrides = Overrides::default();
    for (name, amount) in [("cpu", "64"), ("memory", "256Gi"), ("pid", "4194304")] {
        overrides.capacity.insert(name.into(), amount.parse().expect("a quantity"));
    }
    let node = Node::of_files(overrides).expect("a node");
    CgroupSettings::of(node.settings().expect("its settings"))
}

/// Burstable pods of two containers with requests and limits.
fn pods() -> Vec<Pod> {
    let pod = |n: usize| {
        let resources = json!({
            "requests": {"cpu": format!("{}m", 10 + n % 400), "memory": format!("{}Mi", 16 + n % 512)},
            "limits": {"cpu": format!("{}m", 20 + n % 800), "memory": format!("{}Mi", 32 + n % 1024)},
        });
        let container = |name: &str| json!({"name": name, "image": "i", "resources": resources});
        objects::pod(&format!("n/p{n}")).containers(json!([container("a"), container("b")]))
    };
    objects::loaded((0..PODS).map(pod)).into_iter().map(|loaded| loaded.pod.into_inner()).collect()
}

fn cgroups(criterion: &mut Criterion) {
    let (settings, pods) = (settings(), pods());
    assert_eq!(pods.len(), PODS);
    let mut group = criterion.benchmark_group("110 pods");
    group.bench_function("QoS classes", |bencher| {
        bencher.iter(|| {
            let mut sums = QosSums::default();
            for pod in black_box(&pods) {
                sums.add(pod, &settings);
            }
            qos_cgroups(&sums, None, &settings)
        });
    });
    group.bench_function("pods", |bencher| {
        bencher.iter(|| {
            for pod in black_box(&pods) {
                black_box(pod_resource_config(pod, false, &settings));
            }
        });
    });
    group.bench_function("containers", |bencher| {
        bencher.iter(|| {
            for pod in black_box(&pods) {
                black_box(container_cgroups(pod, &|_| false, &settings));
            }
        });
    });
    group.finish();
}

fn probe(criterion: &mut Criterion) {
    let action: HttpGetAction = serde_json::from_value(json!({
        "path": "/healthz?verbose=1", "port": "http",
        "httpHeaders": [{"name": "X-Probe", "value": "kubelet"}, {"name": "Host", "value": "web.example.com"}],
    }))
    .expect("an action");
    let ports = vec![
        serde_json::from_value(json!({"name": "http", "containerPort": 8080})).expect("a port"),
    ];
    criterion.bench_function("HTTP probe request", |bencher| {
        bencher.iter(|| build_request(black_box(&action), &ports, "10.0.0.7", "kube-probe/1.36"));
    });
}

criterion_group!(benches, cgroups, probe);
criterion_main!(benches);
