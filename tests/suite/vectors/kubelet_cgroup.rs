//! What the families of the kubelet's own cgroups read and describe alike.

use super::input;
use kq_cgroup::derivation::Derived;
use kq_cgroup::files::{CgroupDriver, CgroupVersion};
use kq_cgroup::resource_config::ResourceConfig;
use kq_cgroup::settings::{CgroupSettings, MemoryReservationPolicy, SwapBehavior};
use kq_facts::cgroup_name::{CgroupName, systemd_units};
use kq_k8s::pod::ResourceList;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Reads `in.node`.
pub fn settings(case: &Value) -> CgroupSettings {
    let node = &case["node"];
    let text = |key: &str| node[key].as_str();
    let hugepage_sizes = ["2MB", "1GB"].map(str::to_owned).to_vec();
    let mut settings =
        CgroupSettings { rules: input::rules(case), hugepage_sizes, ..CgroupSettings::default() };
    if let Some(version) = node["cgroup_version"].as_i64() {
        settings.version = if version == 1 { CgroupVersion::V1 } else { CgroupVersion::V2 };
    }
    if let Some(driver) = text("cgroup_driver") {
        settings.driver = driver.parse().expect("a driver");
    }
    if let Some(root) = text("cgroup_root") {
        settings.root = root.to_owned();
    }
    for (flag, key) in [
        (&mut settings.cgroups_per_qos, "cgroups_per_qos"),
        (&mut settings.cpu_cfs_quota, "cpu_cfs_quota"),
        (&mut settings.kernel.swap_controller, "swap_controller_available"),
    ] {
        *flag = node[key].as_bool().unwrap_or(*flag);
    }
    for (number, key) in [
        (&mut settings.cpu_cfs_quota_period_us, "cpu_cfs_quota_period_us"),
        (&mut settings.pod_pids_limit, "pod_pids_limit"),
        (&mut settings.kernel.page_size, "page_size_bytes"),
    ] {
        *number = node[key].as_i64().unwrap_or(*number);
    }
    settings.memory_capacity = node["memory_capacity_bytes"].as_i64();
    settings.swap_capacity = Some(node["swap_capacity_bytes"].as_i64().unwrap_or(0));
    settings.single_process_oom_kill = node["single_process_oom_kill"].as_bool();
    if let Some(factor) = node["memory_throttling_factor"].as_f64() {
        settings.memory_throttling_factor = Some(factor);
    }
    if text("memory_reservation_policy") == Some("TieredReservation") {
        settings.memory_reservation_policy = MemoryReservationPolicy::TieredReservation;
    }
    if text("swap_behavior") == Some("LimitedSwap") {
        settings.swap_behavior = SwapBehavior::LimitedSwap;
    }
    if !node["hugepage_sizes"].is_null() {
        settings.hugepage_sizes = input::read(&node["hugepage_sizes"]);
    }
    let allocatable: ResourceList = input::read(&node["node_allocatable"]);
    settings.node_allocatable = allocatable;
    settings
}

/// Describes a cgroup as the families of the kubelet's own cgroups do.
pub fn cgroup(name: &CgroupName, config: &ResourceConfig, settings: &CgroupSettings) -> Value {
    let path = name.to_path(settings.driver).expect("a valid name");
    let files: Value = config
        .clone()
        .files(settings)
        .into_iter()
        .map(|f| (f.file.into_owned(), Value::from(f.value)))
        .collect();
    let mut out = json!({
        "cgroup_name": name,
        "cgroup_path": path,
        "resource_config": resource_config(config),
        "cgroup_files": files,
    });
    if settings.driver == CgroupDriver::Systemd {
        let (unit, parent) = systemd_units(&path);
        out["systemd_unit"] = unit.into();
        out["systemd_parent_unit"] = parent.into();
        let properties = config.systemd_properties(settings);
        if !properties.is_empty() {
            let infinity = |mut value: Value| {
                if value == json!(u64::MAX) {
                    value = "infinity".into();
                }
                value
            };
            out["systemd_properties"] = properties
                .iter()
                .map(|(name, v)| ((*name).to_owned(), infinity(json!(v))))
                .collect();
        }
    }
    out
}

fn resource_config(config: &ResourceConfig) -> Value {
    let mut out = json!({});
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            out[key] = value;
        }
    };
    set("cpu_shares", config.cpu_shares.as_ref().map(|v| v.value.into()));
    set("cpu_quota_us", config.cpu_quota_us.as_ref().map(|v| v.value.into()));
    set("cpu_period_us", config.cpu_period_us.map(Value::from));
    set("memory_limit_bytes", config.memory_limit.as_ref().map(|v| v.value.into()));
    set("pids_limit", config.pids_limit.as_ref().map(|v| v.value.into()));
    set("cpuset_cpus", config.cpuset_cpus.as_ref().map(|v| v.value.clone().into()));
    let hugepages = &config.hugepage_limits;
    set(
        "hugepage_limits_bytes",
        (!hugepages.is_empty()).then(|| {
            hugepages.iter().map(|(size, v)| (size.to_string(), Value::from(v.value))).collect()
        }),
    );
    set("unified", unified(&config.unified));
    out
}

/// Describes the files of cgroup v2 that are asked for by name.
pub fn unified(files: &BTreeMap<&'static str, Derived<String>>) -> Option<Value> {
    let entries =
        files.iter().map(|(file, text)| ((*file).to_owned(), Value::from(text.value.clone())));
    (!files.is_empty()).then(|| entries.collect())
}
