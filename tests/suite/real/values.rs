//! The kernel's files hold what was planned: the kubelet's values because the harness wrote them and
//! the kernel took them, the containers' because containerd and runc made them of what was asked.

use super::{Node, Runc, Running, is_guest, node};
use kq::cgroup::cpu::WeightFormula;
use kq::cgroup::files::CgroupVersion;
use kq::cgroup::plan::{Owner, PlannedCgroup};
use std::collections::BTreeSet;

/// A pod of each class, with values that are all different.
const PODS: &str = "
metadata: {name: guaranteed, namespace: real, uid: 11111111-0000-4000-8000-000000000001}
spec:
  containers:
  - name: only
    resources: {limits: {cpu: 300m, memory: 48Mi}}
---
metadata: {name: burstable, namespace: real, uid: 11111111-0000-4000-8000-000000000002}
spec:
  initContainers:
  - name: before
    command: ['true']
    resources: {requests: {cpu: 50m}}
  - name: beside
    restartPolicy: Always
    resources: {requests: {cpu: 70m, memory: 20Mi}, limits: {memory: 40Mi}}
  containers:
  - name: limited
    resources: {requests: {cpu: 130m, memory: 32Mi}, limits: {cpu: 450m, memory: 64Mi}}
  - name: open
    resources: {requests: {cpu: 20m}}
---
metadata: {name: besteffort, namespace: real, uid: 11111111-0000-4000-8000-000000000003}
spec:
  containers:
  - name: only
";

/// A request of one CPU: 1024 shares.
const ONE_CPU: &str = "
metadata: {name: one, namespace: real, uid: 11111111-0000-4000-8000-000000000004}
spec:
  containers:
  - name: only
    resources: {requests: {cpu: 1}}
";

#[test]
fn the_kernel_has_every_planned_value() {
    let Some(node) = node() else { return };
    for runc in node.runcs() {
        let running = node.run_pods(PODS, runc);
        let plan = running.plan();
        let (mut compared, mut wrong) = (BTreeSet::new(), Vec::new());
        for root in &plan.roots {
            root.walk(0, &mut |cgroup, _| {
                if has_ended(cgroup) {
                    return;
                }
                for file in &cgroup.files {
                    let kernel = kernels_text(&running, cgroup, &file.file);
                    let expected = expected_text(&node, &file.file, &file.value);
                    compared.insert((cgroup.owner.writer(), file.file.to_string()));
                    if kernel != expected {
                        let path = &cgroup.path;
                        wrong.push(format!("{path}: {}: {kernel}, kq: {expected}", file.file));
                    }
                }
            });
        }
        assert!(wrong.is_empty(), "runc {}: {wrong:#?}", node.version(runc));
        for expected in expected_files(&node) {
            assert!(compared.contains(&expected), "{expected:?} not among {compared:?}");
        }
    }
}

#[test]
fn weights_follow_the_version_of_runc() {
    let Some(node) = node() else { return };
    let mut formulas = BTreeSet::new();
    for runc in node.runcs() {
        let running = node.run_pods(ONE_CPU, runc);
        let cgroup = &running.container("one", "only").cgroup;
        let formula = node.formula(runc).formula;
        formulas.insert(formula);
        let (file, expected) = match (node.cgroups.version, formula) {
            (CgroupVersion::V1, _) => ("cpu.shares", "1024"),
            (CgroupVersion::V2, WeightFormula::Linear) => ("cpu.weight", "39"),
            (CgroupVersion::V2, WeightFormula::Quadratic) => ("cpu.weight", "100"),
        };
        let kernel = node.cgroups.read(cgroup, file).expect("the container has the file");
        assert_eq!(kernel, expected, "{file} of runc {}", node.version(runc));
    }
    assert!(!is_guest() || formulas.len() == 2, "only {formulas:?}");
}

