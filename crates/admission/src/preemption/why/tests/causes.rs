//! The cause, by each kind of evidence alone.

use super::*;

#[test]
fn each_status_has_its_cause() {
    use Cause::*;
    use Certainty::{Certain, Likely, Possible};
    let oom = |phase: &str, state: &str| {
        let end = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137}});
        web().phase(phase).statuses(json!([{"name": "c", state: end}]))
    };
    let low = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi.";
    let rows: Vec<(&str, Object, Cause, Certainty)> = vec![
        ("running", web(), NotKilled, Certain),
        ("ended", web().phase("Succeeded"), Ended, Likely),
        ("failed", ended("", ""), Ended, Likely),
        ("failed, out of memory", oom("Failed", "state"), OutOfMemory, Certain),
        ("restarted, out of memory", oom("Running", "lastState"), OutOfMemory, Certain),
        ("what came before the end", oom("Failed", "lastState"), Ended, Likely),
        ("its node was lost", ended("NodeLost", ""), Unknown, Possible),
        ("lost", web().phase("Unknown"), Unknown, Possible),
        ("deleted", web().deleted("2026-11-20T11:00:30Z"), Deleted, Likely),
        (
            "preempted by the kubelet",
            ended("Preempting", "Preempted in order to admit critical pod"),
            PreemptedByKubelet,
            Certain,
        ),
        ("evicted", ended("Evicted", low), EvictedByKubelet, Certain),
        (
            "refused for pressure",
            ended("Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "),
            RefusedAtAdmission,
            Certain,
        ),
        (
            "refused by an older kubelet",
            ended("Evicted", "Pod The node had condition: [DiskPressure]. "),
            RefusedAtAdmission,
            Certain,
        ),
        ("no room", ended("OutOfcpu", ""), RefusedAtAdmission, Certain),
        ("no labels", ended("NodeAffinity", ""), RefusedAtAdmission, Certain),
        (
            "some other check",
            ended("NewCheck", "Pod was rejected: no"),
            RefusedAtAdmission,
            Certain,
        ),
        (
            "shut down",
            ended("Terminated", "Pod was terminated in response to imminent node shutdown."),
            NodeShutdown,
            Certain,
        ),
        (
            "refused by a node that shuts down",
            ended("NodeShutdown", "Pod was rejected as the node is shutting down."),
            RefusedAtAdmission,
            Certain,
        ),
        ("too long", ended("DeadlineExceeded", ""), DeadlineExceeded, Certain),
        ("a program's own reason", ended("Mine", ""), Ended, Likely),
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
        let mut disrupted = disrupted(reason, message);
        // The kubelet writes its own with a final phase.
        if reason == "TerminationByKubelet" {
            disrupted = disrupted.phase("Failed");
        }
        let answer = ask(&[disrupted], Some(&[]), None);
        assert_eq!(answer.cause, cause, "{reason}: {message}");
        let is_sure = answer.certainty == Certainty::Certain;
        assert_eq!(is_sure, cause != Deleted, "{reason}: {message}");
    }
    // The reason of the status adds to the condition.
    let evicted = disrupted("TerminationByKubelet", "of a later kubelet").phase("Failed");
    let evicted = evicted.set("/status/reason", "Evicted");
    assert_eq!(ask(&[evicted], Some(&[]), None).cause, EvictedByKubelet);
    let stays = disrupted("PreemptionByScheduler", "").deleted(Value::Null);
    let answer = ask(std::slice::from_ref(&stays), Some(&[]), None);
    assert_eq!((answer.cause, answer.certainty), (NotKilled, Certainty::Likely), "an hour later");
    let mut no_more = stays;
    no_more["status"]["conditions"][0]["status"] = json!("False");
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
    let answer = ask(&[web()], Some(&told), None);
    let expected = (Cause::NotKilled, Certainty::Likely);
    assert_eq!((answer.cause, answer.certainty), expected, "{answer:?}");
    // A file with the pod may be older than the event.
    let web: Pod = web().read();
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
fn a_pod_that_had_run_was_not_taken_in_again() {
    let refused = ended("NodeAffinity", "Pod was rejected: no");
    let status = json!([{"name": "c", "state": {"terminated": {"exitCode": 137}}}]);
    let had_run = refused.clone().statuses(status);
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
    let runs = web().statuses(json!([{"name": "c", "state": {"running": {}}}]));
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
