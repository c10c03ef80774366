//! An exec probe: a command that the runtime runs.
//!
//! The CRI does not tell a command's set-up from its run: [`Phase::Run`] is the whole call. How long the
//! connection to the runtime took is known to [`ExecRuntime::connect_took`]; most probes share one.

use super::watch::Stopwatch;
use crate::edge::cri::ExecRuntime;
use crate::probe::{Attempt, ExecRequest, Phase, exec_attempt};
use std::time::Duration;

/// Runs a command in a container, within its timeout and what the runtime gets beyond it.
///
/// `fails_on_timeout` is the gate `ExecProbeTimeout`.
pub async fn probe_exec(
    runtime: &ExecRuntime,
    request: &ExecRequest,
    runtime_timeout: Duration,
    fails_on_timeout: bool,
) -> Attempt {
    let mut watch = Stopwatch::start();
    watch.enter(Phase::Run);
    let reply = runtime.exec_sync(request, runtime_timeout).await;
    watch.finish();
    let attempt = exec_attempt(request, reply, fails_on_timeout);
    Attempt { phases: watch.phases(), ..attempt }
}
