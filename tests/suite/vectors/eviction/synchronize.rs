//! Cycle after cycle, with every way that chance may take.

use super::{conditions_out, configured, event, eviction_out, function_out, input, layout, one_of};
use kq_eviction::{
    AfterReclaim, Alternative, Cycle, CycleInput, EvictionSetup, ManagerState, Outcome,
    StatsAfterReclaim, Verdict, synchronize,
};
use kq_facts::stats_summary::StatsSummary;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::Pod;
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let setup = EvictionSetup {
        layout: layout(case),
        pressure_transition_period: seconds(&case["pressure_transition_period_seconds"]),
        max_pod_grace_period_seconds: case["max_pod_grace_period_seconds"].as_i64().unwrap_or(0),
        local_storage_capacity_isolation: case["local_storage_capacity_isolation"] == true,
        rules: input::rules(case),
    };
    let mut state = ManagerState::new(configured(case).expect("good thresholds"));
    // What a step may answer does not depend on what chance did before: the state does not.
    let mut answers: Vec<Vec<Value>> = vec![Vec::new()];
    for step in case["steps"].as_array().into_iter().flatten() {
        let raw: Vec<Value> = input::read(&step["pods"]);
        let pods: Vec<Pod> = input::read(&step["pods"]);
        let pods: Vec<&Pod> = pods.iter().collect();
        let summary: StatsSummary = input::read(&step["summary"]);
        let after: Option<StatsSummary> = step.get("summary_after_reclaim").map(input::read);
        let cycle = synchronize(
            &mut state,
            &setup,
            CycleInput {
                now_ns: seconds(&step["at_seconds"]).0,
                summary: Some(&summary),
                pods: &pods,
                after_reclaim: StatsAfterReclaim::Read(after.as_ref().unwrap_or(&summary)),
            },
        );
        let possible = step_answers(&cycle, &pods, &raw);
        answers = answers
            .iter()
            .flat_map(|before| {
                possible
                    .iter()
                    .map(move |next| [before.as_slice(), std::slice::from_ref(next)].concat())
            })
            .collect();
    }
    one_of(answers.into_iter().map(|steps| json!({ "steps": steps })))
}

fn seconds(value: &Value) -> GoDuration {
    GoDuration(value.as_i64().unwrap_or(0) * GoDuration::SECOND.0)
}

fn step_answers(cycle: &Cycle, pods: &[&Pod], raw: &[Value]) -> Vec<Value> {
    let base = json!({
        "error": null,
        "events": [],
        "evicted_pods": [],
        "kills": [],
        "node_conditions": conditions_out(&cycle.conditions),
        "reclaim_calls": [],
    });
    match &cycle.outcome {
        Outcome::NothingConfigured | Outcome::NoStats | Outcome::NothingStarved => vec![base],
        Outcome::LocalStorage => {
            let mut step = base;
            for check in &cycle.local_storage {
                if let Verdict::Evicted(eviction) = &check.verdict {
                    evicted(&mut step, pods[check.pod], &raw[check.pod], eviction);
                }
            }
            vec![step]
        }
        Outcome::Starved(alternatives) => {
            alternatives.iter().map(|taken| starved(base.clone(), taken, pods, raw)).collect()
        }
    }
}

fn starved(mut step: Value, taken: &Alternative, pods: &[&Pod], raw: &[Value]) -> Value {
    push(
        &mut step,
        "events",
        event("node/n1".to_owned(), "EvictionThresholdMet", &taken.event_message()),
    );
    step["reclaim_calls"] = json!(taken.reclaim.iter().map(function_out).collect::<Vec<_>>());
    if matches!(taken.after_reclaim, AfterReclaim::Resolved(_)) {
        assert_eq!(taken.eviction, None, "nobody goes when nothing is short");
    }
    let victim = taken.eviction.as_ref().and_then(|eviction| eviction.victim.as_ref());
    if let Some((pod, eviction)) = victim {
        evicted(&mut step, pods[*pod], &raw[*pod], eviction);
    }
    step
}

fn evicted(step: &mut Value, pod: &Pod, raw: &Value, eviction: &kq_eviction::Eviction) {
    let (event, kill) = eviction_out(pod, raw, eviction);
    push(step, "events", event);
    push(step, "kills", kill);
    push(step, "evicted_pods", json!(pod.metadata.name));
}

fn push(step: &mut Value, list: &str, value: Value) {
    step[list].as_array_mut().expect("a list").push(value);
}
