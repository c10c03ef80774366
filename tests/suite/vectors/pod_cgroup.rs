//! The cgroup of a pod.

use super::{input, kubelet_cgroup};
use kq_cgroup::pod::{effective_uid, pod_cgroup_name, pod_resource_config};
use kq_k8s::qos::effective_qos_class;
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let pod = input::pod_defaulted(&case["pod"], case);
    let settings = kubelet_cgroup::settings(case);
    let class = effective_qos_class(&pod, settings.rules.gates);
    let uid = effective_uid(&pod);
    let name = match pod_cgroup_name(uid, class, &settings) {
        Ok(name) => name,
        Err(error) => return json!({ "error": error.to_string(), "panic": true }),
    };
    if let Err(error) = name.to_path(settings.driver) {
        return json!({ "error": error.to_string(), "panic": true });
    }
    let who = json!({ "effective_uid": uid, "effective_qos_class": class });
    if !settings.cgroups_per_qos {
        return merge(json!({ "cgroup_name": name, "cgroup_path": "" }), who);
    }
    let config = pod_resource_config(&pod, !input::exclusive_cpus(case).is_empty(), &settings);
    let mut out = merge(kubelet_cgroup::cgroup(&name, &config, &settings), who);
    let unsupported = config.unsupported_hugepage_sizes(&settings);
    if !unsupported.is_empty() {
        out["unsupported_hugepage_sizes"] = unsupported.into();
    }
    out
}

fn merge(mut into: Value, from: Value) -> Value {
    if let (Value::Object(into), Value::Object(from)) = (&mut into, from) {
        into.extend(from);
    }
    into
}
