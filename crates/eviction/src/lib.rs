//! Eviction under node pressure: thresholds, reclaim, and the order of eviction. Pure.
//!
//! Mirrors `pkg/kubelet/eviction/`, read in 1.36.2; pinned by the vectors `eviction.jsonl` and
//! `eviction_rank.jsonl`.
//!
//! * `observation`: the available amount of each signal, compared with thresholds.
//! * `container_fs`: the thresholds that follow from the layout of the filesystems.
//! * `usage`, `rank`: the pods' usage, and the order of eviction.
//! * `victim`: the eviction of one pod, and its messages.
//! * `local_storage`: pods that exceed limits of their own.
//! * `admission`: pods that are admitted under pressure.
//! * `cycle`, `decision`: one cycle of the manager, from thresholds to an eviction.
//! * `disks`: the filesystems of a node, and their layout.
//! * `reclaim_outcome`: what is reclaimed before a pod is evicted, and the effect.
//! * `pressure`: the cycle on one node at this moment; [`pressure_view`] renders it.
//! * `reason`, `disk_reason`: reasons as facts, and their sentences.
//! * `node_identity`: the node of the answer, and its own pods.
//! * `rank_report`: the order for one signal with its reasons; [`rank_view`] renders it.

mod admission;
mod container_fs;
mod cycle;
mod decision;
mod disk_reason;
mod disks;
mod local_storage;
mod node_identity;
mod observation;
mod pressure;
pub mod pressure_view;
mod rank;
mod rank_report;
pub mod rank_view;
mod reason;
mod reclaim_outcome;
mod usage;
mod victim;

pub use admission::{Admission, admit_under_pressure};
pub use container_fs::{ContainerFsWarning, add_container_fs_thresholds};
pub use cycle::{
    ActiveThreshold, Cycle, CycleInput, EvictionSetup, ManagerState, StatsAfterReclaim, synchronize,
};
pub use decision::{AfterReclaim, Alternative, Outcome, PodEviction};
pub use disk_reason::{FreedPart, LayoutReason, SettlementReason};
pub use disks::{AssumedSpace, DiskFacts, DiskLayout, Disks, Layout, NodeDisks, node_disks};
pub use local_storage::{ExceededLimit, LocalStorageCheck, local_storage_checks};
pub use node_identity::NodeIdentity;
pub use observation::{
    Comparison, Crossing, Observation, Observations, ThresholdRow, compare, node_conditions,
    observe,
};
pub use pressure::{
    ExceedingPod, GraceCase, PodName, Pressure, PressureAction, PressureInput, Reclaims, Victim,
    is_active, pressure,
};
pub use rank::{Figures, RankStep, RankedPod, Ranking, decided_by, rank_pods};
pub use rank_report::{
    EvictionRank, FirstEvicted, RankInput, RankItem, Ranker, UsageFrom, UsageSource, UsedParts,
};
pub use reason::{BeforeReason, DistanceReason, PressureReason, RankReason, amount_of};
pub use reclaim_outcome::{
    FreedBytes, ReclaimAhead, ReclaimFunction, ReclaimOutcome, Reclaimed, Sufficiency,
    reclaim_functions,
};
pub use usage::{DiskUnit, DiskUsage, FsParts, disk_usage, measured_parts};
pub use victim::{
    Eviction, EvictionMessage, IMMEDIATE_GRACE_SECONDS, Offender, REASON_EVICTED, Verdict,
    evict_pod, eviction_message,
};

#[cfg(test)]
#[path = "../../../tests/support/objects.rs"]
mod objects;
