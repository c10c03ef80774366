//! Processes of kq that answer the same question about one snapshot after another.
//!
//! A process for each snapshot takes longer than most answers. What a snapshot does to its process still costs the answer of
//! that snapshot alone: a process that ends is replaced, and the snapshot counts as the reason only where the process had
//! read no other one.

use super::MAX_ANSWER_BYTES;
use super::snapshots::no_answer;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_core::fleet::{NoAnswer, NodeDisruptions, Packed, Reply, node_group};
use kq_io::memory::{forget_received, resident_memory};
use kq_io::own_program::{Ended, OwnProgramError, OwnWorker, Worked, requests};
use kq_io::snapshot_file::read_snapshot;
use kq_k8s::label_selector::LabelSelector;
use kq_output::json_path::Template;
use kq_output::terminal::brief;
use kq_output::value::json_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How many snapshots a process answers about, so that what it keeps by mistake stays little.
const MOST: usize = 500;

/// A process with more memory than this ends after its answer: half of what any question may take.
const MOST_MEMORY: u64 = 118 << 20;

/// The most bytes of the disrupted pods of a node, as JSON: ten thousand pods.
const MOST_DISRUPTIONS: usize = 4 << 20;

/// A question about snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotQuestion {
    /// The command, without a snapshot and an output format.
    pub words: Vec<OsString>,
    /// The node must have these labels.
    pub selector: Option<String>,
    /// The label that groups nodes.
    pub group_by: Option<String>,
    /// The path of a number of the answer.
    pub value: Option<String>,
    /// The whole answer is returned as well.
    pub has_answer: bool,
    /// The pods that a change disrupts are returned as well.
    pub has_disruptions: bool,
}

/// What a process says about a snapshot. It is short, whatever the snapshot has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SnapshotReply {
    Reply {
        reply: Reply,
        group: Option<String>,
        disruptions: Option<NodeDisruptions>,
    },
    /// The node has not the labels.
    NotSelected,
}

impl SnapshotReply {
    /// There is no answer. The node has a group nevertheless.
    pub(super) fn failed(why: NoAnswer, question: &SnapshotQuestion) -> Self {
        let reply = Reply::Failed { exit_code: None, why };
        let group = question.group_by.as_ref().map(|_| String::new());
        Self::Reply { reply, group, disruptions: None }
    }
}

/// Answers in this process.
#[derive(Debug)]
pub struct SnapshotWorker<'q> {
    question: &'q SnapshotQuestion,
    selector: Option<LabelSelector>,
    value: Option<Template>,
    answered: usize,
}

impl<'q> SnapshotWorker<'q> {
    /// # Errors
    ///
    /// Fails for a path of a number that is none, and for a selector that is none.
    pub fn new(question: &'q SnapshotQuestion) -> Result<Self, Failure> {
        let selector = question.selector.as_deref().map(LabelSelector::parse).transpose();
        let value = question.value.as_deref().map(Template::parse).transpose();
        Ok(Self {
            question,
            selector: selector.map_err(|error| Failure::usage(anyhow!("{error}")))?,
            value: value.map_err(|error| Failure::usage(anyhow!("{error}")))?,
            answered: 0,
        })
    }

    /// Returns the paths of snapshots as they are asked about, in standard input.
    ///
    /// # Errors
    ///
    /// Fails as the system does.
    pub fn paths() -> Result<impl Iterator<Item = Result<PathBuf, Failure>>, Failure> {
        let requests = requests().map_err(Failure::missing)?;
        Ok(requests.map(|request| {
            let path: OsString = serde_json::from_str(&request.map_err(Failure::missing)?)
                .map_err(Failure::missing)?;
            Ok(PathBuf::from(path))
        }))
    }

    /// Answers about a snapshot, with what `run` writes about it. The answer is returned where it is asked for.
    ///
    /// # Errors
    ///
    /// Fails for an answer that cannot be written as JSON.
    pub fn answer(
        &mut self,
        path: &Path,
        run: impl FnOnce(&Path) -> Result<(Packed, Option<NodeDisruptions>), NoAnswer>,
    ) -> Result<(SnapshotReply, Option<Vec<u8>>), Failure> {
        forget_received();
        self.answered += 1;
        let labels = match self.selector.is_some() || self.question.group_by.is_some() {
            true => labels(path),
            false => BTreeMap::new(),
        };
        if self.selector.as_ref().is_some_and(|selector| !selector.matches(&labels)) {
            return Ok((SnapshotReply::NotSelected, None));
        }
        let group_by = self.question.group_by.as_ref();
        let group = group_by.map(|key| brief(&node_group(key, &labels)).into_owned());
        let without = |why, group| {
            let reply = Reply::Failed { exit_code: None, why };
            Ok((SnapshotReply::Reply { reply, group, disruptions: None }, None))
        };
        let (Packed { exit_code, output, notes }, disruptions) = match run(path) {
            Ok(ran) => ran,
            Err(why) => return without(why, group),
        };
        let exit_code = unless_damaged(path, exit_code);
        let disruptions = disruptions.filter(|_| self.question.has_disruptions);
        if let Some(disruptions) = &disruptions
            && json_line(disruptions).map_err(Failure::missing)?.len() > MOST_DISRUPTIONS
        {
            return without(NoAnswer::Large(MOST_DISRUPTIONS as u64), group);
        }
        let (reply, answer) =
            Reply::parse(Some(path), exit_code, &output, &notes, self.value.as_ref());
        drop(output);
        let answer = answer.filter(|_| self.question.has_answer).map(|answer| json_line(&answer));
        let answer = answer.transpose().map_err(Failure::missing)?;
        Ok((SnapshotReply::Reply { reply, group, disruptions }, answer))
    }

