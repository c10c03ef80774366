//! What several families read alike.

use kq::k8s::defaults::apply_api_defaults;
use kq::k8s::feature_gates::FeatureGates;
use kq::k8s::kubelet_rules::KubeletRules;
use kq::k8s::pod::Pod;
use kq::k8s::version::KubeletVersion;
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

/// Reads the feature gates that differ from the defaults of the reference version.
pub fn rules(case: &Value) -> KubeletRules {
    let set: BTreeMap<String, bool> = read(&case["feature_gates"]);
    let gates = FeatureGates::for_version(KubeletVersion::NEWEST);
    KubeletRules { gates: gates.with_overrides(&set).expect("gates of the reference version") }
}

/// Reads pods, defaulted if the case asks for it.
pub fn pod_defaulted(value: &Value, case: &Value) -> Pod {
    let mut pod = pod(value);
    if case["apply_api_defaulting_first"] == true {
        apply_api_defaults(&mut pod, &rules(case));
    }
    pod
}

/// Reads which containers have exclusive CPUs.
pub fn exclusive_cpus(case: &Value) -> Vec<String> {
    read(&case["containers_with_exclusive_cpus"])
}
