//! Whether the kubelet takes a pod: the predicates, their order, their reasons and messages.
//!
//! Mirrors `pkg/kubelet/lifecycle/predicate.go`, `AdmissionCheck` of `pkg/scheduler/eventhandlers.go` and
//! the scheduler's plugins that it asks, read in 1.36.2; pinned by the vectors `admission.jsonl`.
//!
//! * `examine`: the checks in their order; what the answer rests on.
//! * `filter`: the general filter, and the ledger behind its sums.
//! * `occupancy`: the pods that are there, added up.
//! * `devices`: what the device manager decides before the predicates.
//! * `amounts`, `extended`: what a pod takes and a node has; which resources count.
//! * `placement`, `ports`: labels, names, taints; ports of the node.
//! * `failure`: why not.
//! * `explain`, `checks`, `derivation`, `report`: the answer with its reasons.

mod amounts;
mod checks;
mod derivation;
mod devices;
mod examine;
mod explain;
mod extended;
mod failure;
mod filter;
mod occupancy;
mod placement;
mod ports;
mod report;
pub mod view;

pub use amounts::Amounts;
pub use derivation::shown;
pub use devices::DeviceDecision;
pub use examine::{Examined, Facts, Refusal, Verdict, examine, refused_after_all};
pub use explain::{NodePod, ResourceLedger, explain, finally, qualified, refused_before};
pub use extended::{
    RemovedRequest, is_extended_resource, is_scalar_resource, remove_missing_extended_resources,
};
pub use failure::{Failure, Predicate};
pub use filter::{Filtered, Ledger, filter};
pub use occupancy::Occupancy;
pub(crate) use occupancy::drop_places;
pub use placement::{first_unmet, untolerated_taint};
pub use ports::{HostPort, first_conflict, host_ports};
pub use report::{
    Check, CheckResult, Compared, Explanation, LedgerAmount, LedgerLine, PodAdmission, Removed,
};
