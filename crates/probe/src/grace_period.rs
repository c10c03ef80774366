//! The grace period of a container.
//!
//! `setTerminationGracePeriod` and `killContainer`,
//! `pkg/kubelet/kuberuntime/kuberuntime_container.go`, pinned by the vectors `probe_grace_period`.
//!
//! Pinned by `probe_grace_period.jsonl`.

use kq_k8s::pod::{Container, Pod, ProbeType};
use serde::Serialize;
use std::fmt;

/// The least that the runtime is given, in seconds (`minimumGracePeriodInSeconds`).
pub const MINIMUM_SECONDS: i64 = 2;

/// Why a container is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillReason {
    /// A liveness or startup probe failed.
    Probe(ProbeType),
    /// Anything else.
    Other,
}

/// What can say how long it may take, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GracePeriods {
    /// `metadata.deletionGracePeriodSeconds`: the pod is being deleted.
    pub pod_deletion: Option<i64>,
    /// `spec.terminationGracePeriodSeconds`
    pub pod: Option<i64>,
    pub liveness_probe: Option<i64>,
    pub startup_probe: Option<i64>,
}

/// How long it may take, and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GracePeriod {
    /// In seconds, as it was said.
    pub seconds: i64,
    /// Who said so.
    pub from: GraceSource,
}

/// The source of a grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraceSource {
    /// Who deleted the pod.
    PodDeletion,
    /// The probe that failed.
    Probe,
    Pod,
    Minimum,
}

impl GracePeriods {
    /// Returns what a pod and a container say. When a pod is deleted is not kept of it.
    pub fn of(pod: &Pod, container: &Container) -> Self {
        let of = |kind| container.probe(kind)?.termination_grace_period_seconds;
        Self {
            pod_deletion: None,
            pod: pod.spec.termination_grace_period_seconds,
            liveness_probe: of(ProbeType::Liveness),
            startup_probe: of(ProbeType::Startup),
        }
    }

    /// Decides. A probe's own value counts even where it is longer than the pod's, and not at all
    /// where the pod has none.
    pub fn decide(self, reason: KillReason) -> GracePeriod {
        let probe = match reason {
            KillReason::Probe(ProbeType::Liveness) => self.liveness_probe,
            KillReason::Probe(ProbeType::Startup) => self.startup_probe,
            KillReason::Probe(ProbeType::Readiness) | KillReason::Other => None,
        };
        let (seconds, from) = match (self.pod_deletion, self.pod, probe) {
            (Some(seconds), _, _) => (seconds, GraceSource::PodDeletion),
            (None, Some(_), Some(seconds)) => (seconds, GraceSource::Probe),
            (None, Some(seconds), None) => (seconds, GraceSource::Pod),
            (None, None, _) => (MINIMUM_SECONDS, GraceSource::Minimum),
        };
        GracePeriod { seconds, from }
    }
}

impl GracePeriod {
    /// Returns how many seconds the runtime is given, once a pre-stop hook and the containers that
    /// stop before have taken some.
    pub fn given_to_runtime(self, taken_before_seconds: i64) -> i64 {
        self.seconds.saturating_sub(taken_before_seconds.max(0)).max(MINIMUM_SECONDS)
    }
}

impl fmt::Display for GraceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PodDeletion => "the deletion of the pod",
            Self::Probe => "the probe",
            Self::Pod => "the pod",
            Self::Minimum => "the minimum",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_that_failed_comes_before_the_pod() {
        let all = GracePeriods {
            pod_deletion: Some(1),
            pod: Some(30),
            liveness_probe: Some(60),
            startup_probe: Some(5),
        };
        let running = GracePeriods { pod_deletion: None, ..all };
        let liveness = KillReason::Probe(ProbeType::Liveness);
        let startup = KillReason::Probe(ProbeType::Startup);
        for (name, periods, reason, seconds, from) in [
            ("deletion", all, liveness, 1, GraceSource::PodDeletion),
            ("longer than the pod's", running, liveness, 60, GraceSource::Probe),
            ("startup", running, startup, 5, GraceSource::Probe),
            ("other", running, KillReason::Other, 30, GraceSource::Pod),
            (
                "no value of the probe",
                GracePeriods { liveness_probe: None, ..running },
                liveness,
                30,
                GraceSource::Pod,
            ),
            (
                "nothing of the pod",
                GracePeriods { pod: None, ..running },
                liveness,
                2,
                GraceSource::Minimum,
            ),
        ] {
            assert_eq!(periods.decide(reason), GracePeriod { seconds, from }, "{name}");
        }
    }

    #[test]
    fn the_runtime_always_gets_two_seconds() {
        let of = |seconds| GracePeriod { seconds, from: GraceSource::Pod };
        for (seconds, taken, expected) in [
            (30, 0, 30),
            (30, 10, 20),
            (30, 60, 2),
            (0, 0, 2),
            (-5, 0, 2),
            (i64::MIN, 9, 2),
            (9, -4, 9),
        ] {
            assert_eq!(of(seconds).given_to_runtime(taken), expected, "{seconds} {taken}");
        }
    }
}
