//! One change on many nodes: the plan of each node, what became of it, and the record of both.

use super::outcome::NoAnswer;
use super::packed::Packed;
use crate::answer::{Basis, answer};
use crate::output::table::{Column, Rows};
use crate::output::terminal::{brief, plain};
use schemars::JsonSchema;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most steps of a plan that are kept in words, and the most characters of each.
const MOST_STEPS: usize = 100;
const LONGEST_STEP: usize = 300;

/// How many plans, steps and nodes a narrow answer shows.
const SHOWN: usize = 8;

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
    /// The plans, each once.
    pub plans: Vec<SharedPlan>,
    /// Nodes that were not chosen, and that the record has as cordoned by kq.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others_cordoned: Vec<String>,
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

/// A plan that some nodes have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedPlan {
    pub plan_digest: String,
    /// The nodes that have it.
    pub nodes: Vec<String>,
    /// The first steps, in words.
    pub steps: Vec<String>,
    /// The number of all steps.
    pub count: usize,
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
    /// kq refuses the change of the node, and has changed nothing there.
    Refused,
    /// It is changed.
    Done,
    /// An earlier run changed it, as its record says.
    DoneBefore,
    /// The change failed, perhaps in the middle.
    Failed,
    /// Whether it was changed is not known.
    Unknown,
    /// Its change was not begun.
    Left,
}

impl ChangeState {
    /// All states, in the order of a summary.
    const ALL: [Self; 9] = [
        Self::Done,
        Self::DoneBefore,
        Self::Planned,
        Self::Unchanged,
        Self::Refused,
        Self::Failed,
        Self::Unknown,
        Self::Left,
        Self::NoPlan,
    ];

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
            Self::Left => "not begun",
        }
    }

    /// Returns true if a change ended as it should not.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Refused | Self::Failed | Self::Unknown)
    }

    /// Returns true if the node is as the change wants it, or as it was before.
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Failed | Self::Unknown)
    }
}

impl fmt::Display for ChangeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What kq on a node writes about a change or its plan. Everything in it is the word of a stranger.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeAnswer {
    plan_digest: Option<String>,
    stopped: Option<String>,
    containers: NodeSteps,
    items: NodeSteps,
}

/// Steps of a node: their number, the first ones, and the first that failed. There may be any number of them.
#[derive(Default)]
struct NodeSteps {
    count: usize,
    first: Vec<NodeStep>,
    failed: Option<NodeStep>,
}

impl<'de> Deserialize<'de> for NodeSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = NodeSteps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of steps")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<NodeSteps, A::Error> {
                let mut steps = NodeSteps::default();
                while let Some(step) = seq.next_element::<NodeStep>()? {
                    steps.count += 1;
                    if steps.failed.is_none() && step.has_failed() {
                        steps.failed = Some(step);
                    } else if steps.first.len() < MOST_STEPS {
                        steps.first.push(step);
                    }
                }
                Ok(steps)
            }
        }
        deserializer.deserialize_seq(Collect)
    }
}

/// A step of `gc apply` or of `cgroup apply`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeStep {
    name: Option<String>,
    what: Option<String>,
    owner: Option<String>,
    file: Option<String>,
    from: Option<String>,
    to: Option<String>,
    result: Option<String>,
    reason: Option<String>,
}

impl NodeAnswer {
    fn of(packed: &Packed) -> Option<Self> {
        serde_json::from_slice(&packed.output).ok()
    }

    /// Returns the digest, if it is one.
    fn digest(&self) -> Option<&str> {
        let is_digest = |text: &&str| {
            let digits = text.strip_prefix("sha256:");
            digits.is_some_and(|it| it.len() == 64 && it.bytes().all(|c| c.is_ascii_hexdigit()))
        };
        self.plan_digest.as_deref().filter(is_digest)
    }

    fn count(&self) -> usize {
        self.containers.count + self.items.count
    }

    /// Returns the first steps in words.
    fn words(&self) -> Vec<String> {
        let steps = self.containers.first.iter().chain(&self.items.first);
        steps.take(MOST_STEPS).map(NodeStep::words).collect()
    }

