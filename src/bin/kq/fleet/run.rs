//! `kq fleet run`

use super::merged::MergeArgs;
use super::question::{Question, reply};
use super::runner::RunnerArgs;
use crate::exit::{Code, Failure, report};
use kq::fleet::{NodeOutcome, Reply};
use std::ffi::OsString;

/// Run a command of kq on the nodes of a cluster, and merge the answers
///
/// kq makes a pod on each node, waits for its answer, and deletes it, at most
/// --parallel at a time. A pod is bound to its node by the API server, tolerates
/// every taint, and gets no token. It is privileged, in the network and among the
/// processes of the node, and has the files of the node read-only in /host. The
/// plan is shown, and kq asks before it makes a pod (--yes: no question).
///
/// The answers are merged as by kq fleet ask. An answer travels through the log of
/// the pod, packed and with a checksum: one that was cut off is noticed. SIGINT
/// ends the questions and deletes the pods. The kubelet ends a pod that outlives
/// its time.
///
/// The command cannot read files of this machine: store the nodes with kq fleet
/// collect, and ask with kq fleet ask.
///
/// Exit code 0: every node answers with 0. 1: a node answers with 1. 3: none does,
/// and a node's answer is incomplete or missing. 4: no pod was made. 5: a pod may
/// be left behind; its name is printed.
///
/// Examples:
///
///   kq fleet run --image registry.example/kq:0.1 -- doctor
///   kq fleet run -l pool=gpu --image registry.example/kq:0.1 -- devices verify
///   kq fleet run worker-3 --image registry.example/kq:0.1 -o jsonl -- gc dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    runner: RunnerArgs,

    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,

    #[command(flatten)]
    merge: MergeArgs,
}

impl Args {
    /// Makes the pods, merges the answers and shows them.
    pub fn run(self) -> Result<Code, Failure> {
        let question = Question::of_nodes(self.command)?;
        let words: Vec<String> =
            question.there().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let Some(runner) = self.runner.prepare(&words)? else { return Ok(Code::Answered) };
        let outcome = |at: usize| {
            let node = &runner.nodes[at];
            let label = |key: &String| node.labels.get(key).cloned().unwrap_or_default();
            let reply = match runner.ask(at, &words) {
                Ok(packed) => reply(None, packed.exit_code, &packed.output, &packed.notes),
                Err(why) => Reply::Failed { exit_code: None, why },
            };
            let group = self.merge.group_by.as_ref().map(label);
            Some(NodeOutcome { node: node.name.clone(), group, reply })
        };
        let merged = self.merge.ask(runner.nodes.len(), runner.parallel, true, outcome);
        let shown = merged.and_then(|merged| self.merge.show(&question, merged, None));
        match (runner.left(), shown) {
            (0, shown) => shown,
            (_, Ok(_)) => Ok(Code::Stopped),
            // Also where nobody reads the answer any more.
            (_, Err(failure)) => {
                report(&failure);
                Ok(Code::Stopped)
            }
        }
    }
}
