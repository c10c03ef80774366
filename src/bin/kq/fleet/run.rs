//! `kq fleet run`

use super::merge_args::MergeArgs;
use super::question::Question;
use super::run_args::RunArgs;
use crate::exit::{Code, Failure, report};
use std::ffi::OsString;
use std::path::Path;

/// Run a command of kq on the nodes of a cluster, and merge the answers
///
/// kq creates a pod on each node, waits for its answer, and deletes it, at most
/// --parallel at a time. A pod is bound to its node by the API server, tolerates
/// every taint, and gets no token. It runs as root with three capabilities, in the
/// network and process namespaces of the node, and has the files of the node
/// read-only in /host. kq shows the plan and asks for confirmation before it
/// creates a pod.
///
/// The answers are merged as by kq fleet ask. An answer travels through the log of
/// the pod, compressed and with a checksum, so a truncated one is detected. SIGINT
/// ends the run and deletes the pods. The kubelet ends a pod that exceeds its
/// time.
///
/// With --api-only, no pod is created: the facts of a node are its Node object and
/// its pods, which kq reads from the API server. Other facts are missing.
///
/// The command cannot read files of this machine, except with --api-only: store
/// the nodes with kq fleet collect, and ask with kq fleet ask.
///
/// Exit code 0: every node answers with 0. 1: a node answers with 1. 3: none does,
/// and a node's answer is incomplete or missing. 4: no pod was created. 5: a pod
/// may be left behind; its name is printed.
///
/// Examples:
///
///   kq fleet run --image registry.example/kq:0.1 -- doctor
///   kq fleet run -l pool=gpu --image registry.example/kq:0.1 -- devices verify
///   kq fleet run --api-only -- preempt explain dns.yaml
///   kq fleet run worker-3 --image registry.example/kq:0.1 -o jsonl -- gc dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    run: RunArgs,

    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,

    #[command(flatten)]
    merge: MergeArgs,
}

impl Args {
    /// Creates the pods, merges the answers and shows them.
    pub fn run(self) -> Result<Code, Failure> {
        let (question, arguments) = match self.run.is_api_only() {
            true => {
                let question = Question::of_snapshots(self.command)?;
                let arguments = question.about(Path::new("-"));
                (question, arguments)
            }
            false => {
                let question = Question::of_nodes(self.command)?;
                let arguments = question.there();
                (question, arguments)
            }
        };
        let words: Vec<String> =
            arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let Some((run, nodes)) = self.run.start(&words, None)? else { return Ok(Code::Answered) };
        let group_by = self.merge.group_by.as_deref();
        let merged = self.merge.merge(nodes, true, |take| {
            let wanted = self.merge.wanted();
            run.ask(&words, group_by, &wanted, |done, outcome| take(done, Some(outcome)))
        });
        let shown = merged.and_then(|merged| self.merge.show(&question, merged, None));
        match (run.finish(), shown) {
            (0, shown) => shown,
            (_, Ok(_)) => Ok(Code::Stopped),
            // Also for a closed pipe, which is not an error otherwise.
            (_, Err(failure)) => {
                report(&failure);
                Ok(Code::Stopped)
            }
        }
    }
}
