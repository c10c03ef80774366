//! The worker of a probe, step by step.
//!
//! A worker belongs to one probe of one container. Every step either needs no probe, or asks for one
//! and goes on with its result; so the same steps run in a loop on a node and over a recorded
//! trace. The rules are those of `doProbe` and `run`, `pkg/kubelet/prober/worker.go`, pinned by the
//! vectors `probe_worker`.

mod action;
mod facts;
mod machine;
mod reason;
mod report;
mod restart;
mod timing;

#[cfg(test)]
mod tests;

pub use action::Action;
pub use facts::{ContainerFacts, PodFacts, State};
pub use machine::{Begun, Pending, StepFacts, Worker};
pub use reason::StepReason;
pub use report::{Call, NewContainer, StepReport, WorkerState};
pub use restart::{RestartCause, RestartDecision, restarts_after_kill};
pub use timing::ProbeTiming;

pub(in crate::probe) use facts::started_before_kubelet;
