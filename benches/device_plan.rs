//! How long a what-if takes on a node with 10,000 devices of which 4,000 are in use, on 8 NUMA nodes:
//! putting the device manager together, and a pod of 16 containers, with and without a topology policy.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use kq_facts::checkpoint::device::{DeviceSet, PodDevice, PodDeviceKey, PodDevices};
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::Pod;
use kq_managers::manager::allocate::AllocationContext;
use kq_managers::manager::hints::HintNodes;
use kq_managers::manager::topology::{TopologyManager, TopologyPolicy, TopologyScope};
use kq_managers::manager::{
    Affinities, Allocated, Device, Endpoint, HEALTHY, ManagerState, Plugins,
};
use std::hint::black_box;

#[path = "../tests/support/objects.rs"]
mod objects;

const DEVICES: usize = 10_000;
const IN_USE: usize = 4_000;
const CONTAINERS: usize = 16;
const RESOURCE: &str = "example.com/dev";

struct Silent;

impl Plugins for Silent {
    fn preferred_allocation(
        &mut self,
        _: &mut ManagerState,
        _: &str,
        _: &DeviceSet,
        _: &DeviceSet,
        _: usize,
    ) -> Result<Option<Vec<String>>, String> {
        Ok(None)
    }

    fn allocate(
        &mut self,
        _: &mut ManagerState,
        _: &str,
        _: &DeviceSet,
    ) -> Result<Allocated, String> {
        Ok(Allocated::Answer(Vec::new()))
    }
}

fn id(number: usize) -> String {
    format!("device-{number:05}")
}

fn node(number: usize) -> i64 {
    i64::try_from(number % 8).expect("one of eight")
}

fn state() -> ManagerState {
    let entry = |number: usize| {
        let key = PodDeviceKey {
            pod_uid: format!("pod-{number}"),
            container_name: "c".to_owned(),
            resource_name: RESOURCE.to_owned(),
        };
        let devices = [(node(number), vec![id(number)])].into();
        (key, PodDevice { devices, answer: Some(Vec::new()) })
    };
    let records = PodDevices { entries: (0..IN_USE).map(entry).collect() };
    let mut state = ManagerState::restore(records, [RESOURCE], Timestamp(0));
    state.endpoints.insert(RESOURCE.to_owned(), Endpoint::default());
    state.update(
        RESOURCE,
        (0..DEVICES).map(|number| Device {
            id: id(number),
            health: HEALTHY.to_owned(),
            numa_nodes: Some(vec![node(number)]),
        }),
    );
    state
}

fn what_if(c: &mut Criterion) {
    let state = state();
    let pod: Pod = objects::pod("new").limits_of(RESOURCE, &[], &[8; CONTAINERS]).read();
    let mut active_pods: std::collections::BTreeSet<String> =
        (0..IN_USE).map(|number| format!("pod-{number}")).collect();
    active_pods.insert("new".to_owned());
    let circumstances =
        AllocationContext { sources_ready: true, active_pods, ..AllocationContext::default() };
    let mut one = pod.clone();
    one.spec.containers.truncate(1);
    for (name, policy) in
        [("none", TopologyPolicy::None), ("best-effort", TopologyPolicy::BestEffort)]
    {
        let nodes = (0..8).collect();
        let manager =
            TopologyManager::new(policy, TopologyScope::Container, nodes, HintNodes::OfDevices);
        for (count, pod) in [(1, &one), (CONTAINERS, &pod)] {
            c.bench_function(&format!("10,000 devices, {count} containers, policy {name}"), |b| {
                b.iter_batched(
                    || state.clone(),
                    |mut state| {
                        let affinities = Affinities::Decided(&manager);
                        let admitted = state.admit(pod, &affinities, &circumstances, &mut Silent);
                        assert!(admitted.is_ok_and(|admission| admission.admitted));
                        black_box(state)
                    },
                    BatchSize::LargeInput,
                );
            });
        }
    }
}

criterion_group!(benches, what_if);
criterion_main!(benches);
