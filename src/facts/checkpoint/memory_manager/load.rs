//! What a kubelet that starts makes of the file (`restoreState` in `state_checkpoint.go`).
//!
//! Without the gate PodLevelResourceManagers it knows layout v1 only, and accepts a checksum of 0 or none.
//! With it, v2 is tried first, which needs a checksum; the memory of pods that v2 read stays when v1 is
//! taken.

use super::read::read_checkpoint;
use super::types::{
    Block, HashedMemory, LEGACY_TYPE_NAME, MemoryCheckpoint, MemoryLayout, NumaNodeState,
    PodMemory, TYPE_NAME,
};
use crate::facts::checkpoint::go_dump::Hashed;
use crate::k8s::go_text::quote;
use std::collections::BTreeMap;

/// What became of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLoad {
    /// Every layout that this kubelet knows, in its order; also the one after that which it took.
    pub attempts: Vec<MemoryAttempt>,
    /// The layout that it took.
    pub taken: Option<MemoryLayout>,
    /// What it goes on with; else it does not start.
    pub outcome: Result<MemoryState, MemoryRefusal>,
    /// What the file holds, whatever the kubelet thinks of its checksum and policy.
    pub shown: Option<MemoryState>,
}

/// What reading the file in one layout gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryAttempt {
    /// The layout.
    pub layout: MemoryLayout,
    /// The content.
    pub checkpoint: MemoryCheckpoint,
    /// Why the content is not whole.
    pub error: Option<String>,
    /// The checksum that the content has.
    pub checksum_computed: u32,
    /// Another checksum that is accepted: the one under the older type name.
    pub also_accepted: Option<u32>,
}

/// What the kubelet goes on with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// The policy of the file.
    pub policy_name: String,
    /// The NUMA nodes; one that is `null` in the file is `None`.
    pub machine_state: BTreeMap<i64, Option<NumaNodeState>>,
    /// The memory of containers, by pod.
    pub containers: BTreeMap<String, BTreeMap<String, Vec<Block>>>,
    /// The memory of pods; `None`: without the gate nobody looks.
    pub pods: Option<PodMemory>,
}

/// Why the kubelet does not start, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryRefusal {
    /// The text is no such file.
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
pub fn load(bytes: &[u8], pod_level: bool, policy: Option<&str>) -> MemoryLoad {
    let layouts: &[MemoryLayout] = match pod_level {
        true => &[MemoryLayout::V2, MemoryLayout::V1],
        false => &[MemoryLayout::V1],
    };
    let attempts: Vec<MemoryAttempt> =
        layouts.iter().map(|layout| attempt(bytes, *layout, pod_level)).collect();
    let taken = attempts.iter().position(MemoryAttempt::is_accepted);
    let outcome = content(&attempts, taken).and_then(|it| restore(&it, pod_level, policy));
    let whole = attempts.iter().position(|attempt| attempt.error.is_none());
    let shown =
        content(&attempts, taken.or(whole)).and_then(|it| restore(&it, pod_level, None)).ok();
    MemoryLoad { taken: taken.map(|at| attempts[at].layout), attempts, outcome, shown }
}

impl MemoryAttempt {
    /// Tells whether the kubelet takes the file in this layout.
    pub fn is_accepted(&self) -> bool {
        let in_file = self.checkpoint.checksum;
        // Files of the time before checksums have none.
        let has_none = in_file == 0 && self.layout == MemoryLayout::V1;
        let is_right = |sum: u32| u64::from(sum) == in_file;
        self.error.is_none()
            && (has_none
                || is_right(self.checksum_computed)
                || self.also_accepted.is_some_and(is_right))
    }

    /// Returns the text that the checksum is made of.
    pub fn pre_image(&self) -> String {
        hashed(&self.checkpoint, self.layout, TYPE_NAME).pre_image()
    }
}

fn hashed<'c>(
    checkpoint: &'c MemoryCheckpoint,
    layout: MemoryLayout,
    type_name: &'c str,
) -> HashedMemory<'c> {
    HashedMemory { checkpoint, with_pods: layout == MemoryLayout::V2, type_name }
}

fn attempt(bytes: &[u8], layout: MemoryLayout, pod_level: bool) -> MemoryAttempt {
    let (checkpoint, error) = read_checkpoint(bytes, layout);
    MemoryAttempt {
        layout,
        error,
        checksum_computed: hashed(&checkpoint, layout, TYPE_NAME).fnv32(),
        also_accepted: (!pod_level).then(|| hashed(&checkpoint, layout, LEGACY_TYPE_NAME).fnv32()),
        checkpoint,
    }
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
    let mut content = taken.checkpoint.clone();
    if let Some(MemoryAttempt { layout: MemoryLayout::V2, checkpoint: read, .. }) = attempts.first()
        && taken.layout == MemoryLayout::V1
    {
        // What the newest layout read is still there, and what comes after is put over it.
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
