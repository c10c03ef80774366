//! gRPC probes: requests and verdicts (`pkg/probe/grpc/grpc.go` and grpc-go 1.79).
//!
//! Pure: frames of HTTP/2 are read in [`edge::probe`](crate::edge::probe).

mod call;
mod frames;
mod gzip;
mod health;
mod http2_error;
mod request;
mod status;
mod verdict;

pub use call::{Call, CallFailure, MAX_MESSAGE_BYTES, Outcome};
pub use frames::{FrameScan, GoAway, Preface};
pub use health::{CHECK_PATH, decode_response, encode_request};
pub use http2_error::{REFUSED_STREAM, http2_error_name};
pub use request::{GrpcTarget, grpc_target, grpc_timeout, request_fields};
pub use status::{GrpcCode, GrpcStatus};
pub use verdict::{grpc_attempt, grpc_connect_timeout};
