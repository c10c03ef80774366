//! The consequence of one result.
//!
//! `doProbe` of `pkg/kubelet/prober/worker.go` counts results in a row; `computePodActions` of
//! `pkg/kubelet/kuberuntime/kuberuntime_manager.go` kills containers whose probe failed.

use super::grace_period::GracePeriod;
use super::reason::Consequence;
use super::report::ProbeVerdict;
use super::subject::ContainerKind;
use super::worker::Action;
use kq_k8s::pod::ProbeType;

/// What decides about the consequence of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted<'a> {
    /// The kind of probe.
    pub probe_type: ProbeType,
    /// What the container is in its pod.
    pub kind: ContainerKind,
    /// The name of the container.
    pub container: &'a str,
    /// How many failures in a row count.
    pub failure_threshold: i32,
    /// How many successes in a row count.
    pub success_threshold: i32,
    /// How often it is probed.
    pub period_seconds: i32,
    /// The time to stop after the final failure of the probe.
    pub grace: GracePeriod,
    /// It starts again after it was killed.
    pub restarts: bool,
}

/// Returns what follows from one result.
pub fn consequence(counted: &Counted<'_>, verdict: ProbeVerdict) -> Vec<Consequence> {
    if counted.kind == ContainerKind::InitContainer {
        return vec![Consequence::NotProbed];
    }
    match verdict {
        ProbeVerdict::Errored => vec![Consequence::ThrownAway],
        ProbeVerdict::Success => vec![success(counted)],
        ProbeVerdict::Warning => vec![success(counted), Consequence::CountsAsSuccess],
        ProbeVerdict::Failure => failure(counted),
    }
}

fn success(counted: &Counted<'_>) -> Consequence {
    match counted.probe_type {
        ProbeType::Startup => Consequence::Started,
        ProbeType::Readiness => Consequence::Ready { success_threshold: counted.success_threshold },
        ProbeType::Liveness => Consequence::Stays,
    }
}

fn failure(counted: &Counted<'_>) -> Vec<Consequence> {
    let &Counted { failure_threshold, period_seconds, .. } = counted;
    if counted.probe_type == ProbeType::Readiness {
        return vec![Consequence::NotReady { failure_threshold, period_seconds }];
    }
    let message = Action::kill_message(
        counted.probe_type,
        counted.container,
        counted.kind == ContainerKind::Sidecar,
        counted.restarts,
    );
    let killed = Consequence::Killed { failure_threshold, period_seconds, message };
    let mut follows = vec![killed, counted.grace.into()];
    if !counted.restarts {
        follows.push(Consequence::NotRestarted);
    }
    follows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grace_period::GraceSource;

    #[test]
    fn one_result_has_a_consequence() {
        let counted = |probe_type, kind, failure_threshold, success_threshold| Counted {
            probe_type,
            kind,
            container: "app",
            failure_threshold,
            success_threshold,
            period_seconds: 10,
            grace: GracePeriod { seconds: 30, from: GraceSource::Pod },
            restarts: true,
        };
        use ContainerKind::{Container, InitContainer, Sidecar};
        use ProbeType::{Liveness, Readiness, Startup};
        for (name, counted, verdict, expected) in [
            (
                "liveness fails",
                counted(Liveness, Container, 3, 1),
                ProbeVerdict::Failure,
                "failure 1 of 3: 3 in a row, every 10 s, are needed; then the kubelet kills the container: \
                 Container app failed liveness probe, will be restarted|it has 30 s to stop \
                 (terminationGracePeriodSeconds of the pod)",
            ),
            (
                "a sidecar's",
                counted(Startup, Sidecar, 1, 1),
                ProbeVerdict::Failure,
                "one failure is enough; then the kubelet kills the container: Init container app failed \
                 startup probe|it has 30 s to stop (terminationGracePeriodSeconds of the pod)",
            ),
            (
                "readiness fails",
                counted(Readiness, Container, 1, 1),
                ProbeVerdict::Failure,
                "one failure is enough; then the container is not ready, and its pod receives no \
                 service traffic",
            ),
            (
                "readiness succeeds",
                counted(Readiness, Container, 3, 2),
                ProbeVerdict::Success,
                "success 1 of 2: after 2 in a row the container is ready",
            ),
            (
                "a warning",
                counted(Readiness, Container, 3, 1),
                ProbeVerdict::Warning,
                "the container is ready|a warning counts as success, with an event ProbeWarning",
            ),
            (
                "errored",
                counted(Liveness, Container, 3, 1),
                ProbeVerdict::Errored,
                "the kubelet ignores this result: it is neither a failure nor a success, and does not \
                 interrupt a run of failures",
            ),
            (
                "never run",
                counted(Liveness, InitContainer, 3, 1),
                ProbeVerdict::Failure,
                "nothing: the kubelet runs no probes of init containers without restartPolicy Always",
            ),
        ] {
            let follows = consequence(&counted, verdict);
            let follows: Vec<String> = follows.iter().map(Consequence::to_string).collect();
            assert_eq!(follows.join("|"), expected, "{name}");
        }
    }
}
