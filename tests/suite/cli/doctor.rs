//! `kq doctor`

use super::{Ran, folder_with, kq};
use kq::facts::timestamp::Timestamp;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

const UID: &str = "0f4b6c8e-0001-4a4a-9b9b-000000000001";
const MOUNTS: &str = "35 25 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
const TAKEN: &str = "2026-11-22T03:07:38Z";
const MACHINE: &str = "--capacity cpu=4,memory=8000000Ki,pid=32768 --kubelet-version 1.36";

/// The kubelet's configuration.
const CONFIG: &str = r#"{"apiVersion":"kubelet.config.k8s.io/v1beta1",
    "kind":"KubeletConfiguration","cgroupDriver":"systemd"}"#;

/// A node in a folder: its kernel has what kq plans for its only pod.
struct FakeNode {
    root: TempDir,
    files: TempDir,
}

impl FakeNode {
    fn new() -> Self {
        let files = folder_with(&[("pods.json", pods("500m")), ("config.json", CONFIG.to_owned())]);
        let root = folder_with(&[
            ("proc/1/mountinfo", MOUNTS),
            ("proc/meminfo", "MemTotal:        8000000 kB\nSwapTotal:             0 kB\n"),
            ("proc/sys/kernel/hostname", "n1\n"),
            ("proc/sys/kernel/pid_max", "32768\n"),
            ("proc/sys/kernel/threads-max", "100000\n"),
            ("proc/700/comm", "kubelet\n"),
            ("proc/700/cmdline", "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0"),
            ("proc/700/stat", "700 (kubelet) S 1 7 7 0 -1 1 1 2 3 4 5 6 7 8 20 0 18 0 1234 9 9"),
            ("proc/700/status", "Name:\tkubelet\nNSpid:\t700\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids\n"),
            ("sys/fs/cgroup/system.slice/cpu.weight", "100\n"),
            ("sys/fs/cgroup/kubepods.slice/memory.swap.max", "max\n"),
            ("var/lib/kubelet/config.yaml", CONFIG),
            (
                "var/lib/kubelet/cpu_manager_state",
                r#"{"policyName":"none","defaultCpuSet":"","checksum":1353318690}"#,
            ),
        ]);
        let node = Self { root, files };
        let line = format!(
            "cgroup plan pods.json --kubelet-config config.json --runtime runc=1.3.3 {MACHINE} -ojson"
        );
        let ran = kq(&line).within(node.files.path()).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        for item in plan["items"].as_array().expect("items") {
            let text = |field: &str| item[field].as_str().unwrap_or_default();
            let (cgroup, file, value) = (text("cgroup"), text("file"), text("value"));
            if file == "oom_score_adj" {
                node.write("proc/900/oom_score_adj", value);
                node.write(&format!("sys/fs/cgroup{cgroup}/cgroup.procs"), "900\n");
            } else {
                node.write(&format!("sys/fs/cgroup{cgroup}/{file}"), &format!("{value}\n"));
            }
        }
        node
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        let parent = path.parent().expect("a file is in a folder");
        std::fs::create_dir_all(parent).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }

    /// Runs kq on the node, with the pods from a file and no kubelet that answers.
    fn run(&self, command: &str) -> Ran {
        let root = self.root.path().display();
        kq(&format!(
            "{command} --host-root {root} --pods pods.json --kubelet-url http://127.0.0.1:1"
        ))
        .within(self.files.path())
        .run()
    }

