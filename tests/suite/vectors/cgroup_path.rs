//! Cgroup names and literal paths.

use kq_cgroup::files::CgroupDriver;
use kq_facts::cgroup_name::{CgroupName, CgroupNameError, pod_uid_of_path};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let text = |key: &str| case[key].as_str().unwrap_or_default();
    let driver: CgroupDriver = text("cgroup_driver").parse().unwrap_or(CgroupDriver::Cgroupfs);
    let path = |name: CgroupName| name.to_path(driver).map(|path| json!({ "cgroup_path": path }));
    let result = match text("op") {
        "name_to_path" => name(&case["cgroup_name"]).and_then(path),
        "path_to_name" => {
            Ok(json!({ "cgroup_name": CgroupName::from_path(text("cgroup_path"), driver) }))
        }
        "append_component" => name(&case["base"])
            .and_then(|base| base.child(text("component")))
            .map(|name| json!({ "cgroup_name": name })),
        "node_allocatable_root" => {
            let per_qos = case["cgroups_per_qos"].as_bool().unwrap_or(true);
            path(CgroupName::node_allocatable_root(text("cgroup_root"), per_qos))
        }
        "is_pod" => {
            let uid = pod_uid_of_path(text("cgroup_path"), driver, text("cgroup_root"));
            Ok(json!({ "is_pod": uid.is_some(), "pod_uid": uid.unwrap_or_default() }))
        }
        other => return json!({ "error": format!("unknown op {other}") }),
    };
    result.unwrap_or_else(|error| json!({ "error": error.to_string(), "panic": true }))
}

/// Rebuilds a name from its parts, whatever characters they hold.
fn name(parts: &Value) -> Result<CgroupName, CgroupNameError> {
    let parts: Vec<&str> =
        parts.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // A single empty part is what an empty root gives.
    match parts.join("/").as_str() {
        "" => Ok(CgroupName::default()),
        joined => Ok(CgroupName::from_root(&format!("/{joined}"))),
    }
}
