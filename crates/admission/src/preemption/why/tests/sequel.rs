//! The cause, by each kind of evidence and each end of the pod.

use super::*;

/// The state of the pod of a piece of evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Became {
    Gone,
    /// A final phase; its container ended five seconds after 11:00.
    Ended,
    /// A final phase; its container ended an hour before.
    EndedBefore,
    /// It is being deleted since 11:00.
    Deleted,
    /// It is being deleted since 11:30.
    DeletedLater,
    /// It runs, and it is 11:00:20.
    RunsStill,
    /// It runs, and it is 12:00.
    Runs,
}

const BECAME: [Became; 7] = [
    Became::Gone,
    Became::Ended,
    Became::EndedBefore,
    Became::Deleted,
    Became::DeletedLater,
    Became::RunsStill,
    Became::Runs,
];

/// Returns the pod, with a restart policy under which it can end by itself.
fn that_became(became: Became, condition: Option<&str>) -> Option<Object> {
    use Became::*;
    let ended = |pod: Object, at: &str| {
        pod.phase("Succeeded").statuses(json!([{"name": "c", "state": {"terminated": {
            "exitCode": 0, "reason": "Completed", "finishedAt": at}}}]))
    };
    let pod = web().set("/spec/restartPolicy", "Never");
    let pod = match became {
        Gone => return None,
        RunsStill | Runs => pod,
        Ended => ended(pod, "2026-11-20T11:00:05Z"),
        EndedBefore => ended(pod, "2026-11-20T10:00:00Z"),
        Deleted => pod.deleted("2026-11-20T11:00:30Z"),
        DeletedLater => pod.deleted("2026-11-20T11:30:30Z"),
    };
    let Some(reason) = condition else { return Some(pod) };
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": reason,
        "message": "Pod was preempted by Kubelet to accommodate a critical pod.",
        "lastTransitionTime": "2026-11-20T11:00:00Z",
    });
    Some(pod.set("/status/conditions", json!([condition])))
}

