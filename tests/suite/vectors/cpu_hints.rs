//! `cpu_hints`: the NUMA nodes on which containers and pods could have their CPUs.

use super::cpu_input::{pod, policy, shown_hints, state};
use kq_managers::manager::allocate::in_order;
use kq_managers::manager::hints::Hints;
use kq_managers::topology_manager::{NotComputed, provided};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let policy = match policy(case) {
        Ok(policy) => policy,
        Err(error) => return json!({ "new_policy_error": error.to_string() }),
    };
    let state = state(&case["state"], "static");
    let pod = pod(case);
    let shown = |hints: Result<Hints, NotComputed>| match hints {
        Ok(hints) => shown_hints(&provided(&hints)),
        Err(reason) => reason.to_string().into(),
    };
    let containers = in_order(&pod).map(|(_, container)| {
        let hints = policy.container_hints(&state, &pod, container);
        json!({ "name": container.name, "hints": shown(hints) })
    });
    json!({
        "reserved_cpus": policy.reserved().to_string(),
        "containers": containers.collect::<Vec<_>>(),
        "pod_hints": shown(policy.pod_hints(&state, &pod)),
    })
}
