//! Which pods the kubelet kills to take in a critical one.
//!
//! Mirrors `pkg/kubelet/preemption/preemption.go`, read in 1.36.2; pinned by the vectors
//! `preempt_units.jsonl`, `preempt.jsonl` and `preempt_admit.jsonl`.
//!
//! * `victims`: a pod that may have to go, what is missing, and how far the pod is from giving it.
//! * `search`: the pods that are picked, class by class and round by round.
//! * `explain`, `report`: the answer with its reasons.
//! * `apply`: the next step so that the pod fits, and the report.
//! * `cluster`, `cluster_view`: what a pod would cost on each node of a cluster.
//! * `restart`, `restart_view`: the pods that are admitted again when the kubelet restarts.
//! * `stopped_containers`: what ends of a pod that is admitted again.
//! * `lint`: pods that a priority does not protect.
//! * `why`: the component that killed a pod, and the preemptor, from the remaining evidence.
//! * `handle`: the handling of a pod's failures, and the status of the victims.

pub mod apply;
mod cluster;
#[cfg(test)]
mod cluster_tests;
pub mod cluster_view;
mod equal_victims;
mod explain;
mod handle;
pub mod lint;
pub mod orders;
mod reason;
mod report;
mod restart;
pub mod restart_view;
mod search;
#[cfg(test)]
mod search_tests;
mod stopped_containers;
#[cfg(test)]
mod tests;
mod victims;
pub mod view;
pub mod why;

pub use cluster::{
    ClusterPreemption, Cost, NodeAnswer, NodeResult, NodeStanding, NodeVictim, Summary,
};
pub use equal_victims::{AnyVictims, VictimChoice, any_victims, choose_victims};
pub use explain::{explain_preemption, why_critical};
pub use handle::{
    CONDITION_MESSAGE, Handled, MESSAGE, Outcome, REASON_PREEMPTING, WrittenStatus,
    handle_failures, make_room, written_status,
};
pub use reason::{CriticalReason, PreemptionReason, SparedReason};
pub use report::{
    CandidateExplained, ConditionExplained, Missing, PodPreemption, PreemptionExplanation,
    PreemptionResult, Reasoned, RoundExplained, Spared, StageExplained, Victim, WrittenExplained,
};
pub use restart::{
    ComparedAnew, MOST_TAKERS, Otherwise, PodReadmission, ReadmissionResult, Readmitted, Taker,
    all_stay, are_tied, readmit, restart_order, source_orders,
};
pub use stopped_containers::{RestartCause, StoppedContainers};
pub use victims::{
    MOST_PODS, MOST_TIES, NotEnough, PotentialVictim, Preemption, Requirement, Requirements, Round,
    Stage, Trace, Visit, VisitResult, distance, pick_among, pick_victims, preemption_request,
    requests_no_more, subtract,
};
