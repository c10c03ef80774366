//! Total requests and limits of a pod.

use super::input;
use kq_k8s::resources::{PodTotal, ResourceOptions, pod_limits, pod_requests};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let pod = input::pod(&case["pod"]);
    let (rules, options) = (input::rules(case), &case["options"]);
    let on = |name: &str| options[name].as_bool().unwrap_or_default();
    let options = ResourceOptions {
        exclude_overhead: on("exclude_overhead"),
        skip_pod_level_resources: on("skip_pod_level_resources"),
        skip_pod_level_hugepages: !rules.pod_level_hugepages(),
        skip_container_level_resources: on("skip_container_level_resources"),
        use_status_resources: on("use_status_resources"),
        resizes_without_conditions: !rules.counts_by_allocations(),
        takes_largest_sum: rules.takes_largest_sum(),
        in_place_pod_level_resources_vertical_scaling: on(
            "in_place_pod_level_resources_vertical_scaling_enabled",
        ),
        use_dra_node_allocatable_resource_claim_status: on(
            "use_dra_node_allocatable_resource_claim_status",
        ),
        non_missing_container_requests: input::read(&options["non_missing_container_requests"]),
    };
    let (requests, limits) = (pod_requests(&pod, &options), pod_limits(&pod, &options));
    let mut out = json!({ "requests": requests.total, "limits": limits.total });
    if !pod.spec.init_containers.is_empty() || options.use_status_resources {
        out["container_requests_seen"] = seen(&requests);
        out["container_limits_seen"] = seen(&limits);
    }
    out
}

fn seen(sum: &PodTotal<'_>) -> Value {
    let kind = |init| if init { "init_container" } else { "container" };
    sum.seen.iter().map(|c| json!({ "kind": kind(c.init), "resources": sum.amounts(c) })).collect()
}
