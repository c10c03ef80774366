//! `kq admit`

use crate::admission_node::AdmissionArgs;
use crate::exit::{Code, Failure, tell};
use crate::form::Form;
use clap::Subcommand;
use kq::admission::view::{table, wide};
use kq::preemption::restart_view;
use kq::question::admission::{admit, readmit_all};

/// Tell whether the kubelet takes a pod
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

/// Show whether this node's kubelet takes a pod now, and what says no
///
/// Every check in the kubelet's order with its reason and message, and what is compared: what
/// the pod requests, what the other pods do, what the node has. What the kubelet's message
/// calls capacity is what the Node object calls allocatable. -o wide shows the ledger: each
/// pod, whether it counts, what it requests and how that comes about.
///
/// FILE is a manifest with one pod, or with a workload, of which one pod is asked about; POD is a
/// pod of this node, which does not count against itself. With --pods and --node-file nothing is
/// looked at but files.
///
/// With --kubelet-restart: which of the pods that run a kubelet that starts anew would take in
/// again, in its order: by their age, each among those that were taken in before it. -o wide
/// shows what was compared at each turn, and who has what is missing.
///
/// Nobody is killed here to make room: kq preempt explain says whether that would happen.
///
/// Exit code 0: it is taken, or all are. 1: it is refused, or one is. 3: a fact is missing.
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
    /// The pod, or a file with it; - is standard input
    #[arg(value_name = "POD|FILE", required_unless_present = "kubelet_restart")]
    pod: Option<String>,

    /// Show which pods of the node a kubelet that starts anew would take in again
    #[arg(long, conflicts_with_all = ["pod", "is_static", "priority"])]
    kubelet_restart: bool,

    #[command(flatten)]
    admission: AdmissionArgs,

    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Explain(args) => args.run(),
        }
    }
}

impl ExplainArgs {
    fn run(self) -> Result<Code, Failure> {
        match &self.pod {
            Some(pod) => self.pod(pod),
            None => self.restart(),
        }
    }

    fn restart(&self) -> Result<Code, Failure> {
        let about = self.admission.gather_node()?;
        let answer = readmit_all(&about)?;
        self.output.write(&answer, restart_view::table, restart_view::wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        Ok(match () {
            () if !answer.basis.missing.is_empty() => Code::Missing,
            () if answer.all_stay() => Code::Answered,
            () => Code::No,
        })
    }

    fn pod(&self, pod: &str) -> Result<Code, Failure> {
        let (about, pod) = self.admission.gather(pod)?;
        let answer = admit(&about, &pod, self.output != Form::Table)?;
        self.output.write(&answer, |it| table(&it.explanation), |it| wide(&it.explanation))?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        Ok(match () {
            () if !answer.basis.missing.is_empty() => Code::Missing,
            () if answer.explanation.admitted => Code::Answered,
            () => Code::No,
        })
    }
}
