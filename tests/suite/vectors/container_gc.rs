//! The collection of dead containers, sandboxes and log folders.

use super::input::read;
use kq_facts::runtime::ContainerState;
use kq_image_gc::containers::{
    Call, ContainerGcPlan, ContainerGcPolicy, FailedCall, Failures, GcContainer, GcPod, GcSandbox,
    GcState, GcTrigger, Remaining, Step, plan,
};
use kq_k8s::duration::GoDuration;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub fn answer(case: &Value) -> Value {
    let trigger = match case["op"].as_str().expect("an operation") {
        "garbage_collect" => GcTrigger::Loop,
        "delete_all_unused_containers" => GcTrigger::Eviction,
        op => return json!({ "unknown operation": op }),
    };
    match plan(&policy(&case["policy"]), &state(case), trigger, &failures(&case["errors"])) {
        Ok(plan) => out(&plan),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn policy(policy: &Value) -> ContainerGcPolicy {
    let number = |key: &str| policy[key].as_i64().expect("a number");
    ContainerGcPolicy {
        min_age: GoDuration(number("min_age_nanoseconds")),
        max_per_pod_container: ContainerGcPolicy::limit(number("max_per_pod_container")),
        max_containers: ContainerGcPolicy::limit(number("max_containers")),
    }
}

fn state(case: &Value) -> GcState {
    let list = |key: &str| case[key].as_array().cloned().unwrap_or_default();
    let pods: BTreeMap<String, Value> = read(&case["pods"]);
    GcState {
        now: 0,
        containers: list("containers").iter().map(container).collect(),
        sandboxes: list("sandboxes").iter().map(sandbox).collect(),
        pods: pods.into_iter().map(|(uid, pod)| (uid, flags(&pod))).collect(),
        all_sources_ready: read(&case["all_sources_ready"]),
        log_root: "/var/log/pods".to_owned(),
        log_directories: read(&case["pod_log_directories"]),
    }
}

fn container(container: &Value) -> GcContainer {
    let state = match container["state"].as_str().expect("a state") {
        "CONTAINER_CREATED" => ContainerState::Created,
        "CONTAINER_RUNNING" => ContainerState::Running,
        "CONTAINER_EXITED" => ContainerState::Exited,
        _ => ContainerState::Unknown,
    };
    GcContainer {
        id: read(&container["id"]),
        pod_uid: read(&container["pod_uid"]),
        name: read(&container["name"]),
        state,
        created_at: read(&container["created_at_nanoseconds"]),
        sandbox_id: read(&container["sandbox_id"]),
        deletion_grace_period_seconds: container["pod_deletion_grace_period_seconds"].as_i64(),
        termination_grace_period_seconds: container["pod_termination_grace_period_seconds"]
            .as_i64(),
    }
}

fn sandbox(sandbox: &Value) -> GcSandbox {
    GcSandbox {
        id: read(&sandbox["id"]),
        pod_uid: read(&sandbox["pod_uid"]),
        ready: sandbox["state"] == "SANDBOX_READY",
        created_at: read(&sandbox["created_at_nanoseconds"]),
    }
}

fn flags(pod: &Value) -> GcPod {
    GcPod {
        runtime_should_be_removed: read(&pod["runtime_should_be_removed"]),
        content_should_be_removed: read(&pod["content_should_be_removed"]),
    }
}

fn failures(errors: &Value) -> Failures {
    let lists = &errors["list_containers_on_call"];
    Failures {
        list_containers: read(&lists["1"]),
        list_containers_again: read(&lists["2"]),
        list_sandboxes: read(&errors["list_pod_sandboxes"]),
        read_log_root: read(&errors["read_pod_logs_directory"]),
        container_status: read(&errors["container_status"]),
        stop_container: read(&errors["stop_container"]),
        remove_container: read(&errors["remove_container"]),
        stop_sandbox: read(&errors["stop_pod_sandbox"]),
        remove_sandbox: read(&errors["remove_pod_sandbox"]),
        remove_log_directory: read(&errors["remove_pod_logs_directory"]),
    }
}

fn out(plan: &ContainerGcPlan) -> Value {
    let mut units: BTreeMap<(&str, &str), Vec<Value>> = BTreeMap::new();
    let mut pods: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let (mut containers, mut sandboxes) = (Vec::new(), Vec::new());
    let (mut directories, mut stops) = (Vec::new(), BTreeMap::new());
    for step in &plan.steps {
        let mut attempt = json!({ "id": step.id() });
        if let Some(failed) = step.failed() {
            attempt["failed"] = call(failed).into();
        }
        let removed = match step {
            Step::Container(step) => {
                attempt["phase"] = step.reason.phase().into();
                units.entry((&step.pod_uid, &step.name)).or_default().push(attempt);
                let failed = step.failed.as_ref().map(|failed| failed.call);
                if let Some(seconds) = step.stop_timeout_seconds
                    && failed != Some(Call::ContainerStatus)
                {
                    stops.insert(&step.id, json!({ "id": step.id, "timeout_seconds": seconds }));
                }
                &mut containers
            }
            Step::Sandbox(step) => {
                pods.entry(&step.pod_uid).or_default().push(attempt);
                &mut sandboxes
            }
            Step::LogDirectory(_) => &mut directories,
        };
        if step.failed().is_none() {
            removed.push(step.id());
        }
    }
    containers.sort_unstable();
    sandboxes.sort_unstable();
    let units = units.into_iter().map(|((uid, name), attempts)| {
        json!({ "pod_uid": uid, "container_name": name, "attempts": attempts })
    });
    let pods =
        pods.into_iter().map(|(uid, attempts)| json!({ "pod_uid": uid, "attempts": attempts }));
    json!({
        "error": plan.error(),
        "removal_attempts_by_unit": units.collect::<Vec<_>>(),
        "sandbox_removal_attempts_by_pod": pods.collect::<Vec<_>>(),
        "removed_containers": containers,
        "removed_sandboxes": sandboxes,
        "removed_pod_log_directories": directories,
        "remaining_containers": ids(&plan.containers),
        "remaining_sandboxes": ids(&plan.sandboxes),
        "stop_container_calls": stops.into_values().collect::<Vec<_>>(),
    })
}

fn ids(remaining: &[Remaining]) -> Vec<&str> {
    remaining.iter().map(|remaining| remaining.id.as_str()).collect()
}

fn call(failed: &FailedCall) -> &'static str {
    match failed.call {
        Call::ContainerStatus => "container_status",
        Call::StopContainer => "stop_container",
        Call::RemoveContainer => "remove_container",
        Call::StopSandbox => "stop_pod_sandbox",
        Call::RemoveSandbox => "remove_pod_sandbox",
        Call::RemoveLogDirectory => "remove_pod_logs_directory",
    }
}
