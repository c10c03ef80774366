//! The memory of the containers of a pod, one after another.

use super::input;
use super::memory_input::{self, active, add_state, blocks};
use kq_k8s::pod::{Container, Pod};
use kq_managers::manager::allocate::in_order;
use kq_managers::manager::hints::NumaNodes;
use kq_managers::memory_manager::{AllocateError, MemoryCrash, MemoryHintError, StaticMemory};
use kq_managers::topology_manager::TopologyHint;
use serde_json::{Map, Value, json};

pub fn answer(case: &Value) -> Value {
    let mut memory = memory_input::manager(case);
    let pod = input::pod(&case["pod"]);
    let is_pod_scope = case["scope"] == "pod";
    let steps = match is_pod_scope {
        true => pod_step(case, &mut memory, &pod),
        false => steps(case, &mut memory, &pod),
    };
    let mut out = json!({ "steps": steps });
    if steps.iter().any(|step| step.get("panic").is_some()) {
        return out;
    }
    add_state(&mut out, &memory);
    out["init_containers_reusable_after"] = reusable(&memory);
    if let Some(operations) = case["then"].as_array() {
        out["then"] = operations.iter().map(|it| operate(case, &mut memory, &pod, it)).collect();
    } else if !is_pod_scope {
        let nodes = in_order(&pod).map(|(_, container)| {
            (container.name.clone(), json!(memory.numa_nodes(&pod, &container.name)))
        });
        out["memory_numa_nodes"] = Value::Object(nodes.collect());
    }
    out
}

fn affinity(case: &Value, container: &str) -> TopologyHint {
    let hint = &case["topology_hints"][container];
    let nodes: Option<Vec<i64>> = input::read(&hint["numa_nodes"]);
    TopologyHint { numa_nodes: nodes.map(NumaNodes::of), preferred: hint["preferred"] == true }
}

fn steps(case: &Value, memory: &mut StaticMemory, pod: &Pod) -> Vec<Value> {
    let mut steps = Vec::new();
    for (_, container) in in_order(pod) {
        let result = memory
            .remove_stale(&active(case, memory))
            .map_err(AllocateError::from)
            .and_then(|()| memory.allocate(pod, container, affinity(case, &container.name)));
        let mut step = json!({ "container": container.name });
        let failed = result.is_err();
        if is_panic(&mut step, &result) {
            return vec![step];
        }
        let of_pod = memory.state.containers.get(&pod.metadata.uid);
        let held = of_pod.and_then(|containers| containers.get(&container.name));
        step["blocks"] = held.map_or(Value::Null, |held| blocks(held));
        steps.push(step);
        if failed {
            break;
        }
    }
    steps
}

fn pod_step(case: &Value, memory: &mut StaticMemory, pod: &Pod) -> Vec<Value> {
    let first = in_order(pod).next().map_or("", |(_, container)| container.name.as_str());
    let result = memory
        .remove_stale(&active(case, memory))
        .map_err(AllocateError::from)
        .and_then(|()| memory.allocate_pod(pod, affinity(case, first)));
    let mut step = json!({ "pod": true });
    is_panic(&mut step, &result);
    vec![step]
}

/// Adds the result of a step; returns true if the kubelet crashes.
fn is_panic(step: &mut Value, result: &Result<(), AllocateError>) -> bool {
    match result {
        Err(AllocateError::Crash(crash)) => {
            step["panic"] = crash.go_text().into();
            true
        }
        Err(error) => {
            step["error"] = error.to_string().into();
            false
        }
        Ok(()) => {
            step["error"] = Value::Null;
            false
        }
    }
}

fn operate(case: &Value, memory: &mut StaticMemory, pod: &Pod, operation: &Value) -> Value {
    let container = operation["container"].as_str().unwrap_or_default();
    let uid = operation["pod_uid"].as_str().unwrap_or_default();
    let result = match operation["op"].as_str() {
        Some("add_container") => memory.add_container(pod, named(pod, container)),
        Some("remove_container") => memory.remove_container(uid, container),
        Some("pod_gone") => {
            let mut active = active(case, memory);
            active.remove(uid);
            memory.remove_stale(&active)
        }
        other => panic!("an unknown operation: {other:?}"),
    };
    let mut out = json!({ "op": operation });
    match result {
        Ok(()) => add_state(&mut out, memory),
        Err(crash) => out["panic"] = crash.go_text().into(),
    }
    out
}

fn named<'p>(pod: &'p Pod, name: &str) -> &'p Container {
    in_order(pod).map(|(_, container)| container).find(|it| it.name == name).expect("a container")
}

/// Returns the reusable memory, ordered by pod, nodes and resource.
pub fn reusable(memory: &StaticMemory) -> Value {
    let mut rows = Vec::new();
    for (pod, sets) in &memory.reusable {
        for (nodes, amounts) in sets {
            let nodes: Vec<i64> = nodes.iter().collect();
            rows.extend(amounts.iter().map(|(resource, bytes)| {
                let row = json!({
                    "pod_uid": pod, "numa_nodes": nodes, "resource": resource, "bytes": bytes,
                });
                ((pod.clone(), nodes.clone(), resource.clone()), row)
            }));
        }
    }
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Family `memory_hints`: every container asked against the same state, and the pod as a whole.
pub fn hints(case: &Value) -> Value {
    let mut memory = memory_input::manager(case);
    let pod = input::pod(&case["pod"]);
    if let Err(crash) = memory.remove_stale(&active(case, &memory)) {
        return json!({ "panic": crash.go_text() });
    }
    let of_containers: Map<String, Value> = in_order(&pod)
        .map(|(_, container)| {
            (container.name.clone(), shown(memory.container_hints(&pod, container)))
        })
        .collect();
    json!({ "container_hints": of_containers, "pod_hints": shown(memory.pod_hints(&pod)) })
}

type MemoryHints = Result<Option<kq_managers::manager::hints::Hints>, MemoryHintError>;

fn shown(hints: MemoryHints) -> Value {
    let list = |hints: &[kq_managers::manager::hints::Hint]| -> Value {
        let hint = |hint: &kq_managers::manager::hints::Hint| {
            let nodes: Vec<i64> = hint.numa_nodes.iter().collect();
            json!({ "numa_nodes": nodes, "preferred": hint.preferred })
        };
        hints.iter().map(hint).collect()
    };
    match hints {
        Ok(None) => Value::Null,
        Ok(Some(hints)) => hints
            .iter()
            .map(|(name, hints)| (name.clone(), hints.as_deref().map_or(Value::Null, list)))
            .collect(),
        Err(MemoryHintError::Crash(crash)) => json!({ "panic": go_text(&crash) }),
        Err(error @ MemoryHintError::TooManyNodes { .. }) => error.to_string().into(),
    }
}

fn go_text(crash: &MemoryCrash) -> &'static str {
    crash.go_text()
}
