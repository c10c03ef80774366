//! `cpu_admit`: a pod through the topology manager, with the CPU manager as the only provider.

use super::cpu_input::{cpus, numa, pod, shown_hint, shown_state, state, topology};
use super::input;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::quantity::Quantity;
use kq_managers::cpu_manager::{ActiveContainers, CpuManager, CpuManagerConfig, StaticPolicy};
use kq_managers::manager::allocate::in_order;
use kq_managers::topology_manager::{Admission, HintProvider, Refusal, TopologyManager};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Shows the result of the admission, and the status that the pod then gets.
pub fn show_refusal(admission: &Admission, out: &mut Value) {
    let refusal = admission.refusal.as_ref();
    out["admitted"] = admission.admitted.into();
    out["reason"] = refusal.map_or("", Refusal::reason).into();
    out["message"] = refusal.map_or_else(String::new, Refusal::message).into();
    if let Some(refusal) = refusal {
        out["pod_status"] = json!({
            "phase": "Failed", "reason": refusal.reason(), "message": refusal.status_message(),
        });
    }
}

/// Makes the topology manager of a case.
pub fn topology_manager(case: &Value, rules: KubeletRules) -> Result<TopologyManager, String> {
    let it = &case["topology_manager"];
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    TopologyManager::new(
        &text(&it["policy"]),
        &text(&it["scope"]),
        &input::read(&it["policy_options"]),
        rules.gates,
        numa(&case["machine"]["numa_nodes"]),
    )
    .map_err(|error| error.to_string())
}

/// Makes the CPU manager of a case.
pub fn cpu_manager(
    case: &Value,
    (policy, options): (&Value, &Value),
    (topology_manager, rules): (&TopologyManager, KubeletRules),
) -> Result<CpuManager, String> {
    let reservation: Option<Quantity> = case["node_allocatable_reservation_cpu"]
        .as_str()
        .map(|text| text.parse().expect("a quantity"));
    let options: BTreeMap<String, String> = input::read(options);
    let config = CpuManagerConfig {
        policy: policy.as_str().expect("a policy"),
        options: &options,
        reserved_cpus: &cpus(&case["reserved_cpus"]),
        reservation: reservation.as_ref(),
        topology_policy: topology_manager.policy(),
        rules,
    };
    CpuManager::new(topology(&case["machine"]), &config).map_err(|error| error.to_string())
}

pub fn reserved(manager: &CpuManager) -> String {
    manager.static_policy().map(StaticPolicy::reserved).map(ToString::to_string).unwrap_or_default()
}

pub fn answer(case: &Value) -> Value {
    let rules = input::rules(case);
    let mut topology_manager = match topology_manager(case, rules) {
        Ok(manager) => manager,
        Err(error) => return json!({ "new_topology_manager_error": error }),
    };
    let policy = (&case["cpu_manager_policy"], &case["cpu_manager_policy_options"]);
    let mut manager = match cpu_manager(case, policy, (&topology_manager, rules)) {
        Ok(manager) => manager,
        Err(error) => return json!({ "new_cpu_manager_error": error }),
    };
    let pod = pod(case);
    manager.set_state(state(&case["state"], policy.0.as_str().expect("a policy")));
    manager.set_active((case["sources_ready"] == true).then(|| {
        let mut active = ActiveContainers::new();
        for other in case["other_active_pods"].as_array().into_iter().flatten() {
            active.insert(input::read(&other["uid"]), input::read(&other["containers"]));
        }
        let names = in_order(&pod).map(|(_, container)| container.name.clone());
        active.insert(pod.metadata.uid.clone(), names.collect());
        active
    }));
    let admission = {
        let providers: &mut [&mut dyn HintProvider] = &mut [&mut manager];
        match topology_manager.admit(&pod, providers) {
            Ok(admission) => admission,
            Err(reason) => return json!({ "not_computed": reason.to_string() }),
        }
    };
    let containers = admission.containers.iter().map(|it| {
        let exclusive = manager.exclusive(&pod.metadata.uid, &it.name);
        json!({
            "name": it.name,
            "affinity": shown_hint(it.affinity),
            "exclusive_cpus": exclusive.map(ToString::to_string),
        })
    });
    let mut out = json!({
        "reserved_cpus": reserved(&manager),
        "containers": containers.collect::<Vec<_>>(),
        "state": shown_state(manager.state()),
    });
    show_refusal(&admission, &mut out);
    out
}
