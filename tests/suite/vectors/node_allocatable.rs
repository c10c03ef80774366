//! The node's capacity, what is reserved and allocatable, and the cgroups that follow.

use super::{input, kubelet_cgroup};
use kq_cgroup::files::CgroupVersion;
use kq_cgroup::node::{NodePart, NodeResources, kubepods_config, reserved_cgroups};
use kq_cgroup::settings::CgroupSettings;
use kq_facts::allocatable::{node_allocatable, reservations};
use kq_facts::cgroup_name::CgroupName;
use kq_facts::kubelet_config::{
    CgroupMode, EffectiveConfiguration, KubeletConfiguration, aggregate, effective, validate,
};
use kq_k8s::cpuset::CpuSet;
use kq_k8s::feature_gates::FeatureGates;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub fn answer(case: &Value) -> Value {
    compute(case).unwrap_or_else(|error| error)
}

fn compute(case: &Value) -> Result<Value, Value> {
    let error = |text: String| json!({ "error": text });
    let given: KubeletConfiguration = input::read(&case["kubelet_configuration"]);
    let machine = &case["machine"];
    let version = input::version(case);
    let gates = FeatureGates::for_version(version)
        .with_overrides(given.feature_gates.as_ref().unwrap_or(&BTreeMap::new()))
        .map_err(|problem| {
            let text = "panic: failed to merge global and in-flight KubeletConfiguration while \
                        setting defaults, error: ";
            json!({ "error": format!("{text}{problem}"), "panic": true })
        })?;
    let v1 = machine["cgroup_version"] == 1;
    let mode = if v1 { CgroupMode::V1 } else { CgroupMode::V2 };
    let problems = validate(&given, &gates, mode);
    if !problems.is_empty() {
        return Err(error(aggregate(&problems)));
    }
    let mut config = effective(&given, version);
    let cores = machine["num_cores"].as_i64().unwrap_or_default();
    let online = if cores > 1 { format!("0-{}", cores - 1) } else { "0".to_owned() };
    let cpus: CpuSet = online.parse().expect("a list of CPUs");
    let ignore_eviction = case["flags"]["experimental_allocatable_ignore_eviction"] == true;
    let mut reserved =
        reservations(&mut config, Some(&cpus)).map_err(|problem| error(problem.to_string()))?;
    if ignore_eviction {
        reserved.hard.clear();
    }
    let internal = capacity(machine);
    let mut capacity = internal.clone();
    capacity.remove(&"pid".into());
    if config.local_storage_capacity_isolation {
        let bytes = machine["root_fs_capacity_bytes"].as_i64().unwrap_or_default();
        capacity.insert("ephemeral-storage".into(), Quantity::from_units(bytes, Format::BinarySi));
    }
    let allocatable = node_allocatable(&capacity, &reserved).map_err(|over| {
        let amounts: Map<String, Value> = over
            .resources
            .iter()
            .map(|(name, reservation, capacity)| {
                (name.to_string(), json!({ "reservation": reservation, "capacity": capacity }))
            })
            .collect();
        let prefix = "invalid Node Allocatable configuration. ";
        let mut out = json!({ "error_prefix": prefix, "over_reserved": amounts });
        if let Some(line) = over.log_line() {
            out["error"] = line.into();
        }
        out
    })?;
    let settings = settings(&config, gates, v1, machine);
    let within = node_allocatable(&internal, &reserved).unwrap_or_default();
    let node = NodeResources {
        capacity: &internal,
        allocatable: &within,
        reservations: &reserved,
        cpus: Some(&cpus),
    };
    let reserved_cgroups =
        reserved_cgroups(&node, &config, &settings).map_err(|e| error(e.to_string()))?;
    let pods = pods(&config, cores);
    let with_pods = |list: &ResourceList| {
        let mut list = list.clone();
        list.insert("pods".into(), Quantity::from_units(pods, Format::DecimalSi));
        list
    };
    let list = |reserved: &BTreeMap<String, String>, given: bool| {
        if given { json!(reserved) } else { Value::Null }
    };
    let system_given = given.system_reserved.is_some() || !config.system_reserved.is_empty();
    let mut out = json!({
        "capacity": with_pods(&capacity),
        "allocatable": with_pods(&allocatable.status),
        "allocatable_reservation": allocatable.reservation,
        "node_allocatable_absolute": allocatable.absolute,
        "effective_configuration": {
            "enforce_node_allocatable": config.enforce_node_allocatable,
            "eviction_hard": config.eviction_hard,
            "kube_reserved": list(&config.kube_reserved, given.kube_reserved.is_some()),
            "system_reserved": list(&config.system_reserved, system_given),
        },
    });
    if !config.reserved_system_cpus.is_empty() {
        out["effective_configuration"]["reserved_system_cpus"] =
            config.reserved_system_cpus.clone().into();
    }
    if let Some(wanted) = kubepods_config(&node, &config, &settings) {
        let name = CgroupName::node_allocatable_root(&settings.root, settings.cgroups_per_qos);
        out["kubepods"] = kubelet_cgroup::cgroup(&name, &wanted, &settings);
    }
    for cgroup in reserved_cgroups {
        let path = cgroup.name.to_path(settings.driver).map_err(|e| error(e.to_string()))?;
        if input::read::<Vec<String>>(&machine["missing_cgroups"]).contains(&path) {
            return Err(error(missing(&config, &cgroup.name, &path)));
        }
        let key = match cgroup.part {
            NodePart::KubeReserved => "kube_reserved",
            _ => "system_reserved",
        };
        out[key] = kubelet_cgroup::cgroup(&cgroup.name, &cgroup.config, &settings);
    }
    Ok(out)
}

