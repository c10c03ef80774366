//! `kq fleet guard`, the process that deletes the pods of a run that was killed

use crate::exit::{Code, Failure, warn};
use crate::write;
use kq::action::fleet::{GuardOptions, PodGuard};
use kq::edge::guard_process::READY;
use std::path::PathBuf;

/// Read the steps of a run from standard input, and delete the pods that are left at its end, for kq fleet run
#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long)]
    namespace: String,

    #[arg(long)]
    run: String,

    #[arg(long)]
    kubeconfig: Option<PathBuf>,

    #[arg(long)]
    context: Option<String>,
}

impl Args {
    /// Waits for the end of the run.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { namespace, run, kubeconfig, context } = self;
        let options = GuardOptions { namespace: namespace.clone(), run, kubeconfig, context };
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
