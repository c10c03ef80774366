//! Merges answers as they arrive. Only each node's name, results and number are kept.

use super::outcome::{NodeOutcome, NodeResult, Reply};
use kq_answer::{Basis, Headline, Missing, MissingFact, Warning, WarningCode, answer};
use kq_output::terminal::brief;
use kq_output::units::{counted, first_few};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The percentiles that are shown.
const PERCENTILES: [u8; 6] = [0, 10, 50, 90, 99, 100];

/// How many nodes are named at each end.
const EXTREMES: usize = 5;

/// How many nodes without an answer are named with the reason; the others are counted.
const NAMED: usize = 20;

/// The answers so far.
#[derive(Debug, Default)]
pub struct Merge {
    counts: NodeCounts,
    rows: BTreeMap<(NodeResult, Option<String>), Vec<String>>,
    by_node: BTreeMap<String, Vec<NodeResult>>,
    failures: Vec<(String, String)>,
    value: Option<String>,
    values: Vec<NodeValue>,
}

impl Merge {
    /// Begins without answers; `value` is the path of a number that each of them should have.
    pub fn new(value: Option<String>) -> Self {
        Self { value, ..Self::default() }
    }

    /// Adds the answer of a node.
    pub fn add(&mut self, outcome: &NodeOutcome) {
        let NodeOutcome { node, group, reply, .. } = outcome;
        self.counts.asked += 1;
        *self.counts.by_exit_code.entry(reply.exit_code()).or_default() += 1;
        match reply {
            Reply::Answered { value, .. } => {
                self.counts.answered += 1;
                let value = value.map(|value| NodeValue { node: node.clone(), value });
                self.values.extend(value);
            }
            Reply::Failed { why, .. } => {
                self.failures.push((node.clone(), brief(&why.to_string()).into_owned()));
            }
        }
        let results = reply.results();
        for result in &results {
            self.rows.entry((result.clone(), group.clone())).or_default().push(node.clone());
        }
        self.by_node.insert(node.clone(), results);
    }

    /// Returns the worst exit code: no before incomplete before yes; a command that no node understood is a mistake in
    /// the command.
    pub fn exit_code(&self) -> u8 {
        let has = |code: u8| self.counts.by_exit_code.contains_key(&code);
        match () {
            () if has(2) && self.counts.answered == 0 => 2,
            () if has(1) => 1,
            () if has(3) || has(2) || self.counts.asked == 0 => 3,
            () => 0,
        }
    }

    /// Returns the merged answer; `before` is an earlier one to the same question.
    pub fn finish(mut self, command: Vec<String>, before: Option<Self>) -> FleetAnswer {
        let changes = before.map(|before| changes(&before.by_node, &self.by_node));
        let mut items: Vec<ResultRow> = self
            .rows
            .into_iter()
            .map(|((result, group), mut nodes)| {
                nodes.sort_unstable();
                ResultRow { result, group, count: nodes.len(), nodes }
            })
            .collect();
        items.sort_by(|a, b| {
            let rank = |row: &ResultRow| (row.result.severity, row.count);
            rank(a).cmp(&rank(b)).then_with(|| (&a.result, &a.group).cmp(&(&b.result, &b.group)))
        });
        let mut basis = Basis::default();
        self.failures.sort_unstable();
        let more = self.failures.len().saturating_sub(NAMED);
        let named = self.failures.into_iter().take(NAMED);
        basis.lack_all(named.map(|(node, why)| {
            Missing::new(MissingFact::NodeAnswer, format!("{node}: {why}")).about(node)
        }));
        if more > 0 {
            let text = format!("the answers of {more} more nodes: the results name them");
            basis.lack(Missing::new(MissingFact::NodeAnswer, text));
        }
        if let Some(path) = &self.value
            && self.values.len() < self.counts.answered
        {
            let without = self.counts.answered - self.values.len();
            let text = format!("{without} answers have no number at {path}");
            basis.warn(Warning::new(WarningCode::NoNumber, text).about(path));
        }
        let value = self.value.map(|path| summary_of(path, self.values));
        FleetAnswer { command, nodes: self.counts, items, value, changes, basis }
    }
}

