//! A TCP probe: open a connection, close it (`DoTCPProbe`, `pkg/probe/tcp/tcp.go`).

use super::dial::{DialError, close, connect, look_up, read_address};
use super::watch::Stopwatch;
use crate::probe::{Attempt, Cause, DialAddress, DialHost, Phase, ProbeTimeout, Remote, TcpTarget};
use tokio::time::{Instant, timeout_at};

/// Opens a connection and closes it at once.
///
/// A name that is being looked up keeps a thread of the runtime beyond the time of the probe: end the runtime
/// with `shutdown_background`.
pub async fn probe_tcp(target: &TcpTarget, timeout: ProbeTimeout) -> Attempt {
    let mut watch = Stopwatch::start();
    let done = open(&target.address, timeout, &mut watch).await;
    let attempt = match done {
        Ok(()) => Attempt::success(""),
        Err(error) => Attempt::failure(error.cause(), error.to_string()),
    };
    if attempt.cause != Some(Cause::Timeout) {
        watch.finish();
    }
    Attempt { phases: watch.phases(), ..attempt }
}

async fn open(
    address: &str,
    timeout: ProbeTimeout,
    watch: &mut Stopwatch,
) -> Result<(), DialError> {
    let address = read_address(address)?;
    let deadline = match timeout {
        ProbeTimeout::None => None,
        ProbeTimeout::After(time) => Instant::now().checked_add(time),
        ProbeTimeout::Past => return Err(too_late(&address)),
    };
    if matches!(address.host, DialHost::Name(_)) {
        watch.enter(Phase::Lookup);
    }
    let remotes = match deadline {
        None => look_up(&address).await?,
        Some(deadline) => match timeout_at(deadline, look_up(&address)).await {
            Ok(found) => found?,
            Err(_) => return Err(too_late(&address)),
        },
    };
    watch.enter(Phase::Connect);
    let stream = connect(&remotes, deadline).await?;
    watch.finish();
    close(stream);
    Ok(())
}

/// Returns Go's error for a time limit that expired before connecting began.
fn too_late(address: &DialAddress) -> DialError {
    let remote = |ip, zone| Remote { ip, zone, port: address.port };
    match &address.host {
        DialHost::Name(name) | DialHost::NoName(name) => DialError::LookupTimeout(name.clone()),
        DialHost::Unnamed => DialError::ConnectTimeout(remote(None, String::new()).to_string()),
        DialHost::Address(ip, zone) => {
            DialError::ConnectTimeout(remote(Some(*ip), zone.clone()).to_string())
        }
    }
}
