//! The status that ends a call (`codes` and `status` of grpc-go), its meaning for the probe (`Probe`,
//! `pkg/probe/grpc/grpc.go`: never an error of the prober), and the error codes of HTTP/2 (RFC 9113, section 7) with what
//! grpc-go makes of them (`http2ErrConvTab` in `internal/transport/http_util.go`).

use super::health::serving_status;
use super::{GrpcTarget, Outcome};
use crate::{Attempt, Cause, go_seconds};
use kq_k8s::go_text::quote;
use std::fmt;

/// A status: a code and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcStatus {
    pub code: u32,
    /// The text, with whatever bytes the server put into it.
    pub message: Vec<u8>,
}

/// A code that this program names itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum GrpcCode {
    /// The call was given up.
    Canceled = 1,
    Unknown = 2,
    /// It took too long.
    DeadlineExceeded = 4,
    /// May not be called.
    PermissionDenied = 7,
    /// Too large, or too much.
    ResourceExhausted = 8,
    /// There is no such method.
    Unimplemented = 12,
    /// Something was against the rules.
    Internal = 13,
    /// The server is unavailable.
    Unavailable = 14,
    /// The caller must say who it is.
    Unauthenticated = 16,
}

const NAMES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

impl GrpcStatus {
    /// Makes a status of a code as it is on the wire.
    pub fn new(code: u32, message: impl Into<Vec<u8>>) -> Self {
        Self { code, message: message.into() }
    }

    /// Makes a status of a code.
    pub fn of(code: GrpcCode, message: impl Into<Vec<u8>>) -> Self {
        Self::new(code as u32, message)
    }

    /// Returns true for OK.
    pub fn is_ok(&self) -> bool {
        self.code == 0
    }

    /// Returns true if the deadline expired, here or at the server.
    pub fn is_deadline_exceeded(&self) -> bool {
        self.code == GrpcCode::DeadlineExceeded as u32
    }

    /// Returns the error as grpc-go shows it, with the bytes of the text as they are.
    pub fn error_text(&self) -> Vec<u8> {
        let code = usize::try_from(self.code).ok().and_then(|code| NAMES.get(code));
        let mut text = match code {
            Some(name) => format!("rpc error: code = {name} desc = "),
            None => format!("rpc error: code = Code({}) desc = ", self.code),
        }
        .into_bytes();
        text.extend_from_slice(&self.message);
        text
    }
}

impl fmt::Display for GrpcStatus {
    /// As grpc-go shows the error; bytes that are no UTF-8 become U+FFFD.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.error_text()))
    }
}

const CODES: [(&str, GrpcCode); 14] = [
    ("NO_ERROR", GrpcCode::Internal),
    ("PROTOCOL_ERROR", GrpcCode::Internal),
    ("INTERNAL_ERROR", GrpcCode::Internal),
    ("FLOW_CONTROL_ERROR", GrpcCode::ResourceExhausted),
    ("SETTINGS_TIMEOUT", GrpcCode::Internal),
    ("STREAM_CLOSED", GrpcCode::Internal),
    ("FRAME_SIZE_ERROR", GrpcCode::Internal),
    ("REFUSED_STREAM", GrpcCode::Unavailable),
    ("CANCEL", GrpcCode::Canceled),
    ("COMPRESSION_ERROR", GrpcCode::Internal),
    ("CONNECT_ERROR", GrpcCode::Internal),
    ("ENHANCE_YOUR_CALM", GrpcCode::ResourceExhausted),
    ("INADEQUATE_SECURITY", GrpcCode::PermissionDenied),
    ("HTTP_1_1_REQUIRED", GrpcCode::Internal),
];

/// The code of a stream that the server did not begin with.
pub const REFUSED_STREAM: u32 = 7;

fn known(code: u32) -> Option<&'static (&'static str, GrpcCode)> {
    CODES.get(usize::try_from(code).ok()?)
}

/// Returns the name of a code.
pub fn http2_error_name(code: u32) -> String {
    known(code)
        .map_or_else(|| format!("unknown error code {code:#x}"), |(name, _)| (*name).to_owned())
}

