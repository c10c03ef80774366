//! The worker of a probe, step by step.
//!
//! A worker belongs to one probe of one container. Every step either needs no probe, or asks for one
//! and goes on with its result; so the same steps run in a loop on a node and over a recorded
//! trace. The rules are those of `doProbe` and `run`, `pkg/kubelet/prober/worker.go`, pinned by the
//! vectors `probe_worker`.
//!
//! Pinned by `probe_worker.jsonl`.

mod facts;
mod machine;
mod reason;
mod restart;

#[cfg(test)]
mod tests;

pub use facts::{ContainerFacts, PodFacts, ProbeTiming, State};
pub use machine::{Begun, Call, NewContainer, Pending, StepFacts, StepReport, Worker, WorkerState};
pub use reason::StepReason;
pub use restart::{Action, RestartCause, RestartDecision, restarts_after_kill};

pub(crate) use facts::started_before_kubelet;
