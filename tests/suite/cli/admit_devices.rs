//! A pod that gets no devices is refused by the device manager, before the predicates and whoever could be killed:
//! the same answer from every command, and from every source that tells of devices.

use super::{Ran, folder_with, kq};
use crate::objects::{self, Object};
use kq_facts::checkpoint::device::{DeviceCheckpoint, PodDevicesEntry};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tempfile::TempDir;

const GPU: &str = "example.com/gpu";
const FILES: &str = "--pods pods.json --node-file node.json";

/// A node with 2 CPUs, and so many devices that are healthy and that there are.
fn node(healthy: u32, all: u32) -> Object {
    let node = objects::node("n").capacity(&format!("{GPU}={all}"));
    node.allocatable(&format!("{GPU}={healthy}")).version("v1.36.2")
}

fn pod(name: &str, gpus: u32, cpu: &str) -> Object {
    let amounts = format!("cpu={cpu},{GPU}={gpus}");
    objects::pod(name).requests(&amounts).limits(&amounts)
}

/// A pod that runs, with devices.
fn running(name: &str, gpus: u32, cpu: &str) -> Object {
    let state = json!({"running": {"startedAt": "2026-11-22T10:00:00Z"}});
    let pod = pod(name, gpus, cpu).on("n").created("2026-11-22T10:00:00Z");
    pod.statuses(json!([{"name": "c", "state": state}]))
}

/// A critical pod that is to come.
fn new(gpus: u32, cpu: &str) -> Object {
    pod("new", gpus, cpu).uid("").priority(2_000_000_000).set("/status", json!({}))
}

/// Returns a checkpoint: who has which devices, and which are healthy.
fn checkpoint(held: &[(&str, &[&str])], healthy: &[&str]) -> String {
    let ids = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
    let entry = |(pod, devices): &(&str, &[&str])| PodDevicesEntry {
        pod_uid: (*pod).to_owned(),
        container_name: "c".to_owned(),
        resource_name: GPU.to_owned(),
        device_ids: Some([(0, ids(devices))].into()),
        alloc_resp: Some(Vec::new()),
    };
    let registered = match healthy {
        [] => BTreeMap::new(),
        _ => [(GPU.to_owned(), ids(healthy))].into(),
    };
    let entries = held.iter().map(entry).collect::<Vec<_>>();
    let checkpoint = DeviceCheckpoint {
        entries: (!entries.is_empty()).then_some(entries),
        registered: Some(registered),
    };
    String::from_utf8(checkpoint.to_bytes()).expect("a text")
}

/// What a kubelet answers on its pod-resources socket.
fn pod_resources(held: &[(&str, &str)], healthy: &[&str]) -> Value {
    let devices = |ids: &[&str]| json!([{"resource_name": GPU, "device_ids": ids}]);
    let pod = |(pod, id): &(&str, &str)| {
        json!({"name": pod, "namespace": "default",
            "containers": [{"name": "c", "devices": devices(&[*id])}]})
    };
    json!({
        "List": {"pod_resources": held.iter().map(pod).collect::<Vec<_>>()},
        "GetAllocatableResources": {"devices": devices(healthy)},
    })
}

fn folder(node: &Object, pods: &[Object], new: &Object, more: &[(&str, String)]) -> TempDir {
    let nodes = objects::list([node.clone()]);
    let mut files = vec![
        ("node.json", node.to_string()),
        ("nodes.json", nodes.to_string()),
        ("pods.json", objects::list(pods.iter().cloned()).to_string()),
        ("new.json", new.to_string()),
    ];
    files.extend(more.iter().cloned());
    folder_with(&files)
}

fn ask(folder: &TempDir, line: &str) -> Ran {
    kq(line).within(folder.path()).run()
}

fn refusal(said: &str) -> String {
    format!("Allocate failed due to {said}, which is unexpected")
}

fn unavailable(requested: u32, available: u32) -> String {
    refusal(&format!(
        "requested number of devices unavailable for {GPU}. Requested: {requested}, Available: {available}"
    ))
}

