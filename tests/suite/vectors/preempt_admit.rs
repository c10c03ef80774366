//! What becomes of the failures of a pod, and what is written about the victims.

use super::input;
use kq_admission::preemption::{
    MESSAGE, Outcome, REASON_PREEMPTING, Trace, handle_failures, make_room, written_status,
};
use kq_admission::{Facts, Failure, Occupancy, Predicate, Verdict, examine};
use kq_facts::node_object::NodeObject;
use kq_k8s::disruption_target::written_to_victim;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub fn answer(case: &Value) -> Value {
    match case["op"].as_str() {
        Some("handle_admission_failure") => handle(case),
        Some("admit_with_preemption") => admit(case),
        other => panic!("unknown operation {other:?}"),
    }
}

fn handle(case: &Value) -> Value {
    let rules = input::rules(case);
    let pod = input::pod(&case["admit_pod"]);
    let raw: Vec<Value> = input::read(&case["pods"]);
    let pods: Vec<Pod> = raw.iter().map(input::pod).collect();
    let pods: Vec<&Pod> = pods.iter().collect();
    let reasons: Vec<Value> = input::read(&case["failure_reasons"]);
    let failures: Vec<Failure> = reasons.iter().map(failure).collect();
    let handled = handle_failures(&pod, &failures, &pods, Trace::Chosen, &rules);
    let mut out = json!({ "returned_reasons": [], "kills": [], "events": [] });
    match &handled.outcome {
        Outcome::NotCritical => out["returned_reasons"] = reasons.into(),
        Outcome::OtherFailures(places) => {
            out["returned_reasons"] = places.iter().map(|at| reasons[*at].clone()).collect();
        }
        Outcome::NotEnough(error) => out["error"] = error.as_str().into(),
        Outcome::Kills(victims) => {
            let event = |at: &usize| {
                json!({
                    "pod": pods[*at].metadata.name,
                    "type": "Warning",
                    "reason": REASON_PREEMPTING,
                    "message": MESSAGE,
                })
            };
            out["events"] = victims.iter().map(event).collect();
            let kill = |at: &usize| kill(pods[*at], &raw[*at], &case["kill_errors"], &rules);
            out["kills"] = victims.iter().map(kill).collect();
        }
    }
    out
}

fn failure(reason: &Value) -> Failure {
    let text = |name: &str| reason[name].as_str().expect("a text").to_owned();
    let number = |name: &str| reason[name].as_i64().expect("64 bits");
    match reason["kind"].as_str() {
        Some("insufficient_resource") => Failure::Resource {
            resource: ResourceName::from(&*text("resource")),
            requested: number("requested"),
            used: number("used"),
            capacity: number("capacity"),
        },
        _ => Failure::Predicate(Predicate::Other {
            name: text("predicate_name"),
            reason: text("reason"),
        }),
    }
}

fn kill(victim: &Pod, raw: &Value, errors: &Value, rules: &KubeletRules) -> Value {
    let written = written_status(victim, rules);
    let before = raw["status"].as_object().cloned().unwrap_or_default();
    let condition = Some(&written.condition);
    let status = written_to_victim(&before, REASON_PREEMPTING, MESSAGE, condition, None);
    let name = &victim.metadata.name;
    let mut out = json!({
        "pod": name,
        "is_evicted": true,
        "grace_period_override_seconds": null,
        "status_written": status,
        "disruption_target_last_transition_time":
            if written.keeps_transition_time { "kept" } else { "now" },
    });
    if let Some(error) = errors.get(name) {
        out["kill_error"] = error.clone();
    }
    out
}

fn admit(case: &Value) -> Value {
    let pod = input::pod(&case["pod"]);
    let pods: Vec<Pod> = input::read(&case["pods"]);
    let rules = input::rules(case);
    let others = Occupancy::of(&pods, &rules);
    let node: NodeObject = input::read(&case["node"]);
    let nothing = BTreeMap::new();
    let facts = Facts {
        others: &others,
        cached: Ok(&node),
        fresh: Ok(&node),
        allocated_devices: Ok(&nothing),
    };
    let examined = examine(&pod, &facts, &rules);
    let (verdict, handled) = make_room(&pod, &examined, facts.others.pods(), Trace::Chosen, &rules);
    let victims = match handled.map(|handled| handled.outcome) {
        Some(Outcome::Kills(victims)) => victims,
        _ => Vec::new(),
    };
    let (reason, message) = match &verdict {
        Verdict::Admitted => (String::new(), String::new()),
        Verdict::Refused(refusal) => (refusal.reason.clone(), refusal.message.clone()),
        Verdict::RefusedByOneOf(_) => panic!("left to a hash map"),
    };
    json!({
        "admit": verdict == Verdict::Admitted,
        "reason": reason,
        "message": message,
        "victims": victims.iter().map(|at| &pods[*at].metadata.name).collect::<Vec<_>>(),
    })
}
