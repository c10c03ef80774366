//! The file as the kubelet writes it (`storeState` in `state_checkpoint.go`).

use super::load::MemoryState;
use super::types::{Block, MemoryCheckpoint, MemoryLayout, NumaNodeState};
use crate::facts::checkpoint::Encoded;
use crate::facts::checkpoint::go_write::to_go_json;
use crate::facts::checkpoint::layout::Layered;
use serde::Serialize;
use std::collections::BTreeMap;

/// The file, in the order of its fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'c> {
    policy_name: &'c str,
    /// Sorted as texts: "10" comes before "2".
    machine_state: BTreeMap<String, &'c Option<NumaNodeState>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    entries: &'c BTreeMap<String, BTreeMap<String, Vec<Block>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pod_entries: BTreeMap<&'c str, PodEntry<'c>>,
    checksum: u32,
}

/// The memory of a pod.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodEntry<'c> {
    #[serde(skip_serializing_if = "<[Block]>::is_empty")]
    memory_blocks: &'c [Block],
}

/// Writes the file: with the memory of pods in layout v2, else in v1.
pub fn encode(state: &MemoryState) -> Encoded {
    let entries = state.containers.iter().map(|(pod, containers)| {
        let containers = containers.iter().map(|(name, it)| (name.clone(), Some(it.clone())));
        (pod.clone(), Some(containers.collect()))
    });
    let checkpoint = MemoryCheckpoint {
        policy_name: state.policy_name.clone(),
        machine_state: Some(state.machine_state.clone()),
        entries: Some(entries.collect()),
        pod_entries: state.pods.clone(),
        checksum: 0,
    };
    let layout = if state.pods.is_some() { MemoryLayout::V2 } else { MemoryLayout::V1 };
    let checksum = checkpoint.checksum(layout, MemoryCheckpoint::TYPE_NAME);
    let nodes = state.machine_state.iter().map(|(node, state)| (node.to_string(), state));
    let pods = state.pods.iter().flatten().map(|(pod, blocks)| {
        (pod.as_str(), PodEntry { memory_blocks: blocks.as_deref().unwrap_or_default() })
    });
    let text = to_go_json(&File {
        policy_name: &state.policy_name,
        machine_state: nodes.collect(),
        entries: &state.containers,
        pod_entries: pods.collect(),
        checksum,
    });
    Encoded { text, pre_image: checkpoint.pre_image(layout), checksum }
}