fn summary_of(path: String, mut values: Vec<NodeValue>) -> ValueSummary {
    values.sort_by(|a, b| a.value.total_cmp(&b.value).then_with(|| a.node.cmp(&b.node)));
    let nearest = |percent: u8| {
        let rank = (values.len() * usize::from(percent)).div_ceil(100).max(1);
        values.get(rank - 1).map(|it| (percent, it.value))
    };
    ValueSummary {
        path,
        count: values.len(),
        percentiles: PERCENTILES.into_iter().filter_map(nearest).collect(),
        lowest: values.iter().take(EXTREMES).cloned().collect(),
        highest: values.iter().rev().take(EXTREMES).cloned().collect(),
    }
}

fn changes(
    before: &BTreeMap<String, Vec<NodeResult>>,
    after: &BTreeMap<String, Vec<NodeResult>>,
) -> Vec<NodeChange> {
    let nodes: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let of = |all: &BTreeMap<String, Vec<NodeResult>>, node: &str| {
        all.get(node).cloned().unwrap_or_default()
    };
    let change = |node: &String| NodeChange {
        node: node.clone(),
        before: of(before, node),
        after: of(after, node),
    };
    nodes.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

/// The answers of many nodes to one question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetAnswer {
    /// The question: a command of kq and its arguments.
    pub command: Vec<String>,
    /// How many nodes there are.
    pub nodes: NodeCounts,
    /// The results, the worst first, and of equally bad ones the rarest first.
    pub items: Vec<ResultRow>,
    /// A number of each answer; null: none was asked for.
    pub value: Option<ValueSummary>,
    /// Nodes whose results differ from those of an earlier answer; null: none was given.
    pub changes: Option<Vec<NodeChange>>,
    /// What the answer rests on: `missing` names the nodes without an answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("FleetAnswer", FleetAnswer; FleetAnswer::headline);

impl FleetAnswer {
    /// Returns how many nodes answered, and the worst result.
    fn headline(&self) -> Headline {
        let nodes = &self.nodes;
        let answered = format!("{} of {} answered", nodes.answered, counted(nodes.asked, "node"));
        match self.items.first() {
            None => Headline::new("none", answered),
            Some(worst) => {
                let as_bad =
                    self.items.iter().filter(|it| it.result.severity == worst.result.severity);
                let nodes: BTreeSet<&String> = as_bad.clone().flat_map(|row| &row.nodes).collect();
                let on = counted(nodes.len(), "node");
                let text = format!("{answered}; on {on}: {}", most_often(as_bad));
                Headline::new("answered", text)
            }
        }
    }
}

/// Names the results of most nodes, with their numbers where there are several.
fn most_often<'r>(rows: impl Iterator<Item = &'r ResultRow>) -> String {
    const NAMED: usize = 3;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *counts.entry(row.result.result.as_str()).or_default() += row.count;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(result, count)| (Reverse(*count), *result));
    if let [(only, _)] = counts.as_slice() {
        return (*only).to_owned();
    }
    first_few(NAMED, counts.iter().map(|(result, count)| format!("{result} ({count})")))
}

/// Counts of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// The nodes that were asked.
    pub asked: usize,
    /// Those with an answer.
    pub answered: usize,
    /// The nodes by the exit code of their answer.
    pub by_exit_code: BTreeMap<u8, usize>,
}

/// A result and the nodes that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResultRow {
    #[serde(flatten)]
    pub result: NodeResult,
    /// The value of the label by which nodes are grouped, empty where a node has none; null: they are not grouped.
    pub group: Option<String>,
    /// How many nodes have it.
    pub count: usize,
    /// Their names, in order.
    pub nodes: Vec<String>,
}

/// A number of each answer, over all nodes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueSummary {
    /// The template that finds it.
    pub path: String,
    /// How many answers have the number.
    pub count: usize,
    /// The percentiles 0, 10, 50, 90, 99 and 100, by the nearest rank.
    pub percentiles: BTreeMap<u8, f64>,
    /// The nodes with the lowest numbers.
    pub lowest: Vec<NodeValue>,
    /// The nodes with the highest numbers, the highest first.
    pub highest: Vec<NodeValue>,
}

/// A number of a node.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeValue {
    pub node: String,
    /// The number.
    pub value: f64,
}

/// A node whose results differ from those of an earlier answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeChange {
    pub node: String,
    /// Its results before; empty: it was not there.
    pub before: Vec<NodeResult>,
    /// Its results now; empty: it is not there any more.
    pub after: Vec<NodeResult>,
}
