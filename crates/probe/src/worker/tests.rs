//! Cases of the worker that the vectors do not cover.

use super::*;
use crate::attempt::{Attempt, Cause};
use crate::results::{ResultsCache, Verdict};
use crate::retry::Conclusion;
use kq_facts::timestamp::Timestamp;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ProbeType};
use serde_json::json;
use std::sync::Arc;

fn worker(kind: ProbeType, numbers: serde_json::Value) -> Worker {
    let field = match kind {
        ProbeType::Liveness => "livenessProbe",
        ProbeType::Readiness => "readinessProbe",
        ProbeType::Startup => "startupProbe",
    };
    let pod = json!({"spec": {"terminationGracePeriodSeconds": 30,
        "containers": [{"name": "app", field: numbers}]}});
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    let rules = KubeletRules::default();
    Worker::new(Arc::new(pod), "app", kind, rules, Timestamp(0)).expect("a worker")
}

fn status(id: &str, started_at: Option<Timestamp>, started: bool) -> PodFacts {
    let container = ContainerFacts {
        name: "app".to_owned(),
        container_id: id.to_owned(),
        state: State::Running { started_at },
        started: Some(started),
        ready: false,
    };
    let phase = "Running".to_owned();
    PodFacts { phase, containers: vec![container], ..PodFacts::default() }
}

fn conclusion(kind: ProbeType, text: &str) -> Conclusion {
    let attempt = match text {
        "success" => Attempt::success(""),
        "failure" => Attempt::failure(Cause::Unhealthy, "bad"),
        error => Attempt::error(Cause::Runtime, error),
    };
    Conclusion::of_repeating(kind, &[attempt], KubeletRules::default())
}

/// Runs a worker and returns the reason and the action of each step.
fn run(worker: &mut Worker, kind: ProbeType, steps: &[(&str, &str)]) -> Vec<String> {
    let mut cache = ResultsCache::default();
    let mut now = Timestamp::from_seconds(100);
    let mut shown = Vec::new();
    for (id, result) in steps {
        let status = status(id, Some(Timestamp::from_seconds(50)), kind != ProbeType::Startup);
        let facts = StepFacts { status: Some(&status), deletion_timestamp_set: false };
        let report = match worker.begin(&mut cache, facts, now) {
            Begun::Done(report) => *report,
            Begun::Probe(pending) => worker.finish(&mut cache, pending, conclusion(kind, result)),
        };
        let action = report.action.map(|action| format!(" -> {action}")).unwrap_or_default();
        shown.push(format!("{}{action}", report.reason));
        now = now.plus(10_000_000_000);
    }
    shown
}

#[test]
fn failures_before_a_crash_count_for_the_next_container() {
    let kind = ProbeType::Liveness;
    let mut worker = worker(kind, json!({}));
    let steps = [
        ("containerd://1", "success"),
        ("containerd://1", "failure"),
        ("containerd://1", "lost"),
        ("containerd://1", "failure"),
        ("containerd://2", "failure"),
        ("containerd://2", "failure"),
        ("containerd://3", "success"),
    ];
    let expected = [
        "success 1 of 1: threshold reached",
        "failure 1 of 3",
        "thrown away: lost",
        "failure 2 of 3",
        "failure 3 of 3: threshold reached -> kill: Container app failed liveness probe, will be \
         restarted",
        "on hold until the container id changes",
        "success 1 of 1: threshold reached",
    ];
    assert_eq!(run(&mut worker, kind, &steps), expected);
}

#[test]
fn readiness_comes_and_goes() {
    let kind = ProbeType::Readiness;
    let mut worker = worker(kind, json!({"successThreshold": 2, "failureThreshold": 1}));
    let steps = ["success", "success", "success", "failure", "failure"]
        .map(|result| ("containerd://1", result));
    let expected = [
        "success 1 of 2",
        "success 2 of 2: threshold reached -> ready",
        "success 3 times in a row",
        "failure 1 of 1: threshold reached -> not ready",
        "failure 2 times in a row",
    ];
    assert_eq!(run(&mut worker, kind, &steps), expected);
}

