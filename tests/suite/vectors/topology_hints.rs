//! On which NUMA nodes devices could be had.

use super::device_input::manager;
use super::input;
use kq_k8s::pod::Pod;
use kq_managers::manager::allocate::{AllocationContext, in_order};
use kq_managers::manager::hints::{Hint, HintError, HintNodes, Hints, Machine};
use serde_json::{Map, Value, json};

pub fn answer(case: &Value) -> Value {
    let mut out = hints(case, HintNodes::of(&input::rules(case)));
    if case["kubernetes"].is_string() {
        return out;
    }
    let before = hints(case, HintNodes::OfMachineAndUnlisted);
    if before != out {
        out["version_1_32"] = before;
    }
    out
}

fn hints(case: &Value, hint_nodes: HintNodes) -> Value {
    let mut state = manager(case);
    let pod: Pod = input::pod(&case["pod"]);
    state.reusable =
        [(pod.metadata.uid.clone(), input::read(&case["reusable_devices_of_pod"]))].into();
    state.reclaim(&AllocationContext {
        sources_ready: true,
        active_pods: input::read(&case["active_pod_uids"]),
        ..AllocationContext::default()
    });
    let machine = Machine { numa_nodes: input::read(&case["numa_nodes_of_machine"]), hint_nodes };
    let hints = match case["container"].as_str() {
        None => state.pod_hints(&pod, &machine),
        Some(name) => {
            let (_, container) = in_order(&pod)
                .find(|(_, container)| container.name == name)
                .expect("the container is one of the pod");
            state.container_hints(&pod, container, &machine)
        }
    };
    match hints {
        Ok(hints) => json!({ "hints": shown(&hints) }),
        Err(HintError::TooManyNodes { .. } | HintError::TooManyHints) => {
            "not computed: enumerates every subset of the machine's NUMA nodes".into()
        }
        Err(HintError::VanishedDevice { .. } | HintError::NodeOutOfRange(_)) => json!({
            "panics": true,
            "panic_text": "runtime error: invalid memory address or nil pointer dereference",
        }),
    }
}

fn shown(hints: &Hints) -> Map<String, Value> {
    let hint = |hint: &Hint| {
        let nodes: Vec<i64> = hint.numa_nodes.iter().collect();
        json!({ "numa_nodes": nodes, "preferred": hint.preferred })
    };
    let list = |hints: &Vec<Hint>| hints.iter().map(hint).collect::<Vec<_>>();
    hints.iter().map(|(name, hints)| (name.clone(), json!(hints.as_ref().map(list)))).collect()
}
