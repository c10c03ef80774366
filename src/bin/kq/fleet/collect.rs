//! `kq fleet collect`

use super::runner::RunnerArgs;
use super::workers::each;
use crate::exit::{Code, Failure, note, warn};
use anyhow::anyhow;
use kq::edge::snapshot_file::write_snapshot;
use kq::facts::snapshot::Snapshot;
use kq::fleet::Packed;
use std::path::PathBuf;

/// Store a snapshot of each node of a cluster in a folder, for kq fleet ask
///
/// kq makes a pod on each node as kq fleet run does, and stores what kq snapshot
/// finds there as DIR/NODE.json.zst. Only the owner can read the files. A snapshot
/// of an earlier time is replaced.
///
/// Exit code 0: every node is stored. 3: one is not, or kq found no node in its
/// pod; the reason is printed. 4: no pod was made. 5: a pod may be left behind; its
/// name is printed.
///
/// Examples:
///
///   kq fleet collect --image registry.example/kq:0.1 --dir snapshots/
///   kq fleet collect -l pool=gpu --image registry.example/kq:0.1 --dir gpu/ --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    runner: RunnerArgs,

    /// The folder, which must exist
    #[arg(short, long, value_name = "DIR")]
    dir: PathBuf,
}

impl Args {
    /// Makes the pods and stores what they find.
    pub fn run(self) -> Result<Code, Failure> {
        if !self.dir.is_dir() {
            let error = anyhow!("{}: there is no such folder", self.dir.display());
            return Err(Failure::usage(error).hint("make it first"));
        }
        let question = ["snapshot".to_owned()];
        let Some(runner) = self.runner.prepare(&question)? else { return Ok(Code::Answered) };
        let (all, mut stored, mut whole) = (runner.nodes.len(), 0, 0);
        let collect = |at: usize| {
            let node = runner.nodes[at].name.as_str();
            let packed = runner.ask(at, &question).map_err(|why| why.to_string());
            (node, packed.and_then(|packed| self.store(node, &packed)))
        };
        each(all, runner.parallel, collect, |(node, result)| {
            match result {
                Ok(is_whole) => {
                    stored += 1;
                    whole += usize::from(is_whole);
                    if !is_whole {
                        warn(&format!("{node}: kq found no node in its pod"));
                    }
                }
                Err(reason) => warn(&format!("{node} is not stored: {reason}")),
            }
            Ok(())
        })?;
        note("stored", &format!("{stored} of {all} nodes in {}", self.dir.display()));
        Ok(match runner.left() {
            0 if whole == all => Code::Answered,
            0 => Code::Missing,
            _ => Code::Stopped,
        })
    }

    /// Stores what is a snapshot, and returns whether it is of a node. The name is that of a node, and so no path.
    fn store(&self, node: &str, packed: &Packed) -> Result<bool, String> {
        Snapshot::parse(&packed.output).map_err(|error| error.to_string())?;
        let path = self.dir.join(format!("{node}.json.zst"));
        let stored = write_snapshot(&path.to_string_lossy(), &packed.output);
        stored.map(|()| packed.exit_code == Some(0)).map_err(|error| error.to_string())
    }
}
