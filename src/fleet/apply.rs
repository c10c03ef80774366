//! One change on many nodes: the plan of each node, what became of it, and the record of both.

use super::outcome::NoAnswer;
use super::packed::Packed;
use crate::answer::{Basis, answer};
use crate::output::table::{Column, Rows, Table};
use crate::output::terminal::brief;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// The version of the record.
const RECORD: &str = "kq-fleet-apply/v1";

/// A change of many nodes: the plan of each node and its result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetApply {
    /// The command that runs on each node.
    pub command: Vec<String>,
    /// The name of the run, which its pods and rollback files have.
    pub run: String,
    /// It was only planned.
    pub dry_run: bool,
    /// Why no more nodes were changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The nodes, in the order in which they change.
    pub items: Vec<ChangedNode>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("FleetApply", FleetApply);

/// The part of one node in a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedNode {
    pub node: String,
    /// It changes before the others.
    pub is_canary: bool,
    pub state: ChangeState,
    /// The number of steps of its plan, such as images to remove.
    pub steps: usize,
    /// The digest of its plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// The exit code of kq on the node, of the plan or of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// Why it is not as planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// kq marked it as unschedulable, and it still is.
    pub is_cordoned: bool,
}

/// The state of a node in a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChangeState {
    /// It has a plan with steps.
    Planned,
    /// There is nothing to do.
    Unchanged,
    /// Its plan is not known: kq gave no answer there.
    NoPlan,
    /// kq on the node refuses the change.
    Refused,
    /// It is changed.
    Done,
    /// An earlier run changed it, as its record says.
    DoneBefore,
    /// The change failed, perhaps in the middle.
    Failed,
    /// Whether it was changed is not known.
    Unknown,
    /// Its turn did not come.
    Left,
}

impl ChangeState {
    /// Returns the words of a table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Unchanged => "nothing to do",
            Self::NoPlan => "no plan",
            Self::Refused => "refused",
            Self::Done => "done",
            Self::DoneBefore => "done before",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Left => "left",
        }
    }

    /// Returns true if a change ended as it should not.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Refused | Self::Failed | Self::Unknown)
    }
}

impl fmt::Display for ChangeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl ChangedNode {
    fn new(node: &str, state: ChangeState) -> Self {
        Self {
            node: node.to_owned(),
            is_canary: false,
            state,
            steps: 0,
            plan_digest: None,
            exit_code: None,
            reason: None,
            is_cordoned: false,
        }
    }

    /// Returns a node that an earlier run changed.
    pub fn done_before(node: &str) -> Self {
        Self::new(node, ChangeState::DoneBefore)
    }

    /// Reads the output of a dry run on a node.
    pub fn planned(node: &str, reply: Result<&Packed, &NoAnswer>) -> Self {
        let mut change = Self::new(node, ChangeState::NoPlan);
        let packed = match reply {
            Ok(packed) => packed,
            Err(why) => {
                change.reason = Some(why.to_string());
                return change;
            }
        };
        change.exit_code = packed.exit_code;
        let answer = serde_json::from_slice::<Value>(&packed.output).ok();
        let digest = answer.as_ref().and_then(|it| it.get("planDigest")).and_then(Value::as_str);
        change.plan_digest = digest.map(str::to_owned);
        let list = |name| answer.as_ref().and_then(|it| it.get(name)).and_then(Value::as_array);
        change.steps = list("items").map_or(0, Vec::len) + list("containers").map_or(0, Vec::len);
        let (state, reason) = match (packed.exit_code, digest) {
            (Some(4), _) => (ChangeState::Refused, packed.reason()),
            (Some(0 | 1), None) => {
                let missing = "the plan has no digest: is the image of an older version of kq?";
                (ChangeState::NoPlan, Some(missing.to_owned()))
            }
            (Some(0 | 1), Some(_)) if change.steps > 0 => (ChangeState::Planned, None),
            (Some(0 | 1), Some(_)) => (ChangeState::Unchanged, None),
            _ => (ChangeState::NoPlan, packed.reason()),
        };
        (change.state, change.reason) = (state, reason);
        change
    }

