//! The next step so that a pod fits: the victims of the plan that was shown, one after the other.
//!
//! Returns actions and receives their results and times; it does nothing itself. Before each victim the node is
//! read again. Only pods of the plan are removed, and only while they are needed.
//!
//! * `target`: the victims, and pods that cannot be one.
//! * `protocol`: actions and observations.
//! * `steps`: the choice of the next step.
//! * `report`: the report.

#[cfg(test)]
mod property_tests;
mod protocol;
mod report;
mod steps;
mod target;
#[cfg(test)]
mod tests;

pub use kq_facts::pod_removal::{EvictionResponse, PodPresence, Removal, Target};
pub use protocol::{
    Action, Observation, Refreshed, RemovalOptions, ReplanResult, StepResult, why_not,
};
pub use report::{
    ApplyResult, Check, CheckResult, PreemptionApply, StepReport, result_line, table,
};
pub use steps::{Apply, Step};
pub use target::{planned_last, successors, target_of, unfit};
