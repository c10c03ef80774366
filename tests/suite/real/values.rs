//! The kernel's files hold what was planned: the kubelet's values because the harness wrote them and
//! the kernel took them, the containers' because containerd and runc made them of what was asked.

use super::asked::{the_reader_finds_every_container, the_runtime_was_asked_what_is_planned};
use super::{Node, Runc, Running, is_guest, node, skip};
use kq_cgroup::files::CgroupVersion;
use kq_cgroup::plan::{Owner, PlannedCgroup};
use kq_facts::weight_formula::WeightFormula;
use kq_linux::cri::v1::ListPodSandboxRequest;
use std::collections::BTreeSet;

/// A pod of each class, with values that are all different, and a request of one CPU: 1024 shares.
pub const PODS: &str = "
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
  - name: one-cpu
    resources: {requests: {cpu: 1, memory: 32Mi}, limits: {cpu: 1450m, memory: 64Mi}}
---
metadata: {name: besteffort, namespace: real, uid: 11111111-0000-4000-8000-000000000003}
spec:
  containers:
  - name: only
";

#[test]
fn the_kernel_has_what_is_planned_with_the_systems_runc() {
    let Some(node) = node() else { return };
    // Starting containers takes most of the time of an emulated machine: one start for all questions.
    let running = node.run_pods(PODS, Runc::System);
    every_planned_value_is_the_kernels(&running);
    one_cpu_has_the_weight_of_the_formula(&running);
    the_command_plans_the_same_tree(&running);
    the_reader_finds_every_container(&running);
    the_runtime_was_asked_what_is_planned(&running);
    nothing_is_left_in_the_end(running);
}

#[test]
fn the_kernel_has_what_is_planned_with_a_newer_runc() {
    let Some(node) = node() else { return };
    if !node.has(Runc::Newer) {
        return skip("no newer runc could be had");
    }
    let formulas = [Runc::System, Runc::Newer].map(|runc| node.formula(runc).formula);
    assert!(!is_guest() || formulas[0] != formulas[1], "two times the {} formula", formulas[0]);
    let running = node.run_pods(PODS, Runc::Newer);
    every_planned_value_is_the_kernels(&running);
    one_cpu_has_the_weight_of_the_formula(&running);
    nothing_is_left_in_the_end(running);
}

fn every_planned_value_is_the_kernels(running: &Running<'_>) {
    let node = running.node;
    let plan = running.plan();
    let (mut compared, mut wrong) = (BTreeSet::new(), Vec::new());
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, _| {
            if has_ended(cgroup) {
                return;
            }
            for file in &cgroup.files {
                let kernel = kernels_text(running, cgroup, &file.file);
                let expected = expected_text(running, &file.file, &file.value);
                compared.insert((cgroup.owner.writer(), file.file.to_string()));
                if kernel != expected {
                    let path = &cgroup.path;
                    wrong.push(format!("{path}: {}: {kernel}, kq: {expected}", file.file));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "runc {}: {wrong:#?}", node.version(running.runc));
    for expected in expected_files(node) {
        assert!(compared.contains(&expected), "{expected:?} not among {compared:?}");
    }
}

fn one_cpu_has_the_weight_of_the_formula(running: &Running<'_>) {
    let node = running.node;
    let (file, expected) = match (node.cgroups.version, node.formula(running.runc).formula) {
        (CgroupVersion::V1, _) => ("cpu.shares", "1024"),
        (CgroupVersion::V2, WeightFormula::Linear) => ("cpu.weight", "39"),
        (CgroupVersion::V2, WeightFormula::Quadratic) => ("cpu.weight", "100"),
    };
    let cgroup = &running.container("burstable", "one-cpu").cgroup;
    let kernel = node.cgroups.read(cgroup, file).expect("the container has the file");
    assert_eq!(kernel, expected, "{file} of runc {}", node.version(running.runc));
}

fn the_command_plans_the_same_tree(running: &Running<'_>) {
    let node = running.node;
    let line = format!("cgroup plan {}", running.file().display());
    let answer = node.kq(&line).json();
    let items = answer["items"].as_array().expect("a plan has items");
    let mut planned = BTreeSet::new();
    for item in items {
        let text = |field: &str| item[field].as_str().unwrap_or_default();
        let path = node.cgroups.file(text("cgroup"), text("file"));
        let is_process = text("file") == "oom_score_adj" || text("container") == "before";
        assert!(is_process || path.exists(), "{}", path.display());
        if text("level") == "container" {
            planned.insert(text("cgroup").to_owned());
        }
    }
    let started = running.containers.iter().map(|container| container.cgroup.clone());
    assert_eq!(planned, started.collect());
}

fn nothing_is_left_in_the_end(running: Running<'_>) {
    let node = running.node;
    let cgroup = running.container("guaranteed", "only").cgroup.clone();
    assert_eq!(node.cgroups.processes(&cgroup).len(), 1);
    let kubepods = node.cgroups.file(&format!("{}/kubepods", node.root), "cgroup.procs");
    assert!(kubepods.exists(), "{}", kubepods.display());
    drop(running);
    assert!(!kubepods.exists(), "{}", kubepods.display());
    let request = ListPodSandboxRequest::default();
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
fn expected_text(running: &Running<'_>, file: &str, planned: &str) -> String {
    const PAGE: u64 = 4096;
    let node = running.node;
    // No score below one's own can be had on some machines; the runtime was told to keep it then.
    if file == "oom_score_adj" && planned.starts_with('-') && !node.lowers_scores {
        return "0".to_owned();
    }
    match planned.parse::<u64>() {
        Ok(bytes) if file.starts_with("memory.") && file != "memory.oom.group" => {
            (bytes / PAGE * PAGE).to_string()
        }
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