#[test]
fn the_command_plans_the_same_tree() {
    let Some(node) = node() else { return };
    let running = node.run_pods(PODS, Runc::System);
    let line = format!("cgroup plan {}", running.file().display());
    let answer = node.kq(&line).json();
    let items = answer["items"].as_array().expect("a plan has items");
    let (mut there, mut containers) = (0, BTreeSet::new());
    for item in items {
        let text = |field: &str| item[field].as_str().unwrap_or_default();
        if text("file") == "oom_score_adj" {
            containers.insert(text("cgroup").to_owned());
            continue;
        }
        if text("container") != "before" {
            let path = node.cgroups.file(text("cgroup"), text("file"));
            assert!(path.exists(), "{}", path.display());
            there += 1;
        }
    }
    assert!(there > 20, "{there} files");
    let started: BTreeSet<String> =
        running.containers.iter().map(|container| container.cgroup.clone()).collect();
    assert_eq!(containers, started);
}

#[test]
fn nothing_is_left_of_pods_that_ended() {
    let Some(node) = node() else { return };
    let running = node.run_pod(ONE_CPU);
    let cgroup = running.container("one", "only").cgroup.clone();
    let file = node.cgroups.file(&cgroup, "cgroup.procs");
    assert!(file.exists(), "{}", file.display());
    assert_eq!(node.cgroups.processes(&cgroup).len(), 1);
    drop(running);
    assert!(!file.exists(), "{}", file.display());
    let request = kq::edge::cri::v1::ListPodSandboxRequest::default();
    let sandboxes = node.runtime.call(node.runtime.client().list_pod_sandbox(request));
    assert_eq!(sandboxes.expect("the runtime answers").items, []);
}

/// An init container that ended has left no cgroup behind.
fn has_ended(cgroup: &PlannedCgroup<'_>) -> bool {
    matches!(cgroup.owner, Owner::Container { name: "before", .. })
}

/// Returns what the kernel has; `oom_score_adj` is a process's.
fn kernels_text(running: &Running<'_>, cgroup: &PlannedCgroup<'_>, file: &str) -> String {
    let cgroups = &running.node.cgroups;
    let read = match file {
        "oom_score_adj" => {
            let processes = cgroups.processes(&cgroup.path);
            let [process] = processes[..] else { return format!("of {processes:?}?") };
            std::fs::read_to_string(format!("/proc/{process}/oom_score_adj"))
        }
        file => cgroups.read(&cgroup.path, file),
    };
    read.map_or_else(|error| error.to_string(), |text| text.trim_end().to_owned())
}

/// Returns how the kernel shows a planned text.
fn expected_text(node: &Node, file: &str, planned: &str) -> String {
    const PAGE: u64 = 4096;
    // No score below one's own can be had on some machines; the runtime was told to keep it then.
    if file == "oom_score_adj" && planned.starts_with('-') && !node.lowers_scores {
        return "0".to_owned();
    }
    match planned.parse::<u64>() {
        Ok(bytes) if file.starts_with("memory.") => (bytes / PAGE * PAGE).to_string(),
        _ => planned.to_owned(),
    }
}

/// Returns files that must have been compared, with who writes them.
fn expected_files(node: &Node) -> Vec<(&'static str, String)> {
    let files: &[(&str, &str)] = match node.cgroups.version {
        CgroupVersion::V1 => &[
            ("kubelet", "cpu.shares"),
            ("kubelet", "cpu.cfs_quota_us"),
            ("kubelet", "cpuset.cpus"),
            ("kubelet", "memory.limit_in_bytes"),
            ("kubelet", "pids.max"),
            ("runtime", "cpu.shares"),
            ("runtime", "cpu.cfs_quota_us"),
            ("runtime", "memory.limit_in_bytes"),
            ("runtime", "oom_score_adj"),
        ],
        CgroupVersion::V2 => &[
            ("kubelet", "cpu.weight"),
            ("kubelet", "cpu.max"),
            ("kubelet", "cpuset.cpus"),
            ("kubelet", "memory.max"),
            ("kubelet", "pids.max"),
            ("kubelet", "hugetlb.2MB.max"),
            ("runtime", "cpu.weight"),
            ("runtime", "cpu.max"),
            ("runtime", "memory.max"),
            ("runtime", "oom_score_adj"),
        ],
    };
    files.iter().map(|(writer, file)| (*writer, (*file).to_owned())).collect()
}
