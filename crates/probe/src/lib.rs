//! Probes of containers: requests of the kubelet, verdicts, and their consequences.
//!
//! The rules are those of `pkg/kubelet/prober` and `pkg/probe`, read in 1.36.2 and pinned by the vectors
//! `probe_*.jsonl`. Pure: bytes go in and out, the wire is in `kq_linux::probe`.

pub mod ad_hoc;
mod address;
mod attempt;
pub mod compare;
mod consequence;
mod events;
mod exec;
mod exec_cost;
pub mod grace_period;
mod grpc;
pub mod http;
mod injected;
pub mod lint;
pub mod plan;
pub mod pod_status;
mod prepare;
pub mod reason;
pub mod recorded;
pub mod report;
mod results;
mod retry;
pub mod schedule;
pub mod simulation;
pub mod subject;
mod target;
pub mod trace;
pub mod view;
pub mod wire;
pub mod worker;

pub use address::{
    AddressError, DialAddress, DialHost, PortError, Remote, TcpTarget, Zone, is_domain_name,
    join_host_port, resolve_port, split_host_port, tcp_target,
};
pub use attempt::{
    Attempt, Cause, Exchange, MAX_OUTPUT_BYTES, Output, Phase, PhaseTime, ProbeResult,
    ProbeTimeout, ServerCertificate, go_seconds,
};
pub use events::ProbeEvent;
pub use exec::{
    ExecReply, ExecRequest, Expanded, ExpansionNote, MAX_RUNTIME_MESSAGE_BYTES, exec_attempt,
    expand,
};
pub use grpc::{
    CHECK_PATH, Call, CallFailure, FrameScan, GoAway, GrpcCode, GrpcStatus, GrpcTarget,
    MAX_MESSAGE_BYTES, Outcome, Preface, REFUSED_STREAM, decode_response, encode_request,
    grpc_attempt, grpc_connect_timeout, grpc_target, grpc_timeout, http2_error_name,
    request_fields,
};
pub use http::{grpc_user_agent, user_agent};
pub use pod_status::{PredictedStatus, predicted_statuses};
pub use prepare::{Job, JobFacts, Unsendable};
pub use results::{ContainerId, ResultsCache, Verdict};
pub use retry::{Conclusion, MAX_ATTEMPTS, Next, Retry, unusable};
pub use target::{Status, Target, host_of, is_loopback};

#[cfg(test)]
#[path = "../../../tests/support/objects.rs"]
mod objects;
