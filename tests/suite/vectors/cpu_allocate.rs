//! `cpu_allocate`: the static policy gives CPUs to the containers of one pod.

use super::cpu_input::{hint, pod, policy, shown_sets, shown_state, state};
use kq_managers::cpu_manager::CpuOutcome;
use kq_managers::manager::allocate::in_order;
use kq_managers::topology_manager::AllocationError;
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let mut policy = match policy(case) {
        Ok(policy) => policy,
        Err(error) => return json!({ "new_policy_error": error.to_string() }),
    };
    let mut state = state(&case["state"], "static");
    let pod = pod(case);
    let mut containers = Vec::new();
    for (_, container) in in_order(&pod) {
        let on = hint(&case["topology_hints"][&container.name]).numa_nodes;
        let result = match policy.allocate(&mut state, &pod, container, on) {
            Ok(result) => result,
            Err(reason) => return json!({ "not_computed": reason.to_string() }),
        };
        let exclusive = state.containers.get(&pod.metadata.uid);
        let exclusive = exclusive.and_then(|of_pod| of_pod.get(&container.name));
        if let Ok(CpuOutcome::Shared(_)) = result {
            assert_eq!(exclusive, None, "shared CPUs are not recorded");
        }
        let mut shown = json!({
            "name": container.name,
            "exclusive_cpus": exclusive.map(ToString::to_string),
            "default_cpu_set": state.default_cpu_set.to_string(),
        });
        let error = result.err().map(AllocationError::from);
        if let Some(error) = &error {
            shown["error"] = json!({
                "text": error.to_string(),
                "admission_reason": error.reason(),
                "admission_message": error.message(),
            });
        }
        containers.push(shown);
        if error.is_some() {
            break;
        }
    }
    json!({
        "reserved_cpus": policy.reserved().to_string(),
        "reserved_physical_cpus": policy.reserved_with_siblings().to_string(),
        "cpus_per_core": policy.topology().cpus_per_core(),
        "containers": containers,
        "state": shown_state(&state),
        "cpus_to_reuse": shown_sets(policy.cpus_to_reuse()),
    })
}
