//! The device manager's checkpoint: reading and verifying it, beside reading its JSON alone.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kq_facts::checkpoint::device::{
    ContainerAllocateResponse, DeviceCheckpoint, DeviceSpec, Mount, PodDevicesEntry,
};
use std::hint::black_box;

/// Returns a file with so many entries, each with an answer as plugins of graphics cards give it.
fn file(entries: usize) -> Vec<u8> {
    let entry = |n: usize| {
        let device = format!("GPU-{n:08x}-8c64-7d7a-973f-567c2229f430");
        let answer = ContainerAllocateResponse {
            envs: [("NVIDIA_VISIBLE_DEVICES".to_owned(), device.clone())].into(),
            mounts: vec![Mount {
                container_path: "/usr/lib/x86_64-linux-gnu/libcuda.so".to_owned(),
                host_path: "/opt/driver/libcuda.so".to_owned(),
                read_only: true,
            }],
            devices: vec![DeviceSpec {
                container_path: "/dev/nvidia0".to_owned(),
                host_path: format!("/dev/nvidia{}", n % 8),
                permissions: "mrw".to_owned(),
            }],
            ..ContainerAllocateResponse::default()
        };
        PodDevicesEntry {
            pod_uid: format!("{:08x}-f1bd-4946-a339-64e9f5f4f0aa", n / 2),
            container_name: format!("c{}", n % 2),
            resource_name: "nvidia.com/gpu".to_owned(),
            device_ids: Some([(n as i64 % 2, Some(vec![device]))].into()),
            alloc_resp: Some(answer.encode()),
        }
    };
    let registered = (0..entries).map(|n| format!("GPU-{n:08x}-8c64-7d7a-973f-567c2229f430"));
    DeviceCheckpoint {
        entries: Some((0..entries).map(entry).collect()),
        registered: Some([("nvidia.com/gpu".to_owned(), Some(registered.collect()))].into()),
    }
    .to_bytes()
}

fn checkpoint(criterion: &mut Criterion) {
    let bytes = file(100_000);
    let mut group = criterion.benchmark_group("checkpoint");
    group.sample_size(10).throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("json into serde_json::Value, 100,000 entries", |bencher| {
        bencher.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(&bytes)));
    });
    group.bench_function("parse and verify 100,000 entries", |bencher| {
        bencher.iter(|| {
            let loaded = DeviceCheckpoint::parse(black_box(&bytes)).expect("it parses");
            assert!(loaded.is_valid());
            loaded
        });
    });
    let loaded = DeviceCheckpoint::parse(&bytes).expect("it parses");
    group.bench_function("checksum of 100,000 entries", |bencher| {
        bencher.iter(|| black_box(&loaded.checkpoint).checksum());
    });
    group.bench_function("write 100,000 entries", |bencher| {
        bencher.iter(|| black_box(&loaded.checkpoint).to_bytes());
    });
    group.finish();
}

criterion_group!(benches, checkpoint);
criterion_main!(benches);
