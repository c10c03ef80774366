//! kq foresees what a recorded kubelet did when it was short of CPUs for a critical pod.
//!
//! The recordings are in `tests/preemption`: the node and its pods before, the pod that was to come, what
//! the kubelet wrote to its log, and what kq answers (`SNAPSHOTS=overwrite cargo test` writes that).

use crate::cli::kq;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Preemptors and victims.
mod why;

/// Commands for each, from files alone.
pub const MORE: &[(&str, &str, &[&str])] = &[
    (
        "admit-explain-of-files",
        "admit explain preemptor.json --pods pods-before.json --node-file node.json",
        &["table", "wide", "json", "yaml"],
    ),
    (
        "admit-explain-restart",
        "admit explain --kubelet-restart --pods pods-before.json --node-file node.json",
        &["table", "wide", "json", "yaml"],
    ),
    (
        "preempt-explain-of-files",
        "preempt explain preemptor.json --pods pods-before.json --node-file node.json",
        &["table", "wide", "json", "yaml"],
    ),
];

pub const RECORDINGS: [&str; 2] = ["victim", "not-enough"];

pub fn folder(recording: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preemption").join(recording)
}

fn log(recording: &str) -> String {
    std::fs::read_to_string(folder(recording).join("kubelet-log.txt")).expect("a recording")
}

fn explain(command: &str, recording: &str) -> (i32, Value) {
    let line =
        format!("{command} preemptor.json --pods pods-before.json --node-file node.json -o json");
    let ran = kq(&line).within(folder(recording)).run();
    (ran.code, ran.answer())
}

/// Returns what stands between two texts.
fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

#[test]
fn the_victims_are_those_of_the_kubelet() {
    let mut compared = 0;
    for recording in RECORDINGS {
        let (code, answer) = explain("preempt explain", recording);
        let log = log(recording);
        let killed: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("\"Preempting pod to free up resources\""))
            .filter_map(|line| between(line, " pod=\"", "\""))
            .collect();
        let victims: Vec<&str> = answer["victims"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|victim| victim["pod"].as_str())
            .collect();
        assert_eq!(victims, killed, "{recording}");
        assert_eq!(code, i32::from(killed.is_empty()), "{recording}");
        compared += killed.len();
    }
    assert_eq!(compared, 1);
}

#[test]
fn what_is_missing_is_what_the_kubelet_logged() {
    let (_, answer) = explain("preempt explain", "victim");
    let log = log("victim");
    let logged = between(&log, "insufficientResources=\"", "\"").expect("it was logged");
    let missing = &answer["requirements"][0];
    let told = format!(
        "[(res: {}, q: {}), ]",
        missing["resource"].as_str().expect("a name"),
        missing["quantity"]
    );
    assert_eq!(told, logged);
}

#[test]
fn a_refusal_has_the_kubelets_reason_and_message() {
    let (code, answer) = explain("preempt explain", "not-enough");
    let log = log("not-enough");
    let denied =
        log.lines().find(|line| line.contains("\"Pod admission denied\"")).expect("logged");
    let logged = |key: &str| between(denied, &format!(" {key}=\""), "\"").expect("logged");
    assert_eq!(answer["refusals"][0]["reason"], logged("reason"));
    assert_eq!(answer["refusals"][0]["message"], logged("message"));
    assert_eq!((code, &answer["result"]), (1, &"notEnough".into()));
}

#[test]
fn the_ledger_adds_up_to_what_the_kubelet_used() {
    for recording in RECORDINGS {
        let (_, answer) = explain("admit explain", recording);
        for (at, compared) in answer["resources"].as_array().expect("a list").iter().enumerate() {
            let of_pods: i64 = answer["ledger"]
                .as_array()
                .expect("a list")
                .iter()
                .filter(|line| line["counts"] == true)
                .filter_map(|line| line["amounts"][at]["amount"].as_i64())
                .sum();
            assert_eq!(compared["used"], of_pods, "{recording}: {}", compared["resource"]);
        }
    }
}
