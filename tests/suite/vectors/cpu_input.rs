//! What the families of the CPU manager and the topology manager read and show alike.

use super::input;
use kq_facts::checkpoint::cpu_manager::CpuState;
use kq_facts::host::CpuPlace;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::Pod;
use kq_managers::cpu_manager::{CpuTopology, StaticPolicy, StaticPolicyError};
use kq_managers::topology_manager::{
    NumaInfo, NumaNode, NumaNodes, ProviderHints, TopologyHint, TopologyPolicy,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

pub fn cpus(value: &Value) -> CpuSet {
    value.as_str().expect("a list of CPUs").parse().expect("a list of CPUs")
}

pub fn topology(machine: &Value) -> CpuTopology {
    let cpu = |it: &Value| CpuPlace {
        cpu: number(&it["cpu"]),
        core: number(&it["core"]),
        socket: number(&it["socket"]),
        numa_node: number(&it["numa_node"]),
        uncore_cache: it["uncore_cache"].as_i64(),
    };
    CpuTopology::new(list(&machine["cpus"]).map(cpu)).expect("a machine")
}

pub fn numa(nodes: &Value) -> NumaInfo {
    let node =
        |it: &Value| NumaNode { id: number(&it["id"]), distances: input::read(&it["distances"]) };
    NumaInfo::new(list(nodes).map(node))
}

fn sets(value: &Value) -> BTreeMap<String, CpuSet> {
    let entry = |(name, set): (&String, &Value)| (name.clone(), cpus(set));
    value.as_object().into_iter().flatten().map(entry).collect()
}

pub fn state(value: &Value, policy: &str) -> CpuState {
    let entries = value["entries"].as_object().into_iter().flatten();
    CpuState {
        policy_name: policy.to_owned(),
        default_cpu_set: cpus(&value["default_cpu_set"]),
        containers: entries.map(|(uid, of_pod)| (uid.clone(), sets(of_pod))).collect(),
        pods: None,
    }
}

pub fn shown_state(state: &CpuState) -> Value {
    let entries: Map<String, Value> =
        state.containers.iter().map(|(uid, of_pod)| (uid.clone(), shown_sets(of_pod))).collect();
    json!({ "default_cpu_set": state.default_cpu_set.to_string(), "entries": entries })
}

pub fn shown_sets(sets: &BTreeMap<String, CpuSet>) -> Value {
    sets.iter().map(|(name, cpus)| (name.clone(), Value::from(cpus.to_string()))).collect()
}

/// Makes the static policy of a case, as after a start.
pub fn policy(case: &Value) -> Result<StaticPolicy, StaticPolicyError> {
    let rules: KubeletRules = input::rules(case);
    let options: BTreeMap<String, String> = input::read(&case["policy_options"]);
    let reserved = (number(&case["num_reserved_cpus"]), &cpus(&case["reserved_cpus"]));
    let topology = topology(&case["machine"]);
    let mut policy =
        StaticPolicy::new(topology, &options, rules, TopologyPolicy::default(), reserved)?;
    policy.set_cpus_to_reuse(sets(&case["cpus_to_reuse"]));
    Ok(policy)
}

pub fn pod(case: &Value) -> Pod {
    input::pod(&case["pod"])
}

pub fn hint(value: &Value) -> TopologyHint {
    let nodes: Option<Vec<i64>> = input::read(&value["numa_nodes"]);
    TopologyHint { numa_nodes: nodes.map(NumaNodes::of), preferred: value["preferred"] == true }
}

pub fn shown_hint(hint: TopologyHint) -> Value {
    let nodes = hint.numa_nodes.map(|nodes| nodes.iter().collect::<Vec<i64>>());
    json!({ "numa_nodes": nodes, "preferred": hint.preferred })
}

pub fn shown_hints(hints: &ProviderHints) -> Value {
    if hints.is_empty() {
        return Value::Null;
    }
    let shown = |hints: &Vec<TopologyHint>| -> Vec<Value> {
        hints.iter().copied().map(shown_hint).collect()
    };
    hints.iter().map(|(name, hints)| (name.clone(), json!(hints.as_ref().map(shown)))).collect()
}
