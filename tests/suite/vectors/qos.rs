//! QoS classes before and after API defaulting, and the defaulted resources.

use super::input;
use kq_k8s::defaults::apply_api_defaults;
use kq_k8s::pod::{Container, Pod};
use kq_k8s::qos::{computed_qos_class, effective_qos_class};
use serde_json::{Map, Value, json};

pub fn answer(case: &Value) -> Value {
    let pod = input::pod(&case["pod"]);
    let rules = input::rules(case);
    let mut defaulted = pod.clone();
    apply_api_defaults(&mut defaulted, &rules);
    let mut twice = defaulted.clone();
    apply_api_defaults(&mut twice, &rules);
    assert_eq!(twice, defaulted, "defaulting twice changes nothing");
    json!({
        "computed_qos_class": computed_qos_class(&pod, rules.gates),
        "effective_qos_class": effective_qos_class(&pod, rules.gates),
        "computed_qos_class_after_api_defaulting": computed_qos_class(&defaulted, rules.gates),
        "resources_after_api_defaulting": resources(&defaulted),
    })
}

fn resources(pod: &Pod) -> Value {
    let by_name = |containers: &[Container]| -> Map<String, Value> {
        containers.iter().map(|c| (c.name.clone(), json!(c.resources))).collect()
    };
    let mut out = json!({ "containers": by_name(&pod.spec.containers) });
    if !pod.spec.init_containers.is_empty() {
        out["init_containers"] = by_name(&pod.spec.init_containers).into();
    }
    if let Some(resources) = &pod.spec.resources {
        out["pod"] = json!(resources);
    }
    out
}
