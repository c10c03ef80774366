//! The answers of many nodes to one question, as one answer.
//!
//! * `outcome`: one node's answer and its results, each with a severity;
//! * `pod`: the pod that runs on a node; `packed`: an answer in the pod's log;
//! * `open_pods`: the pods that may exist; `leftover`: those that outlived their run;
//! * `rbac`: the rights that a fleet needs;
//! * `merge`: nodes with the same result are counted together, so that memory is bounded by the results;
//! * `report`: the merged answer; `view`: the same as tables, CSV and names.

mod leftover;
mod merge;
mod open_pods;
mod outcome;
mod packed;
mod pod;
mod rbac;
mod report;
#[cfg(test)]
mod tests;
mod view;

pub use leftover::{FleetPod, fleet_pods};
pub use merge::Merge;
pub use open_pods::{OpenPods, PodStep};
pub use outcome::{NoAnswer, NodeOutcome, NodeResult, Reply};
pub use packed::Packed;
pub use pod::{MANAGED_BY, MANAGED_BY_LABEL, PodSettings, PodState, uid_of_run};
pub use rbac::{FleetUse, RbacOptions};
pub use report::{FleetAnswer, NodeChange, NodeCounts, NodeValue, ResultRow, ValueSummary};
pub use view::{csv, names, summary, table, wide};
