//! What the end of a call means (`Probe`, `pkg/probe/grpc/grpc.go`): never an error of the prober.

use super::health::serving_status;
use super::{GrpcCode, GrpcTarget, Outcome};
use crate::k8s::go_text::quote;
use crate::probe::{Attempt, Cause, go_seconds};

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
    use crate::probe::{CallFailure, GrpcStatus};

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
