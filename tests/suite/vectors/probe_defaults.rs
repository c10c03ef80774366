//! What the API server makes of probes: defaults and what it refuses.

use super::input;
use kq_k8s::defaults::apply_probe_defaults;
use kq_k8s::pod::{Container, Pod};
use kq_k8s::validation::validate_probes;
use serde_json::{Map, Value, json};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

pub fn answer(case: &Value) -> Value {
    let given =
        PROBES.iter().filter_map(|name| Some(((*name).to_owned(), case.get(*name)?.clone())));
    let mut container: Map<String, Value> = given.collect();
    let kind = case["container_kind"].as_str().unwrap_or_default();
    if kind == "sidecar" {
        container.insert("restartPolicy".to_owned(), "Always".into());
    }
    let list = if kind == "container" { "containers" } else { "initContainers" };
    let mut pod: Pod = input::read(&json!({ "spec": { list: [container] } }));
    apply_probe_defaults(&mut pod);
    let errors: Vec<_> = validate_probes(&pod)
        .iter()
        .map(|error| {
            json!({ "type": error.kind.type_name(), "field": error.path, "text": error.to_string() })
        })
        .collect();
    let container = pod.spec.containers_and_init().next();
    let container = container.expect("the pod has one container");
    json!({
        "accepted": errors.is_empty(),
        "errors": errors,
        "after_defaulting": after_defaulting(container),
    })
}

/// Returns the probes as the API server would write them: a port is there even if it is 0, all else only if
/// it is not.
fn after_defaulting(container: &Container) -> Value {
    let value = serde_json::to_value(container).expect("a container can be written");
    let probe = |name: &&str| Some(((*name).to_owned(), value.get(*name)?.clone()));
    Value::Object(PROBES.iter().filter_map(probe).collect())
}
