//! `kq probe simulate`

use crate::exit::{Code, Failure, tell, tell_all};
use crate::output_format::{OutputFormat, formats};
use anyhow::Context;
use kq_answer::Warning;
use kq_facts::input_name::shown;
use kq_io::input::read_input;
use kq_k8s::feature_gates::{FeatureGateProblem, parse_flag};
use kq_k8s::version::KubeletVersion;
use kq_probe::simulation::{WhatIf, simulate, table, wide};
use kq_probe::trace::Trace;

/// Replay a sequence of probe results through the kubelet's worker
///
/// A trace lists the probe result at each step and the changes around it: a
/// container restart, a pod deletion, a kubelet restart. The answer shows the
/// kubelet's worker step by step: the results that count, the number in a row,
/// and when the worker acts or why it does not yet. Flags replay the trace with
/// other settings.
///
/// A minimal trace:
///
///   apiVersion: kq/v1
///   kind: ProbeTrace
///   type: liveness
///   probe: {periodSeconds: 10, failureThreshold: 3}
///   steps: [success, failure, failure, {result: error, message: lost}, failure]
///
/// docs/probe-trace.md has all fields. Exit code 0: simulated, whatever the
/// outcome.
///
/// Examples:
///
///   kq probe simulate trace.yaml
///   kq probe simulate trace.yaml --failure-threshold 5 --period-seconds 5
///   kq probe simulate - -o wide --kubelet-version 1.32
///   kq probe simulate trace.yaml -o json | jq '.summary'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The trace in YAML or JSON; - reads standard input
    #[arg(required_unless_present = "filename")]
    trace: Option<String>,

    /// The trace, as kubectl names files
    #[arg(short, long, value_name = "FILE", conflicts_with = "trace")]
    filename: Option<String>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    /// Override initialDelaySeconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    initial_delay_seconds: Option<i32>,

    /// Override periodSeconds, for the steps without an explicit time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    period_seconds: Option<i32>,

    /// Override successThreshold
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    success_threshold: Option<i32>,

    /// Override failureThreshold
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    failure_threshold: Option<i32>,

    /// The kubelet version whose rules apply, such as 1.36 or 1.35.2
    #[arg(long, value_name = "VERSION")]
    kubelet_version: Option<KubeletVersion>,

    /// Feature gates in addition to those of the trace, such as ContainerRestartRules=false
    #[arg(long, value_name = "GATES")]
    feature_gates: Option<String>,
}

impl Args {
    /// Reads, simulates and shows.
    pub fn run(self) -> Result<Code, Failure> {
        tell_all();
        let mut warnings = Vec::new();
        let trace = self.read(&mut warnings)?;
        let mut simulation = simulate(&trace, &self.what_if()?).map_err(|error| {
            let hints: Vec<String> =
                error.problems.iter().filter_map(FeatureGateProblem::hint).collect();
            hints.into_iter().fold(Failure::usage(error), Failure::hint)
        })?;
        simulation.basis.warnings.splice(0..0, warnings);
        self.output.write(&simulation, table, wide)?;
        if self.output.is_for_people() {
            tell(&simulation.basis);
        }
        Ok(Code::Answered)
    }

    fn read(&self, warnings: &mut Vec<Warning>) -> Result<Trace, Failure> {
        let trace = self.trace.as_ref().or(self.filename.as_ref()).map_or("-", String::as_str);
        let content = read_input(trace).map_err(Failure::missing)?;
        Trace::parse(&content, warnings).map_err(|error| {
            let hint = error.hint();
            let error = anyhow::Error::new(error).context(shown(trace).to_owned());
            hint.into_iter().fold(Failure::usage(error), Failure::hint)
        })
    }

    fn what_if(&self) -> Result<WhatIf, Failure> {
        let feature_gates = match &self.feature_gates {
            Some(text) => parse_flag(text)
                .with_context(|| format!("--feature-gates {text}"))
                .map_err(Failure::usage)?,
            None => Default::default(),
        };
        Ok(WhatIf {
            initial_delay_seconds: self.initial_delay_seconds,
            period_seconds: self.period_seconds,
            success_threshold: self.success_threshold,
            failure_threshold: self.failure_threshold,
            version: self.kubelet_version,
            feature_gates,
        })
    }
}
