//! The answers of many nodes to one question, as one answer.
//!
//! * `outcome`: one node's answer and its results, each with a severity;
//! * `pod`: the pod that runs on a node; `packed`: an answer in the pod's log;
//! * `merge`: nodes with the same result are counted together, so that memory is bounded by the results;
//! * `report`: the merged answer; `view`: the same as tables, CSV and names.

mod merge;
mod outcome;
mod packed;
mod pod;
mod report;
#[cfg(test)]
mod tests;
mod view;

pub use merge::Merge;
pub use outcome::{NoAnswer, NodeOutcome, NodeResult, Reply};
pub use packed::Packed;
pub use pod::{PodSettings, PodState, uid_of_run};
pub use report::{FleetAnswer, NodeChange, NodeCounts, NodeValue, ResultRow, ValueSummary};
pub use view::{csv, names, summary, table, wide};
