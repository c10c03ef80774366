//! How long parsing, adding and printing the quantities of ordinary pods takes.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kq_k8s::quantity::Quantity;
use std::hint::black_box;

/// What is written in manifests, in about this mix.
const TYPICAL: [&str; 12] =
    ["100m", "250m", "500m", "1", "2", "0.5", "64Mi", "128Mi", "1Gi", "1.5Gi", "512M", "1e3"];

fn quantity(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("quantity");
    group.throughput(Throughput::Elements(TYPICAL.len() as u64));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            for text in TYPICAL {
                let _ = black_box(black_box(text).parse::<Quantity>());
            }
        });
    });
    let parsed: Vec<Quantity> =
        TYPICAL.iter().map(|text| text.parse().expect("a typical quantity")).collect();
    group.bench_function("add", |bencher| {
        bencher.iter(|| {
            let mut sum = Quantity::default();
            for quantity in black_box(&parsed) {
                sum += quantity;
            }
            sum
        });
    });
    group.bench_function("print", |bencher| {
        bencher.iter(|| {
            for quantity in black_box(&parsed) {
                black_box(quantity.canonical());
            }
        });
    });
    group.finish();
}

criterion_group!(benches, quantity);
criterion_main!(benches);
