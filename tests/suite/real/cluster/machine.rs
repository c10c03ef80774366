//! A real kubelet with the systemd driver on cgroup v2, in the emulated machine of `scripts/real-node/boot-systemd`.

use super::{Cluster, pod, sleep};
use crate::real::systemd::{property, run, say};
use kq_k8s::yaml::read;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const ROOT: &str = "/sys/fs/cgroup";

/// Specs of pods whose cgroups differ from each other, by name.
const PODS: [(&str, &str); 10] = [
    ("g-odd", "containers: [{name: c, resources: {limits: {cpu: 133m, memory: 20000001}}}]"),
    (
        "g-huge",
        "containers: [{name: c, resources: {limits: {cpu: 50m, memory: 16Mi, hugepages-2Mi: 4Mi}}}]",
    ),
    (
        "g-crun",
        "runtimeClassName: crun, containers: [{name: c, resources: {limits: {cpu: 60m, memory: 16Mi}}}]",
    ),
    ("b-request", "containers: [{name: c, resources: {requests: {cpu: 70m, memory: 8Mi}}}]"),
    (
        "b-limits",
        "containers: [{name: c, resources: {requests: {cpu: 5m, memory: 8Mi}, limits: {cpu: 1501m, memory: 40Mi}}}]",
    ),
    (
        "b-mixed",
        "containers: [{name: a, resources: {limits: {cpu: 20m, memory: 16Mi}}}, {name: b}]",
    ),
    (
        "b-sidecar",
        "initContainers: [{name: beside, restartPolicy: Always, resources: {requests: {cpu: 30m, memory: 8Mi}}}], \
         containers: [{name: c, resources: {requests: {cpu: 40m, memory: 8Mi}, limits: {memory: 24Mi}}}]",
    ),
    (
        "b-pod-level",
        "resources: {requests: {cpu: 90m, memory: 20Mi}, limits: {cpu: 190m, memory: 48Mi}}, containers: [{name: a}, {name: b}]",
    ),
    (
        "b-crun",
        "runtimeClassName: crun, \
         containers: [{name: c, resources: {requests: {cpu: 80m, memory: 8Mi}, limits: {cpu: 335m, memory: 32Mi}}}]",
    ),
    ("e-two", "containers: [{name: a}, {name: b}]"),
];

pub fn does_what_was_said(cluster: &Cluster) {
    start_pods(cluster);
    allocatable_is_as_said(cluster);
    settles();
    let counts = verdicts(cluster, "after the start");
    assert_eq!(differing(&counts), 0, "{counts:?}");
    nothing_is_wrong(cluster);
    its_minute_takes_back_a_weight(cluster);
    what_others_wrote_is_put_right(cluster);
    a_configuration_changes_what_was_said(cluster);
    let names = PODS.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    delete(cluster, &names);
}

fn start_pods(cluster: &Cluster) {
    let class = json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "crun",
                       "metadata": {"name": "crun"}});
    let made = cluster.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", Some(&class));
    assert_eq!(made["kind"], "RuntimeClass", "{made}");
    let begun = Instant::now();
    for (name, spec) in PODS {
        let mut made = pod(name, &json!({}));
        let container = made["spec"]["containers"][0].clone();
        let spec = read(&format!("{{{spec}}}")).expect("YAML").value;
        for (field, value) in spec.as_object().expect("an object") {
            made["spec"][field] = value.clone();
        }
        for list in ["initContainers", "containers"] {
            for one in made["spec"][list].as_array_mut().into_iter().flatten() {
                for field in ["image", "imagePullPolicy", "command"] {
                    one[field] = container[field].clone();
                }
            }
        }
        cluster.create(&made);
    }
    cluster.runs(&PODS.map(|(name, _)| name));
    say(&format!("{} pods of the kubelet run after {} s", PODS.len(), begun.elapsed().as_secs()));
}

/// Waits until the kubelet has set the weights of its QoS classes once more.
fn settles() {
    sleep(Duration::from_secs(80));
}

