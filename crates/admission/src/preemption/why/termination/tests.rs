//! The end of a pod by its containers.

use super::*;
use crate::objects;
use serde_json::{Value, json};

fn end(code: i32, reason: &str, at: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason, "finishedAt": format!("2026-11-20T{at}Z")}})
}

fn pod(phase: &str, state: Value, last: Value, restarts: i32) -> Pod {
    let status = json!({"name": "c", "state": state, "lastState": last, "restartCount": restarts});
    let pod = objects::pod("web").set("/spec/restartPolicy", "Never").phase(phase);
    pod.statuses(json!([status])).read()
}

fn at(time: &str) -> Timestamp {
    format!("2026-11-20T{time}Z").parse().expect("a time")
}

fn cause_at(now: &str, pod: &Pod, events: &[&PodEvent], lines: &[&LogLine]) -> TerminationCause {
    classify(&Observations::new(Some(pod), true, Some(at(now))), events, lines)
}

fn killing(message: &str) -> PodEvent {
    PodEvent {
        reason: "Killing".to_owned(),
        message: message.to_owned(),
        reporter: "kubelet".to_owned(),
        at: Some("2026-11-20T11:00:00.7Z".parse().expect("a time")),
        ..PodEvent::default()
    }
}

#[test]
fn a_pod_is_judged_by_its_containers() {
    use Cause::*;
    use Certainty::{Certain, Likely, Possible};
    let none = || json!({});
    for (name, pod, cause, certainty) in [
        ("failed", pod("Failed", end(3, "Error", "11:00:00"), none(), 0), Ended, Certain),
        ("SIGKILL", pod("Failed", end(137, "Error", "11:00:00"), none(), 0), Ended, Likely),
        ("SIGTERM", pod("Failed", end(143, "Error", "11:00:00"), none(), 0), Ended, Likely),
        (
            "not known how",
            pod("Failed", end(255, "ContainerStatusUnknown", "11:00:00"), none(), 0),
            Unknown,
            Possible,
        ),
        ("none failed", pod("Failed", end(0, "Completed", "11:00:00"), none(), 0), Ended, Likely),
        (
            "out of memory",
            pod("Failed", end(137, "OOMKilled", "11:00:00"), none(), 0),
            OutOfMemory,
            Certain,
        ),
        (
            "a process of it because memory ran out",
            pod("Failed", end(1, "OOMKilled", "11:00:00"), none(), 0),
            OutOfMemory,
            Likely,
        ),
        ("SEGV", pod("Failed", end(139, "Error", "11:00:00"), none(), 0), Ended, Certain),
        ("ended well", pod("Succeeded", end(0, "Completed", "11:00:00"), none(), 0), Ended, Likely),
        ("lives", pod("Running", none(), none(), 0), NotKilled, Certain),
        ("crashed", pod("Running", none(), end(1, "Error", "11:00:00"), 9), Restarted, Certain),
        ("was killed", pod("Running", none(), end(137, "Error", "11:00:00"), 1), Restarted, Likely),
        ("not said how", pod("Running", none(), none(), 1), Restarted, Likely),
        (
            "waits for its next start",
            pod("Running", json!({"waiting": {}}), end(1, "Error", "11:00:00"), 0),
            ContainerEnded,
            Certain,
        ),
        (
            "ended alone",
            pod("Running", end(3, "Error", "11:00:00"), none(), 0),
            ContainerEnded,
            Certain,
        ),
        (
            "ended after a restart",
            pod("Running", end(137, "Error", "11:00:00"), end(1, "Error", "10:00:00"), 1),
            ContainerEnded,
            Likely,
        ),
        (
            "never ran",
            pod("Running", json!({"waiting": {}}), end(128, "StartError", "11:00:00"), 4),
            ContainerEnded,
            Certain,
        ),
        (
            "never ran, and failed",
            pod("Failed", end(128, "StartError", "11:00:00"), none(), 0),
            Ended,
            Certain,
        ),
        (
            "exited with 0",
            pod("Running", none(), end(0, "Completed", "11:00:00"), 1),
            Restarted,
            Likely,
        ),
    ] {
        let found = cause_at("12:00:00", &pod, &[], &[]);
        assert_eq!((found.cause, found.certainty), (cause, certainty), "{name}: {found:?}");
        let is_of_container = !matches!(name, "lives" | "none failed" | "ended well");
        assert_eq!(found.because.container().is_some(), is_of_container, "{name}");
    }
    let mut lost = pod("Running", json!({}), json!({}), 0);
    lost.status.reason = "NodeLost".to_owned();
    lost.metadata.deletion_timestamp = Some("2026-11-20T11:00:30Z".to_owned());
    assert_eq!(cause_at("12:00:00", &lost, &[], &[]).cause, Unknown);
}

