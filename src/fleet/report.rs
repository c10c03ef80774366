//! The merged answer.

use super::outcome::NodeResult;
use crate::answer::{Basis, answer};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

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

answer!("FleetAnswer", FleetAnswer);

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
    /// The result.
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
    /// The node.
    pub node: String,
    /// The number.
    pub value: f64,
}

/// A node whose results differ from those of an earlier answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeChange {
    /// The node.
    pub node: String,
    /// Its results before; empty: it was not there.
    pub before: Vec<NodeResult>,
    /// Its results now; empty: it is not there any more.
    pub after: Vec<NodeResult>,
}
