//! The flags that change the numbers of a probe.

use kq::k8s::pod::{Pod, Probe};

/// The flags that change the numbers of a probe.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "What if the probe said")]
pub struct WhatIf {
    /// Override timeoutSeconds, the time limit of one attempt (--timeout is for data sources)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    timeout_seconds: Option<i32>,

    /// Override periodSeconds, the time between two probes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    period_seconds: Option<i32>,

    /// Override initialDelaySeconds, the time without probes after the container's start
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    initial_delay_seconds: Option<i32>,

    /// Override failureThreshold, the number of failures in a row that count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    failure_threshold: Option<i32>,

    /// Override successThreshold, the number of successes in a row that count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    success_threshold: Option<i32>,
}

impl WhatIf {
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
        for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
            let probes = [
                &mut container.startup_probe,
                &mut container.readiness_probe,
                &mut container.liveness_probe,
            ];
            probes.into_iter().flatten().for_each(|probe| self.change(probe));
        }
    }
}
