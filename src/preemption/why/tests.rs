//! Each cause, from each kind of evidence.

use super::*;
use crate::facts::events::read_events;
use crate::objects;
use serde_json::{Value, json};

fn pod(name: &str, change: impl FnOnce(&mut Value)) -> Pod {
    let pod = objects::pod(&format!("shop/{name}")).on("n1").priority(100);
    let pod = pod.set("/metadata/uid", format!("uid-{name}"));
    let mut pod = pod.set("/status/startTime", "2026-11-20T10:00:00Z").json();
    change(&mut pod);
    serde_json::from_value(pod).expect("a pod")
}

fn ended(reason: &str, message: &str) -> impl FnOnce(&mut Value) {
    move |pod| pod["status"] = json!({"phase": "Failed", "reason": reason, "message": message})
}

fn disrupted(reason: &str, message: &str) -> impl FnOnce(&mut Value) {
    move |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-11-20T11:00:30Z");
        pod["status"]["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-11-20T11:00:00Z",
        }]);
    }
}

fn event(uid: &str, reporter: &str, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Event", "reason": reason, "message": message, "source": {"component": reporter},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": uid},
        "lastTimestamp": "2026-11-20T11:00:00Z",
    })
}

fn events(items: Vec<Value>) -> Vec<PodEvent> {
    read_events(objects::list(items).to_string().as_bytes()).expect("events")
}

