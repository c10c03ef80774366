//! The time between two refreshes.

use kq::k8s::duration::GoDuration;
use std::time::Duration;

/// Reads a duration that leaves the node some peace.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    match u64::try_from(duration.0) {
        Ok(nanoseconds) if nanoseconds >= 100_000_000 => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err("expected a duration of at least 100ms".to_owned()),
    }
}