#[test]
fn a_final_phase_is_explained_by_the_restart_policy_or_not() {
    use Cause::*;
    use Certainty::{Certain, Likely};
    for (policy, phase, code, cause, certainty) in [
        ("Always", "Succeeded", 0, EndedByKubelet, Likely),
        ("Always", "Failed", 3, EndedByKubelet, Likely),
        ("OnFailure", "Succeeded", 0, Ended, Likely),
        ("OnFailure", "Failed", 3, EndedByKubelet, Likely),
        ("Never", "Succeeded", 0, Ended, Likely),
        ("Never", "Failed", 3, Ended, Certain),
        ("", "Failed", 3, Ended, Likely),
    ] {
        let mut pod = pod(phase, end(code, "Error", "11:00:00"), json!({}), 0);
        pod.spec.restart_policy = policy.to_owned();
        let found = cause_at("12:00:00", &pod, &[], &[]);
        assert_eq!((found.cause, found.certainty), (cause, certainty), "{policy} {phase}");
        // Rules of the container's own may end it.
        pod.spec.containers[0].restart_policy = Some("Never".to_owned());
        let found = cause_at("12:00:00", &pod, &[], &[]);
        assert_eq!((found.cause, found.certainty), (Ended, Likely), "{policy} {phase}");
    }
    let mut probed = pod("Failed", end(3, "Error", "11:00:00"), json!({}), 0);
    probed.spec.containers[0].liveness_probe = Some(Box::default());
    let found = cause_at("12:00:00", &probed, &[], &[]);
    assert_eq!((found.cause, found.certainty), (Ended, Likely), "{found:?}");
    // What is deleted after it ended, ended before.
    let mut done = pod("Failed", end(3, "Error", "11:00:00"), json!({}), 0);
    done.metadata.deletion_timestamp = Some("2026-11-20T11:30:30Z".to_owned());
    assert_eq!(cause_at("12:00:00", &done, &[], &[]).cause, Ended);
    done.metadata.deletion_timestamp = Some("2026-11-20T11:00:20Z".to_owned());
    assert_eq!(cause_at("12:00:00", &done, &[], &[]).cause, Deleted);
}

#[test]
fn what_a_probe_did_is_told_from_what_came_later() {
    use Cause::*;
    use Certainty::{Certain, Likely};
    let running = |last: Value, restarts: i32| pod("Running", json!({}), last, restarts);
    let liveness = "Container c failed liveness probe, will be restarted";
    for (name, pod, message, cause, certainty, probe) in [
        (
            "within its grace period",
            running(end(137, "Error", "11:00:30"), 3),
            liveness,
            RestartedByProbe,
            Certain,
            Some("liveness"),
        ),
        (
            "in the second of the event",
            running(end(0, "Completed", "11:00:00"), 1),
            "Init container c failed startup probe",
            RestartedByProbe,
            Certain,
            Some("startup"),
        ),
        (
            "stops still",
            running(json!({}), 0),
            liveness,
            RestartedByProbe,
            Likely,
            Some("liveness"),
        ),
        (
            "crashed later",
            running(end(1, "Error", "11:10:00"), 4),
            liveness,
            Restarted,
            Certain,
            None,
        ),
        (
            "want of memory before",
            running(end(137, "OOMKilled", "10:50:00"), 1),
            liveness,
            RestartedByProbe,
            Likely,
            Some("liveness"),
        ),
        (
            "want of memory later",
            running(end(137, "OOMKilled", "11:00:20"), 2),
            liveness,
            OutOfMemory,
            Certain,
            None,
        ),
        (
            "not restarted",
            pod("Failed", end(143, "Error", "11:00:02"), json!({}), 0),
            "Container c failed liveness probe",
            EndedByProbe,
            Certain,
            Some("liveness"),
        ),
        (
            "not restarted, ended well",
            pod("Succeeded", end(0, "Completed", "11:00:02"), json!({}), 0),
            "Container c failed liveness probe",
            EndedByProbe,
            Certain,
            Some("liveness"),
        ),
        ("stopped", running(json!({}), 0), "Stopping container c", NotKilled, Certain, None),
        (
            "readiness",
            running(json!({}), 0),
            "Container c failed readiness probe",
            NotKilled,
            Certain,
            None,
        ),
    ] {
        let event = killing(message);
        let found = cause_at("11:00:40", &pod, &[&event], &[]);
        assert_eq!((found.cause, found.certainty), (cause, certainty), "{name}: {found:?}");
        assert_eq!(found.because.probe(), probe, "{name}");
        let mut other = event.clone();
        other.reporter = "somebody".to_owned();
        assert_eq!(cause_at("11:00:40", &pod, &[&other], &[]).because.probe(), None, "{name}");
    }
    let line = LogLine {
        stamp: String::new(),
        pod: "/web".to_owned(),
        uid: String::new(),
        says: LogEntry::Event { reason: "Killing".to_owned(), message: liveness.to_owned() },
    };
    let found = cause_at("12:00:00", &running(json!({}), 1), &[], &[&line]);
    assert_eq!((found.cause, found.certainty), (RestartedByProbe, Likely));
    assert!(found.because.to_string().ends_with("(kubelet log)"), "{found:?}");
    // Of several restarts, a line without a time that can be compared explains only an end by a signal.
    for (code, cause) in [(137, RestartedByProbe), (1, Restarted)] {
        let found =
            cause_at("12:00:00", &running(end(code, "Error", "11:00:00"), 5), &[], &[&line]);
        assert_eq!(found.cause, cause, "{code}");
    }
}

#[test]
fn a_probe_did_not_cause_what_came_before_it() {
    let pod = pod("Running", json!({}), end(1, "Error", "10:50:00"), 3);
    let event = killing("Container c failed liveness probe, will be restarted");
    for (now, cause, certainty) in [
        ("11:00:20", Cause::RestartedByProbe, Certainty::Likely),
        ("11:10:00", Cause::Restarted, Certainty::Certain),
    ] {
        let found = cause_at(now, &pod, &[&event], &[]);
        assert_eq!((found.cause, found.certainty), (cause, certainty), "{now}: {found:?}");
    }
}