#[test]
fn startup_holds_after_any_result() {
    let kind = ProbeType::Startup;
    for (result, expected) in [
        ("success", "success 1 of 1: threshold reached -> started"),
        (
            "failure",
            "failure 1 of 1: threshold reached -> kill: Container app failed startup probe, will be \
             restarted",
        ),
    ] {
        let mut worker = worker(kind, json!({"failureThreshold": 1}));
        let got = run(&mut worker, kind, &[("containerd://1", result); 2]);
        assert_eq!(got, [expected, "on hold until the container id changes"]);
        assert_eq!(worker.state().run, 0);
    }
}

#[test]
fn delays_are_whole_seconds() {
    let second = 1_000_000_000;
    for (name, started_at, now, expected) in [
        ("just short", Some(0), 10 * second - 1, Some("initial delay: 9 s of 10 s")),
        ("exactly", Some(0), 10 * second, None),
        ("in the future", Some(second), 0, Some("initial delay: -1 s of 10 s")),
        ("cut towards zero", Some(second / 2), 0, Some("initial delay: 0 s of 10 s")),
        (
            "too long ago for 32 bits",
            Some(i64::MIN),
            0,
            Some("initial delay: -2147483648 s of 10 s"),
        ),
        ("no start", None, 0, Some("the status does not say when the container started")),
    ] {
        let mut worker = worker(ProbeType::Liveness, json!({"initialDelaySeconds": 10}));
        let status = status("containerd://1", started_at.map(Timestamp), true);
        let facts = StepFacts { status: Some(&status), deletion_timestamp_set: false };
        let got = match worker.begin(&mut ResultsCache::default(), facts, Timestamp(now)) {
            Begun::Done(report) => Some(report.reason.to_string()),
            Begun::Probe(_) => None,
        };
        assert_eq!(got.as_deref(), expected, "{name}");
    }
}

#[test]
fn an_id_that_is_none_is_new_at_every_step() {
    let mut worker = worker(ProbeType::Readiness, json!({}));
    let mut cache = ResultsCache::default();
    for (id, expected) in [("plain", 1), ("plain", 1), ("://", 0)] {
        let mut status = status(id, Some(Timestamp(0)), true);
        status.containers[0].state = State::Waiting;
        let facts = StepFacts { status: Some(&status), deletion_timestamp_set: false };
        let Begun::Done(report) = worker.begin(&mut cache, facts, Timestamp(0)) else {
            panic!("a waiting container is not probed");
        };
        assert_eq!(report.calls.len(), expected, "{id}: the initial value, and nothing for no id");
    }
    assert!(worker.stop(&mut cache).is_empty(), "nothing to clean up");
    assert_eq!(cache.iter().count(), 1);
    assert_eq!(cache.iter().next().map(|(_, result)| result), Some(Verdict::Failure));
}

#[test]
fn only_what_is_probed_has_a_worker() {
    let pod = json!({"spec": {
        "containers": [{"name": "app", "livenessProbe": {}}],
        "initContainers": [
            {"name": "once", "livenessProbe": {}},
            {"name": "log", "livenessProbe": {}, "restartPolicy": "Always"}]}});
    let pod: Arc<Pod> = Arc::new(serde_json::from_value(pod).expect("a pod"));
    for (name, kind, expected) in [
        ("app", ProbeType::Liveness, true),
        ("app", ProbeType::Startup, false),
        ("once", ProbeType::Liveness, false),
        ("log", ProbeType::Liveness, true),
        ("none", ProbeType::Liveness, false),
    ] {
        let rules = KubeletRules::default();
        let got = Worker::new(pod.clone(), name, kind, rules, Timestamp(0));
        assert_eq!(got.is_some(), expected, "{name} {kind}");
    }
}
