//! How a starting kubelet reads the file (`restoreState` in `state_checkpoint.go`).
//!
//! Without the gate PodLevelResourceManagers it knows layout v1 only, and accepts a checksum of 0 or none.
//! With it, v2 is tried first, which needs a checksum; the memory of pods that v2 read stays when v1 is
//! taken.

use super::types::{
    Block, MemoryCheckpoint, MemoryLayout, NumaNodeState, PodMemory, read_checkpoint,
};
use crate::checkpoint::layout::{Attempt, KnownLayouts, Load};
use kq_k8s::go_text::quote;
use std::collections::BTreeMap;

/// The result of reading the file.
pub type MemoryLoad = Load<MemoryCheckpoint, MemoryState, MemoryRefusal>;

type MemoryAttempt = Attempt<MemoryCheckpoint>;

/// The state with which the kubelet starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// The policy of the file.
    pub policy_name: String,
    /// The NUMA nodes; one that is `null` in the file is `None`.
    pub machine_state: BTreeMap<i64, Option<NumaNodeState>>,
    /// The memory of containers, by pod.
    pub containers: BTreeMap<String, BTreeMap<String, Vec<Block>>>,
    /// The memory of pods; `None`: ignored without the gate.
    pub pods: Option<PodMemory>,
}

/// Why the kubelet does not start, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryRefusal {
    /// The text is not such a file.
    #[error("{0}")]
    Json(String),
    /// The checksum is wrong.
    #[error("checkpoint is corrupted")]
    Corrupt,
    /// Another policy.
    #[error(
        "[memorymanager] configured policy {} differs from state checkpoint policy {}",
        quote(configured),
        quote(found)
    )]
    Policy {
        /// The policy of the kubelet's configuration.
        configured: String,
        /// The policy of the file.
        found: String,
    },
    /// An amount of memory is `null`, which the kubelet does not expect: it crashes (`NUMANodeMap.Clone`).
    #[error("runtime error: invalid memory address or nil pointer dereference")]
    Panic {
        /// The NUMA node.
        node: i64,
        /// The kind of memory.
        memory_type: String,
    },
}

/// Loads the file as a kubelet does that starts. `policy` is the configured one; `None`: it is not known,
/// and the file's is taken.
pub fn load(bytes: &[u8], layouts: KnownLayouts, policy: Option<&str>) -> MemoryLoad {
    let order: &[MemoryLayout] = match layouts {
        KnownLayouts::WithPods => &[MemoryLayout::V2, MemoryLayout::V1],
        _ => &[MemoryLayout::V1],
    };
    let attempt = |layout: &MemoryLayout| {
        let read = read_checkpoint(bytes, *layout, layouts);
        let needs_checksum = *layout != MemoryLayout::V1 || layouts == KnownLayouts::BeforePods;
        Attempt::of(*layout, read, layouts == KnownLayouts::WithoutPods, needs_checksum)
    };
    let attempts = order.iter().map(attempt).collect();
    Load::new(attempts, policy, |attempts, taken, policy| {
        restore(&content(attempts, taken)?, layouts.has_pods(), policy)
    })
}

/// Returns the content that is restored (`loadAndMigrateCheckpointV2`).
fn content(
    attempts: &[MemoryAttempt],
    taken: Option<usize>,
) -> Result<MemoryCheckpoint, MemoryRefusal> {
    let Some(taken) = taken.and_then(|at| attempts.get(at)) else {
        let last = attempts.last().and_then(|attempt| attempt.error.clone());
        return Err(last.map_or(MemoryRefusal::Corrupt, MemoryRefusal::Json));
    };
    let mut content = taken.content.clone();
    if let Some(MemoryAttempt { layout: MemoryLayout::V2, content: read, .. }) = attempts.first()
        && taken.layout == MemoryLayout::V1
    {
        // The values of the newest layout stay, and those of older ones overwrite them.
        content.pod_entries.clone_from(&read.pod_entries);
        if content.policy_name.is_empty() {
            content.policy_name.clone_from(&read.policy_name);
        }
        if content.machine_state.is_none() {
            content.machine_state.clone_from(&read.machine_state);
        }
        if content.entries.as_ref().is_none_or(BTreeMap::is_empty) {
            content.entries.clone_from(&read.entries);
        }
    }
    Ok(content)
}

/// Copies the content into the kubelet's memory, where lists that are nil become empty ones.
fn restore(
    content: &MemoryCheckpoint,
    pod_level: bool,
    policy: Option<&str>,
) -> Result<MemoryState, MemoryRefusal> {
    let found = &content.policy_name;
    if let Some(configured) = policy.filter(|configured| configured != found) {
        let configured = configured.to_owned();
        return Err(MemoryRefusal::Policy { configured, found: found.clone() });
    }
    let mut machine_state = content.machine_state.clone().unwrap_or_default();
    for (node, state) in &mut machine_state {
        let Some(state) = state else { continue };
        let tables = state.memory_map.iter().flatten();
        if let Some((memory_type, _)) = tables.into_iter().find(|(_, table)| table.is_none()) {
            let memory_type = memory_type.clone();
            return Err(MemoryRefusal::Panic { node: *node, memory_type });
        }
        state.cells.get_or_insert_default();
    }
    let containers = content.entries.iter().flatten().map(|(pod, containers)| {
        let containers = containers.iter().flatten();
        let blocks = containers.map(|(name, it)| (name.clone(), it.clone().unwrap_or_default()));
        (pod.clone(), blocks.collect())
    });
    let pods = pod_level.then(|| content.pod_entries.clone().unwrap_or_default());
    Ok(MemoryState {
        policy_name: found.clone(),
        machine_state,
        containers: containers.collect(),
        pods,
    })
}
