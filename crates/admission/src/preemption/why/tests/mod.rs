//! What is left of pods, and the answers about them.

mod causes;
mod preemptors;
mod sequel;

use super::*;
use crate::objects::{self, Object};
use kq_facts::events::read_events;
use serde_json::{Value, json};

/// Describes a pod of the namespace shop that has run on n1 for an hour.
fn shop(name: &str) -> Object {
    let pod = objects::pod(&format!("shop/{name}")).uid(&format!("uid-{name}")).on("n1");
    pod.priority(100).started("2026-11-20T10:00:00Z")
}

/// Describes the pod in question.
fn web() -> Object {
    shop("web")
}

/// The same in a final phase.
fn ended(reason: &str, message: &str) -> Object {
    web().set("/status", json!({"phase": "Failed", "reason": reason, "message": message}))
}

/// The same while it is being deleted.
fn disrupted(reason: &str, message: &str) -> Object {
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-20T11:00:00Z",
    });
    web().deleted("2026-11-20T11:00:30Z").set("/status/conditions", json!([condition]))
}

fn event(uid: &str, reporter: &str, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Event", "reason": reason, "message": message, "source": {"component": reporter},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": uid},
        "lastTimestamp": "2026-11-20T11:00:00Z",
    })
}

fn events(items: Vec<Value>) -> Vec<PodEvent> {
    read_events(json!({"kind": "List", "items": items}).to_string().as_bytes()).expect("events")
}

fn ask(pods: &[Object], events: Option<&[PodEvent]>, log: Option<&str>) -> PreemptionCause {
    let pods: Vec<Pod> = pods.iter().map(|pod| pod.clone().read()).collect();
    let log = log.map(|text| KubeletLog::read(text.as_bytes()).expect("a log"));
    let traces = Traces {
        pods: Ok(pods.iter().collect()),
        events: events.ok_or_else(|| "nobody asked".to_owned()),
        log: log.as_ref(),
        now: "2026-11-20T12:00:00Z".parse().expect("a time"),
        are_current: true,
    };
    why_killed(&PodSelector::new("shop/web"), &traces, Basis::default()).expect("an answer")
}

/// The names of the preemptors of a pod, and their certainty.
fn for_whom(answer: &PreemptionCause) -> Vec<(&str, Certainty)> {
    answer.preemptors.iter().map(|it| (it.pod.as_deref().unwrap_or("?"), it.certainty)).collect()
}

#[test]
fn of_several_pods_in_a_log_the_last_is_meant() {
    let line = |uid: &str, requester: &str| {
        format!(
            "I1120 11:00:00.000000       1 a.go:1] \"Preempting pod to free up resources\" \
             pod=\"shop/web\" podUID=\"{uid}\" insufficientResources=\"[(res: cpu, q: 50), ]\" \
             requestingPod=\"kube-system/{requester}\"\n"
        )
    };
    for (first, last) in [("u0", "u1"), ("u1", "u0")] {
        let log = format!("{}{}", line(first, "x"), line(last, "y"));
        let answer = ask(&[], None, Some(&log));
        assert_eq!(answer.uid.as_deref(), Some(last));
        let requesters: Vec<&str> =
            answer.preemptors.iter().filter_map(|it| it.pod.as_deref()).collect();
        assert_eq!(requesters, ["kube-system/y"]);
    }
}

#[test]
fn a_name_that_is_not_there_has_a_nearest_one() {
    let pods: [Pod; 2] = [shop("burst-high-500").read(), web().read()];
    let near = |name: &str| {
        let traces = Traces {
            pods: Ok(pods.iter().collect()),
            events: Ok(&[]),
            log: None,
            now: Timestamp::default(),
            are_current: true,
        };
        match why_killed(&PodSelector::new(name), &traces, Basis::default()) {
            Err(NoTraces::Nothing { near, .. }) => near,
            other => panic!("{name}: {other:?}"),
        }
    };
    for (name, expected) in [
        ("burst-hihg-500", Some("shop/burst-high-500")),
        ("shop/burst-hihg-500", Some("shop/burst-high-500")),
        ("pod/burst-hihg-500", Some("shop/burst-high-500")),
        ("other/web", Some("shop/web")),
        ("shpo/web", Some("shop/web")),
        ("database", None),
    ] {
        assert_eq!(near(name).as_deref(), expected, "{name}");
    }
}

#[test]
fn a_pod_that_took_the_name_over_is_not_the_one_that_was_killed() {
    let killed = event("u1", "default-scheduler", "Preempted", "Preempted by shop/big on node n1");
    let own = event("uid-web", "kubelet", "Started", "Started container c");
    let answer = ask(&[web()], Some(&events(vec![own.clone(), killed.clone()])), None);
    assert_eq!((answer.cause, answer.uid.as_deref()), (Cause::PreemptedByScheduler, Some("u1")));
    assert!(
        !answer.exists && answer.basis.warnings[0].text.contains("another UID now"),
        "{answer:?}"
    );
    // Who was killed itself is asked about itself.
    let evicted = ended("Evicted", "");
    let answer = ask(&[evicted], Some(&events(vec![own, killed])), None);
    assert_eq!((answer.cause, answer.uid.as_deref()), (Cause::EvictedByKubelet, Some("uid-web")));
}

#[test]
fn what_nobody_knows_is_no_answer() {
    let two: [Pod; 2] = [web().read(), web().set("/metadata/namespace", "other").read()];
    let traces = |pods: Vec<_>| Traces {
        pods: Ok(pods),
        events: Err("forbidden".to_owned()),
        log: None,
        now: Timestamp::default(),
        are_current: true,
    };
    let why =
        |name: &str, pods| why_killed(&PodSelector::new(name), &traces(pods), Basis::default());
    let error = why("web", two.iter().collect()).expect_err("two").to_string();
    assert_eq!(error, "web means more than one pod: other/web, shop/web");
    let error = why("db", two.iter().collect()).expect_err("none").to_string();
    assert_eq!(error, "no pod db, and no trace of one: 2 pods; events: forbidden");
    let lost: Pod = web().phase("Unknown").read();
    let answer = why("web", vec![&lost]).expect("an answer");
    assert!(
        answer.cause.is_open() && answer.basis.missing[0].text.contains("forbidden"),
        "{answer:?}"
    );
}
