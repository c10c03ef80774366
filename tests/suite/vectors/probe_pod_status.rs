//! Which containers have started and are ready.

use super::input::{pod, read};
use super::probe_input::{moment, rules, statuses};
use super::probe_worker::verdict;
use kq_probe::pod_status::{ContainerReadiness, Knowledge, started_and_ready, workers_of};
use kq_probe::worker::PodFacts;
use kq_probe::{ContainerId, ResultsCache};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let pod = pod(&case["pod"]);
    let status = PodFacts {
        containers: statuses(&case["container_statuses"]),
        init_containers: statuses(&case["init_container_statuses"]),
        ready: case["pod_ready_condition_true"] == true,
        ..PodFacts::default()
    };
    let missing: Vec<String> = read(&case["workers_missing"]);
    let mut workers = workers_of(&pod);
    workers.retain(|(container, kind)| {
        let kind = kind.to_string().to_lowercase();
        !missing.contains(&format!("{container}/{kind}"))
    });
    let answer = started_and_ready(Knowledge {
        pod: &pod,
        status: &status,
        startup: &results(&case["startup_results"]),
        readiness: &results(&case["readiness_results"]),
        workers: &workers,
        rules: &rules(case),
        kubelet_start: moment(&case["kubelet_started_at_seconds"]).expect("a moment"),
    });
    let at_once = answer.probed_at_once.iter().map(|container| format!("{container}/readiness"));
    json!({
        "container_statuses": shown(&answer.containers),
        "init_container_statuses": shown(&answer.init_containers),
        "probes_triggered_at_once": at_once.collect::<Vec<_>>(),
    })
}

fn shown(containers: &[ContainerReadiness]) -> Vec<Value> {
    let one = |container: &ContainerReadiness| {
        let ContainerReadiness { name, started, ready, .. } = container;
        json!({ "name": name, "started": started, "ready": ready })
    };
    containers.iter().map(one).collect()
}

fn results(value: &Value) -> ResultsCache {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(id, result)| (ContainerId::parse(id), verdict(result))).collect()
}
