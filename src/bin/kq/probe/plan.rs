//! `kq probe plan`

use super::args::{ProbeNodeArgs, TypeArg, WhatIf};
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::PodArgs;
use kq_core::question::probes::{ProbeSelection, Purpose, Targets};
use kq_k8s::pod::ProbeType;
use kq_node::action::probes::PodChoice;
use kq_probe::plan;

/// Show the requests that the kubelet will send, and when they have consequences
///
/// For each probe, the answer shows the request or the expanded command, and a
/// timeline with its arithmetic: the first probe, the first time at which the
/// kubelet can act, and the longest time until the kubelet acts on a container
/// that hangs. -o wide shows the bytes of the request.
///
/// For FILE, kq queries no node unless a flag names one. If the request needs the
/// pod's IP, POD_IP is its placeholder unless --pod-ip supplies it. POD is a pod
/// of this node, or of --snapshot. Nothing is sent.
///
/// Exit code 3: a probe could not be planned because required data is
/// unavailable.
///
/// Examples:
///
///   kq probe plan web.yaml
///   kq probe plan web.yaml --type liveness --period-seconds 5 -o wide
///   kq probe plan web.yaml --pod-ip 10.244.1.7
///   kq probe plan shop/web-7d4b9 -c app
///   kq probe plan web.yaml -o json | jq '.probes[].timeline'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The pod, or a manifest file; - reads standard input (default: all pods of the node)
    #[arg(value_name = "POD|FILE")]
    pod: Option<String>,

    #[command(flatten)]
    named: PodArgs,

    /// Only this container
    #[arg(short, long, value_name = "NAME")]
    container: Option<String>,

    /// Only this probe
    #[arg(long = "type", value_name = "TYPE", value_enum)]
    probe_type: Option<TypeArg>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    what_if: WhatIf,

    #[command(flatten)]
    node: ProbeNodeArgs,
}

impl Args {
    /// Plans and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let pod = self.named.one(self.pod.as_deref())?;
        let node = self.node.node();
        let choice = match &pod {
            Some(pod) => PodChoice::One(pod),
            None => {
                PodChoice::All { namespace: self.named.namespace.name(), labelled: &|_| Ok(None) }
            }
        };
        let probed = node.pods(choice, Purpose::Plan)?;
        let selection = ProbeSelection {
            container: self.container.as_deref(),
            probe_type: self.probe_type.map(ProbeType::from),
            changes: self.what_if.changes(),
        };
        let plan = Targets::of_pods(probed, node.timeout, &selection)?.plan();
        self.output.write(&plan, plan::table, plan::wide)?;
        if self.output.is_for_people() {
            tell(&plan.basis);
        }
        Ok(if plan.basis.missing.is_empty() { Code::Answered } else { Code::Missing })
    }
}
