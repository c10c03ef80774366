//! Whether the kubelet admits a pod: the predicates, their order, their reasons and messages.
//!
//! Mirrors `pkg/kubelet/lifecycle/predicate.go`, `AdmissionCheck` of `pkg/scheduler/eventhandlers.go` and
//! the scheduler's plugins that it runs, read in 1.36.2; pinned by the vectors `admission.jsonl`.
//!
//! * `examine`: the checks in their order, and the facts behind them.
//! * `filter`: the general filter, and the ledger behind its sums.
//! * `occupancy`: the existing pods, added up.
//! * `amounts`: the amounts of pods and nodes; which resources count.
//! * `placement`: labels, names, taints; host ports.
//! * `reason`: reasons as facts, and their sentences.
//! * `explain`, `checks`, `derivation`, `report`: the answer with its reasons.

mod amounts;
mod checks;
mod derivation;
mod examine;
mod explain;
mod filter;
pub mod occupancy;
mod placement;
pub mod preemption;
mod reason;
mod report;
pub mod view;

pub use amounts::{
    Amounts, RemovedRequest, is_scalar_resource, named_resources, remove_missing_extended_resources,
};
pub use derivation::shown;
pub use examine::{DeviceDecision, Examined, Facts, Refusal, Verdict, examine, refused_after_all};
pub use explain::{EarlierCheck, NodePod, explain, finally, qualified, refused_before};
pub use filter::{Failure, Filtered, Ledger, Predicate, filter};
pub use occupancy::Occupancy;
pub(crate) use occupancy::drop_places;
pub use placement::{
    HostPort, counted_host_ports, first_conflict, first_unmet, host_ports, untolerated_taint,
};
pub use reason::{
    AmountReason, CheckReason, DeviceOutcome, DeviceReason, PlacedContainer, PressureException,
    RemovedReason, ShortReason,
};
pub use report::{
    Check, CheckName, CheckResult, Compared, Explanation, LedgerAmount, LedgerLine, PodAdmission,
    Removed,
};

#[cfg(test)]
#[path = "../../../tests/support/objects.rs"]
mod objects;
