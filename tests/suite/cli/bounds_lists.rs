//! No work is the product of two lists of a snapshot: of resources and pods, of devices and containers, of statuses and
//! what the checkpoint and the kubelet list.
//!
//! `fuzz_binary::pairs` looks for others. Each run is about half of the largest input, and has half of the time that
//! [`crate::fuzz_binary::run`] grants input below 1 MB.

use super::{folder_with, repository};
use crate::fuzz_binary::run::{CPU, run};
use serde_json::{Value, json};
use std::path::Path;

/// Commands that read what a snapshot has of pods, resources and devices.
const LINES: &[&str] = &[
    "doctor -ojson",
    "report",
    "devices list -ojson",
    "what-if kubelet-restart -ojson",
    "cgroup plan -ojson",
    "preempt explain new.json -ojson",
];

/// A pod that is to come, for which others have to go.
const NEW: &str = r#"{"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "new", "namespace": "ml", "uid": "new"},
    "spec": {"priority": 2000000000, "containers": [{"name": "c", "image": "i",
        "resources": {"requests": {"cpu": "3"}, "limits": {"example.com/gpu": "1"}}}]}}"#;

/// Runs commands on the example node after a change; `at_least`: how much of the largest file it makes.
#[track_caller]
fn bounded(name: &str, at_least: usize, lines: &[&str], change: impl FnOnce(&mut Value)) {
    let example = repository().join("examples/night/worker-3.json");
    let example = std::fs::read(example).expect("it can be read");
    let mut snapshot: Value = serde_json::from_slice(&example).expect("JSON");
    change(&mut snapshot);
    let text = snapshot.to_string();
    assert!((at_least..500_000).contains(&text.len()), "{name}: {} bytes", text.len());
    let folder = folder_with(&[("snapshot.json", text.as_str()), ("new.json", NEW)]);
    for line in lines {
        let line = format!("{line} --snapshot snapshot.json");
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let ran = run(Path::new(env!("CARGO_BIN_EXE_kq")), &arguments, folder.path(), None);
        let wrong = ran.wrong(line.contains("-ojson"));
        // Half of the largest input, in half of its time: a product of two lists takes a quarter.
        assert!(!ran.takes_more_than(CPU / 2), "{name}: kq {line}: {:?}", ran.cpu);
        let said: String = String::from_utf8_lossy(&ran.stderr).chars().take(1_000).collect();
        assert!(wrong.is_empty(), "{name}: kq {line}: {wrong:?}: {said}");
        assert!(!said.contains("MiB of memory"), "{name}: kq {line}: {said}");
        assert!(matches!(ran.status.code(), Some(0 | 1 | 3)), "{name}: kq {line}: {said}");
    }
}

/// The list of the pods.
fn pods(snapshot: &mut Value) -> &mut Vec<Value> {
    snapshot["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods")
}

/// The pod that has a device.
fn train(snapshot: &mut Value) -> &mut Value {
    let mut all = pods(snapshot).iter_mut();
    let found = all.find(|it| it["pod"]["metadata"]["name"] == "train-0");
    &mut found.expect("the pod is there")["pod"]
}

/// A pod with as little as there can be.
fn small(snapshot: &mut Value, at: usize, resources: &Value) -> Value {
    let source = pods(snapshot)[0]["source"].clone();
    let metadata = json!({"name": format!("p{at}"), "namespace": "d", "uid": format!("u{at}")});
    let spec = json!({
        "nodeName": "worker-3", "containers": [{"name": "c", "resources": resources}],
    });
    json!({
        "pod": {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}},
        "source": source,
    })
}

fn resources(count: usize) -> Value {
    // Not in the order of the names.
    let name = |at: usize| format!("e.x/r{}", at * 7_919 % count);
    (0..count).map(|at| (name(at), json!("1"))).collect::<serde_json::Map<_, _>>().into()
}

