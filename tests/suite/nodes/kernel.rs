//! What kq plans is what the kernel had.

use super::{ask, json, recorded};
use serde_json::Value;
use std::collections::BTreeMap;

/// The kernel's value of a file that is never written. A cpuset is that of the parent.
const UNTOUCHED: &[(&str, &str)] = &[
    ("cpu.cfs_period_us", "100000"),
    ("cpu.cfs_quota_us", "-1"),
    ("cpu.shares", "1024"),
    ("memory.limit_in_bytes", UNLIMITED),
    ("memory.memsw.limit_in_bytes", UNLIMITED),
    ("memory.soft_limit_in_bytes", UNLIMITED),
    ("pids.max", "max"),
];

/// The largest number of bytes that is a whole number of pages.
const UNLIMITED: &str = "9223372036854771712";

/// Files by name.
type Files = BTreeMap<String, String>;

/// What kq plans for one cgroup.
struct Planned {
    level: String,
    container: String,
    files: Files,
}

#[test]
fn every_planned_value_is_the_kernels() {
    for node in recorded() {
        let tree = json(&node, "cgroup-tree.json");
        let root = texts(&tree["root"]);
        let planned = plan_of(&ask(&node, "cgroup plan").json());
        let mut wrong = Vec::new();
        let mut compared = 0;
        for (path, cgroup) in cgroups(&tree) {
            if cgroup["container"] == "(sandbox)" {
                continue;
            }
            let Some(planned) = planned.get(path) else {
                wrong.push(format!("{path}: not planned"));
                continue;
            };
            for (file, kernel) in texts(&cgroup["values"]) {
                let expected = planned.files.get(&file).cloned();
                let expected = expected.or_else(|| untouched(&file, &root));
                compared += 1;
                if expected.as_ref() != Some(&kernel) {
                    wrong.push(format!("{path}: {file}: {kernel}, kq: {expected:?}"));
                }
            }
            for (process, kernel) in scores(cgroup) {
                compared += 1;
                let score = planned.files.get("oom_score_adj");
                // The recorded kernel took no negative score: 0 stands for any.
                let score = score.map(|score| if score.starts_with('-') { "0" } else { score });
                if score != Some(kernel) {
                    wrong.push(format!("{path}: {process}: {kernel}, kq: {score:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", node.display());
        assert!(compared > 100, "{}: {compared} values", node.display());
    }
}

#[test]
fn nothing_is_planned_that_the_kernel_did_not_have() {
    for node in recorded() {
        let tree = json(&node, "cgroup-tree.json");
        let ended = ended_init_containers(&json(&node, "pods.json"));
        let mut wrong = Vec::new();
        for (path, planned) in plan_of(&ask(&node, "cgroup plan").json()) {
            let cgroup = &tree["cgroups"][&path];
            if cgroup.is_null() {
                // An init container that ended has left no cgroup behind.
                let id = path.rsplit('/').next().unwrap_or_default();
                if !ended.iter().any(|ended| ended.ends_with(id)) {
                    wrong.push(format!("{path}: no such cgroup"));
                }
                continue;
            }
            if planned.level == "container" && cgroup["container"] != *planned.container {
                wrong.push(format!("{path}: kq: {}", planned.container));
            }
            for file in planned.files.keys() {
                // That kernel's hierarchies are without the controller.
                let known = file == "oom_score_adj" || file.starts_with("hugetlb.");
                if !known && cgroup["values"][file].is_null() {
                    wrong.push(format!("{path}: {file}: not recorded"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}: {wrong:#?}", node.display());
    }
}

fn cgroups(tree: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let cgroups = tree["cgroups"].as_object().expect("the tree has cgroups");
    cgroups.iter().map(|(path, cgroup)| (path.as_str(), cgroup))
}

fn plan_of(answer: &Value) -> BTreeMap<String, Planned> {
    let mut planned: BTreeMap<String, Planned> = BTreeMap::new();
    for item in answer["items"].as_array().expect("a plan has items") {
        let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
        let cgroup = planned.entry(text("cgroup")).or_insert_with(|| Planned {
            level: text("level"),
            container: text("container"),
            files: Files::new(),
        });
        cgroup.files.insert(text("file"), text("value"));
    }
    planned
}

/// Returns numbers and texts as the kernel prints them.
fn texts(values: &Value) -> Files {
    let values = values.as_object().expect("values are an object");
    values
        .iter()
        .map(|(file, value)| {
            let text = value.as_str().map(str::to_owned);
            (file.clone(), text.unwrap_or_else(|| value.to_string()))
        })
        .collect()
}

fn untouched(file: &str, root: &Files) -> Option<String> {
    if file.starts_with("cpuset.") {
        return root.get(file).cloned();
    }
    let untouched = UNTOUCHED.iter().find(|(name, _)| *name == file);
    untouched.map(|(_, text)| (*text).to_owned())
}

fn scores(cgroup: &Value) -> impl Iterator<Item = (&str, &str)> {
    let processes = cgroup["processes"].as_array().into_iter().flatten();
    processes.map(|process| {
        let text = |field: &str| process[field].as_str().unwrap_or_default();
        (text("comm"), text("oom_score_adj"))
    })
}

fn ended_init_containers(pods: &Value) -> Vec<String> {
    let pods = pods["items"].as_array().expect("a list of pods has items");
    let statuses =
        pods.iter().filter_map(|pod| pod["status"]["initContainerStatuses"].as_array()).flatten();
    statuses
        .filter(|status| status["state"]["terminated"].is_object())
        .filter_map(|status| status["containerID"].as_str().map(str::to_owned))
        .collect()
}
