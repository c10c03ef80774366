//! Whether the kubelet takes a pod, and all that it says of it.

use super::input;
use kq_admission::{
    Amounts, Examined, Facts, Failure, Ledger, Occupancy, Refusal, Verdict, examine,
};
use kq_facts::node_object::NodeObject;
use kq_k8s::pod::Pod;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub fn answer(case: &Value) -> Value {
    let pod = input::pod(&case["pod"]);
    let others: Vec<Pod> = input::read(&case["other_pods"]);
    let rules = input::rules(case);
    let others = Occupancy::of(&others, &rules);
    let node: NodeObject = input::read(&case["node"]);
    let fresh: Option<NodeObject> = input::read(&case["fresh_node"]);
    let fresh = fresh.as_ref().unwrap_or(&node);
    let nothing = BTreeMap::new();
    let error = |name: &str| case[name].as_str();
    let facts = Facts {
        others: &others,
        cached: error("cached_node_error").map_or(Ok(&node), Err),
        fresh: error("fresh_node_error").map_or(Ok(fresh), Err),
        allocated_devices: error("plugin_resource_update_error").map_or(Ok(&nothing), Err),
    };
    out(&examine(&pod, &facts, &rules), &facts)
}

fn out(examined: &Examined, facts: &Facts<'_>) -> Value {
    let verdict = examined.verdict();
    let failures = &examined.filtered.failures;
    let mut out = json!({
        "admit": verdict == Verdict::Admitted,
        "failure_reasons": failures.iter().map(failure).collect::<Vec<_>>(),
        "cached_node_fetches": 1,
        "fresh_node_fetches": u8::from(examined.looked_again),
    });
    let said = |refusal: &Refusal| json!({ "reason": refusal.reason, "message": refusal.message });
    match &verdict {
        Verdict::Admitted => (out["reason"], out["message"]) = ("".into(), "".into()),
        Verdict::Refused(refusal) => {
            (out["reason"], out["message"]) =
                (refusal.reason.clone().into(), refusal.message.clone().into());
        }
        Verdict::RefusedByOneOf(refusals) => {
            out["one_of"] = refusals.iter().map(said).collect();
        }
    }
    let unordered = &examined.filtered.unordered;
    if unordered.len() > 1 {
        out["failure_reasons_unordered_range"] = json!([unordered.start, unordered.end]);
    }
    if let Some(Ledger { allocatable, used, requested, .. }) = &examined.ledger {
        // The ledger has the scalar resources that the pod requests; a case has all of the node.
        let is_fresh = examined.looked_again && facts.fresh.is_ok();
        let node = if is_fresh { facts.fresh } else { facts.cached };
        let mut scalars =
            node.map(|node| Amounts::of(&node.status.allocatable).scalars).unwrap_or_default();
        scalars.extend(allocatable.scalars.clone());
        out["node_allocatable"] = amounts(&Amounts { scalars, ..allocatable.clone() }, true);
        let mut scalars = facts.others.used().scalars.clone();
        scalars.extend(used.scalars.clone());
        out["node_used"] = amounts(&Amounts { scalars, ..used.clone() }, true);
        out["pod_requested"] = amounts(requested, false);
        let removed = examined.removed.iter().map(|it| {
            json!({
                "container": it.container,
                "container_kind": if it.init { "init_container" } else { "container" },
                "resource": it.resource.as_str(),
            })
        });
        out["requests_removed_before_fit"] = removed.collect();
    }
    out
}

fn amounts(amounts: &Amounts, with_pods: bool) -> Value {
    let mut out = json!({
        "cpu_millis": amounts.milli_cpu,
        "memory_bytes": amounts.memory,
        "ephemeral_storage_bytes": amounts.ephemeral_storage,
    });
    if with_pods {
        out["pods"] = amounts.pods.into();
    }
    if !amounts.scalars.is_empty() {
        let scalars = amounts.scalars.iter();
        out["other"] = scalars
            .map(|(name, amount)| (name.to_string(), json!(amount)))
            .collect::<Map<_, _>>()
            .into();
    }
    out
}

fn failure(failure: &Failure) -> Value {
    match failure {
        Failure::Resource { resource, requested, used, capacity } => json!({
            "kind": "insufficient_resource",
            "resource": resource.as_str(),
            "requested": requested,
            "used": used,
            "capacity": capacity,
            "insufficient_amount": failure.missing(),
            "reason": failure.reason(),
            "message": failure.to_string(),
        }),
        Failure::Predicate(predicate) => json!({
            "kind": "predicate",
            "predicate_name": predicate.name(),
            "reason": failure.reason(),
            "message": failure.to_string(),
        }),
    }
}
