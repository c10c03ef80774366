//! How long `kq what-if` takes once the facts are there: a node of 110 pods with cgroups, images and statistics.

#![expect(clippy::disallowed_methods, reason = "the example is a file")]

use criterion::{Criterion, criterion_group, criterion_main};
use kq_core::question::what_if::{ChangeFiles, NodeState, what_if};
use kq_core::what_if::parse;
use kq_facts::overrides::Overrides;
use kq_facts::snapshot::Snapshot;
use serde_json::{Map, Value};
use std::hint::black_box;

const PODS: usize = 110;

/// The example's node with as many copies of its pods, each with its sandbox, its containers and its cgroups.
fn snapshot(is_full: bool, same_second: bool) -> Snapshot {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/night/worker-3.json");
    let text = std::fs::read(path).expect("the example is there");
    let mut node: Value = serde_json::from_slice(&text).expect("it is JSON");
    let found = |node: &Value, path: &str| node.pointer(path).cloned().expect("it is found");
    let pods_at = "/pods/found/value/pods";
    let Value::Array(pods) = found(&node, pods_at) else { panic!("pods") };
    let mut copies = Vec::new();
    let mut items: [(&str, &str, Vec<Value>); 2] = [
        ("/runtime/found/value/sandboxes/found/value", "uid", Vec::new()),
        ("/runtime/found/value/containers/found/value", "podUid", Vec::new()),
    ];
    let cgroups_at = "/cgroups/found/value/cgroups";
    let Value::Object(cgroups) = found(&node, cgroups_at) else { panic!("cgroups") };
    let mut all: Map<String, Value> = cgroups
        .iter()
        .filter(|(path, _)| !path.contains("/pod"))
        .map(|(path, values)| (path.clone(), values.clone()))
        .collect();
    for number in 0..PODS {
        let pod = &pods[number % pods.len()];
        let uid = pod["pod"]["metadata"]["uid"].as_str().expect("a UID");
        let name = pod["pod"]["metadata"]["name"].as_str().expect("a name");
        let copied = |value: &Value| -> Value {
            let text = value.to_string();
            let text = text.replace(uid, &format!("{number:08x}{}", &uid[8..]));
            let text = text.replace(&format!("\"{name}\""), &format!("\"{name}-{number}\""));
            serde_json::from_str(&text).expect("it is JSON")
        };
        let mut copy = copied(pod);
        let second = if same_second { 0 } else { number };
        let created = format!("2026-11-18T09:{:02}:{:02}Z", second / 60, second % 60);
        copy["pod"]["metadata"]["creationTimestamp"] = created.into();
        copies.push(copy);
        for (path, field, into) in &mut items {
            let Value::Array(list) = found(&node, path) else { panic!("{path}") };
            for item in list.iter().filter(|item| item[&**field] == *uid) {
                let mut item = copied(item);
                for id in ["id", "sandboxId"] {
                    if let Some(old) = item.get(id).and_then(Value::as_str) {
                        item[id] = format!("{number:08x}{}", &old[8..]).into();
                    }
                }
                into.push(item);
            }
        }
        for (path, values) in cgroups.iter().filter(|(path, _)| path.contains(uid)) {
            let path = path.replace(uid, &format!("{number:08x}{}", &uid[8..]));
            let path = match path.rsplit_once('/') {
                Some((pod, id)) if id.len() == 64 => format!("{pod}/{number:08x}{}", &id[8..]),
                _ => path,
            };
            all.insert(path, values.clone());
        }
    }
    if !is_full {
        for list in ["capacity", "allocatable"] {
            let status = node.pointer_mut(&format!("/node/found/value/status/{list}"));
            let status = status.expect("it is found");
            for (name, amount) in [("cpu", "96"), ("memory", "512Gi"), ("example.com/gpu", "110")] {
                status[name] = amount.into();
            }
        }
    }
    *node.pointer_mut(pods_at).expect("it is found") = Value::Array(copies);
    for (path, _, list) in items {
        *node.pointer_mut(path).expect("it is found") = Value::Array(list);
    }
    *node.pointer_mut(cgroups_at).expect("it is found") = Value::Object(all);
    serde_json::from_value(node).expect("a snapshot")
}

fn state(is_full: bool, same_second: bool) -> NodeState {
    NodeState::of(snapshot(is_full, same_second), Overrides::default()).expect("a node")
}

fn changes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("what-if of 110 pods");
    group.sample_size(20);
    for (name, is_full, same_second, line) in [
        ("a restart", false, false, "kubelet-restart"),
        ("an upgrade", false, false, "kubelet-version 1.36 set systemReserved.cpu=300m"),
        ("a restart that refuses pods", true, false, "kubelet-restart"),
        ("the same with pods of one second", true, true, "kubelet-restart"),
    ] {
        let node = state(is_full, same_second);
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let changes = parse(&words).expect("changes");
        let files = ChangeFiles::default();
        let ask = || what_if(black_box(&node), &changes, &files).expect("an answer");
        assert_eq!(ask().pods.len(), PODS);
        group.bench_function(name, |bencher| bencher.iter(ask));
    }
    group.finish();
}

criterion_group!(benches, changes);
criterion_main!(benches);
