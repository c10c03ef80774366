//! `kq fleet collect`

use super::run_args::RunArgs;
use super::ssh::Loop;
use crate::exit::{Code, Failure, note, warn};
use crate::progress::Progress;
use crate::write;
use anyhow::anyhow;
use std::path::PathBuf;

/// Store a snapshot of each node of a cluster in a folder, for kq fleet ask
///
/// kq creates a pod on each node as kq fleet run does, and stores the output of kq
/// snapshot there as DIR/NODE.json.zst. Only the owner can read the files. An
/// older snapshot is replaced; with --resume its node is left out. With --api-only,
/// no pod is created, and a snapshot has only what the API server has of the node:
/// the Node object and the pods. Where no pod may run, --from-ssh prints the script
/// or playbook that fills the folder over ssh; kq itself connects to no machine.
///
/// Exit code 0: every node is stored. 3: one is not, or kq found no node in its
/// pod; the reason is printed. 4: no pod was created. 5: a pod may be left behind;
/// its name is printed.
///
/// Examples:
///
///   kq fleet collect --image registry.example/kq:0.1 --dir snapshots/
///   kq fleet collect -l pool=gpu --image registry.example/kq:0.1 --dir gpu/ --yes
///   kq fleet collect --image registry.example/kq:0.1 --dir snapshots/ --resume
///   kq fleet collect --from-ssh --dir snapshots/ > collect.sh
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    run: RunArgs,

    /// The directory, which must exist
    #[arg(short, long, value_name = "DIR")]
    dir: PathBuf,

    /// Leave out nodes that have a snapshot in DIR already, as after a run that was interrupted
    #[arg(long)]
    resume: bool,

    /// Print what collects the snapshots over ssh, and do nothing
    #[arg(
        long,
        value_name = "WITH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "sh",
        conflicts_with_all = ["image", "api_only", "resume", "dry_run", "selector", "sample"]
    )]
    from_ssh: Option<Loop>,
}

impl Args {
    /// Creates the pods and stores their snapshots.
    pub fn run(self) -> Result<Code, Failure> {
        if let Some(with) = self.from_ssh {
            let text = with.text(&self.run.named_nodes()?, &self.dir)?;
            write::verbatim(text.lines().map(str::to_owned))?;
            return Ok(Code::Answered);
        }
        if !self.dir.is_dir() {
            let error = anyhow!("{}: the folder does not exist", self.dir.display());
            return Err(Failure::usage(error).hint("create it first"));
        }
        let command = ["snapshot".to_owned()];
        let stored = self.resume.then_some(self.dir.as_path());
        let Some((run, all)) = self.run.start(&command, stored)? else {
            return Ok(Code::Answered);
        };
        let (progress, mut stored, mut whole) = (Progress::of("nodes"), 0, 0);
        run.collect(&self.dir, |done, node, result| {
            match result {
                Ok(is_whole) => {
                    stored += 1;
                    whole += usize::from(is_whole);
                    if !is_whole {
                        let reason = match self.run.is_api_only() {
                            true => "the pods of the node are unknown",
                            false => "kq found no node in its pod",
                        };
                        warn(&format!("{node}: {reason}"));
                    }
                }
                Err(reason) => warn(&format!("{node} is not stored: {reason}")),
            }
            progress.show_rate(done, all, done - stored);
        });
        drop(progress);
        note("stored", &format!("{stored} of {all} nodes in {}", self.dir.display()));
        Ok(match run.finish() {
            0 if whole == all => Code::Answered,
            0 => Code::Missing,
            _ => Code::Stopped,
        })
    }
}