    /// Returns a snapshot, with a runtime, a Node object and a version, which a folder cannot have.
    fn snapshot(&self) -> Value {
        let ran = self.run("snapshot");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut snapshot: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let resources = json!({ "cpu": "4", "memory": "8000000Ki", "pods": "110" });
        let mut allocatable = resources.clone();
        allocatable["memory"] = json!("7897600Ki");
        let is = |kind: &str, status: &str| json!({ "type": kind, "status": status });
        let node = json!({
            "kind": "Node", "metadata": { "name": "n1" },
            "status": {
                "capacity": resources, "allocatable": allocatable,
                "conditions": [
                    is("MemoryPressure", "False"), is("DiskPressure", "False"),
                    is("PIDPressure", "False"), is("Ready", "True"),
                ],
            },
        });
        snapshot["node"] = found("the API server node n1", node);
        snapshot["kubeletVersion"] = found("/proc/700/exe --version", json!("v1.36.2"));
        snapshot["runtime"] = found("unix:///run/containerd/containerd.sock", runtime());
        snapshot["folders"] = json!({ "images": folder("/var/lib/containerd"), "kubelet": folder("/var/lib/kubelet") });
        snapshot["statsSummary"] = found("https://127.0.0.1:10250/stats/summary", summary());
        snapshot["certificates"] = found(
            "/var/lib/kubelet/pki",
            json!([{
                "path": CERTIFICATE, "usage": "client", "subject": "CN=system:node:n1",
                "notBefore": "2026-06-01T00:00:00Z", "notAfter": "2036-06-01T00:00:00Z",
            }]),
        );
        snapshot["devices"] = json!({
            "checkpoint": found("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", json!({
                "absent": true, "error": null, "isOldLayout": false, "checksumInFile": null,
                "checksumComputed": null, "entries": [], "registered": {},
            })),
            "podResources": found("/var/lib/kubelet/pod-resources/kubelet.sock", json!({
                "pods": [],
                "allocatable": found("/var/lib/kubelet/pod-resources/kubelet.sock GetAllocatableResources", json!({
                    "devices": [], "cpuIds": [], "memory": [],
                })),
            })),
        });
        let counters = container(&mut snapshot);
        counters["cpu.stat"] =
            json!("usage_usec 100\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
        counters["memory.current"] = json!("1048576\n");
        counters["memory.events"] = json!("oom 0\noom_kill 0\n");
        snapshot
    }
}

/// Returns the texts of the only container's cgroup.
fn container(snapshot: &mut Value) -> &mut Value {
    let cgroups =
        snapshot["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups");
    let own = cgroups.iter_mut().find(|(path, _)| path.contains("c0ffee"));
    own.expect("the container has a cgroup").1
}

fn folder(path: &str) -> Value {
    let gibi = 1_u64 << 30;
    json!({
        "path": path,
        "filesystem": found(path, json!({
            "mountPoint": "/", "device": "8:1", "kind": "ext4", "capacityBytes": 100 * gibi,
            "freeBytes": 60 * gibi, "availableBytes": 60 * gibi, "inodes": 6_000_000, "inodesFree": 5_000_000,
        })),
        "usage": { "found": null, "tried": [] },
    })
}

/// Returns what the kubelet measured: much of everything is left.
fn summary() -> Value {
    let gibi = 1_u64 << 30;
    let memory = json!({ "time": TAKEN, "availableBytes": 6 * gibi, "workingSetBytes": gibi });
    let disk = json!({
        "time": TAKEN, "availableBytes": 60 * gibi, "capacityBytes": 100 * gibi, "usedBytes": 40 * gibi,
        "inodesFree": 5_000_000, "inodes": 6_000_000, "inodesUsed": 1_000_000,
    });
    json!({
        "node": {
            "nodeName": "n1", "systemContainers": [{ "name": "pods", "memory": memory }],
            "memory": memory, "fs": disk, "runtime": { "imageFs": disk, "containerFs": disk },
            "rlimit": { "time": TAKEN, "maxpid": 32768, "curproc": 200 },
        },
        "pods": [{
            "podRef": { "name": "web", "namespace": "default", "uid": UID },
            "containers": [{ "name": "web", "rootfs": disk, "logs": disk }],
            "memory": memory, "process_stats": { "process_count": 1 },
        }],
    })
}

fn pods(cpu: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "PodList", "items": [{
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "web", "namespace": "default", "uid": UID },
        "spec": { "containers": [{
            "name": "web",
            "resources": { "requests": { "cpu": cpu }, "limits": { "memory": "64Mi" } },
        }] },
        "status": { "phase": "Running", "containerStatuses": [
            { "name": "web", "containerID": "containerd://c0ffee" },
        ] },
    }] })
    .to_string()
}

fn found(source: &str, value: Value) -> Value {
    json!({ "found": { "source": source, "value": value }, "tried": [] })
}

