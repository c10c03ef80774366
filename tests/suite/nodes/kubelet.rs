//! The kubelet's own records: its requests to the runtime, and the amounts that it left for pods.

use super::{json, recorded};
use kq_cgroup::container::{RuntimeResources, container_cgroups, sandbox_resources};
use kq_cgroup::settings::CgroupSettings;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::describe::{NodeSources, describe};
use kq_facts::node_config::NodeConfig;
use kq_facts::overrides::{GivenConfig, Overrides};
use kq_io::kubelet_files::{read_kubelet_config, read_node_object};
use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::manifest::{LoadedPod, load};
use kq_k8s::quantity::Quantity;
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn the_runtime_is_asked_for_what_the_kubelet_asked() {
    for folder in recorded() {
        let node = described(&folder);
        let settings = CgroupSettings::of(&node);
        let mut compared = 0;
        let cri = json(&folder, "cri.json");
        for LoadedPod { pod, .. } in pods(&folder, &node) {
            let name = &pod.metadata.name;
            for container in container_cgroups(&pod, &|_| false, &settings) {
                let mut asked = requested(&container.resources);
                let score = container.oom_score_adj.expect("the memory is known");
                put(&mut asked, "oom_score_adj", score.value);
                let told = find(&cri["containers"], name, Some(&container.container.name));
                let Some(told) = told else { continue };
                compared += 1;
                let told_sorted = sorted(&told["kubelet_asked"]);
                assert_eq!(asked, told_sorted, "{name} {}", told["container"]);
            }
            let Some(told) = find(&cri["sandboxes"], name, None) else {
                continue;
            };
            let (resources, overhead) = sandbox_resources(&pod, false, &settings);
            let told = &told["kubelet_asked"];
            compared += 1;
            assert_eq!(requested(&resources), told["resources"], "{name}");
            assert_eq!(requested(&overhead), told["overhead"], "{name}");
        }
        let told = |field: &str| cri[field].as_array().map_or(0, Vec::len);
        assert_eq!(compared, told("containers") + told("sandboxes"));
    }
}

#[test]
fn pods_are_left_what_the_kubelet_left_them() {
    for folder in recorded() {
        let node = described(&folder);
        let status = &json(&folder, "node.json")["status"]["allocatable"];
        for (name, amount) in node.allocatable.status.iter() {
            if name.as_str() == "pid" {
                // Reserved, but no resource of a node's status.
                continue;
            }
            let told: Quantity = status[name.as_str()]
                .as_str()
                .unwrap_or_else(|| panic!("{name} is not in {status}"))
                .parse()
                .expect("an amount");
            assert!(amount.compare(&told).is_eq(), "{name}: {amount}, not {told}");
        }
        let names: Vec<&str> = status
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .filter(|name| *name != "pods")
            .collect();
        for name in names {
            let computed = node.allocatable.status.get(&name.into());
            assert!(computed.is_some(), "{name} is not computed");
        }
    }
}

fn described(folder: &Path) -> NodeConfig {
    let path = |file: &str| folder.join(file).display().to_string();
    let mut warnings = Vec::new();
    let given = read_kubelet_config(Some(&path("configz.json")), None);
    let GivenConfig { config, notes, .. } = given.expect("the configuration can be read");
    let object = read_node_object(&path("node.json"), &mut warnings).expect("a Node");
    assert!(notes.is_empty() && warnings.is_empty(), "{notes:?} {warnings:?}");
    let node = describe(NodeSources {
        config: &config,
        object: Some((&path("node.json"), &object)),
        overrides: &Overrides { cgroup_version: Some(CgroupVersion::V1), ..Overrides::default() },
        live: None,
    });
    node.expect("a kubelet runs with this configuration")
}

fn pods(folder: &Path, node: &NodeConfig) -> Vec<LoadedPod> {
    let mut loaded = load("pods.json", super::text(folder, "pods.json").as_bytes());
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    for loaded in &mut loaded.pods {
        apply_api_defaults(&mut loaded.pod, &node.rules);
    }
    loaded.pods
}

fn find<'v>(list: &'v Value, pod: &str, container: Option<&str>) -> Option<&'v Value> {
    list.as_array()?.iter().find(|told| {
        told["pod"] == pod && container.is_none_or(|container| told["container"] == container)
    })
}

/// Returns a request in the fields of the CRI, without unset ones.
fn requested(resources: &RuntimeResources) -> Value {
    let mut asked = json!({});
    put(&mut asked, "cpu_shares", resources.cpu_shares.value);
    put(&mut asked, "cpu_quota", resources.cpu_quota_us.value);
    put(&mut asked, "cpu_period", resources.cpu_period_us);
    put(&mut asked, "memory_limit_in_bytes", resources.memory_limit.value);
    if let Some(limit) = &resources.memory_swap_limit {
        put(&mut asked, "memory_swap_limit_in_bytes", limit.value);
    }
    if !resources.hugepage_limits.is_empty() {
        let limits = resources.hugepage_limits.iter().map(|(size, limit)| {
            let mut asked = json!({ "page_size": size });
            put(&mut asked, "limit", limit.value.cast_signed());
            asked
        });
        asked["hugepage_limits"] = limits.collect();
    }
    if !resources.unified.is_empty() {
        let files = resources.unified.iter();
        asked["unified"] = files.map(|(file, text)| (*file, text.value.as_str())).collect();
    }
    asked
}

/// Returns a request with its page sizes in kq's order; the kubelet's is that of a folder in `/sys`.
fn sorted(told: &Value) -> Value {
    let mut told = told.clone();
    if let Some(limits) = told["hugepage_limits"].as_array_mut() {
        limits.sort_by_key(|limit| limit["page_size"].to_string());
    }
    told
}

fn put(asked: &mut Value, field: &str, number: i64) {
    if number != 0 {
        asked[field] = number.into();
    }
}
