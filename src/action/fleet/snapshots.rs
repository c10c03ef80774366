//! A question for many snapshots, each answered by kq in a process of its own.

use super::MAX_ANSWER_BYTES;
use super::plan::FleetPlan;
use super::run::each;
use crate::answer::Failure;
use crate::edge::own_program::{OwnProgramError, run_own, run_own_with};
use crate::edge::snapshot_file::{NodeFile, node_files, read_snapshot};
use crate::fleet::{NoAnswer, NodeOutcome, Packed, Reply};
use crate::k8s::duration::GoDuration;
use crate::k8s::label_selector::LabelSelector;
use crate::node::gather_from;
use crate::output::value::json_line;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
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
            Failure::usage(error).hint("kq snapshot -o NODE.json.zst stores a snapshot of its node")
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
    /// node is not selected. `arguments` returns the command line for a snapshot.
    ///
    /// # Errors
    ///
    /// Fails where `take` does.
    pub fn ask(
        &self,
        options: &SnapshotOptions<'_>,
        arguments: impl Fn(&Path) -> Vec<OsString> + Sync,
        take: impl FnMut(usize, Option<NodeOutcome>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let outcome = |at: usize| {
            let file = &self.files[at];
            options.outcome(file, &arguments(&file.path))
        };
        each(self.files.len(), options.parallel, outcome, take)
    }
}

/// Which snapshots are asked about, and how.
#[derive(Clone, Debug)]
pub struct SnapshotOptions<'a> {
    pub selector: Option<&'a LabelSelector>,
    /// The label that groups nodes.
    pub group_by: Option<&'a str>,
    /// How many processes run at a time.
    pub parallel: usize,
    /// The time for one answer.
    pub timeout: Duration,
}

impl SnapshotOptions<'_> {
    fn outcome(&self, file: &NodeFile, arguments: &[OsString]) -> Option<NodeOutcome> {
        let labels = match self.selector.is_some() || self.group_by.is_some() {
            true => labels(&file.path),
            false => BTreeMap::new(),
        };
        if self.selector.is_some_and(|selector| !selector.matches(&labels)) {
            return None;
        }
        let group = self.group_by.map(|key| labels.get(key).cloned().unwrap_or_default());
        let reply = match run_own(arguments, self.timeout, MAX_ANSWER_BYTES) {
            Ok(ended) => {
                Reply::parse(Some(&file.path), ended.exit_code, &ended.output, &ended.notes)
            }
            Err(error) => Reply::Failed { exit_code: None, why: no_answer(&error, self.timeout) },
        };
        Some(NodeOutcome { node: file.node.clone(), group, reply })
    }
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

/// Returns the labels of the node of a snapshot; none if it cannot be read, for which its answer has the reason.
fn labels(path: &Path) -> BTreeMap<String, String> {
    let snapshot = read_snapshot(&path.to_string_lossy()).ok();
    let node = snapshot.and_then(|snapshot| snapshot.node.found);
    node.map(|found| found.value.metadata.labels).unwrap_or_default()
}

/// The exit code of a snapshot with a node.
const WHOLE: u8 = 0;

/// The exit code of a snapshot without its pods.
const INCOMPLETE: u8 = 3;

impl FleetPlan {
    /// Reads a node through the API server, and answers the command from a snapshot in standard input; without a command,
    /// the snapshot is the answer.
    pub(super) fn read(&self, at: usize, command: Option<&[String]>) -> Result<Packed, NoAnswer> {
        let gathered = gather_from(&self.server, &self.nodes[at].name, self.timeout);
        let snapshot = gathered.map_err(NoAnswer::ApiServer)?;
        let has_pods = snapshot.pods.found.is_some();
        let json = json_line(&snapshot).map_err(|error| NoAnswer::NotRun(error.to_string()))?;
        let Some(command) = command else {
            let exit_code = Some(if has_pods { WHOLE } else { INCOMPLETE });
            return Ok(Packed { exit_code, output: json, notes: String::new() });
        };
        let arguments: Vec<OsString> = command.iter().map(OsString::from).collect();
        let ended = run_own_with(&arguments, json, self.timeout, MAX_ANSWER_BYTES);
        let ended = ended.map_err(|error| no_answer(&error, self.timeout))?;
        Ok(Packed { exit_code: ended.exit_code, output: ended.output, notes: ended.notes })
    }
}
