//! How a starting kubelet reads the file (`restoreState` in `state_checkpoint.go`).
//!
//! | gate PodLevelResourceManagers | layouts, in order | checksum 0 or none is accepted |
//! |-------------------------------|-------------------|--------------------------------|
//! | off                           | v2, v1            | v2, v1                         |
//! | on                            | v3, v2, v1        | v2, v1                         |
//!
//! The first layout that can be read and whose checksum is right counts; when none is, the error is that
//! of the last. What a layout that was not accepted left behind stays: with the gate, the CPUs of pods of
//! a v3 file whose checksum is wrong come back when its checksum is right for v2.

use super::types::{CpuCheckpoint, CpuCheckpointV1, CpuLayout, Parsed, read_checkpoint};
use crate::checkpoint::layout::{Attempt, KnownLayouts, Load, read_file};
use kq_k8s::cpuset::{CpuSet, ParseCpuSetError};
use kq_k8s::go_text::quote;
use std::collections::BTreeMap;

/// The pod and the name of containers, by the id that the runtime gave them.
pub type KnownContainers = BTreeMap<String, (String, String)>;

/// The result of reading the file.
pub type CpuLoad = Load<Parsed, CpuState, CpuRefusal>;

type CpuAttempt = Attempt<Parsed>;

/// The state with which the kubelet starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuState {
    /// The policy of the file.
    pub policy_name: String,
    /// The CPUs that are shared.
    pub default_cpu_set: CpuSet,
    /// The exclusive CPUs by pod and container.
    pub containers: BTreeMap<String, BTreeMap<String, CpuSet>>,
    /// The CPUs of pods as a whole; `None`: ignored without the gate.
    pub pods: Option<BTreeMap<String, CpuSet>>,
}

/// Why the kubelet does not start, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuRefusal {
    /// The text is not such a file.
    #[error("{0}")]
    Json(String),
    /// The checksum is wrong.
    #[error("checkpoint is corrupted")]
    Corrupt,
    /// A container of a v1 file that the runtime does not have.
    #[error("{what}: containerID '{id}' not found in initial containers list")]
    UnknownContainer {
        /// What the kubelet failed to do.
        what: &'static str,
        id: String,
    },
    /// A v1 file, and it is not known which containers the runtime has.
    #[error("container IDs are needed, and the container runtime was not queried")]
    ContainersNotKnown,
    /// Another policy.
    #[error(
        "configured policy {} differs from state checkpoint policy {}",
        quote(configured),
        quote(found)
    )]
    Policy {
        /// The policy of the kubelet's configuration.
        configured: String,
        /// The policy of the file.
        found: String,
    },
    /// The shared CPUs are no list.
    #[error("could not parse default cpu set {}: {error}", quote(text))]
    Default {
        text: String,
        /// Why that is none.
        error: ParseCpuSetError,
    },
    /// The CPUs of a container are no list.
    #[error(
        "could not parse cpuset {} for container {} in pod {}: {error}",
        quote(text),
        quote(container),
        quote(pod)
    )]
    Container {
        text: String,
        container: String,
        pod: String,
        /// Why that is none.
        error: ParseCpuSetError,
    },
}

/// Loads the file as a kubelet does that starts. `policy` is the configured one; `None`: it is not known,
/// and the file's is taken. `known` are the containers that the runtime has.
pub fn load(
    bytes: &[u8],
    layouts: KnownLayouts,
    policy: Option<&str>,
    known: Option<&KnownContainers>,
) -> CpuLoad {
    let order: &[CpuLayout] = match layouts {
        KnownLayouts::BeforePods => &[CpuLayout::V1, CpuLayout::V2],
        KnownLayouts::WithoutPods => &[CpuLayout::V2, CpuLayout::V1],
        KnownLayouts::WithPods => &[CpuLayout::V3, CpuLayout::V2, CpuLayout::V1],
    };
    let attempts = order.iter().map(|layout| attempt(bytes, *layout, layouts)).collect();
    Load::new(attempts, policy, |attempts, taken, policy| {
        restore(&content(attempts, taken, layouts, known)?, layouts.has_pods(), policy)
    })
}

/// Reads the file in one layout.
fn attempt(bytes: &[u8], layout: CpuLayout, known: KnownLayouts) -> CpuAttempt {
    if layout == CpuLayout::V1 {
        let (checkpoint, error) = read_file::<CpuCheckpointV1>(bytes);
        return Attempt::of(layout, (Parsed::V1(checkpoint), error), false, false);
    }
    let (checkpoint, error) = read_checkpoint(bytes, layout, known);
    let legacy = layout == CpuLayout::V2 && known == KnownLayouts::WithoutPods;
    Attempt::of(layout, (Parsed::Later(checkpoint), error), legacy, layout == CpuLayout::V3)
}

