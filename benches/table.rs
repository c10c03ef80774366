//! How long a table of a crowded node takes: 10,000 rows of 10 columns.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kq_output::table::Table;
use std::hint::black_box;

const ROWS: usize = 10_000;
const COLUMNS: usize = 10;

/// Returns cells in about the lengths that names, amounts and reasons have.
fn cells(row: usize) -> Vec<String> {
    let cell = |column: usize| match column {
        0 => format!("namespace-{}/workload-{row}", row % 50),
        9 => format!("below the threshold since {row} s: stays"),
        _ => (row * column).to_string(),
    };
    (0..COLUMNS).map(cell).collect()
}

fn table(criterion: &mut Criterion) {
    let headings: Vec<String> = (0..COLUMNS).map(|column| format!("HEADING {column}")).collect();
    let rows: Vec<Vec<String>> = (0..ROWS).map(cells).collect();
    let build = |rows: Vec<Vec<String>>| {
        let mut table = Table::new(headings.clone());
        rows.into_iter().for_each(|row| table.add(row));
        table
    };
    let built = build(rows.clone());
    assert_eq!(built.to_string().lines().count(), ROWS + 1);
    let mut group = criterion.benchmark_group("table");
    group.sample_size(20).throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("build 10000 x 10", |bencher| {
        bencher.iter_with_large_drop(|| build(black_box(&rows).clone()));
    });
    group.bench_function("print 10000 x 10", |bencher| {
        bencher.iter_with_large_drop(|| black_box(&built).to_string());
    });
    group.finish();
}

criterion_group!(benches, table);
criterion_main!(benches);