#[test]
fn each_row_of_the_table() {
    use Cause::{
        DeletedByTaintManager as Taint, EvictedByKubelet as Evicted, PreemptedByKubelet as Kubelet,
        PreemptedByScheduler as Scheduler, RefusedAtAdmission as Refused,
    };
    use Certainty::{Certain, Likely, Possible};
    type Expected = Option<(Cause, Certainty)>;
    enum From {
        Condition(&'static str),
        Event(&'static str, &'static str, &'static str, &'static str),
        Log(&'static str),
    }
    use From::*;
    let by = |component, reason| Event("uid-web", component, reason, "m");
    let c = |it| Some((it, Certain));
    let l = |it| Some((it, Likely));
    let p = |it| Some((it, Possible));
    // gone, ended, ended before, deleted, deleted later, runs still, runs
    let rows: Vec<(&str, From, [Expected; 7])> = vec![
        (
            "the kubelet's condition",
            Condition("TerminationByKubelet"),
            [None, c(Kubelet), c(Kubelet), l(Kubelet), l(Kubelet), p(Kubelet), None],
        ),
        (
            "the scheduler's condition",
            Condition("PreemptionByScheduler"),
            [None, None, None, c(Scheduler), None, p(Scheduler), None],
        ),
        (
            "the scheduler's event",
            by("default-scheduler", "Preempted"),
            [c(Scheduler), None, None, c(Scheduler), None, p(Scheduler), None],
        ),
        (
            "another scheduler's event",
            by("gpu-scheduler", "Preempted"),
            [l(Scheduler), None, None, l(Scheduler), None, p(Scheduler), None],
        ),
        (
            "the same word of an unknown component",
            by("", "Preempted"),
            [None, None, None, l(Scheduler), None, None, None],
        ),
        (
            "the taint controller's event",
            Event(
                "uid-web",
                "taint-eviction-controller",
                "TaintManagerEviction",
                "Marking for deletion",
            ),
            [l(Taint), None, None, l(Taint), None, p(Taint), None],
        ),
        (
            "the kubelet's event of a refusal",
            by("kubelet", "OutOfpods"),
            [c(Refused), c(Refused), None, None, None, p(Refused), None],
        ),
        (
            "the same without the pod's UID",
            Event("", "kubelet", "OutOfpods", "m"),
            [c(Refused), l(Refused), None, None, None, p(Refused), None],
        ),
        (
            "the same of an unknown component",
            by("", "OutOfpods"),
            [None, l(Refused), None, None, None, None, None],
        ),
        ("the same of another component", by("mine", "OutOfpods"), [None; 7]),
        (
            "the kubelet's event of a preemption",
            by("kubelet", "Preempting"),
            [l(Kubelet), l(Kubelet), None, None, None, p(Kubelet), None],
        ),
        (
            "the kubelet's event of an eviction",
            by("kubelet", "Evicted"),
            [l(Evicted), l(Evicted), None, None, None, p(Evicted), None],
        ),
        (
            "the log, with the UID",
            Log(
                "\"Pod admission denied\" podUID=\"uid-web\" pod=\"shop/web\" reason=\"OutOfpods\" message=\"m\" operation=\"add\"",
            ),
            [c(Refused), c(Refused), c(Refused), None, None, p(Refused), p(Refused)],
        ),
        (
            "the log, without it",
            Log("\"Eviction manager: pod is evicted successfully\" pod=\"shop/web\""),
            [c(Evicted), l(Evicted), l(Evicted), None, None, None, None],
        ),
    ];
    for (name, from, expected) in rows {
        for (became, expected) in BECAME.into_iter().zip(expected) {
            let condition = match from {
                Condition(reason) => Some(reason),
                _ => None,
            };
            let pods: Vec<Pod> =
                that_became(became, condition).map(Object::read).into_iter().collect();
            let told = match from {
                Event(uid, reporter, reason, message) => {
                    events(vec![event(uid, reporter, reason, message)])
                }
                // Something is left of a pod that is gone.
                _ => events(vec![event("uid-web", "kubelet", "Started", "Started container c")]),
            };
            let log = match from {
                Log(text) => Some(format!("I1120 11:00:00.000000       1 a.go:1] {text}\n")),
                _ => None,
            };
            let read = log.map(|text| KubeletLog::read(text.as_bytes()).expect("a log"));
            let now = if became == Became::RunsStill { "11:00:20" } else { "12:00:00" };
            let traces = Traces {
                pods: Ok(pods.iter().collect()),
                events: Ok(&told),
                log: read.as_ref(),
                now: format!("2026-11-20T{now}Z").parse().expect("a time"),
                are_current: true,
            };
            let answer = why_killed(&PodSelector::new("shop/web"), &traces, Basis::default());
            let answer = answer.expect("an answer");
            let found = (answer.cause, answer.certainty);
            let alone = match became {
                Became::Gone => (Cause::Unknown, Possible),
                Became::Ended | Became::EndedBefore => (Cause::Ended, Likely),
                Became::Deleted | Became::DeletedLater => (Cause::Deleted, Likely),
                Became::RunsStill | Became::Runs => (Cause::NotKilled, found.1),
            };
            assert_eq!(found, expected.unwrap_or(alone), "{name}, {became:?}: {answer:?}");
            let is_sure = answer.certainty == Certain;
            let is_named = answer.cause == Cause::NotKilled || !answer.basis.missing.is_empty();
            let is_complete = from_has_log(&from);
            assert!(
                is_sure || is_named || is_complete || !answer.cause.may_be_the_kubelets(),
                "{name}, {became:?}"
            );
        }
    }
    fn from_has_log(from: &From) -> bool {
        matches!(from, From::Log(_))
    }
}

/// The end of a container is not known where its runtime hung: the kubelet's own words about the end of the pod decide.
#[test]
fn an_end_that_took_longer_than_its_grace_period_is_that_of_the_eviction() {
    let message = "The node was low on resource: memory. ";
    let that_ended = |condition_at: &str| {
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
            "message": message, "lastTransitionTime": condition_at,
        });
        let unknown = json!({"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}});
        let status = json!({
            "phase": "Failed", "reason": "Evicted", "message": message, "conditions": [condition],
            "containerStatuses": [{"name": "c", "state": unknown}],
        });
        let pod = web().set("/spec/terminationGracePeriodSeconds", 2).set("/status", status);
        let told = events(vec![event("uid-web", "kubelet", "Evicted", message)]);
        let answer = ask(&[pod], Some(&told), None);
        assert_eq!((answer.cause, answer.certainty), (Cause::EvictedByKubelet, Certainty::Certain));
        let of_event = answer.evidence.iter().find(|it| it.source == EvidenceSource::Event);
        of_event.expect("the event").means.to_string()
    };
    let later = that_ended("2026-11-20T11:00:29Z");
    assert!(!later.contains("at another time"), "{later}");
    let before = that_ended("2026-11-20T10:00:00Z");
    assert!(before.contains("at another time"), "{before}");
}
