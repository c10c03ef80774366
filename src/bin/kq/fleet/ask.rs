//! `kq fleet ask`

use super::merge_args::MergeArgs;
use super::question::Question;
use super::snapshot_args::SnapshotArgs;
use crate::exit::{Code, Failure};
use kq_core::fleet::Merge;
use kq_node::action::fleet::{SnapshotFleet, SnapshotQuestion};
use std::ffi::OsString;
use std::path::PathBuf;
use std::slice;

/// Ask the same question about many snapshots, and merge the answers
///
/// PATH is a snapshot (kq snapshot), or a folder of them. The node's name is that
/// of the file, without .json or .json.zst. COMMAND is a command of kq that reads
/// and has --snapshot. A process for each core runs it about one snapshot after
/// another; a process that ends costs the answer of its snapshot alone.
///
/// Nodes with the same result share a line, the worst result first, and of equally
/// bad ones the rarest. Results of doctor, what-if and the lints are their rules
/// of severity ERROR, UNKNOWN or WARNING; other commands answer in a word. Nodes
/// without an answer are listed with the reason.
///
/// -o json is one value, with every node by name. -o jsonl writes the whole answer
/// of each node as it arrives, in one line; -o csv a line for each node.
///
/// Exit code 0: every node answers with 0. 1: a node answers with 1. 3: none does,
/// and a node's answer is incomplete or missing. 2: no node understood the
/// command.
///
/// Examples:
///
///   kq fleet ask snapshots/ -- doctor
///   kq fleet ask snapshots/ -- admit explain dns.yaml
///   kq fleet ask snapshots/ --value run.usage.percent -- gc dry-run
///   kq fleet ask snapshots/ --group-by pool -- what-if kubelet-restart
///   kq fleet ask today/ --diff yesterday/ -- doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    snapshots: SnapshotArgs,

    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,

    /// Snapshots taken before: show the nodes whose results differ
    #[arg(long, value_name = "PATH")]
    diff: Option<PathBuf>,

    #[command(flatten)]
    merge: MergeArgs,
}

impl Args {
    /// Asks, merges and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let question = Question::of_snapshots(self.command.clone())?;
        let fleet = SnapshotFleet::find(&self.snapshots.paths)?;
        let earlier = self.diff.as_ref().map(slice::from_ref).map(SnapshotFleet::find);
        let earlier = earlier.transpose()?;
        let merged = self.ask(&question, &fleet, true)?;
        let before = earlier.map(|fleet| self.ask(&question, &fleet, false)).transpose()?;
        self.merge.show(&question, merged, before)
    }

    fn ask(
        &self,
        question: &Question,
        fleet: &SnapshotFleet,
        is_shown: bool,
    ) -> Result<Merge, Failure> {
        let asked = SnapshotQuestion {
            words: question.typed().to_vec(),
            selector: None,
            group_by: self.merge.group_by.clone(),
            value: self.merge.value.clone(),
            has_answer: is_shown && self.merge.writes_answers(),
            has_disruptions: false,
        };
        self.merge.merge(fleet.len(), is_shown, |take| self.snapshots.ask(fleet, asked, take))
    }
}
