//! What is given to `kq admit` and `kq preempt` and does not fit together, or is not what it seems.

use super::made_up_node::{Kernel, Node};
use super::{Ran, folder_with, kq};
use crate::objects::{Object, list, node, pod};
use serde_json::{Value, json};
use std::path::Path;

const NIGHT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/night/worker-3.json");

/// Describes the pod that comes.
fn new() -> Object {
    pod("shop/new").uid("").requests("cpu=1").priority(2_000_000_000)
}

fn workload(kind: &str, replicas: Option<u8>) -> Object {
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": new()["spec"]});
    let workload = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    });
    workload.into()
}

fn ask(line: &str, files: &[(&str, Object)]) -> Ran {
    let files: Vec<_> = files.iter().map(|(name, value)| (*name, value.to_string())).collect();
    kq(line).within(folder_with(&files).path()).run()
}

#[test]
fn facts_of_two_nodes_are_no_answer() {
    assert!(Path::new(NIGHT).is_file());
    let numbered = node("worker-3").set("/status/nodeInfo/machineID", "0123");
    let files = [
        ("new.json", new()),
        ("n1.json", node("n1")),
        ("worker-3.json", node("worker-3")),
        ("numbered.json", numbered),
        ("pods.json", list([pod("shop/a").on("n1")])),
    ];
    let of_two = "n1.json is the Node object of n1, and ";
    for (flags, code, said) in [
        ("--pods pods.json --node-file n1.json", 0, ""),
        ("--pods pods.json --node-file n1.json --node-name n1", 0, ""),
        (
            "--pods pods.json --node-file n1.json --node-name n2",
            2,
            "--node-name n2: n1.json is the",
        ),
        (&format!("--snapshot {NIGHT}"), 0, ""),
        (&format!("--snapshot {NIGHT} --node-name worker-3"), 0, ""),
        (&format!("--snapshot {NIGHT} --node-name worker-9"), 2, "is of node worker-3"),
        (&format!("--snapshot {NIGHT} --node-file worker-3.json"), 0, ""),
        (&format!("--snapshot {NIGHT} --node-file n1.json"), 2, of_two),
        (&format!("--snapshot {NIGHT} --pods pods.json --node-file n1.json"), 2, of_two),
        ("--host-root /nowhere --snapshot x.json", 2, "cannot be used with"),
    ] {
        let ran = ask(&format!("preempt explain new.json {flags}"), &files);
        assert_eq!(ran.code, code, "{flags}: {}", ran.text());
        assert!(ran.stderr.contains(said), "{flags}: {}", ran.text());
        assert_eq!(code == 2, ran.stdout.is_empty(), "{flags}: {}", ran.text());
    }
    // Another machine than that of the Node object.
    let made = Node::new(Kernel::V2);
    let line = format!("preempt explain new.json --host-root {}", made.root().display());
    let ran = ask(&format!("{line} --node-file n1.json"), &files);
    assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.text());
    for said in ["n1.json is the Node object of n1, and this machine is ", "hint: --node-name n1 "]
    {
        assert!(ran.stderr.contains(said), "{}", ran.text());
    }
    let ran = ask(&format!("{line} --node-file n1.json --node-name n1 --pods pods.json"), &files);
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn pods_of_other_nodes_are_none_of_this_one() {
    let files = [
        ("new.json", new()),
        ("node.json", node("n1")),
        ("elsewhere.json", list([pod("shop/a").on("n2"), pod("shop/b").on("n3")])),
        ("empty.json", list([])),
    ];
    for command in ["admit", "preempt"] {
        let line = format!("{command} explain new.json --node-file node.json --pods");
        let ran = ask(&format!("{line} elsewhere.json"), &files);
        assert_eq!((ran.code, &*ran.stdout), (3, ""), "{}", ran.text());
        let said = "no pods of node n1: all are on other nodes, such as n2";
        assert!(ran.stderr.contains(said), "{}", ran.text());
        let ran = ask(&format!("{line} empty.json"), &files);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stderr.contains("has no items"), "{}", ran.text());
    }
}

