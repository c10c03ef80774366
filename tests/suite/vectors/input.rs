//! What several families read alike.

use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::feature_gates::{FeatureGates, gate_state};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_k8s::version::KubeletVersion;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads a typed value; an absent one is its default.
pub fn read<'a, T: Deserialize<'a> + Default>(value: &'a Value) -> T {
    Option::<T>::deserialize(value)
        .expect("the vector is of the documented shape")
        .unwrap_or_default()
}

/// Reads a pod.
pub fn pod(value: &Value) -> Pod {
    read(value)
}

/// Reads the version of the kubelet that answered.
pub fn version(case: &Value) -> KubeletVersion {
    let named = case["kubernetes"].as_str();
    named.map_or(KubeletVersion::ASSUMED, |text| text.parse().expect("a version"))
}

/// Reads the feature gates that differ from the defaults of the version. Those that it lacks, or does not let be set, are
/// passed over.
pub fn gates(case: &Value) -> BTreeMap<String, bool> {
    let version = version(case);
    let mut set: BTreeMap<String, bool> = read(&case["feature_gates"]);
    if set.get("PodLevelResources") == Some(&false) {
        // Goes off with it.
        set.entry("InPlacePodLevelResourcesVerticalScaling".to_owned()).or_insert(false);
    }
    set.retain(|name, on| {
        gate_state(name, version).is_some_and(|gate| !gate.locked || gate.default == *on)
    });
    set
}

/// Reads the rules that are in force.
pub fn rules(case: &Value) -> KubeletRules {
    let gates = FeatureGates::for_version(version(case));
    KubeletRules {
        gates: gates.with_overrides(&self::gates(case)).expect("gates that go together"),
    }
}

/// Writes a float as the vectors do: without a point where it is whole.
pub fn float(number: f64) -> Value {
    let whole = number as i64;
    if whole as f64 == number { whole.into() } else { number.into() }
}

/// Reads pods, with defaults if the case requires them.
pub fn pod_defaulted(value: &Value, case: &Value) -> Pod {
    let mut pod = pod(value);
    if case["apply_api_defaulting_first"] == true {
        apply_api_defaults(&mut pod, &rules(case));
    }
    pod
}

/// Reads which containers have exclusive CPUs.
pub fn exclusive_cpus(case: &Value) -> Vec<String> {
    let named: Vec<String> = read(&case["containers_with_exclusive_cpus"]);
    // Other containers than those of the pod are named in inputs that are put together by chance.
    let lists = ["containers", "initContainers"];
    let containers = lists.iter().filter_map(|list| case["pod"]["spec"][list].as_array()).flatten();
    let own: Vec<&str> = containers.filter_map(|container| container["name"].as_str()).collect();
    named.into_iter().filter(|name| own.contains(&name.as_str())).collect()
}