/// Gives the node so many devices, all of them healthy.
fn devices(snapshot: &mut Value, count: usize) {
    let ids: Vec<String> = (0..count).map(|at| format!("g{at}")).collect();
    let facts = &mut snapshot["devices"];
    let told = &mut facts["podResources"]["found"]["value"]["allocatable"]["found"]["value"];
    told["devices"] =
        json!([{"resourceName": "example.com/gpu", "deviceIds": ids, "numaNodes": [0]}]);
    facts["checkpoint"]["found"]["value"]["registered"]["example.com/gpu"] = json!(ids);
    for amounts in ["capacity", "allocatable"] {
        snapshot["node"]["found"]["value"]["status"][amounts]["example.com/gpu"] =
            count.to_string().into();
    }
}

#[test]
fn a_probe_may_have_very_many_headers() {
    bounded("headers", 100_000, &["doctor", "doctor ml/train-0", "probe lint"], |snapshot| {
        let container = &mut train(snapshot)["spec"]["containers"][0];
        let headers = vec![json!({}); 35_000];
        container["livenessProbe"] = json!({"httpGet": {"port": 80, "httpHeaders": headers}});
    });
}

#[test]
fn a_configuration_may_have_very_many_warnings() {
    bounded("warnings", 300_000, LINES, |snapshot| {
        snapshot["kubeletConfig"]["found"]["value"]["notes"] = json!(vec!["a"; 75_000]);
    });
}

#[test]
fn a_pod_may_ask_for_very_many_resources() {
    bounded("resources", 400_000, LINES, |snapshot| {
        let own = &mut train(snapshot)["spec"]["containers"][0]["resources"];
        *own = json!({"requests": resources(13_500), "limits": resources(13_500)});
    });
}

#[test]
fn many_resources_and_many_pods_are_no_product() {
    bounded("resources and pods", 400_000, LINES, |snapshot| {
        let all = resources(3_500);
        let on_node = &mut snapshot["node"]["found"]["value"]["status"]["allocatable"];
        let on_node = on_node.as_object_mut().expect("amounts");
        on_node.extend(all.as_object().expect("amounts").clone());
        train(snapshot)["spec"]["containers"][0]["resources"] = json!({"requests": all});
        for at in 0..950 {
            let own = json!({format!("e.x/r{at}"): "1"});
            let pod = small(snapshot, at, &json!({"requests": own, "limits": own}));
            pods(snapshot).push(pod);
        }
    });
}

#[test]
fn many_devices_and_many_containers_are_no_product() {
    let own = json!({"example.com/gpu": "1"});
    for (count, containers) in [(7_500, 1_000), (9_500, 100)] {
        bounded("devices and containers", 150_000, LINES, |snapshot| {
            devices(snapshot, count);
            let spec = &mut train(snapshot)["spec"];
            let all = spec["containers"].as_array_mut().expect("containers");
            let container = |at| json!({"name": format!("c{at}"), "resources": {"limits": own}});
            all.extend((0..containers).map(container));
        });
    }
    bounded("devices and pods", 400_000, LINES, |snapshot| {
        devices(snapshot, 6_000);
        for at in 0..950 {
            let pod = small(snapshot, at, &json!({"requests": own, "limits": own}));
            pods(snapshot).push(pod);
        }
    });
}