#[test]
fn a_workload_is_one_of_its_pods_and_no_static_one() {
    let files = [
        ("deployment.json", workload("Deployment", Some(2))),
        ("daemon-set.json", workload("DaemonSet", None)),
        ("list.json", list([new()])),
        ("node.json", node("n1")),
        ("pods.json", list([pod("shop/a").on("n1")])),
    ];
    let flags = "--node-file node.json --pods pods.json";
    for (file, said) in [
        ("deployment.json", "assumed: the answer is for Deployment web: one pod of 2"),
        ("daemon-set.json", "assumed: the answer is for DaemonSet web: one pod"),
        ("list.json", ""),
    ] {
        let ran = ask(&format!("admit explain {file} {flags}"), &files);
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert!(ran.stderr.contains(said), "{}", ran.text());
        let ran = ask(&format!("admit explain {file} --static {flags}"), &files);
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.text());
        assert!(ran.stderr.contains("and the kubelet takes a Pod alone"), "{}", ran.text());
    }
}

#[test]
fn a_name_that_nobody_has_was_another_one() {
    let files = [
        ("node.json", node("n1")),
        ("pods.json", list([pod("shop/web-7d9f").on("n1"), pod("shop/db-0").on("n1")])),
    ];
    for (asked, hint) in [
        ("shop/web", "did you mean shop/web-7d9f?"),
        ("deployment/web", "did you mean shop/web-7d9f?"),
        ("default/db-0", "did you mean shop/db-0?"),
        ("db-1", "did you mean shop/db-0?"),
        ("something", "for a file, give its path"),
        (".", ". is a folder: name a file in it"),
    ] {
        let line = format!("preempt explain {asked} --node-file node.json --pods pods.json");
        let ran = ask(&line, &files);
        assert_eq!(ran.code, 2, "{}", ran.text());
        assert!(ran.stderr.contains(hint), "{}", ran.text());
    }
}

#[test]
fn a_priority_that_the_api_server_refuses_is_named() {
    let with = |class: &str, priority: Value| {
        new().priority(priority).set("/spec/priorityClassName", class)
    };
    for (new, said) in [
        (
            with("system-node-critical", json!(5)),
            "system-node-critical is 2000001000, and spec.priority is 5",
        ),
        (with("system-node-critcal", Value::Null), "did you mean system-node-critical?"),
    ] {
        let files = [("new.json", new), ("node.json", node("n1")), ("pods.json", list([]))];
        let ran = ask("admit explain new.json --node-file node.json --pods pods.json", &files);
        assert!(ran.stderr.contains(said), "{}", ran.text());
    }
}

#[test]
fn pods_that_run_and_are_not_in_the_files_are_missing() {
    let stored = std::fs::read(NIGHT).expect("the snapshot of the examples");
    let stored: Value = serde_json::from_slice(&stored).expect("JSON");
    let sandboxes = stored["runtime"]["found"]["value"]["sandboxes"]["found"]["value"].as_array();
    assert!(sandboxes.is_some_and(|all| all.len() > 1), "the runtime tells of pods");
    let files = [("new.json", new()), ("pods.json", list([pod("shop/a").on("worker-3")]))];
    for question in ["preempt explain new.json", "admit explain new.json"] {
        let ran = ask(&format!("{question} --snapshot {NIGHT} --pods pods.json"), &files);
        assert_eq!(ran.code, 3, "{}", ran.text());
        let said = "missing: the specifications of ";
        assert!(ran.stderr.contains(said), "{}", ran.text());
    }
    for question in ["preempt why shop/checkout-6d5f7", "evict rank --signal memory"] {
        let ran = ask(&format!("{question} --snapshot {NIGHT} --node-name worker-9"), &files);
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{question}: {}", ran.text());
        assert!(ran.stderr.contains("--node-name worker-9: "), "{}", ran.text());
    }
}
