//! gRPC probes: requests and verdicts (`pkg/probe/grpc/grpc.go` and grpc-go 1.79).
//!
//! Pure: frames of HTTP/2 are read in `kq_linux::probe`.

mod call;
mod frames;
mod gzip;
mod health;
mod request;
mod status;

pub use call::{Call, CallFailure, MAX_MESSAGE_BYTES, Outcome};
pub use frames::{FrameScan, GoAway, Preface};
pub use health::{CHECK_PATH, decode_response, encode_request};
pub use request::{GrpcTarget, grpc_target, grpc_timeout, request_fields};
pub use status::{
    GrpcCode, GrpcStatus, REFUSED_STREAM, grpc_attempt, grpc_connect_timeout, http2_error_name,
};
