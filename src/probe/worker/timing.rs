//! The numbers of a probe in the kubelet.

use crate::k8s::pod::Probe;
use serde::Serialize;

/// When and how often it is probed, and what counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeTiming {
    /// How long after the start of the container nothing is probed.
    pub initial_delay_seconds: i32,
    /// How long one attempt may take.
    pub timeout_seconds: i32,
    /// How often it is probed.
    pub period_seconds: i32,
    /// How many successes in a row count.
    pub success_threshold: i32,
    /// How many failures in a row count.
    pub failure_threshold: i32,
}

impl ProbeTiming {
    /// Returns the numbers of a probe; 0 is the default, but for the delay (`SetDefaults_Probe`,
    /// `pkg/apis/core/v1/defaults.go`). Pods of every source have them before a kubelet probes.
    pub fn of(probe: &Probe) -> Self {
        let or = |value: i32, default| if value == 0 { default } else { value };
        Self {
            initial_delay_seconds: probe.initial_delay_seconds,
            timeout_seconds: or(probe.timeout_seconds, 1),
            period_seconds: or(probe.period_seconds, 10),
            success_threshold: or(probe.success_threshold, 1),
            failure_threshold: or(probe.failure_threshold, 3),
        }
    }
}

impl Default for ProbeTiming {
    fn default() -> Self {
        Self::of(&Probe::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_the_default_but_for_the_delay() {
        let timing = ProbeTiming::default();
        let all = [
            timing.initial_delay_seconds,
            timing.timeout_seconds,
            timing.period_seconds,
            timing.success_threshold,
            timing.failure_threshold,
        ];
        assert_eq!(all, [0, 1, 10, 1, 3]);
        let probe = Probe { failure_threshold: 5, initial_delay_seconds: 7, ..Probe::default() };
        let timing = ProbeTiming::of(&probe);
        assert_eq!((timing.failure_threshold, timing.initial_delay_seconds), (5, 7));
    }
}
