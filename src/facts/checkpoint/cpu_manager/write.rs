//! The file as the kubelet writes it (`storeState` in `state_checkpoint.go`).

use super::load::CpuState;
use super::types::{CpuCheckpoint, CpuLayout, Parsed};
use crate::facts::checkpoint::Encoded;
use crate::facts::checkpoint::go_write::to_go_json;
use crate::facts::checkpoint::layout::Layered;
use crate::k8s::cpuset::CpuSet;
use serde::Serialize;
use std::collections::BTreeMap;

/// The file, in the order of its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'c> {
    policy_name: &'c str,
    default_cpu_set: &'c str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<&'c BTreeMap<String, Option<BTreeMap<String, String>>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pod_entries: BTreeMap<&'c str, PodEntry>,
    checksum: u32,
}

/// The CPUs of a pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodEntry {
    #[serde(skip_serializing_if = "String::is_empty")]
    cpu_set: String,
}

/// Writes the file: with the CPUs of pods in layout v3, else in v2.
pub fn encode(state: &CpuState) -> Encoded {
    let entries = state.containers.iter().map(|(pod, containers)| {
        let containers = containers.iter().map(|(name, cpus)| (name.clone(), cpus.to_string()));
        (pod.clone(), Some(containers.collect()))
    });
    let checkpoint = CpuCheckpoint {
        policy_name: state.policy_name.clone(),
        default_cpu_set: state.default_cpu_set.to_string(),
        entries: Some(entries.collect()),
        pod_entries: state.pods.clone(),
        checksum: 0,
    };
    let layout = if state.pods.is_some() { CpuLayout::V3 } else { CpuLayout::V2 };
    let hashed = Parsed::Later(checkpoint.clone());
    let pod_entry = |(pod, cpus)| -> (&str, PodEntry) {
        let (pod, cpus): (&String, &CpuSet) = (pod, cpus);
        (pod, PodEntry { cpu_set: cpus.to_string() })
    };
    let checksum = hashed.checksum(layout, Parsed::TYPE_NAME);
    let text = to_go_json(&File {
        policy_name: &checkpoint.policy_name,
        default_cpu_set: &checkpoint.default_cpu_set,
        entries: checkpoint.entries.as_ref().filter(|entries| !entries.is_empty()),
        pod_entries: state.pods.iter().flatten().map(pod_entry).collect(),
        checksum,
    });
    Encoded { text, pre_image: hashed.pre_image(layout), checksum }
}
