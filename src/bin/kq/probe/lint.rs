//! `kq probe lint`

use super::args::ProbeNodeArgs;
use crate::exit::{Code, Failure};
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::{LabelArgs, PodArgs};
use crate::write::{FINDING_NAMES, findings};
use anyhow::anyhow;
use kq_core::question::probes::Purpose;
use kq_output::units::counted;

/// Find invalid, unwise or surprising settings in the probes of pods
///
/// lint reports the API server's errors with their messages, and settings that
/// cause trouble: timeouts longer than the period, liveness probes that kill slow
/// starters, commands with a timeout of one second, identical liveness and
/// readiness probes, ports that the container does not declare, exec probes that
/// start 60 processes per minute on the node (30 in a pod), and more, each with
/// its numbers. The impact and the fix are printed below the table, or in
/// columns with -o wide.
///
/// For FILE, kq queries no node. POD is a pod of this node (default: all of
/// them).
///
/// Exit code 0: no warnings. 1: the API server would reject a setting, or a
/// setting does not have its expected effect. 3: no warnings, and a pod could not
/// be read, or a snapshot does not contain a command or a query.
///
/// Examples:
///
///   kq probe lint web.yaml
///   kq probe lint deployment.yaml -o wide
///   kq probe lint shop/web-7d4b9
///   kq probe lint -l app=web
///   kq probe lint web.yaml -o json | jq '.items[] | {severity, id, field, found}'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// A manifest file, or a pod; - reads standard input
    #[arg(value_name = "FILE|POD")]
    pod: Option<String>,

    #[command(flatten)]
    named: PodArgs,

    #[command(flatten)]
    labels: LabelArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with(FINDING_NAMES).and_lint())]
    output: OutputFormat,

    #[command(flatten)]
    node: ProbeNodeArgs,
}

impl Args {
    /// Gathers, checks and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let pod = self.named.one(self.pod.as_deref())?;
        if let (Some(pod), Some(labels)) = (&pod, &self.labels.selector) {
            return Err(Failure::usage(anyhow!("--selector {labels}: {pod} is named"))
                .hint("say the name or the labels"));
        }
        let from = (&self.named.namespace, &self.labels);
        let probed = self.node.pods(pod.as_deref(), from, Purpose::Lint)?;
        let lint = probed.lint(self.pod.is_none());
        let pods = counted(probed.pods.len(), "pod");
        let nothing = format!("nothing found in {} of {pods}", counted(lint.probes, "probe"));
        let flags = self.node.kubelet.sources.of_commands();
        findings(self.output, &lint, &lint.items, Some(nothing), &flags)
    }
}
