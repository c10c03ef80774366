//! A node in a temporary folder: its root with the files of the kernel, as plain files.
//!
//! The tree is made from the plan itself, so everything matches until a test changes something. The
//! real kernel is for the tests of `real`; here are those that need a tree which holds still, or one
//! that no kernel would have.

use super::{Run, folder_with, kq};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// Pods with UIDs and containers that run, as a kubelet reports them.
const PODS: &str = r#"{"apiVersion":"v1","kind":"List","items":[
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","uid":"aaaa-1"},
  "spec":{"nodeName":"n1","containers":[
   {"name":"app","resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"500m","memory":"128Mi"}}},
   {"name":"log","resources":{"requests":{"cpu":"50m"}}}]},
  "status":{"phase":"Running","containerStatuses":[
   {"name":"app","containerID":"containerd://app1","state":{"running":{}}},
   {"name":"log","containerID":"containerd://log1","state":{"running":{}}}]}},
 {"apiVersion":"v1","kind":"Pod","metadata":{"name":"batch","namespace":"shop","uid":"bbbb-2"},
  "spec":{"nodeName":"n1","containers":[{"name":"job"}]},
  "status":{"phase":"Running","containerStatuses":[
   {"name":"job","containerID":"containerd://job1","state":{"running":{}}}]}}]}"#;

/// The kubelet's configuration.
const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
podPidsLimit: 100
";

/// A node in a folder.
pub struct FakeNode {
    folder: TempDir,
}

impl FakeNode {
    /// Makes a node on which everything is as planned, with cgroup v2.
    #[track_caller]
    pub fn as_planned() -> Self {
        let folder = folder_with(&[
            ("pods.json", PODS),
            ("kubelet.yaml", KUBELET),
            (
                "root/proc/1/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
            ),
            ("root/proc/meminfo", "MemTotal:        8388608 kB\nSwapTotal:             0 kB\n"),
            ("root/proc/sys/kernel/pid_max", "32768\n"),
            ("root/proc/sys/kernel/threads-max", "65536\n"),
            ("root/proc/sys/kernel/hostname", "n1\n"),
            ("root/sys/devices/system/cpu/online", "0-3\n"),
            ("root/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids\n"),
            ("root/sys/fs/cgroup/system.slice/cpu.weight", "100\n"),
        ]);
        fs::create_dir_all(folder.path().join("root/sys/kernel/mm/hugepages")).expect("a folder");
        let node = Self { folder };
        let line = "cgroup plan pods.json --kubelet-config kubelet.yaml --capacity \
                    cpu=4,memory=8Gi,pid=32768 --swap-controller true --swap-capacity 0 --page-size 4Ki";
        let plan = kq(line).within(node.folder.path()).json();
        let mut pid = 100;
        for item in plan["items"].as_array().expect("a plan has items") {
            let text = |field: &str| item[field].as_str().unwrap_or_default();
            if !node.file(text("cgroup"), "memory.swap.max").exists() {
                node.set(text("cgroup"), "memory.swap.max", "max");
            }
            if text("file") == "oom_score_adj" {
                pid += 1;
                node.set(text("cgroup"), "cgroup.procs", &pid.to_string());
                let score = node.root().join(format!("proc/{pid}/oom_score_adj"));
                fs::create_dir_all(score.parent().expect("a folder")).expect("a folder");
                fs::write(score, format!("{}\n", text("value"))).expect("a file");
            } else {
                node.set(text("cgroup"), text("file"), text("value"));
            }
            node.set(text("cgroup"), "memory.current", "1048576");
            node.set(text("cgroup"), "pids.current", "1");
        }
        node
    }

    /// Returns the folder in which kq runs.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Returns the node's root folder.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Returns where a file of a cgroup is.
    pub fn file(&self, cgroup: &str, file: &str) -> PathBuf {
        self.root().join("sys/fs/cgroup").join(cgroup.trim_start_matches('/')).join(file)
    }

    /// Puts a text into a file of a cgroup.
    #[track_caller]
    pub fn set(&self, cgroup: &str, file: &str, text: &str) {
        let path = self.file(cgroup, file);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
        fs::write(path, format!("{text}\n")).expect("a file can be written");
    }

    /// Returns the text of a file of a cgroup.
    #[track_caller]
    pub fn get(&self, cgroup: &str, file: &str) -> String {
        let text = fs::read_to_string(self.file(cgroup, file)).expect("a file can be read");
        text.trim_end().to_owned()
    }

    /// Prepares `kq LINE` on the node. Nothing but its folder is looked at: no kubelet or runtime of
    /// the machine that runs the tests.
    pub fn kq(&self, line: &str) -> Run {
        let run = kq(line).within(self.folder.path()).arg("--host-root").arg("root");
        run.arg("--kubelet-config")
            .arg("kubelet.yaml")
            .arg("--kubelet-url")
            .arg("http://127.0.0.1:1")
    }

    /// Prepares `kq LINE` with the node's pods.
    pub fn with_pods(&self, line: &str) -> Run {
        self.kq(line).arg("--pods").arg("pods.json")
    }

    /// Prepares `kq LINE` with the node's pods and with what its kubelet and its runtime would say.
    pub fn described(&self, line: &str) -> Run {
        let run = self.with_pods(line).arg("--kubelet-version").arg("1.36");
        run.arg("--runtime").arg("runc=1.3.6")
    }

    /// Compares, and returns place and verdict of all that is not as planned.
    #[track_caller]
    pub fn differences(&self) -> Vec<String> {
        let ran = self.described("cgroup diff -o json").run();
        let report: Value = ran.answer();
        let items = report["items"].as_array().expect("a comparison has items").iter();
        let text = |item: &Value, field: &str| item[field].as_str().unwrap_or("-").to_owned();
        let differing =
            items.filter(|item| !matches!(text(item, "verdict").as_str(), "MATCH" | "ROUNDED"));
        differing
            .map(|item| {
                format!("{} {} {}", text(item, "verdict"), text(item, "cgroup"), text(item, "file"))
            })
            .collect()
    }
}