    /// Reads the output of the change on the node. A node whose pod gave no answer may be changed or not.
    pub fn change(&mut self, reply: Result<&Packed, &NoAnswer>) {
        (self.state, self.exit_code, self.reason) = match reply {
            Err(NoAnswer::Interrupted) => (ChangeState::Left, None, None),
            Err(why) => (ChangeState::Unknown, None, Some(why.to_string())),
            Ok(packed) => {
                let reason = packed.reason();
                let (state, reason) = match packed.exit_code {
                    Some(0) => (ChangeState::Done, None),
                    // Done, and not everything is as wanted.
                    Some(1 | 3) => (ChangeState::Done, reason),
                    Some(2 | 4) => (ChangeState::Refused, reason),
                    Some(_) => (ChangeState::Failed, reason),
                    None => (ChangeState::Unknown, reason),
                };
                (state, packed.exit_code, reason)
            }
        };
    }

    /// Returns the line about the node.
    pub fn line(&self) -> String {
        let mut text = format!("{}: {}", self.node, self.state);
        if let Some(reason) = &self.reason {
            text = format!("{text}: {reason}");
        }
        match self.is_cordoned {
            true => format!("{text}; the node stays cordoned"),
            false => text,
        }
    }
}

impl Packed {
    /// Returns the first reason among the notes of kq.
    fn reason(&self) -> Option<String> {
        let of_kq = |line: &str| {
            let kinds = ["refused: ", "stopped: ", "kq: ", "error: ", "missing: ", "warning: "];
            kinds.iter().find_map(|kind| line.strip_prefix(kind)).map(str::to_owned)
        };
        self.notes.lines().find_map(of_kq).map(|reason| brief(&reason).into_owned())
    }
}

impl FleetApply {
    /// Returns the number of nodes in a state.
    pub fn count(&self, state: ChangeState) -> usize {
        self.items.iter().filter(|item| item.state == state).count()
    }

    /// Returns the exit code: 5 where some nodes are changed and others are not, 4 where none is, 3 where a node has no
    /// plan, 1 where a node is changed and not as wanted.
    pub fn exit_code(&self) -> u8 {
        let has = |states: &[ChangeState]| self.items.iter().any(|it| states.contains(&it.state));
        let fell_short =
            self.items.iter().any(|it| it.state == ChangeState::Done && it.exit_code == Some(1));
        let is_open = has(&[ChangeState::Failed, ChangeState::Unknown]);
        let is_refused = has(&[ChangeState::Refused, ChangeState::Left]);
        let is_done = has(&[ChangeState::Done, ChangeState::DoneBefore]);
        match () {
            () if is_open || is_done && (is_refused || has(&[ChangeState::NoPlan])) => 5,
            () if is_refused => 4,
            () if has(&[ChangeState::NoPlan]) => 3,
            () if fell_short => 1,
            () => 0,
        }
    }

    /// Returns the counts in a sentence.
    pub fn summary(&self) -> String {
        let states = [
            ChangeState::Done,
            ChangeState::DoneBefore,
            ChangeState::Planned,
            ChangeState::Unchanged,
            ChangeState::Refused,
            ChangeState::Failed,
            ChangeState::Unknown,
            ChangeState::Left,
            ChangeState::NoPlan,
        ];
        let count = |state: &ChangeState| match self.count(*state) {
            0 => None,
            count => Some(format!("{count} {state}")),
        };
        let counts: Vec<String> = states.iter().filter_map(count).collect();
        counts.join(", ")
    }

