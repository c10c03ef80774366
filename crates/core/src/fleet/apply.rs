//! One change on many nodes: the plan of each node, and what became of it.

use super::node_answer::NodeAnswer;
use super::outcome::NoAnswer;
use super::packed::Packed;
use kq_answer::{Basis, answer};
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows};
use kq_output::terminal::brief;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How many plans, steps and nodes a narrow answer shows.
const SHOWN: usize = 8;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

    /// Returns the tone of the words.
    fn tone(self) -> Option<Tone> {
        match self {
            Self::NoPlan | Self::Refused | Self::Failed => Some(Tone::Bad),
            Self::Unknown => Some(Tone::Doubtful),
            Self::Planned | Self::Unchanged | Self::Done | Self::DoneBefore | Self::Left => None,
        }
    }

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

impl ChangedNode {
    pub(super) fn new(node: &str, state: ChangeState) -> Self {
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

    /// Returns a node with a plan that is being applied.
    pub fn with_plan(node: &str, plan_digest: Option<String>) -> Self {
        Self { plan_digest, ..Self::new(node, ChangeState::Planned) }
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

    /// Takes over how the change ended, as another process read it.
    pub fn end_as(&mut self, ended: Self) {
        (self.state, self.reason, self.exit_code) = (ended.state, ended.reason, ended.exit_code);
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
    pub fn doc(&self, is_wide: bool) -> Doc {
        let rows: Vec<&ChangedNode> = self.items.iter().collect();
        let canary = |it: &&ChangedNode| if it.is_canary { "canary" } else { "" }.to_owned();
        let nodes = Rows::of(&rows).table(&[
            Column::name("NODE", |it: &&ChangedNode| it.node.clone()),
            Column::new("WAVE", canary),
            Column::state("STATE", |it| it.state.to_string(), |it| it.state.tone()),
            Column::new("STEPS", |it| it.steps.to_string()),
            Column::text("REASON", |it| it.reason.clone().unwrap_or_default()),
        ]);
        let mut doc = Doc::from(nodes);
        let (plans, steps) = if is_wide { (usize::MAX, usize::MAX) } else { (SHOWN, SHOWN) };
        for plan in self.plans.iter().take(plans) {
            doc.add_apart(plan.doc(steps));
        }
        if self.plans.len() > plans {
            doc.blank();
            doc.line(format!("{} more plans: -o wide", self.plans.len() - plans));
        }
        doc
    }
}

impl SharedPlan {
    fn doc(&self, most: usize) -> Doc {
        let named: Vec<&str> = self.nodes.iter().take(SHOWN).map(String::as_str).collect();
        let more = match self.nodes.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" AND {more} MORE"),
        };
        let mut doc = Doc::of_line(format!("PLAN OF {}{more}", named.join(", ")));
        doc.extend(self.steps.iter().take(most).map(|step| format!("  {step}")));
        if self.count > self.steps.len().min(most) {
            doc.line(format!("  and {} more", self.count - self.steps.len().min(most)));
        }
        doc
    }
}

#[cfg(test)]
mod tests {
    use super::super::node_answer::MOST_STEPS;
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
        let text = planned.doc(true).to_string();
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