#[test]
fn too_few_devices_are_refused_by_the_device_manager_and_nobody_is_killed() {
    let pods = ["a", "b"].map(|name| running(name, 1, "100m"));
    let healthy = ["g0", "g1"];
    let files = [
        ("full", checkpoint(&[("a", &["g0"]), ("b", &["g1"])], &healthy)),
        ("sick", checkpoint(&[("a", &["g0"]), ("b", &["g1"])], &[])),
        ("told.json", pod_resources(&[("a", "g0"), ("b", "g1")], &healthy).to_string()),
    ];
    let none_healthy =
        refusal(&format!("no healthy devices present; cannot allocate unhealthy devices {GPU}"));
    let unregistered = refusal(&format!("cannot allocate unregistered device {GPU}"));
    for (name, node, sources, expected) in [
        ("the checkpoint", node(2, 2), "--checkpoint full", unavailable(1, 0)),
        ("the pod-resources API", node(2, 2), "--pod-resources told.json", unavailable(1, 0)),
        ("the Node object alone", node(2, 2), "", unavailable(1, 0)),
        ("no plugin any more", node(2, 2), "--checkpoint sick", unregistered.clone()),
        ("a plugin that stopped", node(0, 2), "--checkpoint full", none_healthy.clone()),
        ("a Node object that counts none", node(0, 2), "", none_healthy),
        ("a Node object that kept the name", node(0, 0), "", unregistered),
    ] {
        let folder = folder(&node, &pods, &new(1, "100m"), &files);
        let ran = ask(&folder, &format!("admit explain new.json {FILES} {sources} -o json"));
        let admission: Value = ran.answer();
        assert_eq!(ran.code, 1, "{name}: {}", ran.text());
        assert_eq!(admission["refusals"][0]["reason"], "UnexpectedAdmissionError", "{name}");
        assert_eq!(admission["refusals"][0]["message"], expected, "{name}");
        let check = admission["checks"].as_array().expect("a list");
        let failed: Vec<&Value> = check.iter().filter(|it| it["result"] == "FAIL").collect();
        assert!(matches!(&*failed, [one] if one["check"] == "devices"), "{name}: {failed:?}");

        let ran = ask(&folder, &format!("preempt explain new.json {FILES} {sources} -o json"));
        let preemption: Value = ran.answer();
        assert_eq!((ran.code, &preemption["result"]), (1, &json!("refused")), "{name}");
        assert_eq!(preemption["refusals"][0]["message"], expected, "{name}: {preemption}");
        assert_eq!(preemption["victims"], json!([]), "{name}: {preemption}");
        let is_sure = !sources.is_empty();
        let assumed = preemption["assumptions"].to_string();
        assert_eq!(!assumed.contains("nor a victim is certain"), is_sure, "{name}: {assumed}");

        let line = format!("preempt apply new.json {FILES} {sources} --dry-run -o json");
        let ran = ask(&folder, &line);
        assert_eq!(ran.code, 1, "{name}: {}", ran.text());
        assert!(!ran.stdout.contains("default/a"), "{name}: {}", ran.stdout);

        if sources.starts_with("--") && !name.contains("stopped") {
            let ran = ask(&folder, &format!("devices plan new.json {FILES} {sources} -o json"));
            assert_eq!(
                ran.answer::<Value>()["pods"][0]["message"],
                expected,
                "{name}: {}",
                ran.text()
            );
        }
    }
}

