//! `kq fleet what-if`

use super::question::Question;
use super::snapshot_args::{SnapshotArgs, no_such_node};
use crate::exit::{Code, Failure, tell};
use crate::kubeconfig_args::ServerArgs;
use crate::output_format::{OutputFormat, formats_with};
use crate::progress::Progress;
use anyhow::anyhow;
use kq_core::fleet::{FleetWhatIf, Reply, Rollout};
use kq_facts::input_name::shown;
use kq_io::input::read_input;
use kq_k8s::disruption_budget::DisruptionBudget;
use kq_node::NodeSpec;
use kq_node::action::fleet::{Sample, SnapshotFleet, SnapshotQuestion, disruption_budgets};
use std::ffi::OsString;

/// Show what a change of many nodes would disrupt, and an order of the nodes
///
/// PATH is a snapshot (kq snapshot), or a folder of them. CHANGE is that of kq
/// what-if, with its flags. The answer names the workloads whose pods end or
/// restart, and puts the nodes into waves: first a node of each pool that loses
/// nothing, then the others that lose nothing, then those that lose pods, the
/// fewest first.
///
/// A wave disrupts at most as many pods of a PodDisruptionBudget as may be
/// unavailable now (status.disruptionsAllowed), and a node that disrupts more alone
/// is left out: drain it, which waits for the budget. The kubelet itself ends pods
/// without asking budgets. A restart counts like an end: the pod is not ready
/// meanwhile. kq reads the budgets from --pdbs, or from the API server that
/// --kubeconfig or --context names; else they are not checked, and the answer says
/// so.
///
/// The waves are filled greedily; another order may need fewer. Each wave takes for
/// granted that the pods of the waves before are ready again. Nodes about which
/// something decisive is unknown are left out, with the reason.
///
/// -o name prints a line for each wave, which --nodes-from - of kq fleet apply, run
/// and collect takes.
///
/// Exit code 0: nothing gets worse on any node. 1: on a node, something does. 3:
/// nothing that is known does, and an answer is incomplete or missing.
///
/// Examples:
///
///   kq fleet what-if snapshots/ -- kubelet-version 1.37
///   kq fleet what-if snapshots/ --context prod -- config new.yaml
///   kubectl get pdb -A -o json | kq fleet what-if snapshots/ --pdbs - -- reboot
///   kq fleet what-if snapshots/ --pdbs pdbs.json -o name -- set maxPods=50
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    snapshots: SnapshotArgs,

    /// The change, after --
    #[arg(value_name = "CHANGE", required = true, last = true)]
    change: Vec<OsString>,

    /// A file with the PodDisruptionBudgets, as from kubectl get pdb -A -o json or yaml; - is standard
    /// input
    #[arg(long, value_name = "FILE")]
    pdbs: Option<String>,

    /// The label of pools; pool is also the pool of EKS, GKE, AKS or Karpenter
    #[arg(long, value_name = "LABEL", default_value = "pool")]
    group_by: String,

    /// Put at most this number of nodes into a wave, or this part of all of them, rounded up
    #[arg(long, value_name = "NUMBER|PERCENT%", default_value = "25%", value_parser = super::run_args::parse_sample)]
    wave_size: Sample,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The nodes of each wave, in one line"))]
    output: OutputFormat,

    #[command(flatten)]
    server: ServerArgs,
}

impl Args {
    /// Reads the budgets, asks, judges and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let words: Vec<OsString> =
            std::iter::once("what-if".into()).chain(self.change.iter().cloned()).collect();
        let question = Question::of_snapshots(words)?;
        let fleet = SnapshotFleet::find(&self.snapshots.paths)?;
        let mut rollout = Rollout::new(self.budgets()?);
        let asked = SnapshotQuestion {
            words: question.typed().to_vec(),
            selector: None,
            group_by: Some(self.group_by.clone()),
            value: None,
            has_answer: false,
            has_disruptions: true,
        };
        let (progress, mut failed) = (Progress::of("nodes"), 0);
        self.snapshots.ask(&fleet, asked, |done, outcome| {
            if let Some(outcome) = outcome {
                failed += usize::from(matches!(outcome.reply, Reply::Failed { .. }));
                rollout.add(&outcome);
            }
            progress.show_rate(done, fleet.len(), failed);
            Ok(())
        })?;
        drop(progress);
        if rollout.nodes() == 0 {
            return Err(no_such_node());
        }
        let code = Code::of_nodes(rollout.exit_code());
        let most = self.wave_size.of(rollout.nodes());
        let answer = rollout.finish(question.words(), most);
        if let (Code::Usage, Some(first)) = (code, answer.basis.missing.first()) {
            return Err(Failure::usage(anyhow!("no node understood the change: {}", first.text)));
        }
        self.output.write_or_names(
            &answer,
            FleetWhatIf::table,
            FleetWhatIf::wide,
            FleetWhatIf::lines,
        )?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        Ok(code)
    }

    /// Returns the budgets; `None`: nothing says where they are.
    fn budgets(&self) -> Result<Option<Vec<DisruptionBudget>>, Failure> {
        let ServerArgs { kubeconfig, choice } = &self.server;
        let flag = kubeconfig.as_ref().map(|_| "--kubeconfig").or_else(|| choice.given().next());
        match (&self.pdbs, flag) {
            (None, None) => Ok(None),
            (Some(_), Some(flag)) => {
                Err(Failure::usage(anyhow!("--pdbs and {flag} both name the PodDisruptionBudgets"))
                    .hint("leave one of them out"))
            }
            (Some(file), None) => {
                let content = read_input(file).map_err(Failure::missing)?;
                let budgets = DisruptionBudget::read(&content).map_err(|reason| {
                    Failure::usage(anyhow!("{}: {reason}", shown(file)))
                        .hint("kubectl get pdb -A -o json writes such a file")
                });
                budgets.map(Some)
            }
            (None, Some(_)) => {
                let spec = NodeSpec {
                    kubeconfig: kubeconfig.clone(),
                    choice: choice.choice(),
                    timeout: self.snapshots.timeout,
                    ..NodeSpec::default()
                };
                disruption_budgets(&spec).map(Some)
            }
        }
    }
}
