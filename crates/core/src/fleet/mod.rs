//! The answers of many nodes to one question, as one answer.
//!
//! * `apply`: a change of many nodes; `node_answer`: what one node writes of it; `apply_record`: its record;
//! * `outcome`: one node's answer and its results, each with a severity;
//! * `pod`: the pod that runs on a node, and the pods that may exist; `own_pod`: the pod of a run among others of its name;
//! * `disruptions`: the pods of a node that a change disrupts;
//! * `packed`: an answer in the pod's log;
//! * `group`: the pool of a node;
//! * `leftover`: the pods that outlived their run;
//! * `rbac`: the rights that a fleet needs;
//! * `rollout`: a change of many nodes, judged before it is made;
//! * `merge`: nodes with the same result are counted together, so that memory is bounded by the results;
//! * `view`: the merged answer as tables, CSV and names.

mod apply;
mod apply_record;
mod disruptions;
mod group;
mod leftover;
mod merge;
mod node_answer;
mod outcome;
mod own_pod;
mod packed;
mod pod;
mod rbac;
mod reported;
mod rollout;
#[cfg(test)]
mod tests;
mod view;

pub use apply::{ChangeState, ChangedNode, FleetApply, SharedPlan};
pub use apply_record::{ApplyEvent, ApplyRecord};
pub use disruptions::{DisruptedPod, Disruption, NodeDisruptions, StartOutcome};
pub use group::node_group;
pub use leftover::{FleetPod, fleet_pods};
pub use merge::{FleetAnswer, Merge, NodeChange, NodeCounts, NodeValue, ResultRow, ValueSummary};
pub use outcome::{NoAnswer, NodeOutcome, NodeResult, Reply, error_of_kq};
pub use own_pod::{FoundPod, uid_of, uid_with_secret};
pub use packed::Packed;
pub use pod::{
    MANAGED_BY, MANAGED_BY_LABEL, NodeCommand, OpenPod, OpenPods, PodSettings, PodState, PodStep,
};
pub use rbac::{FleetUse, RbacOptions};
pub use rollout::{
    BudgetLoss, BudgetUse, DisruptedPods, FleetWhatIf, LeftOutNode, LeftOutReason, Rollout, Wave,
    WaveStep, WorkloadLoss,
};
pub use view::{csv, names, summary, table, wide};