/// Returns the gRPC code of a stream that was reset with a code.
pub(super) fn code_of_reset(code: u32) -> GrpcCode {
    known(code).map_or(GrpcCode::Unknown, |(_, code)| *code)
}

/// Returns what the end of a call means.
pub fn grpc_attempt(outcome: Outcome, timeout_seconds: i32) -> Attempt {
    const UNIMPLEMENTED: u32 = GrpcCode::Unimplemented as u32;
    let failure = match outcome {
        Ok(1) => return Attempt::success("service healthy"),
        Ok(status) => {
            let status = serving_status(status);
            let text = format!("service unhealthy (responded with {status})");
            return Attempt::failure(Cause::Unhealthy, text);
        }
        Err(failure) => failure,
    };
    let (begin, end) = match failure.status.code {
        UNIMPLEMENTED => (
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ",
            failure.status.message,
        ),
        _ if failure.status.is_deadline_exceeded() => {
            let text = format!(
                "timeout: health rpc did not complete within {}",
                go_seconds(timeout_seconds)
            );
            return Attempt::failure(Cause::Timeout, text);
        }
        _ => ("error: health rpc probe failed: ", failure.status.error_text()),
    };
    let mut output = begin.as_bytes().to_vec();
    output.extend(end);
    Attempt::failure(failure.cause, output)
}

/// Returns what it means that no connection came about in time; the cause is that of the last try.
pub fn grpc_connect_timeout(target: &GrpcTarget, timeout_seconds: i32, cause: Cause) -> Attempt {
    let text = format!(
        "timeout: failed to connect service {} within {}: context deadline exceeded",
        quote(&target.address),
        go_seconds(timeout_seconds)
    );
    Attempt::failure(cause, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallFailure, GrpcStatus};

    #[test]
    fn errors_are_shown_as_grpc_go_shows_them() {
        for (code, expected) in [
            (0, "rpc error: code = OK desc = m"),
            (1, "rpc error: code = Canceled desc = m"),
            (16, "rpc error: code = Unauthenticated desc = m"),
            (17, "rpc error: code = Code(17) desc = m"),
            (u32::MAX, "rpc error: code = Code(4294967295) desc = m"),
        ] {
            assert_eq!(GrpcStatus::new(code, "m").to_string(), expected);
        }
        let empty = GrpcStatus::of(GrpcCode::Unavailable, "");
        assert_eq!(empty.to_string(), "rpc error: code = Unavailable desc = ");
    }

    #[test]
    fn codes_have_names() {
        assert_eq!(http2_error_name(8), "CANCEL");
        assert_eq!(http2_error_name(13), "HTTP_1_1_REQUIRED");
        assert_eq!(http2_error_name(14), "unknown error code 0xe");
        assert_eq!(code_of_reset(11), GrpcCode::ResourceExhausted);
        assert_eq!(code_of_reset(14), GrpcCode::Unknown);
    }

    #[test]
    fn outcomes_have_the_texts_of_the_kubelet() {
        let failed = |code, message: &str| {
            let status = GrpcStatus::new(code, message);
            Err(CallFailure { status, cause: Cause::Unhealthy })
        };
        for (outcome, expected) in [
            (Ok(1), "service healthy"),
            (Ok(0), "service unhealthy (responded with \"UNKNOWN\")"),
            (Ok(2), "service unhealthy (responded with \"NOT_SERVING\")"),
            (Ok(3), "service unhealthy (responded with \"SERVICE_UNKNOWN\")"),
            (Ok(-1), "service unhealthy (responded with \"-1\")"),
            (
                failed(12, "m"),
                "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): m",
            ),
            (failed(4, "m"), "timeout: health rpc did not complete within 1m0s"),
            (failed(5, "m"), "error: health rpc probe failed: rpc error: code = NotFound desc = m"),
        ] {
            let attempt = grpc_attempt(outcome, 60);
            assert_eq!(attempt.output.text(), expected);
            assert_eq!(attempt.error, None, "{expected}");
        }
        let target = GrpcTarget { address: "[::1]:80".to_owned(), service: String::new() };
        assert_eq!(
            grpc_connect_timeout(&target, 0, Cause::Connect).output.text(),
            "timeout: failed to connect service \"[::1]:80\" within 0s: context deadline exceeded"
        );
    }
}
