//! How long loading the pods of a large node's list takes, beside merely skipping its text.

#[path = "../tests/support/pod_list.rs"]
mod pod_list;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kq_k8s::manifest::load;
use serde::de::IgnoredAny;
use std::hint::black_box;

const COUNT: usize = 10_000;

fn pods(criterion: &mut Criterion) {
    let text = pod_list::pod_list(COUNT);
    assert_eq!(load("list", text.as_bytes()).pods.len(), COUNT);
    let mut group = criterion.benchmark_group("pods");
    group.sample_size(20).throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("load 10000", |bencher| {
        bencher.iter_with_large_drop(|| load("list", black_box(text.as_bytes())));
    });
    group.bench_function("skip 10000", |bencher| {
        bencher.iter(|| serde_json::from_slice::<IgnoredAny>(black_box(text.as_bytes())).is_ok());
    });
    group.finish();
}

criterion_group!(benches, pods);
criterion_main!(benches);
