//! The pod for which another was preempted.

use super::*;

const NOMINATED: &str = "/status/nominatedNodeName";

/// Describes the pod in question as the kubelet leaves it.
fn preempted() -> Object {
    ended("Preempting", "Preempted in order to admit critical pod")
}

/// The same with the time at which it was preempted.
fn preempted_at_eleven() -> Object {
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
        "lastTransitionTime": "2026-11-20T11:00:00Z",
    });
    preempted().set("/status/conditions", json!([condition]))
}

fn critical(name: &str, start: &str) -> Object {
    shop(name).priority(2_000_000_000).started(&format!("2026-11-20T{start}Z"))
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
    assert_eq!(ask(&[web()], None, Some(&other)).uid.as_deref(), Some("uid-of-another"));
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
    let big = shop("big").set(NOMINATED, "n1");
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
        disrupted("PreemptionByScheduler", "").uid("u1"),
        objects::pod("shop/nominated").priority(200).phase("Pending").set(NOMINATED, "n1"),
        shop("nominated-elsewhere").priority(200).set(NOMINATED, "n2"),
        shop("after").priority(200).started("2026-11-20T11:00:40Z"),
        shop("no-higher").started("2026-11-20T11:00:40Z"),
        shop("much-later").priority(200).started("2026-11-20T11:10:41Z"),
    ];
    let answer = ask(&pods, Some(&events), None);
    let possible = Certainty::Possible;
    assert_eq!(for_whom(&answer), [("shop/nominated", possible), ("shop/after", possible)]);
}

#[test]
fn critical_pods_that_start_right_after_are_candidates() {
    let alone = [
        preempted_at_eleven(),
        critical("dns", "11:00:00"),
        critical("elsewhere", "11:00:01").on("n2"),
        critical("before", "10:59:50"),
        critical("much-later", "11:10:01"),
        shop("not-critical").started("2026-11-20T11:00:00Z"),
    ];
    let answer = ask(&alone, Some(&[]), None);
    assert_eq!(for_whom(&answer), [("shop/dns", Certainty::Likely)]);
    assert!(answer.basis.missing[0].to_string().contains("--kubelet-log"), "{:?}", answer.basis);
    let two = [&alone[..], &[critical("proxy", "11:00:20")]].concat();
    let possible = Certainty::Possible;
    assert_eq!(
        for_whom(&ask(&two, Some(&[]), None)),
        [("shop/dns", possible), ("shop/proxy", possible)]
    );
}

#[test]
fn of_a_candidate_it_is_said_what_makes_it_less_sure() {
    let known = preempted().statuses(json!([{"name": "c", "state": {"terminated": {
        "exitCode": 137, "reason": "Error", "finishedAt": "2026-11-20T11:00:30Z"}}}]));
    let critical = critical("dns", "11:00:40");
    let told =
        [event("uid-web", "kubelet", "Preempting", "Preempted in order to admit critical pod")];
    let told = events(told.to_vec());
    let refused = critical.clone().phase("Failed").set("/status/reason", "NodePorts");
    let nowhere = known.clone().on("");
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
fn a_critical_pod_is_not_the_reason_because_it_is_there() {
    let victim = preempted_at_eleven();
    let refused = ended("OutOfpods", "Pod was rejected: no room").statuses(json!([
        {"name": "c", "state": {"terminated": {
            "exitCode": 137, "finishedAt": "2026-11-20T11:00:02Z"}}},
    ]));
    let refused = refused.set("/metadata/name", "refused").uid("uid-refused");
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
