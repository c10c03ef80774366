//! The time limit of one attempt of a probe.

use crate::k8s::duration::GoDuration;
use std::time::Duration;

/// The time of one attempt, as Go's timers understand the number of seconds that a probe names.
///
/// What no time at all means is up to the prober: HTTP, TCP and commands go on without limit, gRPC is late
/// before it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTimeout {
    /// 0 seconds.
    None,
    /// So long.
    After(Duration),
    /// It is over already: a negative number.
    Past,
}

impl ProbeTimeout {
    /// Reads `timeoutSeconds`, on which neither defaults nor checks have been applied.
    pub fn from_seconds(seconds: i32) -> Self {
        match u64::try_from(seconds) {
            Ok(0) => Self::None,
            Ok(seconds) => Self::After(Duration::from_secs(seconds)),
            Err(_) => Self::Past,
        }
    }
}

/// Returns the time as texts of the kubelet show it: `1s`, `1m30s`, `0s`, `-1s`.
pub fn go_seconds(seconds: i32) -> GoDuration {
    GoDuration(i64::from(seconds) * GoDuration::SECOND.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_and_shown() {
        let after = |seconds| ProbeTimeout::After(Duration::from_secs(seconds));
        for (seconds, timeout, shown) in [
            (0, ProbeTimeout::None, "0s"),
            (1, after(1), "1s"),
            (90, after(90), "1m30s"),
            (i32::MAX, after(2_147_483_647), "596523h14m7s"),
            (-1, ProbeTimeout::Past, "-1s"),
            (i32::MIN, ProbeTimeout::Past, "-596523h14m8s"),
        ] {
            assert_eq!(ProbeTimeout::from_seconds(seconds), timeout, "{seconds}");
            assert_eq!(go_seconds(seconds).to_string(), shown, "{seconds}");
        }
    }
}
