//! Reads what one node sends, in a process of kq's own.
//!
//! The size of what a node sends says little about the memory and the time that reading it takes. A process of its own has
//! its own limits ([`kq_facts::limits`]), so that a node that exceeds them costs its own answer: the fleet gets only a
//! short [`Reading`]. The whole answer follows it in a second line, where it is asked for.

use super::MAX_ANSWER_BYTES;
use super::snapshots::{gathered, no_answer};
use crate::NodeSpec;
use anyhow::anyhow;
use kq_answer::Failure;
use kq_api::api_server::KubeconfigChoice;
use kq_core::fleet::{ChangedNode, NoAnswer, Packed, Reply, error_of_kq};
use kq_facts::snapshot::Snapshot;
use kq_io::memory::received;
use kq_io::own_program::{Ended, OwnProgramError, own_input, run_apart, run_own, run_own_with};
use kq_io::snapshot_file::write_snapshot;
use kq_output::json_path::Template;
use kq_output::terminal::brief;
use kq_output::value::json_line;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The largest log that is read: the kubelet rotates logs of 10 MiB.
pub(super) const MAX_LOG_BYTES: u64 = 32 << 20;

/// The most bytes of the credentials that a run lends: a plugin writes less.
const MAX_LENT: u64 = 4 << 20;

/// The time to read what a node sent: a hundred times what an answer of 64 MiB takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The largest reading: 100 results, or 100 steps, in JSON.
const MAX_READING: u64 = 1 << 20;

/// Where the output of kq about a node comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The log of a pod, in standard input.
    Log,
    /// kq gathers what the API server has of a node, and runs about it; without arguments, the snapshot is the output. Standard
    /// input has the credentials that the run got from a plugin.
    ApiServer {
        node: String,
        kubeconfig: Option<PathBuf>,
        choice: Box<KubeconfigChoice>,
        arguments: Option<Vec<String>>,
        timeout: Duration,
    },
}

/// What is read of the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Wanted {
    /// What counts of an answer.
    Reply {
        /// The path of a number.
        value: Option<String>,
        /// The whole answer as well.
        has_answer: bool,
    },
    /// The plan of a change.
    Plan { node: String },
    /// How the change with this plan ended.
    Change { node: String, plan_digest: Option<String> },
    /// A snapshot, which is stored.
    Snapshot { path: OsString },
}

impl Wanted {
    /// Returns true if the whole answer is asked for.
    pub(super) fn has_answer(&self) -> bool {
        matches!(self, Self::Reply { has_answer: true, .. })
    }
}

/// What a process is to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    pub source: Source,
    pub wanted: Wanted,
}

/// What it read. It is short, whatever the node sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reading {
    Reply {
        reply: Reply,
    },
    Plan {
        change: ChangedNode,
        steps: Vec<String>,
    },
    Change {
        change: ChangedNode,
    },
    /// Stored; `is_whole`: kq found a node.
    Stored {
        is_whole: bool,
    },
    NotStored {
        reason: String,
    },
    /// There is no output to read.
    NoAnswer {
        why: NoAnswer,
    },
}

impl Member {
    /// Reads in this process. The answer is returned where it is asked for.
    ///
    /// # Errors
    ///
    /// Fails for a path of a number that is none.
    pub fn read(&self) -> Result<(Reading, Option<Vec<u8>>), Failure> {
        let output = self.source.output();
        Ok(match (&self.wanted, output) {
            (Wanted::Reply { value, has_answer }, Ok(packed)) => {
                let value = value.as_deref().map(Template::parse).transpose();
                let value = value.map_err(|error| Failure::usage(anyhow!("{error}")))?;
                let Packed { exit_code, output, notes } = packed;
                let (reply, answer) =
                    Reply::parse(None, exit_code, &output, &notes, value.as_ref());
                drop(output);
                let answer = answer.filter(|_| *has_answer).map(|answer| json_line(&answer));
                (Reading::Reply { reply }, answer.transpose().map_err(Failure::missing)?)
            }
            (Wanted::Plan { node }, output) => {
                let (change, steps) = ChangedNode::planned(node, output.as_ref());
                (Reading::Plan { change, steps }, None)
            }
            (_, Err(why)) => (Reading::NoAnswer { why }, None),
            (Wanted::Change { node, plan_digest }, Ok(packed)) => {
                let mut change = ChangedNode::with_plan(node, plan_digest.clone());
                change.change(Ok(&packed));
                (Reading::Change { change }, None)
            }
            (Wanted::Snapshot { path }, Ok(packed)) => match store(Path::new(path), &packed) {
                Ok(is_whole) => (Reading::Stored { is_whole }, None),
                Err(reason) => (Reading::NotStored { reason }, None),
            },
        })
    }

