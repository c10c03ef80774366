//! Executes commands in containers, many at a time over one connection (`ExecSync` of the kubelet's CRI client,
//! `staging/src/k8s.io/cri-client/pkg/remote_runtime.go`).

use super::connect::connect;
use super::reason::go_status;
use super::{CriError, v1};
use kq_probe::{ExecReply, ExecRequest, GrpcCode, GrpcStatus, MAX_RUNTIME_MESSAGE_BYTES};
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tonic::transport::Channel;
use v1::runtime_service_client::RuntimeServiceClient;

/// A runtime that executes commands; clones share its connection, which is reestablished after it
/// ended.
#[derive(Clone, Debug)]
pub struct ExecRuntime {
    channel: Channel,
    connect_took: Duration,
}

impl ExecRuntime {
    /// Connects to the socket of a runtime: `unix:///PATH` or `/PATH`, beneath the node's root.
    ///
    /// It has no time limit of its own.
    /// Fails for an endpoint that is not a unix socket, and without a listener.
    pub async fn connect(endpoint: &str, host_root: &Path) -> Result<Self, CriError> {
        let begin = Instant::now();
        let channel = connect(endpoint, host_root).await?;
        Ok(Self { channel, connect_took: begin.elapsed() })
    }

    /// Returns how long connecting took.
    pub fn connect_took(&self) -> Duration {
        self.connect_took
    }

    /// Runs a command and waits for its end.
    ///
    /// The runtime kills it after the timeout of the request, and has that much longer to answer
    /// (`runtimeRequestTimeout`, 2 minutes by default). Without a timeout, the wait is unlimited.
    pub async fn exec_sync(&self, request: &ExecRequest, runtime_timeout: Duration) -> ExecReply {
        let message = v1::ExecSyncRequest {
            container_id: request.container_id.clone(),
            cmd: request.command.clone(),
            timeout: i64::from(request.timeout_seconds),
        };
        let mut client = RuntimeServiceClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_RUNTIME_MESSAGE_BYTES);
        let call = client.exec_sync(message);
        let answer = match own_limit(request.timeout_seconds, runtime_timeout) {
            None => call.await,
            Some(limit) => match timeout(limit, call).await {
                Ok(answer) => answer,
                Err(_) => {
                    let text = "context deadline exceeded";
                    return ExecReply::Failed(GrpcStatus::of(GrpcCode::DeadlineExceeded, text));
                }
            },
        };
        match answer {
            Ok(answer) => {
                let v1::ExecSyncResponse { stdout, stderr, exit_code } = answer.into_inner();
                ExecReply::Ended { exit_code, stdout, stderr }
            }
            Err(status) => ExecReply::Failed(go_status(&status, MAX_RUNTIME_MESSAGE_BYTES)),
        }
    }
}

/// Returns the time limit of the runtime's answer; `None`: unlimited.
fn own_limit(timeout_seconds: i32, runtime_timeout: Duration) -> Option<Duration> {
    let seconds = Duration::from_secs(u64::from(timeout_seconds.unsigned_abs()));
    match timeout_seconds {
        0 => None,
        1.. => Some(runtime_timeout.saturating_add(seconds)),
        _ => Some(runtime_timeout.saturating_sub(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_gets_more_time_than_the_command() {
        let minutes = Duration::from_secs(120);
        for (seconds, expected) in [(0, None), (1, Some(121)), (-1, Some(119)), (-200, Some(0))] {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(own_limit(seconds, minutes), expected, "{seconds}");
        }
        assert_eq!(own_limit(i32::MAX, Duration::MAX), Some(Duration::MAX));
    }
}
