//! The amounts that a pod frees, their distance, and the order by request.

use super::input;
use kq_admission::preemption::{
    Requirement, Requirements, distance, preemption_request, requests_no_more, subtract,
};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::qos::{computed_qos_class, recorded_qos_class};
use serde_json::{Map, Value, json};

/// The resources of every request.
const RESOURCES: [&str; 8] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "storage",
    "hugepages-2Mi",
    "nvidia.com/gpu",
    "example.com/foo",
];

pub fn answer(case: &Value) -> Value {
    let rules = input::rules(case);
    match case["op"].as_str() {
        Some("pod_resource_request") => {
            let pod = input::pod(&case["pod"]);
            let requests: Map<String, Value> = RESOURCES
                .iter()
                .map(|name| ((*name).to_owned(), request(&pod, name, &rules).into()))
                .collect();
            let recorded = recorded_qos_class(&pod, rules.gates).map(|class| class.to_string());
            json!({
                "requests": requests,
                "qos_class": recorded.unwrap_or_else(|| pod.status.qos_class.clone()),
                "computed_qos_class": computed_qos_class(&pod, rules.gates).to_string(),
            })
        }
        Some("distance") => {
            let pod = input::pod(&case["pod"]);
            let requirements = requirements(&case["requirements"]);
            let gives: Vec<i64> = requirements
                .iter()
                .map(|it| preemption_request(&pod, &it.resource, &rules))
                .collect();
            let distance = distance(&requirements, &gives);
            let stays = requirements.iter().zip(gives).filter_map(|(it, gives)| {
                let quantity = subtract(it.quantity, [gives])?;
                Some(Requirement { resource: it.resource.clone(), quantity })
            });
            let remaining = Requirements(stays.collect());
            json!({
                "distance": input::float(distance),
                "distance_bits": bits(distance),
                "remaining": told(&remaining.0),
                "remaining_text": remaining.to_string(),
            })
        }
        Some("smaller_resource_request") => {
            let [first, second] = ["pod1", "pod2"].map(|name| {
                let pod = input::pod(&case[name]);
                (request(&pod, "memory", &rules), request(&pod, "cpu", &rules))
            });
            json!({ "pod1_is_smaller_or_equal": requests_no_more(first, second) })
        }
        other => panic!("unknown operation {other:?}"),
    }
}

fn request(pod: &Pod, name: &str, rules: &KubeletRules) -> i64 {
    preemption_request(pod, &ResourceName::from(name), rules)
}

/// Reads requirements.
pub fn requirements(value: &Value) -> Vec<Requirement> {
    let list: Vec<Value> = input::read(value);
    list.iter()
        .map(|it| Requirement {
            resource: ResourceName::from(it["resource"].as_str().expect("a name")),
            quantity: it["quantity"].as_i64().expect("64 bits"),
        })
        .collect()
}

/// Writes requirements.
pub fn told(requirements: &[Requirement]) -> Value {
    let told =
        |it: &Requirement| json!({ "resource": it.resource.as_str(), "quantity": it.quantity });
    requirements.iter().map(told).collect()
}

/// Writes the bits of a number.
pub fn bits(number: f64) -> String {
    format!("0x{:016x}", number.to_bits())
}
