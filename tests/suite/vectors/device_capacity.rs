//! What the node offers of the resources of plugins.

use super::device_input::{NOW, devices, sets};
use super::input;
use kq_k8s::duration::GoDuration;
use kq_managers::manager::{Endpoint, ManagerState, PluginOptions};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub fn answer(case: &Value) -> Value {
    let mut state = state(case);
    let counted = state.capacity(NOW);
    let quantities = |number: fn(&kq_managers::manager::ResourceCapacity) -> Option<usize>| {
        let told = counted.resources.iter();
        told.filter_map(|(name, resource)| {
            Some((name.clone(), json!(number(resource)?.to_string())))
        })
        .collect::<Map<_, _>>()
    };
    let written = !counted.deleted.is_empty();
    let mut out = json!({
        "capacity": quantities(|resource| Some(resource.capacity)),
        "allocatable": quantities(|resource| resource.allocatable),
        "deleted_resources": counted.deleted.keys().collect::<Vec<_>>(),
        "endpoints_left": state.endpoints.keys().collect::<Vec<_>>(),
        "healthy_devices_left": sets(&state.healthy),
        "unhealthy_devices_left": sets(&state.unhealthy),
        "checkpoint_written": written,
    });
    if written {
        out["checkpoint_registered_devices"] = json!(state.checkpoint().registered);
    }
    out
}

fn state(case: &Value) -> ManagerState {
    let mut state = ManagerState::default();
    let resources: BTreeMap<String, Value> = input::read(&case["resources"]);
    for (name, resource) in &resources {
        if resource["registered"] == true {
            state.update(name, devices(resource));
        }
        match resource["only_known_in"].as_str() {
            Some("healthy") => drop(state.unhealthy.remove(name)),
            Some("unhealthy") => drop(state.healthy.remove(name)),
            _ => {}
        }
        let stopped_at = match resource["endpoint"].as_str() {
            Some("running") => None,
            Some("stopped") => {
                let ago: i64 = input::read(&resource["plugin_stopped_seconds_ago"]);
                Some(NOW.plus(-ago * GoDuration::SECOND.0))
            }
            _ => continue,
        };
        let options = PluginOptions::default();
        state.endpoints.insert(name.clone(), Endpoint { options, stopped_at });
    }
    state
}
