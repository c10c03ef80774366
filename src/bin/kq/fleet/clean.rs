//! `kq fleet clean`, and `kq fleet guard`, the process that deletes the pods of a run that was killed

use crate::exit::{Code, Failure, changes_begin, note, warn};
use crate::kubeconfig_args::ServerArgs;
use crate::progress::waiting;
use crate::source_args::parse_interval;
use crate::write;
use kq_io::own_program::READY;
use kq_node::action::fleet::{CleanOptions, CleanPlan, GuardOptions, PodGuard};
use std::time::Duration;

/// Delete the pods that earlier runs of kq fleet left behind
///
/// A run deletes its pods, and a guard process deletes them where the run was
/// killed. Pods are left only where both were killed, or where the API server did
/// not answer for a minute. kq deletes the pods in the namespace that have the
/// labels of a run and are a minute older than their deadline, by the clock of the
/// API server. With --pods-of, it deletes all pods of that run. Each pod is deleted
/// by its UID, after kq has shown the plan and asked for confirmation.
///
/// Exit code 0: no such pod is left. 3: the pods could not be listed. 4: no pod was
/// deleted, since the plan was not confirmed. 5: a pod could not be deleted.
///
/// Examples:
///
///   kq fleet clean --dry-run
///   kq fleet clean -n kube-system --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The namespace of the pods
    #[arg(short, long, value_name = "NAMESPACE", default_value = "kube-system")]
    namespace: String,

    /// All pods of this run, which is the value of their label kq.fleet/run
    #[arg(long, value_name = "RUN")]
    pods_of: Option<String>,

    /// Time limit for the list of pods, and for each deletion
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_interval)]
    timeout: Duration,

    /// Show the plan, and delete nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    server: ServerArgs,
}

impl Args {
    /// Lists, shows the plan, asks and deletes.
    pub fn run(self) -> Result<Code, Failure> {
        let options = CleanOptions {
            namespace: self.namespace.clone(),
            run: self.pods_of,
            kubeconfig: self.server.kubeconfig,
            choice: self.server.choice.choice(),
            timeout: self.timeout,
        };
        let plan = waiting("listing the pods", || CleanPlan::prepare(&options))?;
        plan.lines().iter().for_each(|line| note("plan", line));
        if plan.others > 0 {
            note("kept", &format!("{} pods of runs that may not have ended", plan.others));
        }
        if plan.pods.is_empty() {
            note("plan", "no pod of an earlier run is left");
            return Ok(Code::Answered);
        }
        if self.dry_run {
            return Ok(Code::Answered);
        }
        if !self.yes {
            write::confirm("Delete these pods?")?;
        }
        changes_begin(Some(plan.pods.len()));
        let (mut deleted, mut is_whole) = (Vec::new(), true);
        plan.apply(|pod, result| match result {
            Ok(()) => deleted.push(format!("deleted pod {}/{}", self.namespace, pod.name)),
            Err(reason) => {
                is_whole = false;
                warn(&format!("pod {}/{} was not deleted: {reason}", self.namespace, pod.name));
            }
        });
        // The pods are deleted even if that cannot be written; the exit code is about the deletions.
        let _ = write::lines(deleted);
        Ok(if is_whole { Code::Answered } else { Code::Stopped })
    }
}

/// Read the steps of a run from standard input, and delete the pods that are left at its end, for kq fleet run
#[derive(Debug, clap::Args)]
pub struct GuardArgs {
    #[arg(long)]
    namespace: String,

    #[arg(long)]
    run: String,

    #[command(flatten)]
    server: ServerArgs,
}

impl GuardArgs {
    /// Waits for the end of the run.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { namespace, run, server: ServerArgs { kubeconfig, choice } } = self;
        let choice = choice.choice();
        let options = GuardOptions { namespace: namespace.clone(), run, kubeconfig, choice };
        let guard = PodGuard::prepare(options)?;
        write::verbatim([READY.to_owned()])?;
        let left = guard.watch(std::io::stdin().lock(), |name, reason| {
            warn(&format!(
                "pod {namespace}/{name} may be left behind ({reason}); kubectl delete pod -n {namespace} {name}"
            ));
        });
        Ok(if left == 0 { Code::Answered } else { Code::Stopped })
    }
}
