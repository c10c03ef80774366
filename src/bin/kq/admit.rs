//! `kq admit`

use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::AdmissionArgs;
use clap::Subcommand;
use kq_admission::preemption::restart_view;
use kq_admission::view::{table, wide};
use kq_core::question::admission::{admit, readmit_all};

/// Check whether the kubelet would admit a pod
///
/// Examples:
///
///   kq admit explain web.yaml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Explain(Box<ExplainArgs>),
}

/// Show whether this node's kubelet would admit a pod now, and why not
///
/// The answer lists every admission check in the kubelet's order, with its reason
/// and message, and the amounts compared: the pod's requests, the other pods'
/// requests and the node's resources. The kubelet's message says "capacity" for
/// the amount that the Node object calls allocatable. -o wide shows the ledger:
/// each pod, whether it counts, its requests and their derivation.
///
/// FILE is a manifest with one pod or one workload; for a workload, kq checks one
/// of its pods. POD is a pod of this node, and does not count against itself.
/// With --pods and --node-file, kq reads only files.
///
/// --kubelet-restart shows which running pods a restarted kubelet would admit
/// again. The kubelet checks pods by age, each against the pods admitted before
/// it. Where chance decides (static pods before or after the others, pods created
/// in the same second, equal victims, plugins that register late), the result
/// names every possible end. -o wide shows the amounts compared at each step of
/// the usual order, and which pods hold the missing resources.
///
/// This command computes no preemption; see kq preempt explain for that.
///
/// Exit code 0: the pod is admitted, or all pods are. 1: the pod is rejected, or
/// one of the pods is or may be. 3: required data is unavailable.
///
/// Examples:
///
///   kq admit explain web.yaml
///   kq admit explain kube-system/dns -o wide
///   kq admit explain web.yaml --pods pods.json --node-file node.json
///   kq admit explain --kubelet-restart
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ExplainArgs {
    /// The pod, or a manifest file; - reads standard input (default: all pods of the node, as a
    /// restarted kubelet would admit them)
    #[arg(value_name = "POD|FILE")]
    pod: Option<String>,

    /// Show which pods of the node a restarted kubelet would admit again
    #[arg(long, conflicts_with_all = ["pod", "filename", "namespace", "is_static", "priority"])]
    kubelet_restart: bool,

    #[command(flatten)]
    admission: AdmissionArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
}

impl Args {
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Explain(args) => args.run(),
        }
    }
}

impl ExplainArgs {
    fn run(self) -> Result<Code, Failure> {
        match self.admission.named.one(self.pod.as_deref())? {
            Some(pod) => self.pod(&pod),
            None => self.restart(),
        }
    }

    fn restart(&self) -> Result<Code, Failure> {
        let about = self.admission.gather_restarting()?;
        let answer = readmit_all(&about)?;
        self.output.write(&answer, restart_view::table, restart_view::wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        Ok(match () {
            () if answer.start_error.is_some() => Code::No,
            () if answer.items.iter().any(|it| it.ends()) => Code::No,
            () if !answer.basis.missing.is_empty() => Code::Missing,
            () if answer.all_stay() => Code::Answered,
            () => Code::No,
        })
    }

    fn pod(&self, pod: &str) -> Result<Code, Failure> {
        let (about, pod) = self.admission.gather(pod)?;
        let answer = admit(&about, &pod, self.output != OutputFormat::Table)?;
        self.output.write(&answer, table, wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        Ok(match answer.explanation.verdict(&answer.basis) {
            None => Code::Missing,
            Some(true) if answer.start_error.is_none() => Code::Answered,
            Some(_) => Code::No,
        })
    }
}
