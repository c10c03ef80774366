//! What the kubelet does with one result, in words with the numbers in them.
//!
//! `doProbe` of `pkg/kubelet/prober/worker.go` counts results in a row; `computePodActions` of
//! `pkg/kubelet/kuberuntime/kuberuntime_manager.go` kills what failed for good.

use super::grace_period::{GracePeriod, GraceSource};
use super::report::ProbeVerdict;
use super::subject::ContainerKind;
use super::worker::Action;
use crate::k8s::pod::ProbeType;

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
    /// How long it may take to stop once the probe has failed for good.
    pub grace: GracePeriod,
    /// It starts again after it was killed.
    pub restarts: bool,
}

/// Says what follows from one result.
pub fn consequence(counted: &Counted<'_>, verdict: ProbeVerdict) -> Vec<String> {
    if counted.kind == ContainerKind::InitContainer {
        return vec![
            "nothing: the kubelet runs no probes of init containers without restartPolicy Always"
                .to_owned(),
        ];
    }
    match verdict {
        ProbeVerdict::Errored => vec![
            "the kubelet throws this result away: it is no failure and no success, and a run of \
             failures goes on after it as before"
                .to_owned(),
        ],
        ProbeVerdict::Success => vec![success(counted)],
        ProbeVerdict::Warning => {
            vec![
                success(counted),
                "a warning counts as success, with an event ProbeWarning".to_owned(),
            ]
        }
        ProbeVerdict::Failure => failure(counted),
    }
}

fn success(counted: &Counted<'_>) -> String {
    match (counted.probe_type, counted.success_threshold) {
        (ProbeType::Startup, _) => {
            "the container has started: this probe ends, and readiness and liveness begin"
                .to_owned()
        }
        (ProbeType::Readiness, ..=1) => "the container is ready".to_owned(),
        (ProbeType::Readiness, threshold) => {
            format!("success 1 of {threshold}: after {threshold} in a row the container is ready")
        }
        (ProbeType::Liveness, _) => {
            "counts as success: the container stays, and failures before do not count any more"
                .to_owned()
        }
    }
}

fn failure(counted: &Counted<'_>) -> Vec<String> {
    let threshold = counted.failure_threshold;
    let count = match threshold {
        ..=1 => "one failure is enough".to_owned(),
        _ => format!(
            "failure 1 of {threshold}: {threshold} in a row, every {} s, are needed",
            counted.period_seconds
        ),
    };
    if counted.probe_type == ProbeType::Readiness {
        return vec![format!(
            "{count}; then the container is not ready, and its pod gets no requests from services"
        )];
    }
    let mut said = vec![format!(
        "{count}; then the kubelet kills the container: {}",
        Action::kill_message(
            counted.probe_type,
            counted.container,
            counted.kind == ContainerKind::Sidecar,
            counted.restarts
        )
    )];
    let GracePeriod { seconds, from } = counted.grace;
    said.push(match from {
        GraceSource::Minimum => format!("it has {seconds} s to stop, the least that there is"),
        GraceSource::PodDeletion => format!("it has {seconds} s to stop, as {from} says"),
        GraceSource::Pod | GraceSource::Probe => {
            format!("it has {seconds} s to stop (terminationGracePeriodSeconds of {from})")
        }
    });
    if !counted.restarts {
        said.push("it is not started again (restartPolicy)".to_owned());
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

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
                "one failure is enough; then the container is not ready, and its pod gets no requests \
                 from services",
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
                "the kubelet throws this result away: it is no failure and no success, and a run of \
                 failures goes on after it as before",
            ),
            (
                "never run",
                counted(Liveness, InitContainer, 3, 1),
                ProbeVerdict::Failure,
                "nothing: the kubelet runs no probes of init containers without restartPolicy Always",
            ),
        ] {
            assert_eq!(consequence(&counted, verdict).join("|"), expected, "{name}");
        }
    }
}