fn ask(pods: &[Pod], events: Option<&[PodEvent]>, log: Option<&str>) -> PreemptionCause {
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

#[test]
fn each_status_has_its_cause() {
    use Cause::*;
    use Certainty::{Certain, Likely, Possible};
    let oom = |phase: &'static str, state: &'static str| {
        move |pod: &mut Value| {
            pod["status"] = json!({"phase": phase, "containerStatuses": [{"name": "c", state: {
                "terminated": {"reason": "OOMKilled", "exitCode": 137}}}]});
        }
    };
    let low = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi.";
    let rows: Vec<(&str, Pod, Cause, Certainty)> = vec![
        ("running", pod("web", |_| {}), NotKilled, Certain),
        ("ended", pod("web", |it| it["status"]["phase"] = json!("Succeeded")), Ended, Likely),
        ("failed", pod("web", ended("", "")), Ended, Likely),
        ("failed, out of memory", pod("web", oom("Failed", "state")), OutOfMemory, Certain),
        ("restarted, out of memory", pod("web", oom("Running", "lastState")), OutOfMemory, Certain),
        ("what came before the end", pod("web", oom("Failed", "lastState")), Ended, Likely),
        ("its node was lost", pod("web", ended("NodeLost", "")), Unknown, Possible),
        ("lost", pod("web", |it| it["status"]["phase"] = json!("Unknown")), Unknown, Possible),
        (
            "deleted",
            pod("web", |it| it["metadata"]["deletionTimestamp"] = json!("2026-11-20T11:00:30Z")),
            Deleted,
            Likely,
        ),
        (
            "preempted by the kubelet",
            pod("web", ended("Preempting", "Preempted in order to admit critical pod")),
            PreemptedByKubelet,
            Certain,
        ),
        ("evicted", pod("web", ended("Evicted", low)), EvictedByKubelet, Certain),
        (
            "refused for pressure",
            pod(
                "web",
                ended("Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "),
            ),
            RefusedAtAdmission,
            Certain,
        ),
        (
            "refused by an older kubelet",
            pod("web", ended("Evicted", "Pod The node had condition: [DiskPressure]. ")),
            RefusedAtAdmission,
            Certain,
        ),
        ("no room", pod("web", ended("OutOfcpu", "")), RefusedAtAdmission, Certain),
        ("no labels", pod("web", ended("NodeAffinity", "")), RefusedAtAdmission, Certain),
        (
            "some other check",
            pod("web", ended("NewCheck", "Pod was rejected: no")),
            RefusedAtAdmission,
            Certain,
        ),
        (
            "shut down",
            pod(
                "web",
                ended("Terminated", "Pod was terminated in response to imminent node shutdown."),
            ),
            NodeShutdown,
            Certain,
        ),
        (
            "refused by a node that shuts down",
            pod("web", ended("NodeShutdown", "Pod was rejected as the node is shutting down.")),
            RefusedAtAdmission,
            Certain,
        ),
        ("too long", pod("web", ended("DeadlineExceeded", "")), DeadlineExceeded, Certain),
        ("a program's own reason", pod("web", ended("Mine", "")), Ended, Likely),
    ];
    for (name, pod, cause, certainty) in rows {
        let answer = ask(&[pod], Some(&[]), None);
        assert_eq!((answer.cause, answer.certainty), (cause, certainty), "{name}: {answer:?}");
    }
}

#[test]
fn each_condition_has_its_cause() {
    use Cause::*;
    for (reason, message, cause) in [
        (
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a higher priority pod",
            PreemptedByScheduler,
        ),
        ("EvictionByEvictionAPI", "Eviction API: evicting", EvictedThroughApi),
        (
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
            DeletedByTaintManager,
        ),
        ("DeletionByDeviceTaintManager", "", DeletedByTaintManager),
        ("DeletionByPodGC", "PodGC: node no longer exists", DeletedByPodGc),
        (
            "TerminationByKubelet",
            "Pod was preempted by Kubelet to accommodate a critical pod.",
            PreemptedByKubelet,
        ),
        ("TerminationByKubelet", "The node was low on resource: memory. ", EvictedByKubelet),
        (
            "TerminationByKubelet",
            "Pod was terminated in response to imminent node shutdown.",
            NodeShutdown,
        ),
        ("TerminationByKubelet", "of a later kubelet", EndedByKubelet),
        ("OfTheFuture", "", Deleted),
    ] {
        let disrupted = pod("web", |it| {
            disrupted(reason, message)(it);
            // The kubelet writes its own with a final phase.
            if reason == "TerminationByKubelet" {
                it["status"]["phase"] = json!("Failed");
            }
        });
        let answer = ask(&[disrupted], Some(&[]), None);
        assert_eq!(answer.cause, cause, "{reason}: {message}");
        let is_sure = answer.certainty == Certainty::Certain;
        assert_eq!(is_sure, cause != Deleted, "{reason}: {message}");
    }
    // The reason of the status tells what the condition does not.
    let evicted = pod("web", |it| {
        disrupted("TerminationByKubelet", "of a later kubelet")(it);
        it["status"]["phase"] = json!("Failed");
        it["status"]["reason"] = json!("Evicted");
    });
    assert_eq!(ask(&[evicted], Some(&[]), None).cause, EvictedByKubelet);
    let stays = pod("web", |it| {
        disrupted("PreemptionByScheduler", "")(it);
        it["metadata"]["deletionTimestamp"] = Value::Null;
    });
    let answer = ask(std::slice::from_ref(&stays), Some(&[]), None);
    assert_eq!((answer.cause, answer.certainty), (NotKilled, Certainty::Likely), "an hour later");
    let mut no_more = stays;
    no_more.status.conditions[0].status = "False".to_owned();
    assert_eq!(ask(&[no_more], Some(&[]), None).cause, NotKilled);
}

#[test]
fn events_tell_of_a_pod_that_is_gone() {
    use Cause::*;
    use Certainty::{Certain, Likely, Possible};
    for (reporter, reason, message, cause, certainty) in [
        (
            "default-scheduler",
            "Preempted",
            "Preempted by pod u9 on node n1",
            PreemptedByScheduler,
            Certain,
        ),
        (
            "kubelet",
            "Preempting",
            "Preempted in order to admit critical pod",
            PreemptedByKubelet,
            Likely,
        ),
        ("kubelet", "Evicted", "The node was low on resource: memory. ", EvictedByKubelet, Likely),
        (
            "kubelet",
            "Evicted",
            "The node had condition: [MemoryPressure]. ",
            RefusedAtAdmission,
            Certain,
        ),
        (
            "kubelet",
            "OutOfpods",
            "Node didn't have enough resource: pods",
            RefusedAtAdmission,
            Certain,
        ),
        ("other", "OutOfpods", "not the kubelet's", Unknown, Possible),
        (
            "taint-eviction-controller",
            "TaintManagerEviction",
            "Marking for deletion Pod shop/web",
            DeletedByTaintManager,
            Likely,
        ),
        (
            "taint-eviction-controller",
            "TaintManagerEviction",
            "Cancelling deletion of Pod shop/web",
            Unknown,
            Possible,
        ),
        ("kubelet", "Killing", "Stopping container c", Unknown, Possible),
        (
            "kubelet",
            "Killing",
            "Container c failed liveness probe, will be restarted",
            Unknown,
            Possible,
        ),
        ("mine", "Preempting", "somebody else's word", Unknown, Possible),
        ("mine", "Evicted", "somebody else's word", Unknown, Possible),
        ("volcano", "Preempted", "for another", Unknown, Possible),
        ("gpu-scheduler", "Preempted", "for another", PreemptedByScheduler, Likely),
        ("descheduler", "Preempted", "for another", Unknown, Possible),
        ("", "OutOfpods", "by an unknown component", Unknown, Possible),
        ("kubelet", "Started", "Started container c", Unknown, Possible),
    ] {
        let events = events(vec![event("u1", reporter, reason, message)]);
        let answer = ask(&[], Some(&events), None);
        assert_eq!((answer.cause, answer.certainty), (cause, certainty), "{reason}: {message}");
        assert!(!answer.exists && answer.uid.as_deref() == Some("u1"), "{reason}");
    }
}

#[test]
fn what_was_announced_need_not_have_come() {
    let marked =
        event("u1", "taint-eviction-controller", "TaintManagerEviction", "Marking for deletion");
    let mut cancelled =
        event("u1", "taint-eviction-controller", "TaintManagerEviction", "Cancelling deletion");
    cancelled["lastTimestamp"] = json!("2026-11-20T11:00:09Z");
    let answer = ask(&[], Some(&events(vec![cancelled.clone(), marked.clone()])), None);
    assert_eq!(answer.cause, Cause::Unknown, "{answer:?}");
    cancelled["lastTimestamp"] = json!("2026-11-20T10:59:59Z");
    let answer = ask(&[], Some(&events(vec![cancelled, marked])), None);
    assert_eq!(answer.cause, Cause::DeletedByTaintManager, "{answer:?}");

    let told = events(vec![event("uid-web", "kubelet", "Preempting", "Preempted")]);
    let answer = ask(&[pod("web", |_| {})], Some(&told), None);
    let expected = (Cause::NotKilled, Certainty::Likely);
    assert_eq!((answer.cause, answer.certainty), expected, "{answer:?}");
    // A file with the pod may be older than the event.
    let web = pod("web", |_| {});
    let traces = Traces {
        pods: Ok(vec![&web]),
        events: Ok(&told),
        log: None,
        now: answer.now,
        are_current: false,
    };
    let answer = why_killed(&PodSelector::new("shop/web"), &traces, Basis::default());
    let answer = answer.expect("an answer");
    let expected = (Cause::PreemptedByKubelet, Certainty::Possible);
    assert_eq!((answer.cause, answer.certainty), expected, "{answer:?}");
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
fn the_log_tells_for_whom() {
    let line = |text: &str| format!("I1120 11:00:00.000000       1 a.go:1] {text}\n");
    let preempting = line(
        r#""Preempting pod to free up resources" pod="shop/web" podUID="uid-web" insufficientResources="[(res: cpu, q: 50), ]" requestingPod="kube-system/dns""#,
    );
    let gone = line(r#""Pod evicted successfully" pod="shop/web""#);
    let both = format!("{preempting}{gone}");
    for (log, certainty) in [(&preempting, Certainty::Likely), (&both, Certainty::Certain)] {
        let answer = ask(&[], None, Some(log));
        assert_eq!((answer.cause, answer.certainty), (Cause::PreemptedByKubelet, certainty));
        let [for_whom] = answer.preemptors.as_slice() else { panic!("{answer:?}") };
        assert_eq!(for_whom.pod.as_deref(), Some("kube-system/dns"));
        assert_eq!(for_whom.certainty, Certainty::Certain);
    }
    let old = line(r#""Preempting pod to free up resources" pod="shop/web" podUID="uid-web""#);
    let answer = ask(&[], None, Some(&old));
    assert!(answer.preemptors.is_empty(), "{answer:?}");
    assert!(answer.basis.missing.iter().any(|it| it.text.contains("the log does not name it")));
    let evicted = line(r#""Eviction manager: pod is evicted successfully" pod="shop/web""#);
    assert_eq!(ask(&[], None, Some(&evicted)).cause, Cause::EvictedByKubelet);
    let other = preempting.replace("uid-web", "uid-of-another");
    assert_eq!(
        ask(&[pod("web", |_| {})], None, Some(&other)).uid.as_deref(),
        Some("uid-of-another")
    );
}

/// The names of those for whom a pod was killed, and how sure that is.
fn for_whom(answer: &PreemptionCause) -> Vec<(&str, Certainty)> {
    answer.preemptors.iter().map(|it| (it.pod.as_deref().unwrap_or("?"), it.certainty)).collect()
}

#[test]
fn the_schedulers_event_names_the_pod_in_many_ways() {
    use Certainty::Certain;
    let related = |mut event: Value| {
        event["related"] =
            json!({"kind": "Pod", "namespace": "shop", "name": "big", "uid": "uid-big"});
        event
    };
    let said = |message: &str| event("u1", "default-scheduler", "Preempted", message);
    let big = pod("big", |it| it["status"]["nominatedNodeName"] = json!("n1"));
    let of_big = {
        let mut of_big =
            event("uid-big", "default-scheduler", "Scheduled", "Successfully assigned");
        of_big["involvedObject"]["name"] = json!("big");
        of_big
    };
    for (name, said, pods, more, expected) in [
        (
            "related",
            related(said("Preempted by pod uid-big on node n1")),
            vec![],
            vec![],
            "shop/big",
        ),
        (
            "uid, and the pod",
            said("Preempted by pod uid-big on node n1"),
            vec![big.clone()],
            vec![],
            "shop/big",
        ),
        (
            "uid, and an event",
            said("Preempted by pod uid-big on node n1"),
            vec![],
            vec![of_big],
            "shop/big",
        ),
        ("uid alone", said("Preempted by pod uid-big on node n1"), vec![], vec![], "?"),
        ("by name", said("Preempted by shop/big on node n1"), vec![], vec![], "shop/big"),
        ("a group", said("Preempted by podgroup g1 on node n1"), vec![], vec![], "podgroup g1"),
    ] {
        let events = events([vec![said], more].concat());
        let answer = ask(&pods, Some(&events), None);
        assert_eq!(for_whom(&answer), [(expected, Certain)], "{name}: {answer:?}");
        assert_eq!(answer.node.as_deref(), Some("n1"), "{name}");
        assert!(answer.basis.missing.is_empty(), "{name}");
        let is_nominated = answer.preemptors[0].because.to_string().contains("nominatedNodeName");
        assert_eq!(is_nominated, !pods.is_empty(), "{name}");
    }
}

#[test]
fn a_scheduler_that_names_nobody_leaves_candidates() {
    let events = events(vec![event(
        "u1",
        "default-scheduler",
        "Preempted",
        "Preempted by a pod on node n1",
    )]);
    let pods = [
        pod("web", |it| {
            disrupted("PreemptionByScheduler", "")(it);
            it["metadata"]["uid"] = json!("u1");
        }),
        pod("nominated", |it| {
            it["spec"] = json!({"priority": 200});
            it["status"] = json!({"phase": "Pending", "nominatedNodeName": "n1"});
        }),
        pod("nominated-elsewhere", |it| {
            it["spec"]["priority"] = json!(200);
            it["status"]["nominatedNodeName"] = json!("n2");
        }),
        pod("after", |it| {
            it["spec"]["priority"] = json!(200);
            it["status"]["startTime"] = json!("2026-11-20T11:00:40Z");
        }),
        pod("no-higher", |it| it["status"]["startTime"] = json!("2026-11-20T11:00:40Z")),
        pod("much-later", |it| {
            it["spec"]["priority"] = json!(200);
            it["status"]["startTime"] = json!("2026-11-20T11:10:41Z");
        }),
    ];
    let answer = ask(&pods, Some(&events), None);
    let possible = Certainty::Possible;
    assert_eq!(for_whom(&answer), [("shop/nominated", possible), ("shop/after", possible)]);
}

#[test]
fn critical_pods_that_start_right_after_are_candidates() {
    let victim = pod("web", |it| {
        ended("Preempting", "Preempted in order to admit critical pod")(it);
        it["status"]["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
            "lastTransitionTime": "2026-11-20T11:00:00Z",
        }]);
    });
    let critical = |name: &str, start: &str| {
        pod(name, |it| {
            it["spec"]["priority"] = json!(2_000_000_000);
            it["status"]["startTime"] = json!(start);
        })
    };
    let one = critical("dns", "2026-11-20T11:00:00Z");
    let elsewhere = {
        let mut pod = critical("elsewhere", "2026-11-20T11:00:01Z");
        pod.spec.node_name = "n2".to_owned();
        pod
    };
    let others = [
        elsewhere,
        critical("before", "2026-11-20T10:59:50Z"),
        critical("much-later", "2026-11-20T11:10:01Z"),
        pod("not-critical", |it| it["status"]["startTime"] = json!("2026-11-20T11:00:00Z")),
    ];
    let alone = [&[victim.clone(), one.clone()], &others[..]].concat();
    let answer = ask(&alone, Some(&[]), None);
    assert_eq!(for_whom(&answer), [("shop/dns", Certainty::Likely)]);
    assert!(answer.basis.missing[0].to_string().contains("--kubelet-log"), "{:?}", answer.basis);
    let two = [&alone[..], &[critical("proxy", "2026-11-20T11:00:20Z")]].concat();
    let possible = Certainty::Possible;
    assert_eq!(
        for_whom(&ask(&two, Some(&[]), None)),
        [("shop/dns", possible), ("shop/proxy", possible)]
    );
}

#[test]
fn of_a_candidate_it_is_said_what_makes_it_less_sure() {
    let victim = |at: &str| {
        let at = at.to_owned();
        pod("web", move |it| {
            ended("Preempting", "Preempted in order to admit critical pod")(it);
            it["status"]["containerStatuses"] = json!([{"name": "c", "state": {"terminated": {
                "exitCode": 137, "reason": "Error", "finishedAt": at}}}]);
        })
    };
    let critical = pod("dns", |it| {
        it["spec"]["priority"] = json!(2_000_000_000);
        it["status"]["startTime"] = json!("2026-11-20T11:00:40Z");
    });
    let told =
        [event("uid-web", "kubelet", "Preempting", "Preempted in order to admit critical pod")];
    let told = events(told.to_vec());
    let refused = {
        let mut pod = critical.clone();
        pod.status.phase = "Failed".to_owned();
        pod.status.reason = "NodePorts".to_owned();
        pod
    };
    let nowhere = {
        let mut pod = victim("2026-11-20T11:00:30Z");
        pod.spec.node_name = String::new();
        pod
    };
    let known = victim("2026-11-20T11:00:30Z");
    for (name, victim, events, critical, certainty, said) in [
        ("by the event", &known, &told[..], &critical, Certainty::Likely, "nothing names it"),
        (
            "by the end of a container",
            &known,
            &[],
            &critical,
            Certainty::Possible,
            "when the pod was killed is taken from the end of its containers",
        ),
        (
            "on no known node",
            &nowhere,
            &told[..],
            &critical,
            Certainty::Possible,
            "on which node it was is not known",
        ),
        (
            "refused itself",
            &known,
            &told[..],
            &refused,
            Certainty::Possible,
            "it was refused itself (NodePorts), which can be after others were killed for it",
        ),
    ] {
        let answer = ask(&[victim.clone(), critical.clone()], Some(events), None);
        assert_eq!(for_whom(&answer), [("shop/dns", certainty)], "{name}");
        let because = &answer.preemptors[0].because;
        assert!(because.to_string().ends_with(said), "{name}: {because}");
    }
}

#[test]
fn a_name_that_is_not_there_has_a_nearest_one() {
    let pods = [pod("burst-high-500", |_| {}), pod("web", |_| {})];
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
fn a_pod_that_had_run_was_not_taken_in_again() {
    let refused = pod("web", ended("NodeAffinity", "Pod was rejected: no"));
    let had_run = pod("web", |it| {
        ended("NodeAffinity", "Pod was rejected: no")(it);
        it["status"]["containerStatuses"] =
            json!([{"name": "c", "state": {"terminated": {"exitCode": 137}}}]);
    });
    let told = events(vec![event("uid-web", "kubelet", "SMTAlignmentError", "no")]);
    for (name, pods, said) in [
        ("never ran", &[refused][..], "nothing shows that it had run here"),
        ("had run", &[had_run], "which had run here"),
        ("gone", &[], "at its arrival or when the kubelet restarted"),
    ] {
        let answer = ask(pods, Some(&told), None);
        let found = (answer.cause, answer.certainty);
        assert_eq!(found, (Cause::RefusedAtAdmission, Certainty::Certain), "{name}");
        assert!(answer.because.to_string().contains(said), "{name}: {}", answer.because);
    }
}

#[test]
fn a_resize_that_is_refused_is_no_refused_pod() {
    let line = |operation: &str| {
        format!(
            "I1120 11:00:00.000000       1 a.go:1] \"Pod admission denied\" podUID=\"uid-web\" \
             pod=\"shop/web\" reason=\"OutOfcpu\" message=\"no\"{operation}\n"
        )
    };
    let runs = pod("web", |it| {
        it["status"]["containerStatuses"] = json!([{"name": "c", "state": {"running": {}}}]);
    });
    let refused = Cause::RefusedAtAdmission;
    for (name, pods, operation, cause, certainty) in [
        ("an addition", &[][..], " operation=\"add\"", refused, Certainty::Certain),
        ("not said which", &[], "", refused, Certainty::Likely),
        ("of a pod that runs", &[runs], "", Cause::NotKilled, Certainty::Certain),
    ] {
        let answer = ask(pods, Some(&[]), Some(&line(operation)));
        assert_eq!((answer.cause, answer.certainty), (cause, certainty), "{name}: {answer:?}");
    }
}

#[test]
fn a_pod_that_took_the_name_over_is_not_the_one_that_was_killed() {
    let killed = event("u1", "default-scheduler", "Preempted", "Preempted by shop/big on node n1");
    let own = event("uid-web", "kubelet", "Started", "Started container c");
    let answer = ask(&[pod("web", |_| {})], Some(&events(vec![own.clone(), killed.clone()])), None);
    assert_eq!((answer.cause, answer.uid.as_deref()), (Cause::PreemptedByScheduler, Some("u1")));
    assert!(
        !answer.exists && answer.basis.warnings[0].text.contains("another UID now"),
        "{answer:?}"
    );
    // Who was killed itself is asked about itself.
    let evicted = pod("web", ended("Evicted", ""));
    let answer = ask(&[evicted], Some(&events(vec![own, killed])), None);
    assert_eq!((answer.cause, answer.uid.as_deref()), (Cause::EvictedByKubelet, Some("uid-web")));
}

#[test]
fn what_nobody_knows_is_no_answer() {
    let two = [pod("web", |_| {}), {
        let mut other = pod("web", |_| {});
        other.metadata.namespace = "other".to_owned();
        other
    }];
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
    let lost = pod("web", |it| it["status"]["phase"] = json!("Unknown"));
    let answer = why("web", vec![&lost]).expect("an answer");
    assert!(
        answer.cause.is_open() && answer.basis.missing[0].text.contains("forbidden"),
        "{answer:?}"
    );
}

/// What became of the pod that a piece of evidence is about.
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
fn that_became(became: Became, condition: Option<&str>) -> Option<Pod> {
    use Became::*;
    let ended = |pod: &mut Value, phase: &str, at: &str| {
        pod["status"]["phase"] = json!(phase);
        pod["status"]["containerStatuses"] = json!([{"name": "c", "state": {"terminated": {
            "exitCode": 0, "reason": "Completed", "finishedAt": at}}}]);
    };
    let change = |it: &mut Value| {
        it["spec"]["restartPolicy"] = json!("Never");
        match became {
            Gone | RunsStill | Runs => {}
            Ended => ended(it, "Succeeded", "2026-11-20T11:00:05Z"),
            EndedBefore => ended(it, "Succeeded", "2026-11-20T10:00:00Z"),
            Deleted => it["metadata"]["deletionTimestamp"] = json!("2026-11-20T11:00:30Z"),
            DeletedLater => it["metadata"]["deletionTimestamp"] = json!("2026-11-20T11:30:30Z"),
        }
        if let Some(reason) = condition {
            it["status"]["conditions"] = json!([{
                "type": "DisruptionTarget", "status": "True", "reason": reason,
                "message": "Pod was preempted by Kubelet to accommodate a critical pod.",
                "lastTransitionTime": "2026-11-20T11:00:00Z"}]);
        }
    };
    (became != Gone).then(|| pod("web", change))
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
            let pods: Vec<Pod> = that_became(became, condition).into_iter().collect();
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

#[test]
fn a_critical_pod_is_not_the_reason_because_it_is_there() {
    let victim = pod("web", |it| {
        ended("Preempting", "Preempted in order to admit critical pod")(it);
        it["status"]["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
            "lastTransitionTime": "2026-11-20T11:00:00Z",
        }]);
    });
    let critical = |name: &str, start: &str| {
        pod(name, |it| {
            it["spec"]["priority"] = json!(2_000_000_000);
            it["status"]["startTime"] = json!(format!("2026-11-20T{start}Z"));
        })
    };
    let refused = pod("refused", |it| {
        ended("OutOfpods", "Pod was rejected: no room")(it);
        it["status"]["containerStatuses"] = json!([{"name": "c", "state": {"terminated": {
            "exitCode": 137, "finishedAt": "2026-11-20T11:00:02Z"}}}]);
    });
    let late = critical("late", "11:05:00");
    let answer = ask(&[victim.clone(), late], Some(&[]), None);
    assert_eq!(for_whom(&answer), [("shop/late", Certainty::Possible)], "minutes later");
    let before = critical("before", "09:00:00");
    let answer = ask(&[victim.clone(), before.clone()], Some(&[]), None);
    assert_eq!(for_whom(&answer), [], "it ran already");
    // A kubelet that restarted refused another pod that had run.
    let prompt = critical("prompt", "11:00:01");
    let answer = ask(&[victim, before, prompt, refused], Some(&[]), None);
    let possible = Certainty::Possible;
    assert_eq!(for_whom(&answer), [("shop/prompt", possible), ("shop/before", possible)]);
}