#[test]
fn each_node_of_a_cluster_is_asked_for_devices_first() {
    let pods = [running("a", 1, "100m"), running("b", 1, "1900m")];
    for (name, gpus, wanted, cpu, result, message) in [
        ("too few", 2, 1, "100m", "refused", Some(unavailable(1, 0))),
        ("enough", 3, 1, "0", "fits", None),
        ("enough, but too few CPUs", 3, 1, "100m", "preempts", None),
        ("more than there are", 3, 4, "100m", "refused", Some(unavailable(4, 1))),
    ] {
        let folder = folder(&node(gpus, gpus), &pods, &new(wanted, cpu), &[]);
        let line =
            "preempt explain new.json --all-nodes --pods pods.json --node-file nodes.json -o json";
        let ran = ask(&folder, line);
        let answer = &ran.answer::<Value>()["nodes"][0];
        assert_eq!(answer["result"], result, "{name}: {}", ran.text());
        let is_told = ran.stdout.contains("neither the answer nor a victim is certain");
        assert!(is_told, "{name}: {}", ran.text());
        if let Some(message) = message {
            assert!(answer.to_string().contains(&message), "{name}: {answer}");
            assert!(!answer.to_string().contains("default/a"), "{name}: {answer}");
        }
    }
    let folder = folder(&node(2, 2), &pods, &new(1, "0"), &[]);
    for flag in ["--checkpoint", "--pod-resources"] {
        let line = format!("preempt explain new.json --all-nodes --node-file nodes.json {flag} x");
        let ran = ask(&folder, &line);
        assert_eq!(ran.code, 2, "{}", ran.text());
        assert!(ran.stderr.contains(&format!("{flag} applies to one node")), "{}", ran.stderr);
    }
}

#[test]
fn what_no_plugin_offers_is_compared_by_the_predicates() {
    // An operator put the resource into the status of the node: the device manager does not know it.
    let pods = ["a", "b"].map(|name| running(name, 1, "100m"));
    let files = [("empty", checkpoint(&[], &[]))];
    let folder = folder(&node(2, 2), &pods, &new(1, "100m"), &files);
    let line = format!("preempt explain new.json {FILES} --checkpoint empty -o json");
    let answer = ask(&folder, &line).answer::<Value>();
    assert_eq!(answer["result"], "preempts", "{answer}");
    assert_eq!(answer["requirements"][0]["resource"], GPU, "{answer}");
    let folder = self::folder(&node(2, 2), &pods, &new(1, "100m").priority(0), &files);
    let line = format!("admit explain new.json {FILES} --checkpoint empty -o json");
    let answer = ask(&folder, &line).answer::<Value>();
    assert_eq!(answer["refusals"][0]["reason"], format!("OutOf{GPU}"), "{answer}");
}

#[test]
fn a_pod_with_devices_is_compared_with_those_that_are_allocated() {
    // Two pods ask for devices that nobody allocated to them: the device manager has free ones, and the
    // predicates count requests.
    let pods = ["a", "b"].map(|name| running(name, 1, "100m"));
    for (name, held, expected) in [
        ("nothing is allocated", &[][..], ("preempts", 2)),
        ("one is", &[("a", &["g0"][..])][..], ("preempts", 2)),
    ] {
        let files = [("known", checkpoint(held, &["g0", "g1"]))];
        let folder = folder(&node(2, 2), &pods, &new(1, "100m"), &files);
        let line = format!("preempt explain new.json {FILES} --checkpoint known -o json");
        let answer = ask(&folder, &line).answer::<Value>();
        let compared = answer["admission"]["resources"].as_array().expect("a list");
        let gpu = compared.iter().find(|it| it["resource"] == GPU).expect("it is compared");
        assert_eq!(
            (&answer["result"], &gpu["allocatable"]),
            (&json!(expected.0), &json!(expected.1)),
            "{name}: {answer}"
        );
    }
}

