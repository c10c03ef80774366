//! A restart of the kubelet without another change, as each command that knows of it foretells it.

use super::recording::{Recording, scenarios};
use super::{asked, prepare};
use crate::cli::terminal::at_terminal;
use crate::cli::{Run, folder_with, kq, repository};
use kq_core::question::what_if::NodeState;
use kq_core::what_if::PodResult;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Returns what becomes of each pod: whether it stays, and why not.
fn ends(answer: &Value) -> BTreeMap<String, (bool, String, String)> {
    let end = |item: &Value| {
        let refusal = item.get("refusals").map_or(item, |refusals| &refusals[0]);
        let text = |field: &str| refusal[field].as_str().unwrap_or_default().trim().to_owned();
        let result = item["result"].as_str().unwrap_or_default();
        let is_lost = ["refused", "killed", "preempted"].contains(&result);
        let (reason, message) = match result {
            "refused" => (text("reason"), text("message")),
            _ => Default::default(),
        };
        (item["pod"].as_str().expect("a pod").to_owned(), (is_lost, reason, message))
    };
    let items = answer["pods"].as_array().or_else(|| answer["items"].as_array());
    items.expect("pods").iter().map(end).collect()
}

fn json(run: Run) -> Value {
    let ran = run.run();
    ran.answer()
}

#[test]
fn the_commands_of_one_domain_give_the_same_answer() {
    let mut nodes: Vec<(String, String)> =
        ["examples/night/worker-3.json", "examples/devices/snapshot.json"]
            .map(|path| {
                (path.to_owned(), fs::read_to_string(repository().join(path)).expect("an example"))
            })
            .into();
    for scenario in scenarios() {
        let mut node = Recording::of(&scenario).node();
        prepare(&scenario, &mut node);
        nodes.push((scenario, serde_json::to_string(&node.snapshot).expect("a snapshot")));
    }
    let (mut refused, mut with_devices) = (0, 0);
    for (name, snapshot) in &nodes {
        let folder = folder_with(&[("node.json", snapshot)]);
        let ask = |command: &str| {
            json(kq(&format!("{command} --snapshot node.json -o json")).within(folder.path()))
        };
        let whole = ask("what-if kubelet-restart");
        if whole["kubeletStarts"] == false {
            continue;
        }
        let whole = ends(&whole);
        let admitted = ends(&ask("admit explain --kubelet-restart"));
        assert_eq!(whole, admitted, "{name}");
        refused += whole.values().filter(|(is_lost, ..)| *is_lost).count();
        let plan = ask("devices plan --kubelet-restart");
        for pod in plan["pods"].as_array().expect("pods") {
            let text = |field: &str| pod[field].as_str().unwrap_or_default().trim().to_owned();
            let pod_name = format!("{}/{}", text("namespace"), text("name"));
            let (is_lost, reason, message) = &whole[&pod_name];
            let planned = pod["outlook"]["verdict"] == "refused";
            with_devices += 1;
            // Without capacity, the pod is rejected before its devices are requested.
            assert!(
                planned == *is_lost || reason.starts_with("OutOf"),
                "{name}: {pod_name}: {reason}"
            );
            if planned && !reason.starts_with("OutOf") {
                assert_eq!((reason, message), (&text("reason"), &text("message")), "{name}");
            }
        }
    }
    assert!(refused >= 2 && with_devices > nodes.len() / 2, "{refused} {with_devices}");
}

#[test]
fn a_pod_of_a_plugin_that_listens_is_left_open() {
    const POD: &str = "default/widget";
    let node = |scenario: &str| -> NodeState {
        let mut node = Recording::of(scenario).node();
        prepare(scenario, &mut node);
        node
    };
    let one = |node: &NodeState, line: &str| {
        let answer = asked(node, line);
        answer.pods.into_iter().find(|it| it.pod == POD).expect("the pod")
    };
    let stopped = node("17b-plugin-gone-container-dead");
    let open = one(&stopped, "kubelet-restart");
    assert_eq!((open.result, &*open.or_else), (PodResult::Refused, &[PodResult::Restarts][..]));
    let why = open.depends_on.expect("what decides");
    assert!(why.contains("plugin of example.com/widget registers before"), "{why}");
    let gone = one(&stopped, "kubelet-restart plugin gone example.com/widget");
    assert_eq!((gone.result, &*gone.or_else), (PodResult::Refused, &[][..]));
    let running = one(&node("17-plugin-gone-and-back"), "kubelet-restart");
    assert_eq!((running.result, &*running.or_else), (PodResult::Kept, &[][..]));
}

#[test]
fn findings_of_any_restart_share_a_line() {
    let line = |change: &str| format!("what-if {change} --snapshot examples/night/worker-3.json");
    let ask = |change: &str| at_terminal(&line(change), &repository(), 200, &[]).stdout;
    let folded = "also at any restart: qos-cgroups-reset, readiness, image-gc (-v)";
    let own = "allocatable pods: 110 becomes 50";
    let table = ask("set maxPods=50");
    assert!(table.contains(folded) && table.contains(own), "{table}");
    assert!(!table.contains("first collection"), "{table}");
    assert!(!kq(&line("set maxPods=50")).run().stdout.contains(folded), "a pipe has all");
    // All of them, where the restart is the change, and where all are asked for.
    for line in ["kubelet-restart", "set maxPods=50 -v", "set maxPods=50 -o wide"] {
        let table = ask(line);
        assert!(table.contains("first collection") && !table.contains("at any restart"), "{table}");
    }
    // A collection that the change makes larger is the change's.
    let more = ask("set imageGCLowThresholdPercent=40 set imageGCHighThresholdPercent=50");
    assert!(more.contains("first collection"), "{more}");
    let json = ask("set maxPods=50 -o json");
    for rule in ["qos-cgroups-reset", "readiness", "image-gc"] {
        assert!(json.contains(&format!("\"id\": \"{rule}\"")), "{json}");
    }
}
