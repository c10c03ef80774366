//! The record of a change of many nodes, which a later run continues.

use super::apply::{ChangeState, ChangedNode};
use kq_output::credentials::Redacted;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The version of the record.
const RECORD: &str = "kq-fleet-apply/v1";

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ApplyEvent {
    /// A run begins or goes on.
    Begins {
        version: String,
        run: String,
        server: String,
        command: Vec<String>,
    },
    /// A node is about to be cordoned.
    Cordons {
        node: String,
    },
    Uncordoned {
        node: String,
    },
    /// A node is about to change.
    Changes {
        node: String,
        plan_digest: String,
    },
    /// A node has changed, or has not.
    Ended {
        node: String,
        state: ChangeState,
        exit_code: Option<u8>,
        reason: Option<String>,
        is_cordoned: bool,
    },
}

impl ApplyEvent {
    /// Returns the first line of a run.
    pub fn begins(run: &str, server: &str, command: &[String]) -> Self {
        Self::Begins {
            version: RECORD.to_owned(),
            run: run.to_owned(),
            server: server.to_owned(),
            command: command.to_vec(),
        }
    }

    /// Returns the last line about a node.
    pub fn ended(change: &ChangedNode) -> Self {
        Self::Ended {
            node: change.node.clone(),
            state: change.state,
            exit_code: change.exit_code,
            reason: change.reason.clone(),
            is_cordoned: change.is_cordoned,
        }
    }

    /// Returns the line, without its end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(&Redacted(self)).unwrap_or_default()
    }
}

/// The record of earlier runs of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyRecord {
    pub command: Vec<String>,
    /// The address of the API server.
    pub server: String,
    /// The nodes that are changed, each with the exit code of kq there.
    pub done: BTreeMap<String, Option<u8>>,
    /// The nodes whose change began and is not known to have ended well, each with the run.
    pub open: BTreeMap<String, String>,
    /// The nodes that kq cordoned and did not uncordon.
    pub cordoned: BTreeSet<String>,
    /// The runs, the last of which is the one that is read.
    pub runs: Vec<String>,
}

impl ApplyRecord {
    /// Reads a record. A line that a kill or a full disk cut off counts as not written.
    /// Fails for what is no record, and for that of several commands or clusters.
    pub fn parse(content: &[u8]) -> Result<Self, String> {
        let mut record: Option<Self> = None;
        let lines = content.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
            let event = serde_json::from_slice::<ApplyEvent>(line);
            match (event, &mut record) {
                (Ok(ApplyEvent::Begins { version, .. }), _) if version != RECORD => {
                    return Err(format!("version {version:?}, expected {RECORD}"));
                }
                (Ok(ApplyEvent::Begins { command, server, run, .. }), None) => {
                    record = Some(Self { command, server, runs: vec![run], ..Self::default() });
                }
                (Ok(event), Some(record)) => record.add(event)?,
                (_, None) => return Err("its first line does not begin a run".to_owned()),
                (Err(_), Some(_)) => {}
            }
        }
        record.ok_or_else(|| "it is empty".to_owned())
    }

    fn add(&mut self, event: ApplyEvent) -> Result<(), String> {
        match event {
            ApplyEvent::Begins { command, server, run, .. } => {
                if command != self.command || server != self.server {
                    return Err("it has two commands or two API servers".to_owned());
                }
                self.runs.push(run);
            }
            ApplyEvent::Cordons { node } => drop(self.cordoned.insert(node)),
            ApplyEvent::Uncordoned { node } => drop(self.cordoned.remove(&node)),
            ApplyEvent::Changes { node, .. } => {
                self.done.remove(&node);
                let run = self.runs.last().cloned().unwrap_or_default();
                // A run that changes nothing there does not close what an earlier one left open.
                self.open.entry(node).or_insert(run);
            }
            ApplyEvent::Ended { node, state, exit_code, is_cordoned, .. } => {
                if !is_cordoned {
                    self.cordoned.remove(&node);
                }
                let is_of_this_run = self.open.get(&node) == self.runs.last();
                if state == ChangeState::Done || state.is_settled() && is_of_this_run {
                    self.open.remove(&node);
                }
                if state == ChangeState::Done {
                    self.done.insert(node, exit_code);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_was_cut_is_read_to_there() {
        let command = ["gc".to_owned(), "apply".to_owned()];
        let name = |node: &str| node.to_owned();
        let change = |node| ApplyEvent::Changes { node: name(node), plan_digest: name("sha256:0") };
        let ended = |node, state, is_cordoned| {
            ApplyEvent::ended(&ChangedNode { is_cordoned, ..ChangedNode::new(node, state) })
        };
        let events = [
            ApplyEvent::begins("r", "https://a", &command),
            ApplyEvent::Cordons { node: name("a") },
            change("a"),
            ended("a", ChangeState::Done, false),
            ApplyEvent::Cordons { node: name("b") },
            change("b"),
            ended("b", ChangeState::Failed, true),
            ApplyEvent::begins("s", "https://a", &command),
            ApplyEvent::Cordons { node: name("c") },
            change("c"),
            ended("d", ChangeState::Left, false),
            change("b"),
            ended("b", ChangeState::Refused, true),
        ];
        let lines: Vec<String> = events.iter().map(ApplyEvent::to_line).collect();
        let mut content =
            format!("{}\n{{\"event\":\"ended\",\"reason\":\"", lines.join("\n")).into_bytes();
        // In the middle of a character.
        content.push(0xe6);
        let record = ApplyRecord::parse(&content).expect("a record");
        assert_eq!(
            (record.command.as_slice(), record.server.as_str()),
            (&command[..], "https://a")
        );
        assert_eq!(record.done.into_keys().collect::<Vec<_>>(), ["a"]);
        let open = BTreeMap::from([(name("b"), name("r")), (name("c"), name("s"))]);
        assert_eq!(record.open, open, "b was not closed by a later run that changed nothing there");
        assert_eq!(record.cordoned, BTreeSet::from([name("b"), name("c")]));
        let other = ApplyEvent::begins("t", "https://b", &command).to_line();
        assert!(ApplyRecord::parse(format!("{}\n{other}", lines[0]).as_bytes()).is_err());
        for invalid in [
            "",
            "{}",
            "{\"event\":\"begins\",\"version\":\"x\",\"run\":\"\",\"server\":\"\",\"command\":[]}",
        ] {
            assert!(ApplyRecord::parse(invalid.as_bytes()).is_err(), "{invalid}");
        }
    }
}
