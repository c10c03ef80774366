//! Image garbage collection: the kubelet's own cycle, and a whole plan with its reasons.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kq_facts::image_records::{API_VERSION, ImageRecord, ImageRecords, KIND};
use kq_facts::kubelet::KubeletStart;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Image, ImageStorage};
use kq_facts::timestamp::Timestamp;
use kq_image_gc::cycle::{
    Cycle, GcInputs, ImageFs, ImageUser, Record, Records, garbage_collect, image_key,
};
use kq_image_gc::plan::{Inputs, Trigger, plan};
use kq_image_gc::policy::ImageGcPolicy;
use kq_image_gc::uses::{Uses, listed};
use kq_k8s::duration::GoDuration;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeSet;
use std::hint::black_box;

const SIZES: [usize; 2] = [1_000, 10_000];
const SECOND: i64 = 1_000_000_000;
const NOW: Timestamp = Timestamp(1_800_000_000 * SECOND);
const MIB: u64 = 1 << 20;

const POLICY: ImageGcPolicy = ImageGcPolicy {
    high_threshold_percent: 85,
    low_threshold_percent: 80,
    min_age: GoDuration(120 * SECOND),
    max_age: GoDuration(0),
};

/// Images of 100 MiB in no order, as a runtime lists them.
fn images(count: usize) -> Vec<Image> {
    let image = |number: usize| {
        let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Image {
            id: format!("sha256:{mixed:016x}{:048x}", number),
            repo_tags: vec![format!("registry.example/team/service-{number}:v1.2.3")],
            size: 100 * MIB,
            ..Image::default()
        }
    };
    (0..count).map(image).collect()
}

/// One image in four is in use.
fn uses(images: &[Image]) -> Uses {
    let user =
        |image: &Image| ImageUser { image_id: image.id.as_str().into(), ..ImageUser::default() };
    Uses { users: images.iter().step_by(4).map(user).collect(), ..Uses::default() }
}

fn rules() -> KubeletRules {
    KubeletRules::for_version(KubeletVersion::ASSUMED)
}

/// The disk is at 86 percent, so that 6 percent have to be freed.
fn disk(images: usize) -> ImageFs {
    let capacity = images as u64 * 100 * MIB;
    ImageFs { capacity: Some(capacity), available: Some(capacity / 100 * 14) }
}

fn seen(number: usize) -> Timestamp {
    NOW.plus(-(3_600 + (number as i64 * 7_919) % 100_000) * SECOND)
}

fn cycle(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("image GC cycle");
    for size in SIZES {
        let images = images(size);
        let (listed, uses, rules) = (listed(&images), uses(&images), rules());
        let memory: Records = listed
            .iter()
            .enumerate()
            .map(|(number, image)| {
                let key = image_key(image.id.clone(), &image.runtime_handler, rules);
                let first_detected = Some(seen(number));
                (key, Record { first_detected, id: image.id.clone(), ..Record::default() })
            })
            .collect();
        let cycle = Cycle { policy: &POLICY, rules, began: seen(0), now: NOW };
        let world =
            GcInputs { images: Ok(&listed), users: Ok(&uses.users), image_fs: Ok(disk(size)) };
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(size.to_string(), |bencher| {
            bencher.iter_batched(
                || memory.clone(),
                |mut memory| garbage_collect(&mut memory, cycle, world, &mut |_| Ok(())),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn records(images: &[Image]) -> ImageRecords {
    let mut records: Vec<ImageRecord> = images
        .iter()
        .enumerate()
        .map(|(number, image)| ImageRecord {
            id: image.id.clone(),
            first_detected: seen(number),
            unused_at: Some(seen(number)),
            ..ImageRecord::default()
        })
        .collect();
    records.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    ImageRecords {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        detected_at: NOW,
        unbroken_since: seen(0),
        images: records,
    }
}

fn plans(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("image GC plan");
    for size in SIZES {
        let images = images(size);
        let (uses, records, storage) = (uses(&images), records(&images), Lookup::default());
        let start = KubeletStart { at: seen(0), source: "made up".to_owned() };
        for (name, records) in [("with records", Some(&records)), ("without", None)] {
            let inputs = Inputs {
                trigger: Trigger::Periodic,
                now: NOW,
                policy: POLICY,
                rules: rules(),
                kubelet_start: Some(start.clone()),
                records,
                images: &images,
                uses: &uses,
                uses_before: &uses,
                image_fs: Ok((disk(size), "made up".to_owned())),
                storage: &storage as &Lookup<ImageStorage>,
                containers: None,
                reclaim: None,
                kept: &BTreeSet::new(),
            };
            group.throughput(Throughput::Elements(size as u64));
            group.bench_function(format!("{size}, {name}"), |bencher| {
                bencher.iter(|| black_box(plan(inputs.clone())));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, cycle, plans);
criterion_main!(benches);
