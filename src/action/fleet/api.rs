//! A question about the facts that the API server has of a node, answered by kq in a process of its own from a snapshot of
//! them.

use super::MAX_ANSWER_BYTES;
use super::plan::FleetPlan;
use super::snapshots::no_answer;
use crate::edge::own_program::run_own_with;
use crate::fleet::{NoAnswer, Packed};
use crate::node::gather_from;
use crate::output::value::json_line;
use std::ffi::OsString;

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
