//! The kubelet's requests to the runtime for containers and the sandbox.

use super::{input, kubelet_cgroup};
use kq_cgroup::container::{RuntimeResources, container_cgroups, sandbox_resources};
use kq_k8s::priority::is_critical_pod;
use kq_k8s::qos::effective_qos_class;
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let pod = input::pod_defaulted(&case["pod"], case);
    let settings = kubelet_cgroup::settings(case);
    let exclusive = input::exclusive_cpus(case);
    let pinned = |name: &str| exclusive.iter().any(|pinned| pinned == name);
    let containers = container_cgroups(&pod, &pinned, &settings).into_iter().map(|cgroup| {
        let mut out = resources(&cgroup.resources);
        out["kind"] = json!(cgroup.kind);
        out["name"] = json!(cgroup.container.name);
        out["oom_score_adj"] = cgroup.oom_score_adj.map_or(Value::Null, |score| score.value.into());
        out["swap_behavior_in_effect"] = json!(cgroup.swap_behavior);
        out
    });
    let containers: Value = containers.collect();
    let (sandbox, overhead) = sandbox_resources(&pod, !exclusive.is_empty(), &settings);
    json!({
        "containers": containers,
        "effective_qos_class": effective_qos_class(&pod, settings.rules.gates),
        "is_critical_pod": is_critical_pod(&pod),
        "sandbox_resources": resources(&sandbox),
        "sandbox_overhead": resources(&overhead),
    })
}

fn resources(resources: &RuntimeResources) -> Value {
    let mut out = json!({
        "cpu_shares": resources.cpu_shares.value,
        "cpu_quota_us": resources.cpu_quota_us.value,
        "cpu_period_us": resources.cpu_period_us,
        "memory_limit_bytes": resources.memory_limit.value,
    });
    if let Some(limit) = &resources.memory_swap_limit {
        out["memory_swap_limit_bytes"] = limit.value.into();
    }
    if !resources.hugepage_limits.is_empty() {
        let limits = resources.hugepage_limits.iter();
        out["hugepage_limits"] = limits
            .map(|(size, limit)| json!({ "page_size": size, "limit_bytes": limit.value }))
            .collect();
    }
    if let Some(unified) = kubelet_cgroup::unified(&resources.unified) {
        out["unified"] = unified;
    }
    out
}
