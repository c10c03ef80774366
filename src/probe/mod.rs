//! Probes: what the kubelet sends to a container, what the answer means, what follows from it.
//!
//! The rules are those of `pkg/kubelet/prober` and `pkg/probe`, read in 1.36.2 and pinned by the vectors
//! `probe_*.jsonl`. Pure: bytes go in and out, the wire is in [`edge::probe`](crate::edge::probe).

mod address;
mod attempt;
pub mod http;
mod port;
mod timeout;

pub use address::{
    AddressError, DialAddress, DialHost, Remote, Zone, is_domain_name, join_host_port,
    split_host_port,
};
pub use attempt::{
    Attempt, Cause, Exchange, MAX_OUTPUT_BYTES, Output, Phase, PhaseTime, ProbeResult,
};
pub use port::{PortError, resolve_port};
pub use timeout::{ProbeTimeout, go_seconds};