/// Returns the content that is restored: that of the layout that was taken, moved to the newest.
fn content(
    attempts: &[CpuAttempt],
    taken: Option<usize>,
    layouts: KnownLayouts,
    known: Option<&KnownContainers>,
) -> Result<CpuCheckpoint, CpuRefusal> {
    let Some(taken) = taken.and_then(|at| attempts.get(at)) else {
        let last = attempts.last().and_then(|attempt| attempt.error.clone());
        return Err(last.map_or(CpuRefusal::Corrupt, CpuRefusal::Json));
    };
    let moved = match &taken.content {
        Parsed::Later(checkpoint) => checkpoint.clone(),
        Parsed::V1(checkpoint) => migrated(checkpoint, layouts, known)?,
    };
    match attempts.first() {
        // The values of the newest layout stay, and those of older ones overwrite them.
        Some(CpuAttempt { layout: CpuLayout::V3, content: Parsed::Later(read), .. })
            if taken.layout != CpuLayout::V3 =>
        {
            let mut content = read.clone();
            put(&mut content, moved);
            Ok(content)
        }
        _ => Ok(moved),
    }
}

/// Finds the containers of a v1 file by their ids (`migrateV1CheckpointToV2Checkpoint`).
fn migrated(
    checkpoint: &CpuCheckpointV1,
    layouts: KnownLayouts,
    known: Option<&KnownContainers>,
) -> Result<CpuCheckpoint, CpuRefusal> {
    let what = match layouts {
        KnownLayouts::BeforePods => "error migrating v1 checkpoint state to v2 checkpoint state",
        _ => "failed to migrate checkpoint from v1 to v2",
    };
    let mut pods: BTreeMap<String, Option<BTreeMap<String, String>>> = BTreeMap::new();
    for (id, cpus) in checkpoint.entries.iter().flatten() {
        let known = known.ok_or(CpuRefusal::ContainersNotKnown)?;
        let (pod, container) =
            known.get(id).ok_or_else(|| CpuRefusal::UnknownContainer { what, id: id.clone() })?;
        let pod = pods.entry(pod.clone()).or_default().get_or_insert_default();
        pod.insert(container.clone(), cpus.clone());
    }
    Ok(CpuCheckpoint {
        policy_name: checkpoint.policy_name.clone(),
        default_cpu_set: checkpoint.default_cpu_set.clone(),
        entries: Some(pods),
        ..CpuCheckpoint::default()
    })
}

/// Puts an older layout over the values of the newest; values that the older lacks stay
/// (`migrateV2CheckpointToV3Checkpoint`).
fn put(content: &mut CpuCheckpoint, older: CpuCheckpoint) {
    if !older.policy_name.is_empty() {
        content.policy_name = older.policy_name;
    }
    if !older.default_cpu_set.is_empty() {
        content.default_cpu_set = older.default_cpu_set;
    }
    if older.entries.as_ref().is_some_and(|entries| !entries.is_empty()) {
        content.entries = older.entries;
    }
}

/// Reads the lists of CPUs. The kubelet goes through a map in no order; where several lists are wrong it
/// names any of them, and kq the first.
fn restore(
    content: &CpuCheckpoint,
    pod_level: bool,
    policy: Option<&str>,
) -> Result<CpuState, CpuRefusal> {
    let found = &content.policy_name;
    if let Some(configured) = policy.filter(|configured| configured != found) {
        let configured = configured.to_owned();
        return Err(CpuRefusal::Policy { configured, found: found.clone() });
    }
    let text = &content.default_cpu_set;
    let default_cpu_set =
        text.parse().map_err(|error| CpuRefusal::Default { text: text.clone(), error })?;
    let mut containers: BTreeMap<String, BTreeMap<String, CpuSet>> = BTreeMap::new();
    for (pod, entries) in content.entries.iter().flatten() {
        let of_pod = containers.entry(pod.clone()).or_default();
        for (container, text) in entries.iter().flatten() {
            let cpus = text.parse().map_err(|error| CpuRefusal::Container {
                text: text.clone(),
                container: container.clone(),
                pod: pod.clone(),
                error,
            })?;
            of_pod.insert(container.clone(), cpus);
        }
    }
    let pods = pod_level.then(|| content.pod_entries.clone().unwrap_or_default());
    Ok(CpuState { policy_name: found.clone(), default_cpu_set, containers, pods })
}
