//! Memory managers as the families about them describe them.

use super::input;
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::checkpoint::memory_manager::{Block, MachineState, MemoryState, load};
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_managers::manager::hints::NumaNodes;
use kq_managers::memory_manager::{ActiveContainers, StaticMemory};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Reads the feature gates.
pub fn gates(case: &Value) -> FeatureGates {
    input::rules(case).gates
}

/// Reads a running manager.
pub fn manager(case: &Value) -> StaticMemory {
    let file = json!({
        "policyName": "Static",
        "machineState": case["machine_state"],
        "entries": case["entries"],
    });
    let loaded =
        load(file.to_string().as_bytes(), KnownLayouts::WithoutPods, Some("Static")).outcome;
    let mut state: MemoryState = loaded.expect("a state that the kubelet reads");
    let gates = gates(case);
    if gates.enabled(Gate::PodLevelResourceManagers) {
        let pods: BTreeMap<String, Vec<Value>> = input::read(&case["pod_entries"]);
        let blocks = |blocks: &Vec<Value>| Some(blocks.iter().map(block).collect());
        state.pods = Some(pods.iter().map(|(pod, list)| (pod.clone(), blocks(list))).collect());
    }
    let mut memory = StaticMemory::new(state, gates);
    let reusable: Vec<Value> = input::read(&case["init_containers_reusable"]);
    for amount in &reusable {
        let nodes = NumaNodes::of(input::read::<Vec<i64>>(&amount["numa_nodes"]));
        let of_pod = memory.reusable.entry(input::read(&amount["pod_uid"])).or_default();
        let bytes = amount["bytes"].as_u64().expect("bytes");
        of_pod.entry(nodes).or_default().insert(input::read(&amount["resource"]), bytes);
    }
    memory
}

fn block(value: &Value) -> Block {
    Block {
        numa_affinity: input::read(&value["numaAffinity"]),
        memory_type: input::read(&value["type"]),
        size: value["size"].as_u64().expect("a size"),
    }
}

/// Returns the containers of active pods: all that have memory, unless the case names the pods, and those of its pod.
pub fn active(case: &Value, memory: &StaticMemory) -> ActiveContainers {
    let named: Option<Vec<String>> = input::read(&case["active_pod_uids"]);
    let pod = input::pod(&case["pod"]);
    let containers = pod.spec.init_and_containers();
    let own = containers.map(|container| container.name.clone()).collect();
    let of_state = memory.state.containers.iter();
    let mut active: ActiveContainers = of_state
        .filter(|(uid, _)| named.as_ref().is_none_or(|named| named.contains(uid)))
        .map(|(uid, containers)| (uid.clone(), containers.keys().cloned().collect()))
        .collect();
    active.insert(pod.metadata.uid, own);
    active
}

/// Returns blocks, sorted by type.
pub fn blocks(blocks: &[Block]) -> Value {
    let mut blocks = blocks.to_vec();
    blocks.sort_by(|one, other| one.memory_type.cmp(&other.memory_type));
    json!(blocks)
}

/// Returns the blocks of all containers.
pub fn entries(state: &MemoryState) -> Value {
    let of_pod = |containers: &BTreeMap<String, Vec<Block>>| -> Map<String, Value> {
        containers.iter().map(|(name, list)| (name.clone(), blocks(list))).collect()
    };
    let pods: Map<String, Value> = state
        .containers
        .iter()
        .map(|(pod, containers)| (pod.clone(), Value::Object(of_pod(containers))))
        .collect();
    Value::Object(pods)
}

/// Returns the machine.
pub fn machine(state: &MachineState) -> Value {
    json!(state)
}

/// Adds the state after a step.
pub fn add_state(out: &mut Value, memory: &StaticMemory) {
    out["entries_after"] = entries(&memory.state);
    out["machine_state_after"] = machine(&memory.state.machine_state);
    let pods = memory.state.pods.iter().flatten();
    let pods: Map<String, Value> = pods
        .map(|(pod, list)| (pod.clone(), blocks(list.as_deref().unwrap_or_default())))
        .collect();
    if !pods.is_empty() {
        out["pod_entries_after"] = pods.into();
    }
}