#[test]
fn nobody_is_evicted_where_devices_are_not_known() {
    let pods = [running("a", 1, "1900m")];
    let folder = folder(
        &node(2, 2),
        &pods,
        &new(1, "1"),
        &[("one", checkpoint(&[("a", &["g0"])], &["g0", "g1"]))],
    );
    for (sources, is_known) in [("", false), ("--checkpoint one", true)] {
        let line = format!("preempt explain new.json {FILES} {sources} -o json");
        let answer = ask(&folder, &line).answer::<Value>();
        assert_eq!(answer["victims"][0]["pod"], "default/a", "{answer}");
        let line = format!("preempt apply new.json {FILES} {sources} --dry-run -o json");
        let ran = ask(&folder, &line);
        assert_eq!(ran.code, if is_known { 0 } else { 3 }, "{}", ran.text());
        let missing = ran.answer::<Value>()["missing"].to_string();
        assert_eq!(!missing.contains("the devices of example.com/gpu"), is_known, "{missing}");
    }
    // A file stands still, and apply looks again: it is for a dry run.
    let ran = ask(&folder, "preempt apply new.json --checkpoint one --yes");
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("--checkpoint"), "{}", ran.stderr);
}

#[test]
fn a_restart_is_as_it_was_recorded() {
    // Recorded with a kubelet 1.36.2: the device of `widget` was allocated or forgotten, and its container ran
    // or was dead while the kubelet was down.
    let none_healthy =
        refusal(&format!("no healthy devices present; cannot allocate unhealthy devices {GPU}"));
    let out_of =
        format!("Node didn't have enough resource: {GPU}, requested: 1, used: 0, capacity: 0");
    let held = checkpoint(&[("widget", &["w1"])], &["w1", "w2", "w3"]);
    let forgotten = checkpoint(&[], &["w1", "w2", "w3"]);
    for (name, checkpoint, runs, expected) in [
        ("it runs with its device", &held, true, None),
        ("its container is dead", &held, false, Some(("UnexpectedAdmissionError", none_healthy))),
        ("its device is forgotten", &forgotten, true, Some(("OutOfexample.com/gpu", out_of))),
    ] {
        let mut widget = running("widget", 1, "5m");
        if !runs {
            let ended = json!({"terminated": {"exitCode": 137}});
            widget["status"]["containerStatuses"][0]["state"] = ended;
        }
        let files = [("known", checkpoint.clone())];
        let folder = folder(&node(3, 3), &[widget], &new(0, "0"), &files);
        let line = format!("admit explain --kubelet-restart {FILES} --checkpoint known -o json");
        let ran = ask(&folder, &line);
        let item = &ran.answer::<Value>()["items"][0];
        let refusal = &item["refusals"][0];
        match expected {
            None => {
                assert_eq!((ran.code, &item["result"]), (0, &json!("admitted")), "{name}: {item}")
            }
            Some((reason, message)) => {
                assert_eq!((ran.code, &item["result"]), (1, &json!("refused")), "{name}: {item}");
                assert_eq!(
                    (&refusal["reason"], &refusal["message"]),
                    (&json!(reason), &json!(message)),
                    "{name}"
                );
            }
        }
        let ran = ask(
            &folder,
            &format!("devices plan --kubelet-restart {FILES} --checkpoint known -o json"),
        );
        let planned = &ran.answer::<Value>()["pods"][0];
        assert_eq!(planned["admitted"], runs, "{name}: {planned}");
    }
}

#[test]
fn a_count_is_no_answer_where_it_decides_who_holds_what_is_unhealthy() {
    let holder = running("one", 1, "0");
    for (name, node, code) in [
        ("all are healthy, and one is held", node(2, 2), 0),
        ("one is healthy, and it may be the one that is held", node(1, 2), 3),
        ("two are healthy, so one is free in any case", node(2, 3), 0),
        ("none is healthy", node(0, 2), 1),
    ] {
        let folder = folder(&node, std::slice::from_ref(&holder), &new(1, "0"), &[]);
        for command in ["admit explain", "preempt explain"] {
            let ran =
                kq(&format!("{command} new.json {FILES} -o json")).within(folder.path()).run();
            assert_eq!(ran.code, code, "{command}: {name}: {}", ran.text());
            let said = ran.stdout.contains("which pods hold the unhealthy devices");
            assert_eq!(said, code == 3, "{command}: {name}: {}", ran.text());
        }
    }
}
