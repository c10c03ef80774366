//! What the managers of CPUs and devices remember: changes and the commands that ask them agree.

use super::{kq, repository};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const GIVEN: &str = "--host-root root --node-file node.json --pods pods.json";

/// Returns a folder with a machine of 8 CPUs on two NUMA nodes, of which 0 and 4 are reserved and 3, 6 and 7 are free, and
/// with 3 devices, of which g1 is free.
fn machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let case = repository().join("tests/cases/admit-cpu-manager");
    copy(&case.join("root"), &folder.path().join("root"));
    let kubelet = folder.path().join("root/var/lib/kubelet");
    fs::create_dir_all(kubelet.join("device-plugins")).expect("a folder");
    let write = |path: &Path, text: String| fs::write(path, text).expect("a file");
    write(
        &kubelet.join("config.yaml"),
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
         reservedSystemCPUs: '0,4'\n"
            .to_owned(),
    );
    write(
        &kubelet.join("cpu_manager_state"),
        json!({
            "policyName": "static", "defaultCpuSet": "0,3-4,6-7",
            "entries": {"u-g3": {"c": "1-2,5"}}, "checksum": 0,
        })
        .to_string(),
    );
    let checkpoint = "{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u-g3\",\"ContainerName\":\"c\",\
        \"ResourceName\":\"example.com/gpu\",\"DeviceIDs\":{\"1\":[\"g2\"]},\"AllocResp\":null},\
        {\"PodUID\":\"u-ini\",\"ContainerName\":\"i\",\"ResourceName\":\"example.com/gpu\",\"DeviceIDs\":{\"0\":[\"g0\"]},\
        \"AllocResp\":null},{\"PodUID\":\"u-ini\",\"ContainerName\":\"c\",\"ResourceName\":\"example.com/gpu\",\
        \"DeviceIDs\":{\"0\":[\"g0\"]},\"AllocResp\":null}],\"RegisteredDevices\":{\"example.com/gpu\":[\"g0\",\"g1\",\"g2\"]}},\
        \"Checksum\":1573942674}";
    write(&kubelet.join("device-plugins/kubelet_internal_checkpoint"), checkpoint.to_owned());
    let mut node: Value =
        serde_json::from_str(&fs::read_to_string(case.join("node.json")).expect("the node"))
            .expect("JSON");
    for (list, count) in [("capacity", "4"), ("allocatable", "3")] {
        node["status"][list]["example.com/gpu"] = count.into();
    }
    let name = node["metadata"]["name"].clone();
    write(&folder.path().join("node.json"), node.to_string());
    let running = |names: &[&str]| -> Vec<Value> {
        let of = |name: &&str| json!({"name": name, "state": {"running": {}}});
        names.iter().map(of).collect()
    };
    let pod = |pod: &str, init: Value, limits: Value| {
        json!({
            "metadata": {
                "name": pod, "namespace": "default", "uid": format!("u-{pod}"),
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {
                "nodeName": name, "initContainers": init,
                "containers": [{"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}],
            },
            "status": {"phase": "Running", "containerStatuses": running(&["c"])},
        })
    };
    let gpu = json!({"example.com/gpu": "1"});
    let init = json!([{"name": "i", "image": "i", "resources": {"limits": gpu, "requests": gpu}}]);
    let pods = json!({"apiVersion": "v1", "kind": "PodList", "items": [
        pod("bg", json!([]), json!({})),
        pod("g3", json!([]), json!({"cpu": "3", "memory": "1Gi", "example.com/gpu": "1"})),
        pod("ini", init, gpu),
    ]});
    write(&folder.path().join("pods.json"), pods.to_string());
    for (name, limits) in [
        ("two", "cpu: 2, memory: 1Gi"),
        ("more", "cpu: 2, memory: 1Gi"),
        ("three", "cpu: 3, memory: 1Gi"),
        ("four", "cpu: 4, memory: 1Gi"),
        ("gpu-a", "example.com/gpu: 1"),
        ("gpu-b", "example.com/gpu: 1"),
        ("both", "cpu: 3, memory: 64Mi, example.com/gpu: 1"),
    ] {
        let manifest = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default}}\nspec:\n  containers:\n  \
             - {{name: c1, image: i, resources: {{limits: {{{limits}}}}}}}\n"
        );
        write(&folder.path().join(format!("{name}.yaml")), manifest);
    }
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &to),
            false => _ = fs::copy(entry.path(), to).expect("a copy"),
        }
    }
}

#[test]
fn changes_go_on_with_what_the_managers_remember() {
    let folder = machine();
    for (changes, code, has, lacks) in [
        // 3 CPUs are free: one of the two is refused.
        ("add three.yaml add two.yaml", 1, "refused or starts", ""),
        ("add two.yaml add more.yaml", 1, "starts or refused", ""),
        ("add two.yaml", 0, "the kubelet admits it", "next start"),
        // What a pod that is gone held is free, and stays with the new one.
        ("remove default/g3 add four.yaml", 0, "the kubelet admits it", "next start"),
        (
            "remove default/g3 add four.yaml kubelet-restart",
            1,
            "default/four the kubelet admits it",
            "default/four not",
        ),
        (
            "remove default/g3 kubelet-restart set reservedSystemCPUs=0-1",
            1,
            "1 OK: kubelet-start",
            "kubelet exits",
        ),
        ("kubelet-restart set reservedSystemCPUs=0-1", 1, "not all reserved cpus", ""),
        // A new pod with a device runs, and is in the checkpoint, when the kubelet starts next.
        ("add gpu-a.yaml", 0, "the kubelet admits it", "next start"),
        (
            "remove default/g3 add gpu-a.yaml add gpu-b.yaml",
            0,
            "the kubelet admits it",
            "next start",
        ),
        // A pod that is gone holds nothing.
        ("device gone g2", 1, "g2 of example.com/gpu, which is gone", ""),
        ("remove default/g3 device gone g2", 0, "", "holds g2"),
    ] {
        let ran = kq(&format!("what-if {changes} {GIVEN}")).within(folder.path()).run();
        let said = ran.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, code, "{changes}: {}", ran.text());
        assert!(said.contains(has), "{changes}: {}", ran.text());
        assert!(lacks.is_empty() || !said.contains(lacks), "{changes}: {}", ran.text());
    }
}