fn runtime() -> Value {
    json!({
        "endpoint": "unix:///run/containerd/containerd.sock",
        "version": {
            "runtimeName": "containerd", "runtimeVersion": "2.1.4", "runtimeApiVersion": "v1",
        },
        "cgroupDriver": found("containerd.sock RuntimeConfig", json!("systemd")),
        "lowLevel": found("/usr/sbin/runc --version", json!({
            "name": "runc", "version": "1.3.3", "path": "/usr/sbin/runc",
        })),
        "sandboxes": found("containerd.sock", json!([])),
        "containers": found("containerd.sock", json!([{
            "id": "c0ffee", "sandboxId": "", "name": "web", "podUid": UID, "attempt": 0,
            "state": "running", "image": "", "imageRef": "", "imageId": null, "createdAt": 1,
        }])),
        "images": found("containerd.sock", json!([])),
        "imageFilesystems": found("containerd.sock", json!({
            "image": [{ "mountpoint": "/var/lib/containerd", "usedBytes": 1, "inodesUsed": 1, "timestamp": 1 }],
            "container": [],
        })),
    })
}

/// Returns the answer for a node where all is well.
pub fn healthy_answer() -> Value {
    let ran = examine(&FakeNode::new().snapshot(), "-ojson");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()))
}

/// Runs the doctor on a snapshot.
fn examine(snapshot: &Value, flags: &str) -> Ran {
    let folder = folder_with(&[("node.json", snapshot.to_string())]);
    kq(&format!("doctor --snapshot node.json {flags}")).within(folder.path()).run()
}

/// Returns the line of a check; those that passed share one.
#[track_caller]
fn line<'r>(ran: &'r Ran, check: &str) -> &'r str {
    let of_check = |line: &&str| line.split_whitespace().nth(1) == Some(check);
    let passed = |line: &&str| {
        line.split_once(" OK: ")
            .is_some_and(|(_, rules)| rules.split(", ").any(|rule| rule == check))
    };
    let found = ran.stdout.lines().find(of_check).or_else(|| ran.stdout.lines().find(passed));
    found.unwrap_or_else(|| panic!("no {check}: {}", ran.text()))
}

fn status<'r>(ran: &'r Ran, check: &str) -> &'r str {
    let line = line(ran, check);
    if line.contains(" OK: ") { "OK" } else { line.split_whitespace().next().unwrap_or_default() }
}

/// Returns the texts of a cgroup in a snapshot.
fn cgroup<'s>(snapshot: &'s mut Value, path: &str) -> &'s mut Value {
    &mut snapshot["cgroups"]["found"]["value"]["cgroups"][path]
}

#[test]
fn a_healthy_node_is_well() {
    let ran = examine(&FakeNode::new().snapshot(), "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.text());
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.starts_with("25 OK: kubelet, kubelet-config, "), "{}", ran.stdout);
    let wide = examine(&FakeNode::new().snapshot(), "-owide");
    assert!(line(&wide, "cpu-weight").contains("beside system.slice 100"), "{}", wide.stdout);
}

