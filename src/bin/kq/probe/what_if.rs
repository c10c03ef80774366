//! The flags that change the numbers of a probe.

use kq::question::probes::ProbeChanges;

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
    /// Returns what the flags say.
    pub fn changes(&self) -> ProbeChanges {
        ProbeChanges {
            timeout_seconds: self.timeout_seconds,
            period_seconds: self.period_seconds,
            initial_delay_seconds: self.initial_delay_seconds,
            failure_threshold: self.failure_threshold,
            success_threshold: self.success_threshold,
        }
    }
}
