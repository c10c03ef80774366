//! The steps of a worker.

use super::input::{pod, read};
use super::probe_input::{attempts, moment, probe_type, rules, statuses};
use kq_probe::worker::{Begun, Call, PodFacts, StepFacts, Worker};
use kq_probe::{Attempt, Conclusion, ContainerId, ResultsCache, Verdict};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

pub fn answer(case: &Value) -> Value {
    let kind = probe_type(&case["probe_type"]);
    let name: String = read(&case["container"]);
    let kubelet_start = moment(&case["kubelet_started_at_seconds"]).expect("a moment");
    let pod = Arc::new(pod(&case["pod"]));
    let mut worker = Worker::new(pod, &name, kind, rules(case), kubelet_start).expect("a worker");
    let mut cache = cached(&case["cached_results_before"]);
    let steps = case["steps"].as_array().expect("steps");
    let ids = ids_of(steps, &name);
    let mut out = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let status = (step["pod_status_unknown"] != true).then(|| facts(step));
        let facts = StepFacts {
            status: status.as_ref(),
            deletion_timestamp_set: step["pod_deletion_timestamp_set"] == true,
        };
        let now = moment(&step["time_seconds"]).expect("a moment");
        let report = match worker.begin(&mut cache, facts, now) {
            Begun::Done(report) => *report,
            Begun::Probe(pending) => {
                let mut attempts = attempts(&step["attempts"]);
                if attempts.is_empty() {
                    attempts.push(Attempt::success(""));
                }
                let conclusion = Conclusion::of_repeating(kind, &attempts, rules(case));
                worker.finish(&mut cache, pending, conclusion)
            }
        };
        let held = ids.iter().filter_map(|id| {
            let result = cache.get(&ContainerId::parse(id))?;
            Some((id.clone(), Value::from(result.to_string())))
        });
        out.push(json!({
            "probe_ran": report.probe.is_some(),
            "attempts_made": report.probe.as_ref().map_or(0, |probe| probe.attempts.len()),
            "results_manager_calls": calls(&report.calls),
            "cached_results": held.collect::<Map<_, _>>(),
            "on_hold": report.state.on_hold,
            "last_result": report.state.last_result,
            "result_run": report.state.run,
            "worker_container_id": report.state.container_id,
            "worker_continues": report.continues,
        }));
        if !report.continues {
            out.push(json!({
                "worker_stopped_after_step": index,
                "results_manager_calls": calls(&worker.stop(&mut cache)),
            }));
            break;
        }
    }
    json!({ "steps": out })
}

fn facts(step: &Value) -> PodFacts {
    PodFacts {
        phase: read(&step["pod_phase"]),
        containers: statuses(&step["container_statuses"]),
        init_containers: statuses(&step["init_container_statuses"]),
        all_containers_restarting: step["all_containers_restarting_condition"] == true,
        ready: false,
    }
}

/// Returns the ids that a container has in the course of the steps.
fn ids_of(steps: &[Value], name: &str) -> BTreeSet<String> {
    let of = |step: &Value, field: &str| statuses(&step[field]);
    steps
        .iter()
        .flat_map(|step| {
            let regular = of(step, "container_statuses");
            regular.into_iter().chain(of(step, "init_container_statuses"))
        })
        .filter(|status| status.name == name && !status.container_id.is_empty())
        .map(|status| status.container_id)
        .collect()
}

fn cached(value: &Value) -> ResultsCache {
    let one = |entry: &Value| {
        let id: String = read(&entry["container_id"]);
        (ContainerId::parse(&id), verdict(&entry["result"]))
    };
    value.as_array().into_iter().flatten().map(one).collect()
}

/// Reads a result of the results manager.
pub fn verdict(value: &Value) -> Verdict {
    match value.as_str() {
        Some("success") => Verdict::Success,
        Some("failure") => Verdict::Failure,
        _ => Verdict::Unknown,
    }
}

fn calls(calls: &[Call]) -> Vec<Value> {
    let one = |call: &Call| match call {
        Call::Set { container_id, result, published } => json!({
            "call": "set",
            "container_id": container_id.to_string(),
            "result": result,
            "published": published,
        }),
        Call::Remove { container_id } => {
            json!({ "call": "remove", "container_id": container_id.to_string() })
        }
    };
    calls.iter().map(one).collect()
}
