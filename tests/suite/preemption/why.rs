//! Who killed the pods of the recordings, and for whom, from what was left of them.

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
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.text())))
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
