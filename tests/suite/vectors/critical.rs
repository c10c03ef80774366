//! Which pods are critical, and which may take the place of which.

use super::input;
use kq_k8s::priority::{
    is_critical_by_priority, is_critical_pod, is_mirror_pod, is_node_critical_pod, is_preemptable,
    is_static_pod, pod_source,
};
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    match case["op"].as_str() {
        Some("classify") => classify(&case["pod"]),
        Some("preemptable") => {
            let (preemptor, preemptee) =
                (input::pod(&case["preemptor"]), input::pod(&case["preemptee"]));
            json!({
                "preemptable": is_preemptable(&preemptor, &preemptee),
                "preemptor_is_critical": is_critical_pod(&preemptor),
                "preemptee_is_critical": is_critical_pod(&preemptee),
            })
        }
        other => panic!("unknown operation {other:?}"),
    }
}

fn classify(pod: &Value) -> Value {
    let pod = input::pod(pod);
    let mut out = json!({
        "is_static": is_static_pod(&pod),
        "is_mirror": is_mirror_pod(&pod),
        "is_critical": is_critical_pod(&pod),
        "is_critical_by_priority": is_critical_by_priority(&pod),
        "is_node_critical": is_node_critical_pod(&pod),
        "has_restartable_init_container":
            pod.spec.init_containers.iter().any(|container| container.restarts_always()),
    });
    match pod_source(&pod) {
        Some(source) => out["pod_source"] = source.into(),
        None => {
            let uid = &pod.metadata.uid;
            out["pod_source_error"] = format!("cannot get source of pod {uid:?}").into();
        }
    }
    out
}