#[test]
fn statuses_checkpoint_and_pod_resources_are_no_product() {
    bounded("containers by statuses", 250_000, LINES, |snapshot| {
        let pod = train(snapshot);
        for at in 0..7_000 {
            let named = json!({"name": format!("c{at}")});
            pod["spec"]["containers"].as_array_mut().expect("a list").push(named.clone());
            // The last container has the first status.
            pod["status"]["containerStatuses"].as_array_mut().expect("a list").insert(0, named);
        }
    });
    bounded("containers by their devices", 400_000, LINES, |snapshot| {
        let uid = train(snapshot)["metadata"]["uid"].clone();
        for at in 0..1_450 {
            let name = format!("c{at}");
            let pod = train(snapshot);
            let lists = [("spec", "containers"), ("status", "containerStatuses")];
            for (part, list) in lists {
                pod[part][list].as_array_mut().expect("a list").push(json!({"name": name}));
            }
            let facts = &mut snapshot["devices"];
            let entries = &mut facts["checkpoint"]["found"]["value"]["entries"];
            entries.as_array_mut().expect("a list").push(json!({
                "podUid": uid, "containerName": name, "resourceName": "example.com/gpu",
                "deviceIds": {"0": [format!("d{at}")]}, "answer": "withheld",
            }));
            let told = &mut facts["podResources"]["found"]["value"]["pods"][0]["containers"];
            told.as_array_mut().expect("a list").push(json!({
                "name": name, "cpuIds": [], "memory": [], "devices": [{
                    "resourceName": "example.com/gpu", "deviceIds": [format!("d{at}")],
                    "numaNodes": [0],
                }],
            }));
        }
    });
    for is_known in [true, false] {
        bounded("pods by what the kubelet lists", 350_000, LINES, |snapshot| {
            for at in 0..750 {
                let pod = small(snapshot, at, &json!({}));
                pods(snapshot).push(pod);
                let facts = &mut snapshot["devices"];
                let entries = &mut facts["checkpoint"]["found"]["value"]["entries"];
                entries.as_array_mut().expect("a list").push(json!({
                    "podUid": format!("u{at}"), "containerName": "c",
                    "resourceName": "example.com/gpu", "deviceIds": {"0": [format!("d{at}")]},
                    "answer": "withheld",
                }));
                let told = &mut facts["podResources"]["found"]["value"]["pods"];
                told.as_array_mut().expect("a list").push(json!({
                    "name": format!("p{at}"), "namespace": "d", "containers": [{
                        "name": "c", "cpuIds": [], "memory": [], "devices": [{
                            "resourceName": "example.com/gpu", "deviceIds": [format!("d{at}")],
                            "numaNodes": [0],
                        }],
                    }],
                }));
            }
            if !is_known {
                // Pods are found by the devices that they have.
                snapshot["runtime"] = super::lookups::not_asked();
                for pod in pods(snapshot).iter_mut() {
                    pod["pod"]["metadata"]["name"] = "other".into();
                }
            }
        });
    }
}

#[test]
fn sidecars_and_init_containers_share_their_sums() {
    bounded("sidecars", 200_000, LINES, |snapshot| {
        let sidecar = |at: usize| {
            let own = json!({format!("e.x/r{at}"): "1"});
            json!({"name": format!("s{at}"), "restartPolicy": "Always",
                   "resources": {"requests": own, "limits": own}})
        };
        train(snapshot)["spec"]["initContainers"] = (0..2_000).map(sidecar).collect();
    });
    bounded("a sidecar before init containers", 200_000, LINES, |snapshot| {
        let sidecar = json!({"name": "s", "restartPolicy": "Always",
                             "resources": {"requests": resources(6_000)}});
        let init = (0..6_000).map(|at| json!({"name": format!("i{at}")}));
        train(snapshot)["spec"]["initContainers"] = std::iter::once(sidecar).chain(init).collect();
    });
}

#[test]
fn too_many_choices_are_refused_with_the_limit() {
    let example = repository().join("examples/night/worker-3.json");
    let example = std::fs::read(example).expect("it can be read");
    let mut snapshot: Value = serde_json::from_slice(&example).expect("JSON");
    devices(&mut snapshot, 15_000);
    let mut new: Value = serde_json::from_str(NEW).expect("JSON");
    let container = |at| {
        json!({"name": format!("c{at}"), "image": "i",
               "resources": {"limits": {"example.com/gpu": "1"}}})
    };
    new["spec"]["containers"] = (0..2_000).map(container).collect();
    let files = [("snapshot.json", snapshot.to_string()), ("new.json", new.to_string())];
    let folder = folder_with(&files);
    let line = "devices plan new.json --snapshot snapshot.json -ojson";
    let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let ran = run(Path::new(env!("CARGO_BIN_EXE_kq")), &arguments, folder.path(), None);
    let wrong = ran.wrong(true);
    assert!(wrong.is_empty(), "{wrong:?}: {}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.status.code(), Some(3), "{}", String::from_utf8_lossy(&ran.stderr));
    let said =
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("choose among more than 1000000 devices"), "{said}");
}
