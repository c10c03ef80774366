//! The creation of a memory manager and its start with a state file.

use super::input;
use super::memory_input;
use kq_facts::kubelet_config::MemoryReservation;
use kq_k8s::pod::ResourceList;
use kq_managers::memory_manager::{
    HugePages, MemoryManager, MemoryNode, MemoryStartError, StateDifference,
};
use serde_json::{Value, json};

const FOLDER: &str = "/var/lib/kubelet";

pub fn answer(case: &Value) -> Value {
    let policy = case["policy"].as_str().expect("a policy");
    let reservation: ResourceList = input::read(&case["node_allocatable_reservation"]);
    let manager = MemoryManager::new(
        policy,
        nodes(&case["machine"]),
        &reservation,
        &reserved(&case["reserved_memory"]),
        memory_input::gates(case),
    );
    let manager = match manager {
        Ok(manager) => manager,
        Err(error) => return json!({ "new_manager_error": error.to_string() }),
    };
    let file = match &case["state_file"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        object => Some(object.to_string()),
    };
    let outcome = manager.start(file.as_ref().map(String::as_bytes));
    let mut out = json!({ "new_manager_error": null, "start_error": null });
    match outcome.result {
        Err(MemoryStartError::Crash(crash)) => {
            return json!({ "new_manager_error": null, "panic": crash.go_text() });
        }
        Err(error) => {
            out["start_error"] = error.text(FOLDER).into();
            if let MemoryStartError::Differs { differences, crash } = &error {
                out["may_log"] = differences.iter().map(line).collect();
                out["may_panic"] = crash.as_ref().map(|crash| crash.go_text()).into();
            }
        }
        Ok(started) => {
            let state = &started.memory.state;
            out["machine_state_after"] = memory_input::machine(&state.machine_state);
            out["entries_after"] = memory_input::entries(state);
            out["allocatable_memory"] = json!(started.allocatable);
            out["state_file_rewritten"] = started.written.is_some().into();
            if let Some(text) = started.written {
                out["state_file_text_after"] = text.into();
            }
        }
    }
    out
}

fn line(difference: &StateDifference) -> Value {
    let logged = difference.logged();
    let mut line = json!({ "level": "info", "message": logged.message });
    if !logged.values.is_empty() {
        line["values"] = json!(logged.values);
    }
    line
}

fn nodes(machine: &Value) -> Vec<MemoryNode> {
    let list: Vec<Value> = input::read(&machine["numa_nodes"]);
    let number = |value: &Value| value.as_u64().expect("a number");
    let pages = |value: &Value| HugePages {
        page_size_kib: number(&value["page_size_kib"]),
        count: number(&value["num_pages"]),
    };
    list.iter()
        .map(|node| MemoryNode {
            id: input::read(&node["id"]),
            memory_bytes: number(&node["memory_bytes"]),
            huge_pages: input::read::<Vec<Value>>(&node["hugepages"]).iter().map(pages).collect(),
        })
        .collect()
}

fn reserved(list: &Value) -> Vec<MemoryReservation> {
    let list: Vec<Value> = input::read(list);
    list.iter()
        .map(|entry| MemoryReservation {
            numa_node: input::read(&entry["numaNode"]),
            limits: input::read(&entry["limits"]),
        })
        .collect()
}

/// Returns an answer in the form of the expected one. The kubelet logs one of the differences, and may crash instead of
/// logging one; which of them follows the order of its hash maps.
pub fn comparable(mut got: Value, expected: &Value) -> Value {
    let Some(fields) = got.as_object_mut().filter(|fields| fields.contains_key("may_log")) else {
        return got;
    };
    let lines = fields.remove("may_log").unwrap_or_default();
    let panic = fields.remove("may_panic").unwrap_or_default();
    let lines = lines.as_array().cloned().unwrap_or_default();
    let answers = expected["one_of"].as_array().cloned();
    for answer in answers.unwrap_or_else(|| vec![expected.clone()]) {
        if !panic.is_null() && answer["panic"] == panic {
            return json!({ "new_manager_error": null, "panic": panic });
        }
        let mut like = got.clone();
        let is_one = |logged: &Value| matches!(logged.as_array().map(Vec::as_slice), Some([line]) if lines.contains(line));
        if is_one(&answer["logged"]) {
            like["logged"] = answer["logged"].clone();
        }
        let one_of = answer["logged_one_of"].as_array();
        if let Some(one_of) = one_of.filter(|one_of| one_of.iter().all(is_one)) {
            like["logged_one_of"] = json!(one_of);
        }
        if like == answer {
            return like;
        }
    }
    got["may_log"] = lines.into();
    got
}