/// A name, what is changed, a check that fails, and what is to be done.
type Failing = (&'static str, fn(&mut Value), &'static str, &'static str);

#[test]
fn each_failure_is_told_with_its_remedy() {
    let healthy = FakeNode::new().snapshot();
    assert_eq!(examine(&healthy, "").code, 0);
    let rows: &[Failing] = &[
        (
            "kubelet that cannot start",
            |node| {
                node["kubeletConfig"]["found"]["value"]["value"]["cpuManagerPolicy"] =
                    json!("static");
            },
            "kubelet-config",
            "correct the configuration",
        ),
        (
            "old runtime",
            |node| {
                node["runtime"]["found"]["value"]["version"]["runtimeApiVersion"] =
                    json!("v1alpha2");
            },
            "container-runtime",
            "update the container runtime",
        ),
        (
            "cgroup v1",
            |node| {
                let mounts = "29 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
                node["host"]["texts"]["/proc/1/mountinfo"] = json!({ "read": mounts });
            },
            "cgroup-version",
            "move the node to cgroup v2",
        ),
        (
            "another driver in the runtime",
            |node| {
                node["runtime"]["found"]["value"]["cgroupDriver"] =
                    found("config.SystemdCgroup", json!("cgroupfs"));
            },
            "cgroup-driver",
            "set the container runtime to systemd",
        ),
        (
            "two trees",
            |node| {
                *cgroup(node, "/kubepods") = json!({ "cpu.weight": "157\n" });
                *cgroup(node, "/kubepods/poda-b-c") = json!({ "cpu.weight": "1\n" });
            },
            "cgroup-tree",
            "so that /kubepods goes away",
        ),
        (
            "orphan",
            |node| {
                let path = "/kubepods.slice/kubepods-poda_b_c.slice";
                *cgroup(node, path) = json!({ "cgroup.procs": "7\n" });
            },
            "orphaned-pods",
            "look again in a minute",
        ),
        (
            "heavy system",
            |node| {
                *cgroup(node, "/system.slice") = json!({ "cpu.weight": "10000\n" });
            },
            "cpu-weight",
            "lower its weight",
        ),
        (
            "swap",
            |node| {
                let text = "MemTotal: 8000000 kB\nSwapTotal: 1024 kB\n";
                node["host"]["texts"]["/proc/meminfo"] = json!({ "read": text });
            },
            "swap",
            "swapoff -a",
        ),
        (
            "drift",
            |node| cgroup(node, "/kubepods.slice")["cpu.weight"] = json!("39\n"),
            "cgroup-values",
            "kq cgroup diff",
        ),
        (
            "broken state",
            |node| {
                node["stateFiles"]["files"]["cpu_manager_state"] = json!({ "read": "{" });
            },
            "state-files",
            "move the file away",
        ),
    ];
    for (name, change, check, advice) in rows {
        let mut node = healthy.clone();
        change(&mut node);
        let ran = examine(&node, "");
        assert_eq!(ran.code, 1, "{name}: {}", ran.text());
        assert_eq!(status(&ran, check), "ERROR", "{name}: {}", ran.text());
        let told = ran.stderr.lines().find(|line| line.starts_with(&format!("fix: {check}: ")));
        assert!(told.is_some_and(|told| told.contains(advice)), "{name}: {}", ran.text());
        let wide = examine(&node, "-owide").stdout;
        let own = wide.lines().find(|line| line.split_whitespace().nth(1) == Some(check));
        assert!(own.is_some_and(|own| own.contains(advice)), "{name}: {wide}");
        assert!(!ran.stdout.contains("  OK  "), "passes are folded: {}", ran.stdout);
    }
}

#[test]
fn a_missing_fact_is_unknown_and_a_flag_supplies_it() {
    let mut node = FakeNode::new().snapshot();
    let tried = json!([{ "source": "configz", "reason": "refused the connection" }]);
    node["kubeletConfig"] = json!({ "found": null, "tried": tried });
    let ran = examine(&node, "");
    assert_eq!(status(&ran, "kubelet-config"), "UNKNOWN", "{}", ran.text());
    assert!(line(&ran, "kubelet-config").contains("configz: refused the connection"));
    assert!(ran.stderr.contains("--kubelet-config FILE"), "{}", ran.stderr);

    let folder =
        folder_with(&[("node.json", node.to_string()), ("config.json", CONFIG.to_owned())]);
    let ran =
        kq("doctor --snapshot node.json --kubelet-config config.json").within(folder.path()).run();
    assert_eq!(status(&ran, "kubelet-config"), "OK", "{}", ran.text());
    assert_eq!((ran.code, status(&ran, "cgroup-driver")), (0, "OK"), "{}", ran.text());
}

#[test]
fn a_live_node_and_its_snapshot_are_told_the_same() {
    let node = FakeNode::new();
    node.write("sys/fs/cgroup/kubepods.slice/cpu.weight", "1\n");
    let file = node.files.path().join("node.json.zst");
    let stored = node.run(&format!("snapshot -o {}", file.display()));
    assert_eq!(stored.code, 0, "{}", stored.stderr);
    for output in ["table", "wide", "json", "yaml"] {
        let live = node.run(&format!("doctor -o {output}"));
        assert_eq!(live.code, 1, "{}", live.text());
        let line = format!("doctor -o {output} --snapshot {}", file.display());
        assert_eq!(kq(&line).run().text(), live.text(), "{output}");
    }
    let live = node.run("doctor");
    assert_eq!(status(&live, "cgroup-values"), "ERROR", "{}", live.text());
    assert_eq!(status(&live, "kubelet"), "UNKNOWN", "{}", live.text());
    assert_eq!(status(&live, "pods"), "OK", "{}", live.text());
    assert_eq!(status(&live, "swap"), "OK", "{}", live.text());
    assert_eq!(status(&live, "state-files"), "OK", "{}", live.text());
}

#[test]
fn formats_hold_the_same() {
    let node = FakeNode::new().snapshot();
    let json = healthy_answer();
    let yaml = examine(&node, "-oyaml").stdout;
    assert_eq!(kq::k8s::yaml::read(&yaml).expect("kq reads its own YAML").value, json);
    assert_eq!(
        json["summary"],
        json!({ "OK": 25, "WARNING": 0, "ERROR": 0, "UNKNOWN": 0, "INFO": 0 })
    );
}

#[test]
fn what_cannot_be_answered_has_a_code_of_its_own() {
    let nothing = json!({
        "apiVersion": "kq/v1", "kind": "NodeSnapshot", "takenAt": "2026-11-22T03:07:38Z",
    });
    let ran = examine(&nothing, "");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.lines().skip(1).all(|line| line.contains("UNKNOWN")), "{}", ran.stdout);
    for (name, flags, code, said) in [
        ("no such form", "-oname", 2, "have no names: expected table, wide, json, yaml"),
        ("no such flag", "--fix", 2, "unexpected argument '--fix'"),
        ("no such driver", "--cgroup-driver x", 2, "[possible values: cgroupfs, systemd]"),
        ("no such configuration", "--kubelet-config x.json", 3, "x.json"),
        ("a configuration that is refused", "--set podPidsLimit=a", 2, "podPidsLimit"),
    ] {
        let ran = examine(&nothing, flags);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{name}: {}", ran.text());
        assert!(ran.stderr.contains(said), "{name}: {}", ran.stderr);
    }
    for (name, content, code) in [
        ("garbage", "kubelet", 2),
        ("another kind", r#"{"apiVersion":"v1","kind":"Pod"}"#, 2),
        ("a later generation", r#"{"apiVersion":"kq/v9","kind":"NodeSnapshot"}"#, 2),
    ] {
        let folder = folder_with(&[("node.json", content)]);
        let ran = kq("doctor --snapshot node.json").within(folder.path()).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{name}: {}", ran.text());
    }
    let ran = kq("doctor --snapshot nowhere.json").run();
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.text());
    assert!(!Path::new("nowhere.json").exists());
}

#[test]
fn foreign_text_cannot_play_with_a_terminal() {
    let mut node = FakeNode::new().snapshot();
    node["runtime"]["found"]["value"]["version"]["runtimeName"] = json!("\u{1b}[2Jevil\nOK");
    let ran = examine(&node, "");
    assert!(!ran.text().contains('\u{1b}'), "{}", ran.text());
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    let ran = examine(&node, "-owide");
    assert!(!ran.text().contains('\u{1b}') && ran.stdout.contains("evil"), "{}", ran.text());
}

/// A name, what is changed, the severity and the check that tell of it, a part of what they say, the command for more.
type Broken = (&'static str, fn(&mut Value), &'static str, &'static str, &'static str);

#[test]
fn each_finding_of_another_domain_is_told() {
    fn status(node: &mut Value) -> &mut Value {
        &mut node["node"]["found"]["value"]["status"]
    }
    fn stats(node: &mut Value) -> &mut Value {
        &mut node["statsSummary"]["found"]["value"]["node"]
    }
    fn web(node: &mut Value) -> &mut Value {
        &mut node["pods"]["found"]["value"]["pods"][0]["pod"]["status"]["containerStatuses"][0]
    }
    fn valid(node: &mut Value, from: &str, until: &str) {
        let certificate = &mut node["certificates"]["found"]["value"][0];
        (certificate["notBefore"], certificate["notAfter"]) = (json!(from), json!(until));
    }
    fn device(node: &mut Value, healthy: bool, told: bool) {
        let of = |ids: &[&str]| json!([{ "resourceName": "example.com/gpu", "deviceIds": ids, "numaNodes": [] }]);
        let entry = json!({
            "podUid": UID, "containerName": "web", "resourceName": "example.com/gpu",
            "deviceIds": { "-1": ["gpu-0"] }, "answer": "withheld",
        });
        let checkpoint = &mut node["devices"]["checkpoint"]["found"]["value"];
        checkpoint["absent"] = json!(false);
        checkpoint["entries"] = json!([entry]);
        checkpoint["registered"] = json!({ "example.com/gpu": ["gpu-0"] });
        let listed = &mut node["devices"]["podResources"]["found"]["value"];
        if told {
            listed["pods"] = json!([{ "name": "web", "namespace": "default", "containers": [
                { "name": "web", "devices": of(&["gpu-0"]), "cpuIds": [], "memory": [] },
            ] }]);
        }
        let ids: &[&str] = if healthy { &["gpu-0"] } else { &["gpu-7"] };
        listed["allocatable"]["found"]["value"]["devices"] = of(ids);
        let pod = &mut node["pods"]["found"]["value"]["pods"][0]["pod"]["spec"]["containers"][0];
        pod["resources"]["limits"]["example.com/gpu"] = json!("1");
        pod["resources"]["requests"]["example.com/gpu"] = json!("1");
    }
    let healthy = FakeNode::new().snapshot();
    let rows: &[Broken] = &[
        (
            "a kubelet that just started",
            |node| {
                let taken =
                    node["takenAt"].as_str().expect("a time").parse::<Timestamp>().expect("a time");
                let seconds = taken.since(Timestamp::from_seconds(0)) / 1_000_000_000;
                node["kubelet"]["found"]["value"]["startedAt"] = json!(seconds - 30);
            },
            "WARNING kubelet-start",
            "the kubelet started 3",
            "journalctl -u kubelet",
        ),
        (
            "a probe that takes longer than its period",
            |node| {
                node["pods"]["found"]["value"]["pods"][0]["pod"]["spec"]["containers"][0]["livenessProbe"] = json!({ "httpGet": { "path": "/", "port": 80 }, "timeoutSeconds": 20, "periodSeconds": 10,
                            "failureThreshold": 9 });
            },
            "WARNING timeout-above-period",
            "a probe may take 20 s and is due every 10 s",
            "see: kq probe lint",
        ),
        (
            "not ready",
            |node| {
                status(node)["conditions"][3] =
                    json!({ "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown" });
            },
            "ERROR node-conditions",
            "Ready is Unknown: NodeStatusUnknown",
            "journalctl -u kubelet",
        ),
        (
            "silent",
            |node| {
                status(node)["conditions"][3]["lastHeartbeatTime"] = json!("2026-01-01T00:00:00Z")
            },
            "ERROR node-conditions",
            "the kubelet last reported the node's status at 2026-01-01T00:00:00Z",
            "check that the kubelet runs",
        ),
        (
            "pressure",
            |node| status(node)["conditions"][1]["status"] = json!("True"),
            "WARNING node-conditions",
            "DiskPressure True",
            "see: kq evict rank",
        ),
        (
            "an expired certificate",
            |node| valid(node, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
            "ERROR certificates",
            "expired at 2025-01-01T00:00:00Z",
            "kubectl get csr",
        ),
        (
            "a certificate that was not renewed",
            |node| valid(node, "1926-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
            "WARNING certificates",
            "expires in",
            "leads to: the API server rejects the kubelet",
        ),
        (
            "a full disk without images",
            |node| {
                let disk = &mut node["folders"]["images"]["filesystem"]["found"]["value"];
                disk["availableBytes"] = json!(1_u64 << 30);
            },
            "ERROR image-gc",
            "can free 0",
            "see: kq gc dry-run",
        ),
        (
            "memory is short",
            |node| stats(node)["memory"]["availableBytes"] = json!(50_u64 << 20),
            "ERROR eviction",
            "memory.available: 50Mi left, below the threshold 100Mi",
            "default/web is evicted first",
        ),
        (
            "memory is nearly short",
            |node| stats(node)["memory"]["availableBytes"] = json!(150_u64 << 20),
            "WARNING eviction",
            "memory.available: 150Mi left, the threshold is 100Mi: 50Mi to go",
            "see: kq evict rank --signal memory.available",
        ),
        (
            "an unhealthy device",
            |node| device(node, false, true),
            "ERROR devices",
            "gpu-0 of example.com/gpu: not among the 1 healthy",
            "see: kq devices list",
        ),
        (
            "a device that the kubelet forgot",
            |node| device(node, true, false),
            "WARNING devices",
            "gpu-0 of example.com/gpu: in the checkpoint, but",
            "before the kubelet is restarted",
        ),
        (
            "a pod that would be refused",
            |node| status(node)["allocatable"]["cpu"] = json!("100m"),
            "WARNING kubelet-restart",
            "a restarted kubelet refuses the pod: OutOfcpu",
            "see: kq admit explain --kubelet-restart",
        ),
        (
            "throttled",
            |node| {
                container(node)["cpu.stat"] =
                    json!("usage_usec 1\nnr_periods 200\nnr_throttled 100\nthrottled_usec 9\n")
            },
            "WARNING cpu-throttling",
            "throttled in 50% of its periods (100 of 200)",
            "raise the CPU limit",
        ),
        (
            "throttled, and no runtime that names it",
            |node| {
                container(node)["cpu.stat"] =
                    json!("usage_usec 1\nnr_periods 200\nnr_throttled 100\nthrottled_usec 9\n");
                node["runtime"]["found"]["value"]["containers"] =
                    found("containerd.sock", json!([]));
                web(node)["containerID"] = json!("");
            },
            "WARNING cpu-throttling",
            "c0ffee (unknown)",
            "raise the CPU limit",
        ),
        (
            "no cgroup of all pods",
            |node| {
                let cgroups = &mut node["cgroups"]["found"]["value"]["cgroups"];
                cgroups
                    .as_object_mut()
                    .expect("cgroups")
                    .retain(|path, _| !path.contains("kubepods"));
            },
            "UNKNOWN cpu-throttling",
            "there is no cgroup of all pods",
            "take a new snapshot",
        ),
        (
            "pods without a status",
            |node| node["pods"]["found"]["value"]["pods"][0]["pod"]["status"] = json!({}),
            "UNKNOWN restarts",
            "the statuses of 1 of 1 pods are unknown",
            "--kubeconfig",
        ),
        (
            "near its memory limit",
            |node| container(node)["memory.current"] = json!("66000000\n"),
            "WARNING memory-limit",
            "is 98% of its limit 64Mi",
            "raise its memory limit",
        ),
        (
            "killed by the kernel",
            |node| container(node)["memory.events"] = json!("oom 2\noom_kill 2\n"),
            "WARNING oom-kills",
            "OOM-killed 2 times",
            "find the leak",
        ),
        (
            "ended by the kernel",
            |node| {
                web(node)["lastState"] = json!({ "terminated": {
                    "exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-22T03:00:00Z",
                } });
            },
            "WARNING oom-kills",
            "OOM-killed 1 time, last at 2026-11-22T03:00:00Z",
            "raise its memory limit",
        ),
        (
            "started again and again",
            |node| web(node)["restartCount"] = json!(3),
            "WARNING restarts",
            "3 restarts",
            "kubectl logs --previous",
        ),
        (
            "a loop of crashes",
            |node| {
                web(node)["state"] = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
                web(node)["restartCount"] = json!(9);
            },
            "ERROR restarts",
            "CrashLoopBackOff after 9 restarts",
            "kubectl logs --previous",
        ),
        (
            "counters that are not known",
            |node| {
                container(node).as_object_mut().expect("texts").remove("memory.current");
            },
            "UNKNOWN memory-limit",
            "the memory of 1 of 1 containers is unknown",
            "take a new snapshot",
        ),
        (
            "nothing measured",
            |node| {
                node["statsSummary"] = json!({ "found": null, "tried": [{ "source": "summary", "reason": "refused" }] })
            },
            "UNKNOWN eviction",
            "refused",
            "kq evict rank",
        ),
        (
            "no runtime",
            |node| {
                node["runtime"] =
                    json!({ "found": null, "tried": [{ "source": "cri", "reason": "refused" }] })
            },
            "UNKNOWN image-gc",
            "refused",
            "with the container runtime up",
        ),
    ];
    for (name, change, expected, said, remedy) in rows {
        let mut node = healthy.clone();
        change(&mut node);
        let ran = examine(&node, "");
        let (severity, check) = expected.split_once(' ').expect("two words");
        let told = |line: &str| {
            let mut words = line.split_whitespace();
            (words.next(), words.next()) == (Some(severity), Some(check)) && line.contains(said)
        };
        assert!(ran.stdout.lines().any(told), "{name}: {}", ran.text());
        let fix = format!("fix: {check}: ");
        let remedied = |line: &str| line.starts_with(&fix) && line.contains(remedy);
        assert!(ran.stderr.lines().any(remedied), "{name}: {}", ran.text());
        let is_error = ran.stdout.lines().any(|line| line.starts_with("ERROR"));
        let is_unknown = ran.stdout.lines().any(|line| line.starts_with("UNKNOWN"));
        let code = if is_error {
            1
        } else if is_unknown {
            3
        } else {
            0
        };
        assert_eq!(ran.code, code, "{name}: {}", ran.text());
        let passed = ran.stdout.lines().find_map(|line| line.split_once(" OK: ")).map(|it| it.1);
        let is_passed = passed.is_some_and(|rules| rules.split(", ").any(|rule| rule == check));
        assert!(!is_passed, "{name}: a check that found something is not OK: {}", ran.text());
    }
}

#[test]
fn the_problems_of_the_tour_are_found() {
    let ran = kq("doctor --snapshot examples/night/worker-3.json").run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    for found in [
        "ERROR      cgroup-values         shop/checkout-6d5f7 checkout   cpu.max is 20000 100000, planned 100000",
        "ERROR      devices               ml/train-0 train               gpu-1 of example.com/gpu: not among the 1 healthy",
        "1 image goes (6.2Gi), first shop.example/train:cuda-11",
        "throttled in 80% of its periods",
        "5 restarts; last with exit code 137",
        "200m CPU and 6.1Gi of memory are not requested",
    ] {
        assert!(ran.stdout.contains(found), "{found}: {}", ran.stdout);
    }
}

#[test]
fn a_pod_is_shown_through_all_domains() {
    let snapshot = "--snapshot examples/night/worker-3.json";
    let ran = kq(&format!("doctor shop/checkout-6d5f7 {snapshot}")).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    for line in [
        "Running, QoS class Burstable, priority 1000",
        "last ended with exit code 137 (Error) at 2026-11-22T03:05:51Z",
        "1 of 10 values are not as planned, 0 unknown",
        "limit 20000 100000, throttled in 80% of its periods",
        "usage 712Mi, limit 1Gi",
        "memory.available: place 4 of 8",
        "shop.example/checkout:2.14: IN-USE",
        "liveness: killed 20s to 31s after it stops answering",
        "it is not critical: the kubelet kills no pod for it",
        "ERROR      cgroup-values    shop/checkout-6d5f7 checkout",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("train-0"), "{}", ran.stdout);
    let wide = kq(&format!("doctor train-0 -owide {snapshot}")).run();
    assert!(wide.stdout.contains("gpu-1 of example.com/gpu: UNHEALTHY"), "{}", wide.stdout);
    assert!(wide.stdout.contains("kq devices list ml/train-0"), "{}", wide.stdout);

    let healthy = FakeNode::new().snapshot();
    let ran = examine(&healthy, "web");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.text());
    let mut node = healthy.clone();
    node["statsSummary"] =
        json!({ "found": null, "tried": [{ "source": "summary", "reason": "refused" }] });
    node["cgroups"] =
        json!({ "found": null, "tried": [{ "source": "cgroups", "reason": "refused" }] });
    let ran = examine(&node, "web");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("missing: its place in the order of eviction: "), "{}", ran.text());

    let none = examine(&healthy, "wep");
    assert_eq!((none.code, none.stdout.as_str()), (2, ""), "{}", none.text());
    assert!(none.stderr.contains("no pod wep on this node"), "{}", none.stderr);
    assert!(none.stderr.contains("did you mean default/web?"), "{}", none.stderr);
}