/// The text with which the kubelet stops when a cgroup is not there: a fact of the machine, which the
/// computation itself does not look at.
fn missing(config: &EffectiveConfiguration, name: &CgroupName, path: &str) -> String {
    format!(
        "Failed to enforce System Reserved Cgroup Limits on {:?}: could not read controllers for \
         cgroup {:?}: open /sys/fs/cgroup{path}/cgroup.controllers: no such file or directory",
        config.system_reserved_cgroup,
        name.parts(),
    )
}

fn capacity(machine: &Value) -> ResourceList {
    let number = |key: &str| machine[key].as_i64();
    let units = |units, format| Quantity::from_units(units, format);
    let cores = number("num_cores").unwrap_or_default();
    let mut list = ResourceList::default();
    list.insert(ResourceName::Cpu, Quantity::from_milli(cores * 1000, Format::DecimalSi));
    let memory = number("memory_capacity_bytes").unwrap_or_default();
    list.insert(ResourceName::Memory, units(memory, Format::BinarySi));
    if let Some(pids) = number("max_pid") {
        list.insert("pid".into(), units(pids, Format::DecimalSi));
    }
    for pages in machine["hugepages"].as_array().into_iter().flatten() {
        let size = pages["page_size_kib"].as_i64().unwrap_or_default() * 1024;
        let amount = size * pages["num_pages"].as_i64().unwrap_or_default();
        let name = format!("hugepages-{}", units(size, Format::BinarySi));
        list.insert(name.as_str().into(), units(amount, Format::BinarySi));
    }
    list
}

fn settings(
    config: &EffectiveConfiguration,
    gates: FeatureGates,
    v1: bool,
    machine: &Value,
) -> CgroupSettings {
    let sizes = machine["hugepages"].as_array().into_iter().flatten().map(|pages| {
        let bytes = pages["page_size_kib"].as_i64().unwrap_or_default() * 1024;
        kq_cgroup::files::page_size_text(bytes).expect("a page size")
    });
    CgroupSettings {
        rules: KubeletRules { gates },
        version: if v1 { CgroupVersion::V1 } else { CgroupVersion::V2 },
        driver: config.cgroup_driver.parse().expect("a driver"),
        root: config.cgroup_root.clone(),
        cgroups_per_qos: config.cgroups_per_qos,
        hugepage_sizes: sizes.collect(),
        ..CgroupSettings::default()
    }
}

/// `maxPods`, or fewer where each core may run only so many.
fn pods(config: &EffectiveConfiguration, cores: i64) -> i64 {
    let most = i64::from(config.max_pods);
    match i64::from(config.pods_per_core) {
        0 => most,
        per_core => most.min(cores * per_core),
    }
}