    /// Returns why a step was not done.
    fn failure(&self) -> Option<String> {
        let of_step = || {
            let step = self.containers.failed.as_ref().or(self.items.failed.as_ref())?;
            Some(format!("{}: {}", step.words(), step.reason.as_deref().unwrap_or("it failed")))
        };
        self.stopped.clone().or_else(of_step).map(|it| brief(&it).into_owned())
    }
}

impl NodeStep {
    fn has_failed(&self) -> bool {
        self.result.as_deref().is_some_and(|it| matches!(it, "failed" | "unreadable"))
    }

    fn words(&self) -> String {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let words = match (&self.file, &self.what) {
            (Some(file), _) => {
                format!("{} {file}: {} -> {}", text(&self.owner), text(&self.from), text(&self.to))
            }
            (None, Some(what)) => format!("remove {what} {}", text(&self.name)),
            (None, None) => format!("remove image {}", text(&self.name)),
        };
        let end = words.char_indices().nth(LONGEST_STEP).map_or(words.len(), |(at, _)| at);
        let more = if end < words.len() { "..." } else { "" };
        // A line end in it would begin a step, or a plan, that is none.
        plain(format!("{}{more}", &words[..end]))
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

    /// Returns a node that an earlier run changed, with its exit code.
    pub fn done_before(node: &str, exit_code: Option<u8>) -> Self {
        Self { exit_code, ..Self::new(node, ChangeState::DoneBefore) }
    }

    /// Reads the output of a dry run on a node, and returns its steps in words.
    pub fn planned(node: &str, reply: Result<&Packed, &NoAnswer>) -> (Self, Vec<String>) {
        let mut change = Self::new(node, ChangeState::NoPlan);
        let packed = match reply {
            Ok(packed) => packed,
            Err(why) => {
                change.reason = Some(brief(&why.to_string()).into_owned());
                return (change, Vec::new());
            }
        };
        change.exit_code = packed.exit_code;
        let answer = NodeAnswer::of(packed).unwrap_or_default();
        change.plan_digest = answer.digest().map(str::to_owned);
        change.steps = answer.count();
        let (state, reason) = match (packed.exit_code, &change.plan_digest) {
            (Some(4), _) => (ChangeState::Refused, packed.reason()),
            (Some(0 | 1), None) => {
                let missing = "the plan has no digest: is the image of an older version of kq?";
                (ChangeState::NoPlan, Some(missing.to_owned()))
            }
            (Some(0 | 1), Some(_)) if change.steps > 0 => (ChangeState::Planned, None),
            (Some(0), Some(_)) => (ChangeState::Unchanged, None),
            (Some(1), Some(_)) => (ChangeState::Unchanged, packed.reason()),
            _ => (ChangeState::NoPlan, packed.reason()),
        };
        (change.state, change.reason) = (state, reason);
        (change, answer.words())
    }

    /// Reads the output of the change on the node. It is done only where kq there says so of this very plan; a node
    /// whose pod gave no answer may be changed or not.
    pub fn change(&mut self, reply: Result<&Packed, &NoAnswer>) {
        let packed = match reply {
            Ok(packed) => packed,
            Err(why) => {
                self.exit_code = None;
                self.reason = Some(brief(&why.to_string()).into_owned());
                self.state = match why {
                    NoAnswer::NotCreated(_) => ChangeState::Refused,
                    NoAnswer::Interrupted => ChangeState::Left,
                    _ => ChangeState::Unknown,
                };
                return;
            }
        };
        let answer = NodeAnswer::of(packed);
        let is_of_plan =
            answer.as_ref().is_some_and(|it| it.digest() == self.plan_digest.as_deref());
        let reason = answer.and_then(|it| it.failure()).or_else(|| packed.reason());
        self.exit_code = packed.exit_code;
        (self.state, self.reason) = match (packed.exit_code, is_of_plan) {
            (Some(0), true) => (ChangeState::Done, None),
            // Done, and not everything is as wanted.
            (Some(1 | 3), true) => (ChangeState::Done, reason),
            // kq says so before it changes anything.
            (Some(2..=4), _) => (ChangeState::Refused, reason),
            (Some(5), _) => (ChangeState::Failed, reason),
            _ => (ChangeState::Unknown, reason),
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
    /// Returns the reason among the notes of kq: the one that ended it, else a warning.
    fn reason(&self) -> Option<String> {
        let kinds = ["refused: ", "stopped: ", "kq: ", "error: ", "missing: ", "warning: "];
        let of_kind = |kind: &&str| self.notes.lines().find_map(|line| line.strip_prefix(*kind));
        kinds.iter().find_map(of_kind).map(|reason| brief(reason).into_owned())
    }
}

impl FleetApply {
    /// Puts the plans of the nodes together, each plan once.
    pub fn planned(command: &[String], run: &str, nodes: Vec<(ChangedNode, Vec<String>)>) -> Self {
        let mut plans: Vec<SharedPlan> = Vec::new();
        // By what is shown, too: a node may claim the digest of others.
        let mut known: BTreeMap<(String, usize, Vec<String>), usize> = BTreeMap::new();
        let mut items = Vec::new();
        for (change, steps) in nodes {
            if let (ChangeState::Planned, Some(digest)) = (change.state, &change.plan_digest) {
                let shown = (digest.clone(), change.steps, steps);
                let at = *known.entry(shown).or_insert_with_key(|(digest, count, steps)| {
                    plans.push(SharedPlan {
                        plan_digest: digest.clone(),
                        nodes: Vec::new(),
                        steps: steps.clone(),
                        count: *count,
                    });
                    plans.len() - 1
                });
                plans[at].nodes.push(change.node.clone());
            }
            items.push(change);
        }
        Self {
            command: command.to_vec(),
            run: run.to_owned(),
            dry_run: true,
            stopped: None,
            items,
            plans,
            others_cordoned: Vec::new(),
            basis: Basis::default(),
        }
    }

    /// Returns the number of nodes in a state.
    pub fn count(&self, state: ChangeState) -> usize {
        self.items.iter().filter(|item| item.state == state).count()
    }

    /// Returns the exit code: 5 where some nodes are changed and others are not, or one is still cordoned; 4 where none is
    /// changed; 3 where a node has no plan or an incomplete answer; 1 where a node is not as wanted.
    pub fn exit_code(&self) -> u8 {
        let has = |states: &[ChangeState]| self.items.iter().any(|it| states.contains(&it.state));
        let is_short = |code: u8| {
            self.items.iter().any(|it| {
                let ends = [ChangeState::Done, ChangeState::DoneBefore, ChangeState::Unchanged];
                ends.contains(&it.state) && it.exit_code == Some(code)
            })
        };
        let is_open = has(&[ChangeState::Failed, ChangeState::Unknown])
            || !self.others_cordoned.is_empty()
            || self.items.iter().any(|it| it.is_cordoned);
        let is_refused = has(&[ChangeState::Refused, ChangeState::Left]);
        let is_done = has(&[ChangeState::Done, ChangeState::DoneBefore]);
        match () {
            () if self.dry_run && is_refused => 4,
            () if self.dry_run && (has(&[ChangeState::NoPlan]) || is_short(3)) => 3,
            () if self.dry_run => u8::from(is_short(1)),
            // The record lacks something.
            () if self.stopped.is_some() && is_done => 5,
            () if is_open || is_done && (is_refused || has(&[ChangeState::NoPlan])) => 5,
            () if is_refused => 4,
            () if has(&[ChangeState::NoPlan]) || is_short(3) => 3,
            () if is_short(1) => 1,
            () => 0,
        }
    }

    /// Returns the counts in a sentence.
    pub fn summary(&self) -> String {
        let count = |state: &ChangeState| match self.count(*state) {
            0 => None,
            count => Some(format!("{count} {state}")),
        };
        let counts: Vec<String> = ChangeState::ALL.iter().filter_map(count).collect();
        counts.join(", ")
    }

    /// Returns the nodes as a table, and the plans: all of them, or the first ones.
    pub fn text(&self, is_wide: bool) -> String {
        let rows: Vec<&ChangedNode> = self.items.iter().collect();
        let canary = |it: &&ChangedNode| if it.is_canary { "canary" } else { "" }.to_owned();
        let nodes = Rows::of(&rows).table(&[
            Column::new("NODE", |it: &&ChangedNode| it.node.clone()),
            Column::new("WAVE", canary),
            Column::new("STATE", |it| it.state.to_string()),
            Column::new("STEPS", |it| it.steps.to_string()),
            Column::new("REASON", |it| it.reason.clone().unwrap_or_default()),
        ]);
        let mut text = nodes.to_string();
        let (plans, steps) = if is_wide { (usize::MAX, usize::MAX) } else { (SHOWN, SHOWN) };
        for plan in self.plans.iter().take(plans) {
            text.push_str(&plan.text(steps));
        }
        if self.plans.len() > plans {
            text.push_str(&format!("\n{} more plans: -o wide\n", self.plans.len() - plans));
        }
        text
    }
}

impl SharedPlan {
    fn text(&self, most: usize) -> String {
        let more = self.nodes.len().saturating_sub(SHOWN);
        let named: Vec<&str> = self.nodes.iter().take(SHOWN).map(String::as_str).collect();
        let mut text = format!("\nPLAN OF {}", named.join(", "));
        if more > 0 {
            text.push_str(&format!(" AND {more} MORE"));
        }
        text.push('\n');
        let shown = self.steps.iter().take(most);
        shown.for_each(|step| text.push_str(&format!("  {step}\n")));
        if self.count > self.steps.len().min(most) {
            let more = self.count - self.steps.len().min(most);
            text.push_str(&format!("  and {more} more\n"));
        }
        text
    }
}

/// A line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ApplyEvent {
    /// A run begins or goes on.
    Begins { version: String, run: String, server: String, command: Vec<String> },
    /// A node is about to be cordoned.
    Cordons { node: String },
    /// A node was uncordoned.
    Uncordoned { node: String },
    /// A node is about to change.
    Changes { node: String, plan_digest: String },
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
        serde_json::to_string(self).unwrap_or_default()
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
    ///
    /// # Errors
    ///
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

    fn packed(exit_code: Option<u8>, output: &str, notes: &str) -> Packed {
        Packed { exit_code, output: output.as_bytes().to_vec(), notes: notes.to_owned() }
    }

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn answer(rest: &str) -> String {
        format!("{{\"planDigest\":\"{DIGEST}\"{rest}}}")
    }

    #[test]
    fn a_dry_run_is_a_plan() {
        let steps =
            answer(r#","items":[{"name":"a"},{"file":"cpu.max","from":"1","to":"2","owner":"p"}]"#);
        let odd = r#"{"planDigest":"--yes","items":[{}]}"#.to_owned();
        let rows = [
            (Some(0), steps.clone(), "", ChangeState::Planned, None),
            (Some(0), answer(""), "", ChangeState::Unchanged, None),
            (Some(1), answer(""), "warning: w", ChangeState::Unchanged, Some("w")),
            (Some(0), odd, "", ChangeState::NoPlan, Some("the plan has no digest")),
            (Some(4), steps.clone(), "refused: x", ChangeState::Refused, Some("x")),
            (
                Some(3),
                String::new(),
                "warning: w\nkq: no runtime",
                ChangeState::NoPlan,
                Some("no runtime"),
            ),
            (None, String::new(), "", ChangeState::NoPlan, None),
        ];
        for (code, output, notes, state, reason) in rows {
            let (change, _) = ChangedNode::planned("n", Ok(&packed(code, &output, notes)));
            assert_eq!(change.state, state, "{code:?} {output}");
            let begins =
                |text: &str| change.reason.as_deref().is_some_and(|it| it.starts_with(text));
            assert!(reason.map_or(change.reason.is_none(), begins), "{change:?}");
        }
        let (_, words) = ChangedNode::planned("n", Ok(&packed(Some(0), &steps, "")));
        assert_eq!(words, ["remove image a", "p cpu.max: 1 -> 2"]);
    }

    #[test]
    fn a_node_can_write_no_line_into_the_plan_of_another() {
        let output = answer(r#","items":[{"name":"x\n\nPLAN OF b"}]"#);
        let honest = answer(r#","items":[{"name":"y"}]"#);
        let of = |node, output: &str| ChangedNode::planned(node, Ok(&packed(Some(0), output, "")));
        let planned = FleetApply::planned(&[], "", vec![of("a", &output), of("b", &honest)]);
        assert_eq!(planned.plans.len(), 2, "one digest, and two plans");
        let text = planned.text(true);
        assert_eq!(text.lines().filter(|line| line.starts_with("PLAN OF b")).count(), 1, "{text}");
        let many = answer(&format!(",\"items\":[{}{{}}]", "{},".repeat(5_000)));
        let (change, words) = of("c", &many);
        assert_eq!((change.steps, words.len()), (5_001, MOST_STEPS));
    }

    #[test]
    fn a_node_is_done_only_where_it_says_so_of_its_plan() {
        let (done, other) = (answer(r#","items":[]"#), r#"{"planDigest":"x"}"#.to_owned());
        let failed = answer(r#","items":[{"name":"a","result":"failed","reason":"busy"}]"#);
        let text = |text: &str| Some(text.to_owned());
        let rows = [
            (Ok((Some(0), done.clone(), "")), ChangeState::Done, None),
            (Ok((Some(1), done.clone(), "warning: w")), ChangeState::Done, text("w")),
            (Ok((Some(0), other, "")), ChangeState::Unknown, None),
            (Ok((Some(0), String::new(), "")), ChangeState::Unknown, None),
            (Ok((Some(1), String::new(), "kq: k")), ChangeState::Unknown, text("k")),
            (Ok((Some(3), String::new(), "kq: gone")), ChangeState::Refused, text("gone")),
            (Ok((Some(4), String::new(), "kq: another")), ChangeState::Refused, text("another")),
            (
                Ok((Some(5), failed, "warning: w")),
                ChangeState::Failed,
                text("remove image a: busy"),
            ),
            (Ok((None, done, "")), ChangeState::Unknown, None),
            (
                Err(NoAnswer::TimedOut("1s".to_owned())),
                ChangeState::Unknown,
                text("no answer within 1s"),
            ),
            (
                Err(NoAnswer::NotCreated("q".to_owned())),
                ChangeState::Refused,
                text("the pod did not run: q"),
            ),
        ];
        for (reply, state, reason) in rows {
            let mut change = ChangedNode::new("n", ChangeState::Planned);
            change.plan_digest = Some(DIGEST.to_owned());
            let reply = reply.map(|(code, output, notes)| packed(code, &output, notes));
            change.change(reply.as_ref());
            assert_eq!((change.state, &change.reason), (state, &reason), "{reply:?}");
        }
    }

    #[test]
    fn a_record_that_was_cut_is_read_to_there() {
        let command = ["gc".to_owned(), "apply".to_owned()];
        let name = |node: &str| node.to_owned();
        let change = |node| ApplyEvent::Changes { node: name(node), plan_digest: name(DIGEST) };
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

    #[test]
    fn the_exit_code_never_comforts() {
        use ChangeState::{
            Done, DoneBefore, Failed, Left, NoPlan, Planned, Refused, Unchanged, Unknown,
        };
        for (states, exit_code, expected) in [
            (&[][..], None, 0),
            (&[Unchanged, Done], None, 0),
            (&[Planned], None, 0),
            (&[Unchanged], Some(1), 1),
            (&[DoneBefore, Done], Some(1), 1),
            (&[Done], Some(3), 3),
            (&[Done, NoPlan], None, 5),
            (&[Unchanged, NoPlan], None, 3),
            (&[Refused, NoPlan], None, 4),
            (&[Done, Refused], None, 5),
            (&[Done, Left], None, 5),
            (&[Refused, Left], None, 4),
            (&[Failed], None, 5),
            (&[Unknown], None, 5),
        ] {
            let node = |state: &ChangeState| {
                (ChangedNode { exit_code, ..ChangedNode::new("n", *state) }, Vec::new())
            };
            let planned = FleetApply::planned(&[], "", states.iter().map(node).collect());
            let mut answer = FleetApply { dry_run: false, ..planned };
            assert_eq!(answer.exit_code(), expected, "{states:?}");
            if let Some(first) = answer.items.first_mut() {
                first.is_cordoned = true;
                assert_eq!(answer.exit_code(), 5, "{states:?}, and one is cordoned");
            }
        }
    }
}