fn delete(cluster: &Cluster, names: &[&str]) {
    let path = |name: &str| format!("/api/v1/namespaces/default/pods/{name}");
    for name in names {
        cluster.request("DELETE", &path(name), None);
    }
    for name in names {
        cluster.until(name, |pod| pod["reason"] == "NotFound");
    }
}

fn allocatable_is_as_said(cluster: &Cluster) {
    let said = cluster.answer("allocatable");
    let node = cluster.request("GET", &format!("/api/v1/nodes/{}", super::NODE), None);
    let items = said["items"].as_array().expect("resources");
    assert!(items.len() >= 4, "{said}");
    for item in items {
        let name = item["resource"].as_str().expect("a name");
        let is = |field: &str| node["status"][field][name].as_str().map(bytes);
        for field in ["capacity", "allocatable"] {
            assert_eq!(item[field].as_str().map(bytes), is(field), "{field} of {name}: {said}");
        }
    }
    say(&format!("allocatable: all {} resources are as said", items.len()));
}

/// Returns a quantity in units that do not depend on how it is written.
fn bytes(text: &str) -> kq_k8s::quantity::Quantity {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Compares the cgroups of the kubelet with the plan, and returns how many values have each verdict.
#[track_caller]
fn verdicts(cluster: &Cluster, when: &str) -> BTreeMap<String, u64> {
    let said = cluster.answer("cgroup diff");
    let summary = said["summary"].as_object().unwrap_or_else(|| panic!("{said}"));
    let counts: BTreeMap<String, u64> = summary
        .iter()
        .filter_map(|(verdict, count)| Some((verdict.clone(), count.as_u64()?)))
        .filter(|(_, count)| *count > 0)
        .collect();
    say(&format!("kubelet: {when}: {counts:?}"));
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    for row in said["items"].as_array().into_iter().flatten() {
        let words = ["verdict", "pod", "container", "file", "planned", "actual", "reason"];
        let words = words.map(|field| text(row, field));
        if !["MATCH", "ROUNDED"].contains(&&*words[0]) {
            say(&format!("kubelet: {when}: {}", words.join(" ")));
        }
    }
    counts
}

fn differing(counts: &BTreeMap<String, u64>) -> u64 {
    counts
        .iter()
        .filter(|(verdict, _)| !["MATCH", "ROUNDED"].contains(&verdict.as_str()))
        .map(|(_, count)| count)
        .sum()
}

/// `doctor` has no finding about a node that is as it should be.
fn nothing_is_wrong(cluster: &Cluster) {
    let said = cluster.answer("doctor");
    let mut bad = Vec::new();
    for item in said["items"].as_array().expect("findings") {
        let severity = item["severity"].as_str().unwrap_or_default();
        if !["OK", "INFO"].contains(&severity) {
            say(&format!("doctor: {severity} {}: {} ({})", item["id"], item["found"], item["why"]));
            bad.push(format!("{severity} {}", item["id"].as_str().unwrap_or_default()));
        }
    }
    // True on this machine: the weight of two CPUs against that of the system.
    assert_eq!(bad, ["WARNING cpu-weight"], "{said}");
}

/// Returns the cgroup of a pod, below the root of the hierarchy.
#[track_caller]
fn cgroup(cluster: &Cluster, name: &str, class: &str) -> String {
    let uid = cluster.pod(name)["metadata"]["uid"].as_str().expect("a UID").replace('-', "_");
    format!("/kubepods.slice/kubepods-{class}.slice/kubepods-{class}-pod{uid}.slice")
}

#[track_caller]
fn value(cgroup: &str, file: &str) -> String {
    let path = format!("{ROOT}{cgroup}/{file}");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")).trim().to_owned()
}

#[track_caller]
fn write(cgroup: &str, file: &str, text: &str) {
    let path = format!("{ROOT}{cgroup}/{file}");
    fs::write(&path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// docs/cgroup.md says that the kubelet sets the weight of `burstable` once a minute.
fn its_minute_takes_back_a_weight(cluster: &Cluster) {
    let burstable = "/kubepods.slice/kubepods-burstable.slice";
    let planned = value(burstable, "cpu.weight");
    for how in ["set-property", "a write by hand"] {
        match how {
            "set-property" => {
                run(
                    "systemctl",
                    &["set-property", "--runtime", "kubepods-burstable.slice", "CPUWeight=77"],
                );
            }
            _ => write(burstable, "cpu.weight", "77"),
        }
        let begun = Instant::now();
        while value(burstable, "cpu.weight") != planned && begun.elapsed() < super::patience() {
            sleep(Duration::from_secs(1));
        }
        assert_eq!(value(burstable, "cpu.weight"), planned, "after {how}");
        say(&format!(
            "measured: the kubelet takes back the weight of burstable of {how} after {} s",
            begun.elapsed().as_secs()
        ));
    }
    let counts = verdicts(cluster, "after the kubelet took back a weight");
    assert_eq!(differing(&counts), 0, "{counts:?}");
}

fn what_others_wrote_is_put_right(cluster: &Cluster) {
    let slice = cgroup(cluster, "b-limits", "burstable");
    let unit = slice.rsplit('/').next().expect("a name").to_owned();
    let id = cluster.pod("b-limits")["status"]["containerStatuses"][0]["containerID"].clone();
    let id = id.as_str().expect("an id").trim_start_matches("containerd://").to_owned();
    let scope = format!("{slice}/cri-containerd-{id}.scope");
    let all = [
        (&*slice, "cpu.weight"),
        (&*slice, "pids.max"),
        (&*scope, "cpu.max"),
        (&*scope, "memory.max"),
        ("/kubepods.slice", "cpu.weight"),
    ];
    let read_all = || all.map(|(cgroup, file)| value(cgroup, file));
    let planned = read_all();
    run("systemctl", &["set-property", "--runtime", &unit, "CPUWeight=77"]);
    write(&slice, "pids.max", "99");
    write(&scope, "cpu.max", "50000 100000");
    write(&scope, "memory.max", "62914560");
    write("/kubepods.slice", "cpu.weight", "123");
    let others = read_all();
    let counts = verdicts(cluster, "after others wrote five values");
    assert_eq!(counts.get("DRIFT"), Some(&5), "{counts:?}");
    assert_eq!(differing(&counts), 5, "{counts:?}");
    let rollback = cluster.folder.join("back.json").display().to_string();
    let apply = || {
        let ran = cluster.ask(&format!("cgroup apply --yes --rollback-file {rollback}"));
        assert_eq!(ran.code, 0, "{}", ran.text());
        assert_eq!(read_all(), planned, "{}", ran.text());
        assert_eq!(property(&unit, "CPUWeight"), planned[0]);
    };
    apply();
    run("systemctl", &["daemon-reload"]);
    settles();
    let counts = verdicts(cluster, "after apply, daemon-reload and the kubelet's minute");
    assert_eq!(differing(&counts), 0, "{counts:?}");
    let ran = cluster.ask(&format!("cgroup rollback --yes {rollback}"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(read_all(), others, "{}", ran.text());
    fs::remove_file(&rollback).expect("it was used");
    apply();
}

/// Returns the values of the kubelet's cgroups that depend on its configuration.
fn values() -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    let mut left = vec![Path::new(ROOT).join("kubepods.slice")];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
                continue;
            }
            let file = entry.file_name().to_string_lossy().into_owned();
            let is_set = file == "cpu.weight"
                || file == "cpuset.cpus"
                || file == "memory.oom.group"
                || [".max", ".min", ".low", ".high"].iter().any(|end| file.ends_with(end));
            if let (true, Ok(text)) = (is_set, fs::read_to_string(entry.path())) {
                let cgroup = folder.display().to_string().replace(ROOT, "");
                found.insert((cgroup, file), text.trim().to_owned());
            }
        }
    }
    found
}

fn a_configuration_changes_what_was_said(cluster: &Cluster) {
    let said = cluster.answer("what-if set podPidsLimit=222 set systemReserved.memory=96Mi");
    assert_eq!(said["kubeletStarts"], true, "{said}");
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let kept = said["pods"].as_array().expect("pods").iter().all(|pod| pod["result"] == "kept");
    assert!(kept, "{said}");
    let rows = said["values"].as_array().expect("values");
    let later = |row: &&Value| ["atContainerStart", "withPod"].contains(&&*text(row, "written"));
    let expected: BTreeMap<(String, String), String> = rows
        .iter()
        .filter(|row| !later(row))
        .map(|row| ((text(row, "cgroup"), text(row, "file")), text(row, "after")))
        .collect();
    let before = values();
    cluster.configure("podPidsLimit", "222");
    cluster.configure("systemReserved", "{cpu: 150m, memory: 96Mi}");
    cluster.restart_kubelet();
    let changed = || -> BTreeMap<(String, String), String> {
        let now = values();
        now.into_iter().filter(|(place, text)| before.get(place) != Some(text)).collect()
    };
    let end = Instant::now() + super::patience();
    // What the first minute resets comes back in it.
    settles();
    while changed() != expected && Instant::now() < end {
        sleep(Duration::from_secs(5));
    }
    assert_eq!(changed(), expected, "{:#?}", said["values"]);
    say(&format!("what-if: {} values have changed, as was said", expected.len()));
    settles();
    let counts = verdicts(cluster, "after a restart with another configuration");
    let wrong = ["DRIFT", "MISSING", "EXTRA", "UNKNOWN"].iter().filter_map(|it| counts.get(*it));
    assert_eq!(wrong.sum::<u64>(), 0, "{counts:?}");
}

/// The kubelet evicts the pod that was said to be the first, and that one only.
pub fn memory_is_reclaimed_as_was_said(cluster: &Cluster) {
    let mut hog = pod("hog", &json!({}));
    hog["spec"]["containers"][0]["command"] =
        json!(["sh", "-c", "head -c 300m /dev/zero | tail | sleep 3600"]);
    cluster.create(&hog);
    cluster.runs(&["hog"]);
    // Until the kubelet has measured it.
    sleep(Duration::from_secs(60));
    let ranked = cluster.answer("evict rank --signal memory");
    let first = ranked["first"]["oneOf"].clone();
    assert_eq!(first[0]["name"], "hog", "{ranked}");
    let available = ranked["thresholds"]
        .as_array()
        .and_then(|all| all.iter().find_map(|it| it["available"].as_u64()))
        .unwrap_or_else(|| panic!("{ranked}"));
    let threshold = (available >> 20) + 150;
    let line = format!("what-if set evictionHard.memory.available={threshold}Mi");
    let said = cluster.answer(&line);
    let evicted: BTreeSet<&str> = said["pods"]
        .as_array()
        .expect("pods")
        .iter()
        .filter(|pod| pod["result"] == "evicted")
        .filter_map(|pod| pod["pod"].as_str())
        .collect();
    say(&format!("eviction: with {threshold}Mi: said to be evicted: {evicted:?}"));
    cluster.configure(
        "evictionHard",
        &format!(
            "{{memory.available: {threshold}Mi, nodefs.available: 1%, imagefs.available: 1%}}"
        ),
    );
    cluster.restart_kubelet();
    let gone = cluster.until("hog", |pod| pod["status"]["phase"] == "Failed");
    assert_eq!(gone["status"]["reason"], "Evicted", "{gone}");
    say(&format!("eviction: hog: {}", gone["status"]["message"]));
    sleep(Duration::from_secs(60));
    let pods = cluster.request("GET", "/api/v1/namespaces/default/pods", None);
    let was: BTreeSet<String> = pods["items"]
        .as_array()
        .expect("pods")
        .iter()
        .filter(|pod| pod["status"]["reason"] == "Evicted")
        .filter_map(|pod| Some(format!("default/{}", pod["metadata"]["name"].as_str()?)))
        .collect();
    assert_eq!(was.iter().map(String::as_str).collect::<BTreeSet<_>>(), evicted, "{said}");
}