    /// Reads in a process of its own; `input` is its standard input: the log, or the credentials of the run. Returns the whole
    /// answer where it is asked for.
    pub(super) fn read_apart(
        &self,
        input: Option<Vec<u8>>,
    ) -> Result<(Reading, Option<String>), NoAnswer> {
        let unreadable = |reason: &str| NoAnswer::Unreadable(brief(reason).into_owned());
        let member = serde_json::to_string(self).map_err(|it| unreadable(&it.to_string()))?;
        let arguments = ["fleet", "read", &member].map(OsString::from);
        let (limit, deadline) = (self.limit(), self.deadline());
        let ended = match input {
            Some(log) if self.source == Source::Log => run_apart(&arguments, log, deadline, limit),
            Some(input) => run_own_with(&arguments, input, deadline, limit),
            None => run_own(&arguments, deadline, limit),
        };
        let ended = ended.map_err(|error| match error {
            OwnProgramError::TimedOut(_) => {
                unreadable(&format!("it takes more than {} seconds", deadline.as_secs()))
            }
            error => no_answer(&error, deadline),
        })?;
        let Ended { exit_code, output, notes } = ended;
        if exit_code != Some(0) {
            let reason = error_of_kq(&notes);
            return Err(unreadable(reason.as_deref().unwrap_or("its process was ended")));
        }
        let text = String::from_utf8(output).map_err(|_| unreadable("it is not text"))?;
        let (reading, answer) = text.split_once('\n').unwrap_or((&text, ""));
        let reading =
            serde_json::from_str(reading).map_err(|error| unreadable(&error.to_string()))?;
        let answer = answer.trim_end_matches('\n');
        let answer = (!answer.is_empty()).then(|| answer.to_owned());
        match reading {
            Reading::NoAnswer { why } => Err(why),
            reading => Ok((reading, answer)),
        }
    }

    /// Returns the most bytes of a reading.
    fn limit(&self) -> u64 {
        match self.wanted {
            // What is escaped in it becomes longer.
            Wanted::Reply { has_answer: true, .. } => MAX_READING + 2 * MAX_ANSWER_BYTES,
            _ => MAX_READING,
        }
    }

    fn deadline(&self) -> Duration {
        let timeout = match &self.source {
            Source::Log => Duration::ZERO,
            // For the Node object, for the pods, and for the command.
            Source::ApiServer { timeout, .. } => timeout.saturating_mul(3),
        };
        timeout.saturating_add(PATIENCE)
    }
}

impl Source {
    /// Returns what kq wrote about the node.
    fn output(&self) -> Result<Packed, NoAnswer> {
        let ended = match self {
            Self::Log => {
                let log = own_input("the log of the pod", MAX_LOG_BYTES);
                let log = log.map_err(|error| NoAnswer::Cut(error.to_string()))?;
                return Packed::from_log(&log, MAX_ANSWER_BYTES);
            }
            Self::ApiServer { node, kubeconfig, choice, arguments, timeout } => {
                let spec = NodeSpec {
                    kubeconfig: kubeconfig.clone(),
                    choice: (**choice).clone(),
                    timeout: *timeout,
                    ..NodeSpec::default()
                };
                let lent = own_input("the credentials of the run", MAX_LENT);
                let lent = lent.map_err(|error| NoAnswer::ApiServer(error.to_string()))?;
                let server = spec.connect().map_err(|error| NoAnswer::ApiServer(error.reason()))?;
                server.borrow(&lent);
                let snapshot = gathered(&server, node, *timeout)?;
                let Some(arguments) = arguments else { return Ok(snapshot) };
                let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
                run_own_with(&arguments, snapshot.output, *timeout, MAX_ANSWER_BYTES)
                    .map_err(|error| no_answer(&error, *timeout))?
            }
        };
        received("an answer of kq", ended.output.len());
        Ok(Packed { exit_code: ended.exit_code, output: ended.output, notes: ended.notes })
    }
}

/// Stores a snapshot, and returns true if it is of a node.
fn store(path: &Path, packed: &Packed) -> Result<bool, String> {
    Snapshot::parse(&packed.output).map_err(|error| error.to_string())?;
    let stored = write_snapshot(&path.to_string_lossy(), &packed.output);
    stored.map(|()| packed.exit_code == Some(0)).map_err(|error| error.to_string())
}

/// Permits for what many threads do, each with much memory.
#[derive(Debug)]
pub(super) struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A permit, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a>(&'a Permits);

impl Permits {
    pub(super) const fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), returned: Condvar::new() }
    }

    /// Waits for a permit.
    pub(super) fn take(&self) -> Permit<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn no_more_than_the_permits_are_used_at_a_time() {
        let (permits, now, most) = (Permits::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _permit = permits.take();
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 2);
    }
}
