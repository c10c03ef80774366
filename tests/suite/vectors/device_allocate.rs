//! Which devices the containers of a pod get.

use super::device_input::{manager, sets};
use super::input;
use kq_facts::checkpoint::device::DeviceSet;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::Pod;
use kq_managers::manager::allocate::{AllocationContext, Outcome};
use kq_managers::manager::{Affinities, Allocated, ManagerState, NumaNodes, Plugins, PodAdmission};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub fn answer(case: &Value) -> Value {
    let mut state = manager(case);
    let pod: Pod = input::pod(&case["pod"]);
    let mut told = Told { resources: &case["resources"], calls: Vec::new() };
    let affinities: BTreeMap<String, Vec<i64>> = input::read(&case["topology_affinity_numa_nodes"]);
    let affinities =
        affinities.into_iter().map(|(name, nodes)| (name, NumaNodes::of(nodes))).collect();
    let circumstances = circumstances(case);

    let admitted = state
        .admit(&pod, &Affinities::Given(&affinities), &circumstances, &mut told)
        .expect("given affinities need no hints");
    let written = admitted.containers.iter().filter(|step| step.allocation.checkpoint_written);
    let (written, mut calls) = (written.count(), told.calls.into_iter().peekable());
    let steps: Vec<Value> = admitted
        .containers
        .iter()
        .map(|step| {
            // A resource has one turn per container: the plugin's preference, then its allocation.
            let mut own = Vec::new();
            for resource in &step.allocation.resources {
                if matches!(resource.outcome, Outcome::Allocated(_) | Outcome::Refused { .. }) {
                    for kind in ["GetPreferredAllocation", "Allocate"] {
                        own.extend(calls.next_if(|call| {
                            call["resource"] == *resource.resource && call["call"] == kind
                        }));
                    }
                }
            }
            own.sort_by_key(|call| call["resource"].to_string());
            json!({
                "container": step.allocation.container,
                "error": step.allocation.error.as_ref().map(ToString::to_string),
                "plugin_calls": own,
                "devices_of_container": step.devices_after,
                "reusable_devices_after": step.reusable_after,
            })
        })
        .collect();
    let mut admission = json!({ "admitted": admitted.admitted });
    if !admitted.admitted {
        admission["reason"] = json!(admitted.reason);
        admission["message"] = json!(admitted.message);
    }
    json!({
        "steps": steps,
        "admission": admission,
        "allocated_devices_after": sets(&state.allocated),
        "pod_devices_after": pod_devices_after(&state),
        "checkpoint_writes": written,
        "choices": choices(&admitted),
    })
}

/// Returns true if an answer is the recorded one. For large requests not every outcome is listed: which
/// devices are sure, and from which the others are chosen, is.
pub fn agrees(got: &Value, expected: &Value) -> bool {
    let mut got = got.clone();
    let choices = got.as_object_mut().and_then(|got| got.remove("choices"));
    if let Some(constraint) = expected.get("constraint") {
        let choices = choices.unwrap_or_default();
        return got["admission"] == expected["admission"]
            && choices.as_array().is_some_and(|choices| choices.contains(constraint));
    }
    super::agrees(&got, expected)
}

/// Returns the choices that the kubelet had.
fn choices(admitted: &PodAdmission) -> Value {
    let mut choices = Vec::new();
    for step in &admitted.containers {
        for resource in &step.allocation.resources {
            if let Outcome::Allocated(choice) = &resource.outcome {
                let any_of = choice.any_of.as_ref();
                choices.push(json!({
                    "container": step.allocation.container,
                    "resource": resource.resource,
                    "device_count": choice.devices.len(),
                    "always_includes": choice.certain,
                    "remaining_count": any_of.map_or(0, |any_of| any_of.count),
                    "remaining_chosen_from": any_of.map_or(&[][..], |any_of| &any_of.from),
                    "error": null,
                }));
            }
        }
    }
    Value::from(choices)
}

fn pod_devices_after(state: &ManagerState) -> Value {
    let entries = state.pod_devices.entries.iter();
    entries
        .map(|(key, device)| {
            // The kubelet's order is that of a map.
            let ids = device.devices.iter().map(|(node, ids)| {
                let mut ids = ids.clone();
                ids.sort();
                (node.to_string(), json!(ids))
            });
            json!({
                "pod_uid": key.pod_uid,
                "container_name": key.container_name,
                "resource_name": key.resource_name,
                "device_ids_by_numa_node": ids.collect::<Map<_, _>>(),
            })
        })
        .collect()
}

/// Plugins with the answers of the case.
struct Told<'a> {
    resources: &'a Value,
    calls: Vec<Value>,
}

impl Plugins for Told<'_> {
    fn preferred_allocation(
        &mut self,
        _: &mut ManagerState,
        resource: &str,
        available: &DeviceSet,
        must_include: &DeviceSet,
        size: usize,
    ) -> Result<Option<Vec<String>>, String> {
        self.calls.push(json!({
            "call": "GetPreferredAllocation",
            "resource": resource,
            "available_device_ids": available,
            "must_include_device_ids": must_include,
            "allocation_size": size,
        }));
        let endpoint = &self.resources[resource]["endpoint"];
        match endpoint["preferred_allocation_error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(input::read(&endpoint["preferred_allocation_returns"])),
        }
    }

    fn allocate(
        &mut self,
        _: &mut ManagerState,
        resource: &str,
        devices: &DeviceSet,
    ) -> Result<Allocated, String> {
        self.calls.push(json!({
            "call": "Allocate", "resource": resource, "device_ids": devices,
        }));
        let endpoint = &self.resources[resource]["endpoint"];
        match endpoint["allocate_error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None if endpoint["allocate_returns_no_container_response"] == true => {
                Ok(Allocated::NoContainer)
            }
            None => Ok(Allocated::Answer(Vec::new())),
        }
    }
}

fn circumstances(case: &Value) -> AllocationContext {
    let seen: Vec<Value> = input::read(&case["containers_seen_at_kubelet_start"]);
    let running = seen.iter().filter(|container| container["running"] == true);
    AllocationContext {
        sources_ready: input::read(&case["sources_ready"]),
        active_pods: input::read(&case["active_pod_uids"]),
        running_at_start: running
            .map(|container| {
                (input::read(&container["pod_uid"]), input::read(&container["container_name"]))
            })
            .collect(),
        dra_extended_resource: input::rules(case).gates.enabled(Gate::DraExtendedResource),
        names_types: input::rules(case).gates.version().reads_plugins_by_gogo(),
        unknown_options: BTreeSet::new(),
        brief: false,
    }
}