    /// Returns the nodes as a table.
    pub fn table(&self) -> Table {
        let rows: Vec<&ChangedNode> = self.items.iter().collect();
        let canary = |it: &&ChangedNode| if it.is_canary { "canary" } else { "" }.to_owned();
        Rows::of(&rows).table(&[
            Column::new("NODE", |it: &&ChangedNode| it.node.clone()),
            Column::new("WAVE", canary),
            Column::new("STATE", |it| it.state.to_string()),
            Column::new("STEPS", |it| it.steps.to_string()),
            Column::new("REASON", |it| it.reason.clone().unwrap_or_default()),
        ])
    }
}

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ApplyEvent {
    /// A run begins or goes on.
    Begins { version: String, run: String, command: Vec<String> },
    /// A node is about to change.
    Changes { node: String, plan_digest: String },
    /// A node has changed, or has not.
    Ended { node: String, state: ChangeState, reason: Option<String>, is_cordoned: bool },
}

impl ApplyEvent {
    /// Returns the first line of a run.
    pub fn begins(run: &str, command: &[String]) -> Self {
        Self::Begins { version: RECORD.to_owned(), run: run.to_owned(), command: command.to_vec() }
    }

    /// Returns the last line about a node.
    pub fn ended(change: &ChangedNode) -> Self {
        Self::Ended {
            node: change.node.clone(),
            state: change.state,
            reason: change.reason.clone(),
            is_cordoned: change.is_cordoned,
        }
    }

    /// Returns the line, without its end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The record of earlier runs of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyRecord {
    pub command: Vec<String>,
    /// The nodes that are changed.
    pub done: BTreeSet<String>,
    /// The nodes whose change began and has no end in the record.
    pub open: BTreeSet<String>,
    /// The nodes that kq left cordoned.
    pub cordoned: BTreeSet<String>,
}

