//! The probes of pods, ready to be planned or sent.

/// The containers of probes.
mod containers;
/// Pods with their IPs and sandboxes.
mod pods;
/// Probes with everything that they need.
mod targets;

pub use containers::{pod_of_container, running};
pub use pods::{
    NOT_QUERIED, ProbedPod, ProbedPods, Purpose, RecordedProbes, fill_in, named, prepare,
    recorded_probes,
};
pub use targets::{Place, Seen, Targets, refused};

use kq_k8s::pod::{Pod, Probe, ProbeType};

/// Which probes of pods are meant, and with which numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeSelection<'a> {
    /// Only this container.
    pub container: Option<&'a str>,
    /// Only this type; of a probe of no pod, its type.
    pub probe_type: Option<ProbeType>,
    /// Numbers that replace those of the probes.
    pub changes: ProbeChanges,
}

/// Numbers that replace those of probes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeChanges {
    /// `timeoutSeconds`
    pub timeout_seconds: Option<i32>,
    /// `periodSeconds`
    pub period_seconds: Option<i32>,
    /// `initialDelaySeconds`
    pub initial_delay_seconds: Option<i32>,
    /// `failureThreshold`
    pub failure_threshold: Option<i32>,
    /// `successThreshold`
    pub success_threshold: Option<i32>,
}

impl ProbeChanges {
    /// Changes a probe.
    pub fn change(&self, probe: &mut Probe) {
        for (given, number) in [
            (self.timeout_seconds, &mut probe.timeout_seconds),
            (self.period_seconds, &mut probe.period_seconds),
            (self.initial_delay_seconds, &mut probe.initial_delay_seconds),
            (self.failure_threshold, &mut probe.failure_threshold),
            (self.success_threshold, &mut probe.success_threshold),
        ] {
            if let Some(given) = given {
                *number = given;
            }
        }
    }

    /// Changes the probes of a pod.
    pub fn change_pod(&self, pod: &mut Pod) {
        let spec = &mut pod.spec;
        for container in spec.containers_and_init_mut() {
            let probes = [
                &mut container.startup_probe,
                &mut container.readiness_probe,
                &mut container.liveness_probe,
            ];
            probes.into_iter().flatten().for_each(|probe| self.change(probe));
        }
    }
}
