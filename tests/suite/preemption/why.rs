//! The killers of the recordings' pods, and the preemptors, from the traces that they left.

use super::folder;
use crate::cli::kq;
use serde_json::{Value, json};

/// The command.
pub const COMMAND: &str = "preempt why";

/// Writes the recorded events as the API server has them.
fn events(recording: &str) -> String {
    let text = std::fs::read_to_string(folder(recording).join("events.txt")).expect("a recording");
    let event = |line: &str| {
        let mut parts = line.splitn(6, ' ');
        let mut part = || parts.next().unwrap_or_else(|| panic!("{line}"));
        let (at, kind, pod, reason, _, message) = (part(), part(), part(), part(), part(), part());
        let (namespace, name) = pod.split_once('/').expect("a qualified name");
        json!({
            "kind": "Event", "type": kind, "reason": reason, "message": message, "eventTime": at,
            "involvedObject": {"kind": "Pod", "namespace": namespace, "name": name},
            "source": {"component": if reason == "Scheduled" { "default-scheduler" } else { "kubelet" }},
        })
    };
    json!({"kind": "List", "items": text.lines().map(event).collect::<Vec<_>>()}).to_string()
}

fn why(recording: &str, pod: &str, more: &str) -> (i32, Value) {
    let line = format!("{COMMAND} {pod} --events - -o json {more}");
    let ran = kq(&line).stdin(events(recording)).within(folder(recording)).run();
    (ran.code, ran.answer())
}

#[test]
fn the_victim_was_killed_for_the_critical_pod() {
    const CRITICAL: &str = "kube-system/pre-node-critical-300m-node-a";
    for (more, cause, for_whom) in [
        ("", "likely", None),
        // There it still runs.
        ("--pods pods-before.json", "possible", None),
        ("--pods pods-after.json", "certain", Some("likely")),
        ("--kubelet-log kubelet-log.txt", "certain", Some("certain")),
        ("--pods pods-after.json --kubelet-log kubelet-log.txt", "certain", Some("certain")),
    ] {
        let (code, answer) = why("victim", "burst-high-500", more);
        assert_eq!(answer["cause"], "preemptedByKubelet", "{more}: {answer}");
        assert_eq!((code, &answer["certainty"]), (0, &json!(cause)), "{more}");
        let preemptors = answer["preemptors"].as_array().expect("a list");
        let found: Vec<_> = preemptors.iter().map(|it| (&it["pod"], &it["certainty"])).collect();
        let expected = for_whom.map(|certainty| (json!(CRITICAL), json!(certainty)));
        let expected: Vec<_> = expected.iter().map(|(pod, certainty)| (pod, certainty)).collect();
        assert_eq!(found, expected, "{more}: {answer}");
        let is_named = for_whom == Some("certain");
        assert_eq!(answer["missing"].to_string().contains("for which pod"), !is_named, "{answer}");
    }
}

#[test]
fn nobody_else_was_killed() {
    for (recording, pods) in
        [("victim", &["be-1", "burst-200", "guar-400"][..]), ("not-enough", &["be-1"])]
    {
        for pod in pods {
            let more = "--pods pods-after.json --kubelet-log kubelet-log.txt";
            let (code, answer) = why(recording, pod, more);
            assert_eq!(
                (code, &answer["cause"]),
                (1, &json!("notKilled")),
                "{recording} {pod}: {answer}"
            );
        }
    }
}

#[test]
fn the_pod_without_room_was_refused() {
    let more = "--pods pods-after.json --kubelet-log kubelet-log.txt";
    let (code, answer) = why("not-enough", "kube-system/pre-node-critical-5cpu-node-a", more);
    assert_eq!((code, &answer["cause"]), (1, &json!("refusedAtAdmission")), "{answer}");
    let sources = answer["evidence"].as_array().expect("a list");
    let sources: Vec<_> = sources.iter().map(|it| &it["source"]).collect();
    assert_eq!(sources, [&json!("event"), &json!("kubeletLog")]);
}

