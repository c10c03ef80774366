//! What is to be done next so that a pod fits: the victims of a plan that was shown, one after the other.
//!
//! Says what to ask and is told what came of it and when; asks nobody itself. Before each victim the node is
//! looked at again, and nobody goes whom the plan did not show, or who is not wanted any more.
//!
//! * `target`: who is to go, and who cannot.
//! * `protocol`: what is asked, and what the answers are.
//! * `steps`: which step is the next.
//! * `report`: what was done.

mod protocol;
mod report;
mod steps;
mod target;
#[cfg(test)]
mod tests;

pub use protocol::{
    Action, EvictionResponse, Observation, PodPresence, Refreshed, Removal, RemovalOptions,
    ReplanResult, StepResult, why_not,
};
pub use report::{
    ApplyResult, Check, CheckResult, PreemptionApply, StepReport, result_line, table,
};
pub use steps::{Apply, Step};
pub use target::{Target, planned_last, successors, unfit};
