//! The pod that is meant, where several had its name or none.

use super::*;

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
