//! What another version or gate changes for pods that are there: resizes by records, files, behaviours.

use super::{folder_with, kq};
use serde_json::{Value, json};

const TYPE: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\n";

fn node(version: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" },
        "status": {
            "capacity": { "cpu": "8", "memory": "16Gi", "pods": "110" },
            "allocatable": { "cpu": "8", "memory": "16284Mi", "pods": "110" },
            "nodeInfo": { "kubeletVersion": format!("v{version}"),
                "containerRuntimeVersion": "containerd://2.1.4" } } })
    .to_string()
}

fn pod(name: &str, spec: &Value) -> String {
    let mut spec = spec.clone();
    spec["nodeName"] = json!("n1");
    json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "d", "uid": "7a6e7f7b-0000-4000-8000-000000000012" },
        "spec": spec, "status": { "phase": "Running" } })
    .to_string()
}

fn with_pod_level() -> String {
    pod(
        "p",
        &json!({
            "resources": { "requests": { "cpu": "500m", "memory": "512Mi" },
                "limits": { "cpu": "1", "memory": "1Gi" } },
            "containers": [{ "name": "a",
                "resizePolicy": [{ "resourceName": "cpu", "restartPolicy": "RestartContainer" }] }],
        }),
    )
}

/// What kubelets record of it: 1.34, 1.35 and 1.36.
const RECORDS: [(&str, &str); 3] = [
    (
        "34",
        r#"{"data":"{\"entries\":{\"7a6e7f7b-0000-4000-8000-000000000012\":{\"ContainerResources\":{\"a\":{}}}}}","checksum":1900795978}"#,
    ),
    (
        "35",
        r#"{"data":"{\"entries\":{\"7a6e7f7b-0000-4000-8000-000000000012\":{\"ContainerResources\":{\"a\":{}},\"PodLevelResources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"}}}}}","checksum":3790342070}"#,
    ),
    (
        "36",
        r#"{"data":"{\"entries\":{\"7a6e7f7b-0000-4000-8000-000000000012\":{\"ContainerResources\":{\"a\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}},\"PodLevelResources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"}}}}}","checksum":518153973}"#,
    ),
];

#[test]
fn limits_of_the_pod_count_in_what_is_recorded() {
    for (record, change, restarts) in [
        ("36", "kubelet-restart", false),
        ("35", "kubelet-version 1.36", false),
        ("34", "kubelet-version 1.36", true),
    ] {
        let (_, text) = RECORDS.iter().find(|(name, _)| *name == record).expect("a record");
        let folder = folder_with(&[
            ("n.json", node(&format!("1.{record}.2"))),
            ("p.json", with_pod_level()),
            ("h/var/lib/kubelet/config.yaml", TYPE.to_owned()),
            ("h/var/lib/kubelet/actuated_pods_state", (*text).to_owned()),
            ("h/var/lib/kubelet/allocated_pods_state", (*text).to_owned()),
        ]);
        let line = format!(
            "what-if {change} --host-root h --node-file n.json --pods p.json --cgroup-version 2"
        );
        let ran = kq(&line).within(folder.path()).run();
        assert_eq!(ran.stdout.contains("a restarts: its resizePolicy"), restarts, "{}", ran.text());
        let lacks = ran.stdout.contains("the kubelet has no record of their resources");
        assert_eq!(lacks, restarts, "{}", ran.text());
    }
}

/// Asks for another version of the kubelet.
fn upgrade(from: &str, to: &str, config: &str, pod: &str) -> String {
    let folder = folder_with(&[
        ("n.json", node(from)),
        ("p.json", pod.to_owned()),
        ("c.yaml", format!("{TYPE}{config}\n")),
    ]);
    let line = format!(
        "what-if kubelet-version {to} --kubelet-config c.yaml --node-file n.json --pods p.json \
         --cgroup-version 2 --page-size 4096"
    );
    kq(&line).within(folder.path()).run().stdout
}

#[test]
fn behaviours_ask_for_their_gates() {
    let cpus = |amount: &str| {
        let limits = json!({ "limits": { "cpu": amount, "memory": "1Gi" } });
        pod("g", &json!({ "containers": [{ "name": "a", "resources": limits }] }))
    };
    let fixed = "cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"";
    let quota = "containers with exclusive CPUs have no CPU quota";
    let level = "spec.resources of a pod decides the pod's cgroup";
    for (from, to, config, pod, what, is_said) in [
        ("1.32.2", "1.33", fixed.to_owned(), cpus("2"), quota, true),
        ("1.32.2", "1.33", fixed.to_owned(), cpus("1500m"), quota, false),
        (
            "1.32.2",
            "1.33",
            format!("{fixed}\nfeatureGates: {{DisableCPUQuotaWithExclusiveCPUs: false}}"),
            cpus("2"),
            quota,
            false,
        ),
        ("1.33.2", "1.34", String::new(), with_pod_level(), level, true),
        (
            "1.33.2",
            "1.34",
            "featureGates: {PodLevelResources: true}".to_owned(),
            with_pod_level(),
            level,
            false,
        ),
    ] {
        let said = upgrade(from, to, &config, &pod);
        assert_eq!(said.contains(what), is_said, "{config}: {said}");
    }
}

#[test]
fn a_file_that_is_no_longer_written_is_a_change_for_the_next_cgroup() {
    let resources = json!({ "requests": { "memory": "512Mi" }, "limits": { "memory": "1Gi" } });
    let burstable = pod("q", &json!({ "containers": [{ "name": "a", "resources": resources }] }));
    let said = upgrade("1.36.2", "1.37", "featureGates: {MemoryQoS: true}", &burstable);
    let line = said.lines().find(|line| line.contains("memory.high")).expect("its line");
    assert!(line.starts_with("d/q a ") && line.ends_with("max     next container start"), "{said}");
    // The kubelet writes this protection with that of the classes.
    let tiered = "memoryThrottlingFactor: 0.8\nmemoryReservationPolicy: TieredReservation\nfeatureGates: {MemoryQoS: true}";
    let said = upgrade("1.36.2", "1.37", tiered, &burstable);
    let line = said.lines().find(|line| line.starts_with("/kubepods.slice ")).expect("its line");
    assert!(line.contains("memory.low") && line.ends_with("within 1m"), "{said}");
}