    /// Returns true if this process is to end: another one takes its place.
    pub fn is_spent(&self) -> bool {
        self.answered >= MOST || resident_memory().is_some_and(|bytes| bytes > MOST_MEMORY)
    }
}

/// Returns the exit code of an answer. A snapshot that cannot be read is data that are missing, as for a command that names
/// it alone it is a mistake.
fn unless_damaged(path: &Path, exit_code: Option<u8>) -> Option<u8> {
    exit_code.map(|code| match code {
        2 if read_snapshot(&path.to_string_lossy()).is_err() => 3,
        code => code,
    })
}

/// Returns the labels of the node of a snapshot; none if it cannot be read, for which its answer has the reason.
fn labels(path: &Path) -> BTreeMap<String, String> {
    let snapshot = read_snapshot(&path.to_string_lossy()).ok();
    let node = snapshot.and_then(|snapshot| snapshot.node.found);
    node.map(|found| found.value.metadata.labels).unwrap_or_default()
}

/// The processes that wait for a snapshot.
pub(super) struct SnapshotWorkers<'q> {
    question: &'q SnapshotQuestion,
    arguments: [OsString; 3],
    /// The time for one answer.
    timeout: Duration,
    idle: Mutex<Vec<OwnWorker>>,
}

impl<'q> SnapshotWorkers<'q> {
    pub(super) fn new(question: &'q SnapshotQuestion, timeout: Duration) -> Result<Self, Failure> {
        let text = serde_json::to_string(question).map_err(Failure::missing)?;
        let arguments = ["fleet", "work", &text].map(OsString::from);
        Ok(Self { question, arguments, timeout, idle: Mutex::default() })
    }

    /// Asks about a snapshot. Returns the whole answer where it is asked for.
    pub(super) fn ask(&self, path: &Path) -> (SnapshotReply, Option<String>) {
        self.try_ask(path).unwrap_or_else(|why| (SnapshotReply::failed(why, self.question), None))
    }

    fn try_ask(&self, path: &Path) -> Result<(SnapshotReply, Option<String>), NoAnswer> {
        let request = serde_json::to_string(path.as_os_str() as &OsStr)
            .map_err(|error| NoAnswer::NotRun(error.to_string()))?;
        let failed = |error: OwnProgramError| no_answer(&error, self.timeout);
        let waits = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut worker) = waits
            && let Worked::Answered(lines) = worker.ask(&request, self.timeout).map_err(failed)?
        {
            return self.taken(worker, lines);
        }
        // The one that waited has ended, maybe for what it read before.
        let mut worker = OwnWorker::start(&self.arguments, 2 * MAX_ANSWER_BYTES)
            .map_err(|error| NoAnswer::NotRun(error.to_string()))?;
        match worker.ask(&request, self.timeout).map_err(failed)? {
            Worked::Answered(lines) => self.taken(worker, lines),
            Worked::Ended(Ended { exit_code, notes, .. }) => {
                // An answer about no snapshot has no exit code of success.
                let code = unless_damaged(path, exit_code.filter(|code| *code != 0));
                let (reply, _) = Reply::parse(Some(path), code, &[], &notes, None);
                let group = self.question.group_by.as_ref().map(|_| String::new());
                Ok((SnapshotReply::Reply { reply, group, disruptions: None }, None))
            }
        }
    }

    /// Reads an answer, and lets the process wait for the next snapshot.
    fn taken(
        &self,
        worker: OwnWorker,
        [reply, answer]: [Vec<u8>; 2],
    ) -> Result<(SnapshotReply, Option<String>), NoAnswer> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        let unreadable = |reason: &str| NoAnswer::Unreadable(brief(reason).into_owned());
        let reply = serde_json::from_slice(&reply).map_err(|it| unreadable(&it.to_string()))?;
        let answer = String::from_utf8(answer).map_err(|_| unreadable("it is not text"))?;
        Ok((reply, Some(answer).filter(|answer| !answer.is_empty())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_survives_its_way_to_the_process() {
        let question = SnapshotQuestion {
            words: vec!["doctor".into(), OsString::from("a b/\u{202e}\n.yaml")],
            selector: Some("a=b".to_owned()),
            group_by: None,
            value: Some("a.b".to_owned()),
            has_answer: true,
            has_disruptions: false,
        };
        let text = serde_json::to_string(&question).expect("JSON");
        assert_eq!(serde_json::from_str::<SnapshotQuestion>(&text).expect("JSON"), question);
    }
}
