//! `kq doctor`

use super::lookups::{found, not_asked};
use super::{Ran, folder_with, kq};
use crate::objects;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

pub(super) const UID: &str = "0f4b6c8e-0001-4a4a-9b9b-000000000001";
const MOUNTS: &str = "35 25 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const CERTIFICATE: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
const TAKEN: &str = "2026-11-22T03:07:38Z";
const MACHINE: &str = "--capacity cpu=4,memory=8000000Ki,pid=32768 --kubelet-version 1.36";

/// The kubelet's configuration.
const CONFIG: &str = r#"{"apiVersion":"kubelet.config.k8s.io/v1beta1",
    "kind":"KubeletConfiguration","cgroupDriver":"systemd"}"#;

/// A node in a folder: its kernel has what kq plans for its only pod.
pub(super) struct FakeNode {
    root: TempDir,
    files: TempDir,
}

impl FakeNode {
    pub(super) fn new() -> Self {
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
        let plan: Value = ran.answer();
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
    pub(super) fn snapshot(&self) -> Value {
        let ran = self.run("snapshot");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut snapshot: Value = ran.answer();
        let node = objects::node("n1").amounts("cpu=4,memory=8000000Ki,pods=110");
        let node = node.allocatable("memory=7897600Ki").conditions(objects::READY);
        snapshot["node"] = found("the API server node n1", node);
        snapshot["kubeletVersion"] = found("/proc/700/exe --version", "v1.36.2");
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
pub(super) fn container(snapshot: &mut Value) -> &mut Value {
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
        "usage": not_asked(),
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
    let web = objects::pod("web").uid(UID).set("/spec/containers/0/name", "web");
    let web = web.requests(&format!("cpu={cpu}")).limits("memory=64Mi");
    let status = json!({ "name": "web", "containerID": "containerd://c0ffee" });
    objects::list([web.statuses(json!([status]))]).to_string()
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
    let ran = examine(&healthy_node(), "-ojson");
    ran.answer()
}

/// Runs the doctor on a snapshot.
pub(super) fn examine(snapshot: &Value, flags: &str) -> Ran {
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

/// Returns a node with all that is asked of it; the API server knows no events.
fn healthy_node() -> Value {
    let mut node = FakeNode::new().snapshot();
    node["events"] = json!({"found": {"source": "the API server", "value": []}, "tried": []});
    node
}

#[test]
fn a_healthy_node_is_well() {
    let ran = examine(&healthy_node(), "");
    assert_eq!((ran.code, ran.stderr.lines().count()), (0, 1), "{}", ran.text());
    // The snapshot has no files that a start reads.
    let [_, start, ok] = ran.stdout.lines().collect::<Vec<_>>()[..] else {
        panic!("{}", ran.stdout)
    };
    assert!(
        start.starts_with("INFO       kubelet-start   nothing that was checked stops"),
        "{start}"
    );
    assert!(ok.starts_with("27 OK: kubelet, kubelet-config, "), "{ok}");
    let wide = examine(&healthy_node(), "-owide");
    assert!(line(&wide, "cpu-weight").contains("against system.slice 100"), "{}", wide.stdout);
}

/// A name, what is changed, a check that fails, and what is to be done.
type Failing = (&'static str, fn(&mut Value), &'static str, &'static str);

#[test]
fn each_failure_is_told_with_its_remedy() {
    let healthy = healthy_node();
    assert_eq!(examine(&healthy, "").code, 0);
    let rows: &[Failing] = &[
        (
            "kubelet that cannot start",
            |node| {
                // The next start reads the files.
                node["kubeletConfigOnDisk"] = not_asked();
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
            "kq devices verify",
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
    let mut node = healthy_node();
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
        // The commands that it names are about the same node.
        let of_snapshot =
            kq(&line).run().text().replace(&format!(" --snapshot {}", file.display()), "");
        let text = live.text();
        let own = |line: &str| line.split(" --host-root /").next().unwrap_or_default().to_owned();
        let lines: Vec<String> = text.split('\n').map(own).collect();
        assert_eq!(of_snapshot, lines.join("\n"), "{output}");
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
    // One snapshot: in another one its certificate may have a second less.
    let node = healthy_node();
    let json: Value = examine(&node, "-ojson").answer();
    let yaml = examine(&node, "-oyaml").stdout;
    assert_eq!(kq_k8s::yaml::read(&yaml).expect("kq reads its own YAML").value, json);
    assert_eq!(
        json["summary"],
        json!({ "OK": 27, "WARNING": 0, "ERROR": 0, "UNKNOWN": 0, "INFO": 1 })
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
        ("no such form", "-ojs", 2, "invalid value 'js'"),
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
    let mut node = healthy_node();
    node["runtime"]["found"]["value"]["version"]["runtimeName"] = json!("\u{1b}[2Jevil\nOK");
    let ran = examine(&node, "");
    assert!(!ran.text().contains('\u{1b}'), "{}", ran.text());
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
    let ran = examine(&node, "-owide");
    assert!(!ran.text().contains('\u{1b}') && ran.stdout.contains("evil"), "{}", ran.text());
}