impl ApplyRecord {
    /// Reads a record. A line that a kill cut off counts as not written.
    ///
    /// # Errors
    ///
    /// Fails for what is no record.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut record: Option<Self> = None;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let event = serde_json::from_str::<ApplyEvent>(line);
            match (event, &mut record) {
                (Ok(ApplyEvent::Begins { version, .. }), _) if version != RECORD => {
                    return Err(format!("version {version:?}, expected {RECORD}"));
                }
                (Ok(ApplyEvent::Begins { command, .. }), None) => {
                    record = Some(Self { command, ..Self::default() });
                }
                (Ok(ApplyEvent::Begins { command, .. }), Some(record)) => {
                    if command != record.command {
                        return Err("it has two commands".to_owned());
                    }
                }
                (Ok(ApplyEvent::Changes { node, .. }), Some(record)) => {
                    record.done.remove(&node);
                    record.open.insert(node);
                }
                (Ok(ApplyEvent::Ended { node, state, is_cordoned, .. }), Some(record)) => {
                    record.end(node, state, is_cordoned);
                }
                (_, None) => return Err("its first line does not begin a run".to_owned()),
                (Err(_), Some(_)) => {}
            }
        }
        record.ok_or_else(|| "it is empty".to_owned())
    }

    fn end(&mut self, node: String, state: ChangeState, is_cordoned: bool) {
        self.cordoned.remove(&node);
        if is_cordoned {
            self.cordoned.insert(node.clone());
        }
        if !matches!(state, ChangeState::Unknown | ChangeState::Failed) {
            self.open.remove(&node);
        }
        if state == ChangeState::Done {
            self.done.insert(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(exit_code: Option<u8>, output: &str, notes: &str) -> Packed {
        Packed { exit_code, output: output.as_bytes().to_vec(), notes: notes.to_owned() }
    }

    #[test]
    fn a_dry_run_is_a_plan() {
        let rows = [
            (Some(0), r#"{"planDigest":"d","items":[1,2]}"#, "", ChangeState::Planned, None),
            (Some(1), r#"{"planDigest":"d","items":[]}"#, "", ChangeState::Unchanged, None),
            (Some(0), r#"{"items":[1]}"#, "", ChangeState::NoPlan, Some("the plan has no digest")),
            (Some(4), r#"{"planDigest":"d"}"#, "refused: x", ChangeState::Refused, Some("x")),
            (Some(3), "", "kq: no runtime", ChangeState::NoPlan, Some("no runtime")),
            (None, "", "", ChangeState::NoPlan, None),
        ];
        for (code, output, notes, state, reason) in rows {
            let change = ChangedNode::planned("n", Ok(&packed(code, output, notes)));
            assert_eq!(change.state, state, "{code:?} {output}");
            let begins =
                |text: &str| change.reason.as_deref().is_some_and(|it| it.starts_with(text));
            assert!(reason.map_or(change.reason.is_none(), begins), "{change:?}");
        }
    }

    #[test]
    fn a_node_without_an_answer_may_be_changed() {
        let mut change = ChangedNode::new("n", ChangeState::Planned);
        let rows: [(Result<Packed, NoAnswer>, ChangeState); 6] = [
            (Ok(packed(Some(0), "", "")), ChangeState::Done),
            (Ok(packed(Some(1), "", "warning: w")), ChangeState::Done),
            (Ok(packed(Some(4), "", "kq: the plan is another")), ChangeState::Refused),
            (Ok(packed(Some(5), "", "stopped: s")), ChangeState::Failed),
            (Err(NoAnswer::TimedOut("1s".to_owned())), ChangeState::Unknown),
            (Err(NoAnswer::Interrupted), ChangeState::Left),
        ];
        for (reply, state) in rows {
            change.change(reply.as_ref());
            assert_eq!(change.state, state, "{reply:?}");
        }
    }

    #[test]
    fn a_record_that_was_cut_is_read_to_there() {
        let command = ["gc".to_owned(), "apply".to_owned()];
        let change =
            |node: &str| ApplyEvent::Changes { node: node.to_owned(), plan_digest: "d".to_owned() };
        let ended = |node: &str, state| ApplyEvent::ended(&ChangedNode::new(node, state));
        let events = [
            ApplyEvent::begins("r", &command),
            change("a"),
            ended("a", ChangeState::Done),
            change("b"),
            ended("b", ChangeState::Failed),
            ApplyEvent::begins("s", &command),
            change("c"),
            ended("d", ChangeState::Left),
        ];
        let lines: Vec<String> = events.iter().map(ApplyEvent::to_line).collect();
        let text = format!("{}\n{{\"event\":\"ended\",\"no", lines.join("\n"));
        let record = ApplyRecord::parse(&text).expect("a record");
        assert_eq!(record.command, command);
        assert_eq!(record.done, BTreeSet::from(["a".to_owned()]));
        assert_eq!(record.open, BTreeSet::from(["b".to_owned(), "c".to_owned()]));
        for invalid in
            ["", "{}", "{\"event\":\"begins\",\"version\":\"x\",\"run\":\"\",\"command\":[]}"]
        {
            assert!(ApplyRecord::parse(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn the_exit_code_never_comforts() {
        use ChangeState::{Done, Failed, Left, NoPlan, Planned, Refused, Unchanged, Unknown};
        for (states, expected) in [
            (&[][..], 0),
            (&[Unchanged, Done], 0),
            (&[Planned], 0),
            (&[Done, NoPlan], 5),
            (&[Unchanged, NoPlan], 3),
            (&[Refused, NoPlan], 4),
            (&[Done, Refused], 5),
            (&[Done, Left], 5),
            (&[Refused, Left], 4),
            (&[Failed], 5),
            (&[Unknown], 5),
        ] {
            let items = states.iter().map(|state| ChangedNode::new("n", *state)).collect();
            let answer = FleetApply {
                command: Vec::new(),
                run: String::new(),
                dry_run: false,
                stopped: None,
                items,
                basis: Basis::default(),
            };
            assert_eq!(answer.exit_code(), expected, "{states:?}");
        }
    }
}
