//! A question for many snapshots.

use super::member::Permits;
use super::run::{ANSWERS, each};
use super::work::{SnapshotQuestion, SnapshotReply, SnapshotWorkers};
use crate::gather_from;
use kq_answer::Failure;
use kq_api::api_server::ApiServer;
use kq_core::fleet::{NoAnswer, NodeOutcome, Packed, Reply};
use kq_io::own_program::OwnProgramError;
use kq_io::snapshot_file::{NodeFile, SnapshotFolderError, node_files};
use kq_k8s::duration::GoDuration;
use kq_output::value::json_line;
use std::path::PathBuf;
use std::time::Duration;

/// Snapshots, one for each node.
pub struct SnapshotFleet {
    files: Vec<NodeFile>,
}

impl SnapshotFleet {
    /// Finds the snapshots in files and folders.
    ///
    /// # Errors
    ///
    /// Fails where there are none, and where a path cannot be read.
    pub fn find(paths: &[PathBuf]) -> Result<Self, Failure> {
        let files = node_files(paths).map_err(|error| {
            let failure = match error {
                SnapshotFolderError::Read { .. } => Failure::missing(error),
                _ => Failure::usage(error),
            };
            failure.hint("kq snapshot -o NODE.json.zst stores a snapshot of its node")
        })?;
        Ok(Self { files })
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Asks about each snapshot, and passes the outcomes to `take` as they arrive, with their number so far; `None`: the
    /// node is not selected.
    ///
    /// # Errors
    ///
    /// Fails where `take` does.
    pub fn ask(
        &self,
        question: &SnapshotQuestion,
        options: &SnapshotOptions,
        mut take: impl FnMut(usize, Option<NodeOutcome>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let answers = Permits::new(ANSWERS);
        let workers = SnapshotWorkers::new(question, options.timeout)?;
        let outcome = |at: usize| {
            let permit = question.has_answer.then(|| answers.take());
            let file = &self.files[at];
            let outcome = match workers.ask(&file.path) {
                (SnapshotReply::NotSelected, _) => None,
                (SnapshotReply::Reply { reply, group, disruptions }, answer) => {
                    let node = file.node.clone();
                    Some(NodeOutcome { node, group, reply, answer, disruptions })
                }
            };
            (outcome, permit)
        };
        // A permit is returned once the answer is written.
        let taken = |done, (outcome, _permit)| take(done, outcome);
        each(self.files.len(), options.parallel, outcome, taken)
    }
}

/// How snapshots are asked about.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotOptions {
    /// How many processes run at a time.
    pub parallel: usize,
    /// The time for one answer.
    pub timeout: Duration,
}

pub(super) fn failed(why: NoAnswer) -> Reply {
    Reply::Failed { exit_code: None, why }
}

/// Returns why a process of kq has no answer.
pub(super) fn no_answer(error: &OwnProgramError, timeout: Duration) -> NoAnswer {
    match error {
        OwnProgramError::TimedOut(_) => {
            let timeout = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
            NoAnswer::TimedOut(GoDuration(timeout).to_string())
        }
        OwnProgramError::Large(limit) => NoAnswer::Large(*limit),
        OwnProgramError::Io(error) => NoAnswer::NotRun(error.to_string()),
    }
}

/// The exit code of a snapshot with a node.
const WHOLE: u8 = 0;

/// The exit code of a snapshot without its pods.
const INCOMPLETE: u8 = 3;

/// Reads a node through the API server.
pub(super) fn gathered(
    server: &ApiServer,
    node: &str,
    timeout: Duration,
) -> Result<Packed, NoAnswer> {
    let snapshot = gather_from(server, node, timeout).map_err(NoAnswer::ApiServer)?;
    let exit_code = Some(if snapshot.pods.found.is_some() { WHOLE } else { INCOMPLETE });
    let output = json_line(&snapshot).map_err(|error| NoAnswer::NotRun(error.to_string()))?;
    Ok(Packed { exit_code, output, notes: String::new() })
}
