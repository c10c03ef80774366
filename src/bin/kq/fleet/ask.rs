//! `kq fleet ask`

use super::merged::MergeArgs;
use super::question::{MAX_ANSWER_BYTES, Question, reply};
use crate::exit::{Code, Failure};
use crate::interval::parse_interval;
use kq::edge::own_program::{OwnProgramError, run_own};
use kq::edge::snapshot_file::read_snapshot;
use kq::edge::snapshot_folder::{NodeFile, node_files};
use kq::fleet::{Merge, NoAnswer, NodeOutcome, Reply};
use kq::k8s::duration::GoDuration;
use kq::k8s::label_selector::LabelSelector;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Ask the same question about many snapshots, and merge the answers
///
/// PATH is a snapshot (kq snapshot), or a folder of them. The node's name is that
/// of the file, without .json or .json.zst. COMMAND is a command of kq that reads
/// and has --snapshot; kq runs it for each snapshot in a process of its own, on
/// all cores, and merges the answers as they arrive.
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
    /// Snapshots, and folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,

    /// Only nodes with these labels, such as pool=gpu; the syntax is kubectl's
    #[arg(short = 'l', long, value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,

    /// Snapshots taken before: show the nodes whose results differ
    #[arg(long, value_name = "PATH")]
    diff: Option<PathBuf>,

    /// How many snapshots are asked at a time (default: one for each core)
    #[arg(long, value_name = "NUMBER")]
    parallel: Option<NonZero<usize>>,

    /// How long one answer may take
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_interval)]
    timeout: Duration,

    #[command(flatten)]
    merge: MergeArgs,
}

impl Args {
    /// Asks, merges and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let question = Question::of_snapshots(self.command.clone())?;
        let files = files(&self.paths)?;
        let earlier = self.diff.as_ref().map(|path| files_of(path)).transpose()?;
        let merged = self.ask(&question, &files, true)?;
        let before = earlier.map(|files| self.ask(&question, &files, false)).transpose()?;
        self.merge.show(&question, merged, before)
    }

    fn ask(
        &self,
        question: &Question,
        files: &[NodeFile],
        is_shown: bool,
    ) -> Result<Merge, Failure> {
        let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        let parallel = self.parallel.unwrap_or_else(cores).get();
        let outcome = |at: usize| self.outcome(question, &files[at]);
        self.merge.ask(files.len(), parallel, is_shown, outcome)
    }

    /// Asks about one snapshot; `None`: its node is not selected.
    fn outcome(&self, question: &Question, file: &NodeFile) -> Option<NodeOutcome> {
        let node = file.node.clone();
        let labels = match self.selector.is_some() || self.merge.group_by.is_some() {
            true => labels(&file.path),
            false => BTreeMap::new(),
        };
        if self.selector.as_ref().is_some_and(|selector| !selector.matches(&labels)) {
            return None;
        }
        let group =
            self.merge.group_by.as_ref().map(|key| labels.get(key).cloned().unwrap_or_default());
        let failed = |why| Reply::Failed { exit_code: None, why };
        let reply = match run_own(&question.about(&file.path), self.timeout, MAX_ANSWER_BYTES) {
            Ok(ended) => reply(Some(&file.path), ended.exit_code, &ended.output, &ended.notes),
            Err(OwnProgramError::TimedOut(_)) => {
                let timeout = i64::try_from(self.timeout.as_nanos()).unwrap_or(i64::MAX);
                failed(NoAnswer::TimedOut(GoDuration(timeout).to_string()))
            }
            Err(OwnProgramError::Large(limit)) => failed(NoAnswer::Large(limit)),
            Err(OwnProgramError::Io(error)) => failed(NoAnswer::NotRun(error.to_string())),
        };
        Some(NodeOutcome { node, group, reply })
    }
}

/// Returns the labels of the node of a snapshot. One that cannot be read has none: its answer says why.
fn labels(path: &Path) -> BTreeMap<String, String> {
    let snapshot = read_snapshot(&path.to_string_lossy()).ok();
    let node = snapshot.and_then(|snapshot| snapshot.node.found);
    node.map(|found| found.value.metadata.labels).unwrap_or_default()
}

fn files_of(path: &Path) -> Result<Vec<NodeFile>, Failure> {
    files(&[path.to_owned()])
}

fn files(paths: &[PathBuf]) -> Result<Vec<NodeFile>, Failure> {
    node_files(paths).map_err(|error| {
        Failure::usage(anyhow::Error::from(error))
            .hint("kq snapshot -o NODE.json.zst stores the node that it runs on")
    })
}
