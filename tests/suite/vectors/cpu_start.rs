//! `cpu_start`: making the CPU manager, and starting it with its state file. `{state_dir}` stands for its folder.

use super::cpu_admit::{cpu_manager, reserved, topology_manager};
use super::cpu_input::shown_state;
use super::input;
use kq_facts::checkpoint::cpu_manager::KnownContainers;
use serde_json::{Value, json};

pub fn answer(case: &Value) -> Value {
    let rules = input::rules(case);
    let topology_manager = match topology_manager(case, rules) {
        Ok(manager) => manager,
        Err(error) => return json!({ "new_topology_manager_error": error }),
    };
    let policy = (&case["policy"], &case["policy_options"]);
    let mut manager = match cpu_manager(case, policy, (&topology_manager, rules)) {
        Ok(manager) => manager,
        Err(error) => return json!({ "new_manager_error": error }),
    };
    let known = case["initial_containers"].as_object().into_iter().flatten();
    let known: KnownContainers = known
        .map(|(id, it)| (id.clone(), (input::read(&it["pod_uid"]), input::read(&it["container"]))))
        .collect();
    let file = case["state_file_text"].as_str();
    let mut out = json!({ "reserved_cpus": reserved(&manager), "state_file_text": file });
    match manager.start(file.map(str::as_bytes), Some(&known), "{state_dir}") {
        Err(error) => out["start_error"] = error.to_string().into(),
        Ok(written) => {
            out["state"] = shown_state(manager.state());
            out["allocatable_cpus"] = manager.allocatable().to_string().into();
            if let Some(written) = written {
                out["state_file_text"] = written.text.into();
            }
        }
    }
    out
}