#[test]
fn a_plan_of_devices_does_not_promise_what_admission_refuses() {
    let folder = machine();
    let devices = "[{resource: example.com/gpu, id: g0, numaNodes: [0]}, {resource: example.com/gpu, id: g1, numaNodes: [0]}]";
    fs::write(folder.path().join("devices.yaml"), devices).expect("a file");
    let ask = |line: &str, policy: &str| {
        let line = format!(
            "{line} both.yaml --devices devices.yaml --set topologyManagerPolicy={policy} {GIVEN}"
        );
        kq(&line).within(folder.path()).run()
    };
    let admitted = ask("admit explain", "single-numa-node");
    assert_eq!(admitted.code, 1, "{}", admitted.text());
    assert!(admitted.stdout.contains("TopologyAffinityError"), "{}", admitted.text());
    assert!(!admitted.stderr.contains("only devices are considered"), "{}", admitted.text());
    let planned = ask("devices plan", "single-numa-node");
    assert_eq!(planned.code, 3, "{}", planned.text());
    assert!(planned.stderr.contains("kq admit explain"), "{}", planned.text());
    // The free CPUs are all on the other node than the device.
    let placed = ask("admit explain", "best-effort");
    assert!(placed.stdout.contains("CPUs 3,6-7 on NUMA nodes 1"), "{}", placed.text());
}

#[test]
fn exclusive_and_reserved_cpus_are_not_shared() {
    let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: h, namespace: default}\nspec:\n  initContainers:\n  \
        - {name: i1, image: i, resources: {limits: {cpu: 6, memory: 1Gi}}}\n  \
        - {name: s1, image: i, restartPolicy: Always, resources: {limits: {cpu: 1, memory: 1Gi}}}\n  containers:\n  \
        - {name: c1, image: i, resources: {limits: {cpu: 2, memory: 1Gi}}}\n  \
        - {name: c2, image: i, resources: {limits: {cpu: 500m, memory: 1Gi}}}\n---\napiVersion: v1\nkind: Pod\n\
        metadata: {name: bb, namespace: default}\nspec:\n  containers:\n  \
        - {name: c1, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}\n";
    let node = "--capacity cpu=8,memory=16Gi,pid=1000 --kubelet-version 1.36 --set cpuManagerPolicy=static";
    let share = |line: &str, pods: &str| -> String {
        let answer: Value = kq(line).stdin(pods).run().answer();
        let items = answer["items"].as_array().expect("shares");
        let burstable = items.iter().find(|it| it["pod"] == "bb").expect("the pod");
        burstable["decimal"].as_str().expect("a number").to_owned()
    };
    // The 6 CPUs of the init container stay with the pod, for the containers after it.
    let line = format!("cgroup shares - --planned {node} --system-reserved cpu=1 -o json");
    assert_eq!(share(&line, pods), "1.500000");
    let alone = pods.split_once("---\n").expect("two pods").1;
    let line = format!(
        "cgroup shares - --planned {node} --set reservedSystemCPUs=0-3 --set cpuManagerPolicyOptions.strict-cpu-reservation=true \
         -o json"
    );
    assert_eq!(share(&line, alone), "4.000000");
}

#[test]
fn pods_with_resources_of_their_own_get_exclusive_cpus_as_admission_says() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec:\n  resources: {requests: \
        {cpu: 3, memory: 1Gi}, limits: {cpu: 3, memory: 1Gi}}\n  containers:\n  \
        - {name: c1, image: i, resources: {limits: {cpu: 2, memory: 64Mi}}}\n  - {name: c2, image: i}\n";
    for (version, quota) in
        [("1.33", "max 100000"), ("1.34", "200000 100000"), ("1.36", "200000 100000")]
    {
        let line = format!(
            "cgroup plan - --capacity cpu=8,memory=32Gi,pid=1000 --kubelet-version {version} --feature-gates \
             PodLevelResources=true --set cpuManagerPolicy=static --set reservedSystemCPUs=0,4 --cgroup-version 2"
        );
        let ran = kq(&line).stdin(pod).run();
        let row = ran.stdout.lines().find(|line| line.contains(" c1 ")).unwrap_or_default();
        assert!(row.contains(quota), "{version}: {}", ran.text());
    }
}

#[test]
fn a_workload_that_is_added_counts_once() {
    let folder = machine();
    let manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec:\n  replicas: 3\n  \
        selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      \
        - {name: c1, image: i}\n";
    let ran = kq(&format!("what-if add - {GIVEN}")).within(folder.path()).stdin(manifest).run();
    assert!(ran.stderr.contains("Deployment web has 3 pods: one is added"), "{}", ran.text());
}
