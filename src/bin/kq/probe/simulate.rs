//! `kq probe simulate`

use crate::exit::{Code, Failure, note};
use crate::form::Form;
use anyhow::Context;
use kq::edge::input::{read_input, shown};
use kq::k8s::feature_gates::{FeatureGateProblem, parse_flag};
use kq::k8s::version::KubeletVersion;
use kq::probe::simulation::{WhatIf, simulate, table, wide};
use kq::probe::trace::Trace;

/// Say what the kubelet makes of a row of probe results
///
/// A trace is what a probe said at each step, and what changed around it: the container started
/// again, its pod was deleted, the kubelet restarted. The answer is the kubelet's worker, step by
/// step: what counts, how often in a row, when it acts and why not yet. The flags ask what other
/// settings would have made of it.
///
/// A trace as short as it can be:
///
///   apiVersion: kq/v1
///   kind: ProbeTrace
///   type: liveness
///   probe: {periodSeconds: 10, failureThreshold: 3}
///   steps: [success, failure, failure, {result: error, message: lost}, failure, failure]
///
/// docs/probe-trace.md has all fields. Exit code 0: simulated, whatever came of it.
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
    /// The trace, YAML or JSON; - is standard input
    trace: String,

    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    /// Another initialDelaySeconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    initial_delay_seconds: Option<i32>,

    /// Another periodSeconds, for the steps without a time of their own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    period_seconds: Option<i32>,

    /// Another successThreshold
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    success_threshold: Option<i32>,

    /// Another failureThreshold
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    failure_threshold: Option<i32>,

    /// Whose rules to follow, such as 1.36
    #[arg(long, value_name = "VERSION")]
    kubelet_version: Option<KubeletVersion>,

    /// Feature gates beside those of the trace, such as ContainerRestartRules=false
    #[arg(long, value_name = "GATES")]
    feature_gates: Option<String>,
}

impl Args {
    /// Reads, simulates and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let mut notes = Vec::new();
        let trace = self.read(&mut notes)?;
        let mut simulation = simulate(&trace, &self.what_if()?).map_err(|error| {
            let hints: Vec<String> =
                error.problems.iter().filter_map(FeatureGateProblem::hint).collect();
            hints.into_iter().fold(Failure::usage(error), Failure::hint)
        })?;
        simulation.notes.splice(0..0, notes);
        self.output.write(&simulation, table, wide)?;
        if self.output.is_for_people() {
            simulation.notes.iter().for_each(|text| note("note", text));
        }
        Ok(Code::Answered)
    }

    fn read(&self, notes: &mut Vec<String>) -> Result<Trace, Failure> {
        let content = read_input(&self.trace).map_err(Failure::missing)?;
        Trace::parse(&content, notes).map_err(|error| {
            let hint = error.hint();
            let error = anyhow::Error::new(error).context(shown(&self.trace).to_owned());
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
