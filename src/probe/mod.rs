//! Probes: what the kubelet sends to a container, what the answer means, what follows from it.
//!
//! The rules are those of `pkg/kubelet/prober` and `pkg/probe`, read in 1.36.2 and pinned by the vectors
//! `probe_*.jsonl`. Pure: bytes go in and out, the wire is in [`edge::probe`](crate::edge::probe).

mod attempt;
mod container_id;
mod events;
pub mod grace_period;
pub mod pod_status;
mod port;
mod results;
mod retry;
pub mod schedule;
pub mod simulation;
pub mod trace;
pub mod worker;

pub use attempt::{
    Attempt, Cause, Exchange, MAX_OUTPUT_BYTES, Output, Phase, PhaseTime, ProbeResult,
};
pub use container_id::ContainerId;
pub use events::ProbeEvent;
pub use port::{PortError, resolve_port};
pub use results::{ResultsCache, Verdict};
pub use retry::{Conclusion, MAX_ATTEMPTS, Next, Retry, unusable};