/// What is left of pods at restarts of a kubelet 1.36.2: `tests/preemption/ends`.
fn ends(recording: &str) -> (String, String, String) {
    let path = folder("ends").join(format!("{recording}.json"));
    let text = std::fs::read_to_string(path).expect("a recording");
    let parts: Value = serde_json::from_str(&text).expect("JSON");
    let list =
        |items: &Value| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let log =
        parts["log"].as_array().expect("lines").iter().map(|line| line.as_str().expect("text"));
    (list(&parts["pods"]), list(&parts["events"]), log.collect::<Vec<_>>().join("\n"))
}

#[test]
fn what_a_restart_of_the_kubelet_did_is_told_as_surely_as_it_is_known() {
    const REFUSED: &str = "refusedAtAdmission";
    const PREEMPTED: &str = "preemptedByKubelet";
    const EVICTED: &str = "evictedByKubelet";
    // With the pods alone, with events, with the log.
    let rows = [
        (
            "system-reserved-up",
            "podlevel",
            [(3, "endedByKubelet likely"), (1, REFUSED), (1, REFUSED)],
        ),
        ("system-reserved-up", "crash", [(1, REFUSED); 3]),
        ("system-reserved-up", "guar", [(1, "notKilled"); 3]),
        ("max-pods-down", "be", [(0, PREEMPTED); 3]),
        ("max-pods-down", "crit", [(1, "notKilled"); 3]),
        ("max-pods-down", "sidecar", [(3, "endedByKubelet likely"), (1, REFUSED), (1, REFUSED)]),
        ("max-pods-down", "defer", [(1, REFUSED); 3]),
        ("max-pods-down", "done", [(1, "ended likely"); 3]),
        ("memory-pressure", "be", [(1, REFUSED); 3]),
        ("memory-pressure", "defer", [(1, EVICTED); 3]),
        ("memory-pressure", "never", [(1, EVICTED); 3]),
        ("allocated-deleted", "defer", [(1, REFUSED); 3]),
        // Without a line of the log.
        (
            "deprecated-flag",
            "be",
            [(3, "endedByKubelet likely"), (1, REFUSED), (3, "endedByKubelet likely")],
        ),
        ("taint-noexecute", "hostport", [(3, "endedByKubelet likely"), (1, REFUSED), (1, REFUSED)]),
        ("taint-noexecute", "burst", [(1, REFUSED); 3]),
        ("taint-noexecute", "tol", [(1, "notKilled"); 3]),
        ("containers-killed", "guar", [(1, "restarted likely"); 3]),
        ("containers-killed", "burst", [(1, "restarted likely"); 3]),
        ("containers-killed", "crash", [(1, "containerEnded"); 3]),
    ];
    for (recording, pod, expected) in rows {
        let (pods, events, log) = ends(recording);
        let files = [("pods.json", pods), ("events.json", events), ("log", log)];
        let node = crate::cli::folder_with(&files);
        let sources = ["", "--events events.json", "--kubelet-log log"];
        for (more, (code, expected)) in sources.into_iter().zip(expected) {
            if more == "--kubelet-log log" && files[2].1.is_empty() {
                continue;
            }
            let line = format!("{COMMAND} default/{pod} --pods pods.json {more} -o json");
            let ran = kq(&line).within(node.path()).run();
            let answer: Value = ran.answer();
            let (cause, certainty) = expected.split_once(' ').unwrap_or((expected, "certain"));
            let found = (ran.code, &answer["cause"], &answer["certainty"]);
            assert_eq!(
                found,
                (code, &json!(cause), &json!(certainty)),
                "{recording} {pod} {more}: {answer}"
            );
            let is_named = !answer["missing"].as_array().expect("a list").is_empty();
            assert!(is_named || certainty == "certain" || more.contains("log"), "{answer}");
        }
    }
    // The kubelet restarted, so every critical pod of the node may be the one, and nothing names it.
    let (pods, ..) = ends("max-pods-down");
    let node = crate::cli::folder_with(&[("pods.json", pods)]);
    let ran = kq(&format!("{COMMAND} be --pods pods.json -o json")).within(node.path()).run();
    let answer: Value = ran.answer();
    let preemptors = answer["preemptors"].as_array().expect("a list");
    assert!(preemptors.iter().all(|it| it["certainty"] == "possible"), "{answer}");
    assert!(preemptors.iter().any(|it| it["pod"] == "default/crit"), "{answer}");
}
