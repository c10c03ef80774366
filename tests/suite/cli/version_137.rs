//! What kubelet 1.37 does otherwise with the same pods.

use super::{folder_with, kq};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PODS: &str = "tests/cases/version-137-values/pods.yaml";

/// Returns the values of a file by pod and container; the cgroups above pods by their path.
fn planned(options: &str, file: &str) -> BTreeMap<String, String> {
    let line = format!(
        "cgroup plan {PODS} --capacity cpu=4,memory=4Gi,pid=1000 --cgroup-version 2 \
         --cgroup-driver cgroupfs {options}"
    );
    let answer = kq(&line).json();
    let items = answer["items"].as_array().expect("items");
    let of_file = items.iter().filter(|it| it["file"] == file);
    let name = |it: &Value| match (it["pod"].as_str(), it["container"].as_str()) {
        (None, _) => it["cgroup"].as_str().expect("a path").to_owned(),
        (Some(pod), None) => pod.to_owned(),
        (Some(pod), Some(container)) => format!("{pod}/{container}"),
    };
    of_file.map(|it| (name(it), it["value"].as_str().expect("a value").to_owned())).collect()
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[test]
fn memory_qos_is_on_and_throttles_nothing_without_a_factor() {
    assert_eq!(planned("--kubelet-version 1.36", "memory.min"), pairs([]));
    for file in ["memory.min", "memory.low"] {
        let zeros = planned("--kubelet-version 1.37", file);
        assert!(zeros.len() > 8 && zeros.values().all(|value| value == "0"), "{zeros:?}");
    }
    assert_eq!(planned("--kubelet-version 1.37", "memory.high"), pairs([]));
    let off = "--kubelet-version 1.37 --feature-gates MemoryQoS=false";
    assert_eq!(planned(off, "memory.min"), pairs([("/kubepods", "0")]), "each start takes it back");
    let off = "--kubelet-version 1.36 --feature-gates MemoryQoS=false";
    assert_eq!(planned(off, "memory.min"), pairs([]));
    let on = "--feature-gates MemoryQoS=true --kubelet-version 1.36";
    assert!(planned(on, "memory.high").contains_key("burst/c"), "0.9 by default");
}

#[test]
fn a_factor_throttles_containers_without_limits_and_pods_as_a_whole() {
    let set = "--feature-gates MemoryQoS=true --set memoryThrottlingFactor=0.8 --kubelet-version";
    let before =
        pairs([("burst/c", "120795136"), ("empty/c", "3449393152"), ("whole/own", "60395520")]);
    assert_eq!(planned(&format!("{set} 1.36"), "memory.high"), before);
    let after = pairs([
        ("best/c", "3435970560"),
        ("burst/c", "120795136"),
        ("empty/c", "3449393152"),
        ("sidecar/setup", "3435970560"),
        // 192 Mi to 320 Mi, overhead included.
        ("whole", "308699136"),
        ("whole/own", "60395520"),
    ]);
    assert_eq!(planned(&format!("{set} 1.37"), "memory.high"), after);
}

#[test]
fn reserved_memory_is_protected_by_default_and_kubepods_has_memory_low() {
    let reserved = "--set systemReserved.memory=512Mi --set systemReservedCgroup=/sys \
                    --set enforceNodeAllocatable=[pods,system-reserved] --kubelet-version";
    let system = |version: &str| {
        planned(&format!("{reserved} {version}"), "memory.min").get("/sys").cloned()
    };
    assert_eq!(system("1.36"), None);
    assert_eq!(system("1.37").as_deref(), Some("536870912"));
    let tiered = "--feature-gates MemoryQoS=true --set memoryReservationPolicy=TieredReservation \
                  --kubelet-version";
    let low = |version: &str| {
        planned(&format!("{tiered} {version}"), "memory.low").get("/kubepods").cloned()
    };
    assert_eq!(low("1.36"), None);
    // 64, 192, 128 and, no longer BestEffort, 64 Mi.
    assert_eq!(low("1.37").as_deref(), Some("469762048"));
}

#[test]
fn an_init_container_without_limits_leaves_its_pod_without() {
    for file in ["cpu.max", "memory.max"] {
        assert!(planned("--kubelet-version 1.36", file).contains_key("sidecar"), "{file}");
        assert!(!planned("--kubelet-version 1.37", file).contains_key("sidecar"), "{file}");
    }
}

#[test]
fn two_more_sysctls_are_safe() {
    let amounts = json!({ "cpu": "4", "memory": "16Gi", "pods": "110" });
    let node = |version: &str| {
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" },
            "status": { "capacity": amounts, "allocatable": amounts,
                "nodeInfo": { "kubeletVersion": version, "kernelVersion": "6.8.0" } },
        })
        .to_string()
    };
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "namespace": "d" },
        "spec": { "containers": [{ "name": "c", "image": "i" }], "securityContext": {
            "sysctls": [{ "name": "net.ipv4.tcp_notsent_lowat", "value": "1" }] } },
    })
    .to_string();
    for (version, reason) in [("v1.36.2", "SysctlForbidden"), ("v1.37.1", "")] {
        let node = node(version);
        let files = [
            ("node.json", node.as_str()),
            ("pod.json", pod.as_str()),
            ("pods.json", r#"{"apiVersion":"v1","kind":"List","items":[]}"#),
        ];
        let folder = folder_with(&files);
        let line = "admit explain pod.json --node-file node.json --pods pods.json -ojson";
        let ran = kq(line).within(&folder).run();
        assert_eq!(ran.stdout.contains("SysctlForbidden"), !reason.is_empty(), "{}", ran.text());
        let has_note = ran.stdout.contains("kubelet 1.37.1, admission:");
        assert_eq!(has_note, reason.is_empty(), "{}", ran.text());
    }
}
