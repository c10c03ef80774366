//! What the end of a command means.

use crate::{Attempt, Cause, GrpcStatus, MAX_OUTPUT_BYTES, go_seconds};
use kq_k8s::go_text::quote;

/// The largest answer of the runtime that the kubelet reads (`maxMsgSize` of its CRI client).
pub const MAX_RUNTIME_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// A command for the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecRequest {
    /// The id of the container, without the name of the runtime.
    pub container_id: String,
    /// The program and its arguments, with the values of their variables.
    pub command: Vec<String>,
    /// After how long the runtime ends it; 0: never.
    pub timeout_seconds: i32,
}

/// What the runtime answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecReply {
    /// The command ended.
    Ended {
        /// With this.
        exit_code: i32,
        /// What it wrote.
        stdout: Vec<u8>,
        /// What it wrote to the other stream.
        stderr: Vec<u8>,
    },
    /// The runtime, or the way to it, failed.
    Failed(GrpcStatus),
}

/// Returns what an answer means.
///
/// Without `fails_on_timeout` a command that took too long is an error of the prober: the gate
/// `ExecProbeTimeout`, which can be off up to 1.34.
pub fn exec_attempt(request: &ExecRequest, reply: ExecReply, fails_on_timeout: bool) -> Attempt {
    match reply {
        ExecReply::Ended { exit_code, stdout, stderr } => {
            let mut output = stdout;
            output.truncate(MAX_OUTPUT_BYTES);
            let room = MAX_OUTPUT_BYTES - output.len();
            output.extend(stderr.into_iter().take(room));
            if exit_code == 0 {
                Attempt::success(output)
            } else {
                Attempt::failure(Cause::ExitCode, output)
            }
        }
        ExecReply::Failed(status) if status.is_deadline_exceeded() => {
            let text = format!(
                "command timed out: {} timed out after {}",
                quote(&request.command.join(" ")),
                go_seconds(request.timeout_seconds)
            );
            if fails_on_timeout {
                Attempt::failure(Cause::Timeout, text)
            } else {
                Attempt::error(Cause::Timeout, text)
            }
        }
        ExecReply::Failed(status) => Attempt::error(Cause::Runtime, status.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProbeResult;

    fn request(command: &[&str], timeout_seconds: i32) -> ExecRequest {
        let command = command.iter().map(|text| (*text).to_owned()).collect();
        ExecRequest { container_id: "c".to_owned(), command, timeout_seconds }
    }

    fn ended(exit_code: i32, stdout: usize, stderr: usize) -> ExecReply {
        ExecReply::Ended { exit_code, stdout: vec![b'o'; stdout], stderr: vec![b'e'; stderr] }
    }

    #[test]
    fn exit_codes_decide() {
        for (exit_code, expected) in [
            (0, ProbeResult::Success),
            (1, ProbeResult::Failure),
            (137, ProbeResult::Failure),
            (-1, ProbeResult::Failure),
            (256, ProbeResult::Failure),
        ] {
            let got = exec_attempt(&request(&["x"], 1), ended(exit_code, 0, 0), true);
            assert_eq!((got.result, got.error), (expected, None), "{exit_code}");
        }
    }

    #[test]
    fn output_is_cut() {
        for (stdout, stderr, kept) in [
            (3, 2, (3, 2)),
            (10_239, 2, (10_239, 1)),
            (10_240, 2, (10_240, 0)),
            (10_241, 2, (10_240, 0)),
            (0, 20_000, (0, 10_240)),
        ] {
            let got = exec_attempt(&request(&["x"], 1), ended(1, stdout, stderr), true).output.0;
            let count = |of| got.iter().filter(|byte| **byte == of).count();
            assert_eq!((count(b'o'), count(b'e')), kept, "{stdout} and {stderr}");
        }
    }

    #[test]
    fn errors_are_the_runtimes_unless_it_took_too_long() {
        let failed = |code, message: &str| ExecReply::Failed(GrpcStatus::new(code, message));
        let late = "command timed out: \"sh -c \\\"\\n\" timed out after 1m30s";
        let command = request(&["sh", "-c", "\"\n"], 90);
        let got = exec_attempt(&command, failed(4, "whatever"), true);
        assert_eq!(got, Attempt::failure(Cause::Timeout, late));
        let got = exec_attempt(&command, failed(4, "whatever"), false);
        assert_eq!(got, Attempt::error(Cause::Timeout, late));
        for (code, expected) in [
            (5, "rpc error: code = NotFound desc = m"),
            (17, "rpc error: code = Code(17) desc = m"),
        ] {
            let got = exec_attempt(&command, failed(code, "m"), true);
            assert_eq!(got, Attempt::error(Cause::Runtime, expected), "{code}");
        }
    }
}
