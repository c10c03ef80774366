//! The judgement of a rollout, in JSON and in one sentence.

use crate::fleet::disruptions::Disruption;
use crate::fleet::merge::{NodeCounts, ResultRow};
use kq_answer::reason::Reason;
use kq_answer::{Basis, Headline, Worded, answer};
use kq_output::units::{counted, first_few};
use schemars::JsonSchema;
use serde::Serialize;

/// A change of many nodes: what it disrupts, and the waves in which the nodes change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetWhatIf {
    /// The change: `what-if` and its arguments.
    pub command: Vec<String>,
    /// How many nodes there are.
    pub nodes: NodeCounts,
    /// The waves, in order.
    pub items: Vec<Wave>,
    /// The nodes that no wave has: first those that must not change so, then those of which something is unknown.
    pub left_out: Vec<LeftOutNode>,
    /// The workloads with disrupted pods, those with the most first.
    pub workloads: Vec<WorkloadLoss>,
    /// The PodDisruptionBudgets of disrupted pods; null: none were given.
    pub budgets: Option<Vec<BudgetLoss>>,
    /// The findings about the nodes, as of `kq fleet ask`.
    pub results: Vec<ResultRow>,
    /// What the answer rests on: `missing` names the nodes without an answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("FleetWhatIf", FleetWhatIf; FleetWhatIf::headline);

/// How many pods are disrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisruptedPods {
    /// Pods that end.
    pub ends: usize,
    /// Pods that end unless something keeps them that is unknown.
    pub may_end: usize,
    /// Pods that stay, with containers that restart.
    pub restarts: usize,
}

/// Nodes that change at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// Its place, from 1.
    pub wave: usize,
    pub step: WaveStep,
    /// The names of its nodes, in order.
    pub nodes: Vec<String>,
    #[serde(flatten)]
    pub pods: DisruptedPods,
    /// What it takes of PodDisruptionBudgets.
    pub budgets: Vec<BudgetUse>,
}

/// The steps of a rollout; none begins before the one before it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaveStep {
    /// A node of each pool that loses nothing.
    Canary,
    /// The other nodes that lose nothing.
    LosesNothing,
    /// A node of each pool whose nodes all lose something.
    LosingCanary,
    /// The other nodes.
    Loses,
}

/// The part of a PodDisruptionBudget that a wave takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetUse {
    /// As NAMESPACE/NAME.
    pub budget: String,
    /// The healthy pods of it that are disrupted.
    pub pods: u32,
    /// The pods that may be unavailable.
    pub allowed: u32,
}

/// A node that no wave has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutNode {
    pub node: String,
    /// The pool of the node, empty without one.
    pub pool: String,
    pub reason: Worded<LeftOutReason>,
}

/// Why no wave has a node.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "code", case = "camelCase")]
pub enum LeftOutReason {
    /// The kubelet does not start after the change.
    #[text("the kubelet does not start: {reason}")]
    DoesNotStart { reason: String },
    /// The node alone disrupts more pods of a budget than may be unavailable.
    #[text(
        "{count} of PodDisruptionBudget {budget} at once, and {allowed} of {expected} may be unavailable{never}: {pods}",
        count = counted(pods.len(), "pod"),
        never = never(pods, *most),
        pods = first(pods)
    )]
    BreaksBudget {
        budget: String,
        /// The pods of the budget that the node disrupts.
        pods: Vec<String>,
        /// The pods that may be unavailable now.
        allowed: u32,
        /// The pods that may be unavailable while all others are ready.
        most: u32,
        /// The pods of the budget that there should be.
        expected: u32,
    },
    /// kq has no answer about the node.
    #[text("no answer: {reason}")]
    NoAnswer { reason: String },
    /// It is unknown whether the kubelet starts after the change.
    #[text("whether the kubelet starts is unknown")]
    StartUnknown,
    /// It is unknown what becomes of the pods of the node.
    #[text("the outcome of its pods is unknown")]
    PodsUnknown,
    /// It is unknown what a budget permits.
    #[text("what PodDisruptionBudget {budget} permits is unknown: {reason}")]
    BudgetUnknown { budget: String, reason: String },
    /// The labels of a pod are unknown, and so its budgets.
    #[text("the labels of pod {pod} are unknown, and so its PodDisruptionBudgets")]
    LabelsUnknown { pod: String },
}

impl LeftOutReason {
    /// Returns true if it is known that the node must not change so.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::DoesNotStart { .. } | Self::BreaksBudget { .. })
    }
}

/// How many pods a sentence names.
const NAMED: usize = 3;

fn first(pods: &[String]) -> String {
    first_few(NAMED, pods)
}

/// Says that waiting does not help.
fn never(pods: &[String], most: u32) -> String {
    match pods.len() > most as usize {
        true => format!(", never more than {most}"),
        false => String::new(),
    }
}

/// What a workload loses in a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadLoss {
    /// The pool of the nodes, empty without one.
    pub pool: String,
    pub namespace: String,
    /// The controller of the pods; `StaticPod`, or `Pod` without one.
    pub kind: String,
    pub name: String,
    #[serde(flatten)]
    pub pods: DisruptedPods,
    /// On how many nodes.
    pub nodes: usize,
}

/// What the change takes of a PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetLoss {
    pub namespace: String,
    pub name: String,
    /// The pods that may be unavailable now; null: unknown.
    pub allowed: Option<u32>,
    /// The pods that there should be; null: unknown.
    pub expected: Option<u32>,
    /// The pods that must be ready; null: unknown.
    pub desired: Option<u32>,
    /// The pods that are ready; null: unknown.
    pub healthy: Option<u32>,
    /// Why that is unknown; null: it is known.
    pub unknown: Option<String>,
    /// The healthy pods of it that the change disrupts, on all nodes.
    pub pods: u32,
    /// On how many nodes.
    pub nodes: usize,
    /// The most of them on one node.
    pub most_on_a_node: u32,
    /// The most of them in one wave.
    pub most_in_a_wave: u32,
}

impl DisruptedPods {
    pub(super) fn add(&mut self, disruption: Disruption) {
        *match disruption {
            Disruption::Ends => &mut self.ends,
            Disruption::MayEnd => &mut self.may_end,
            Disruption::Restarts => &mut self.restarts,
        } += 1;
    }

    pub(super) fn add_all(&mut self, other: Self) {
        self.ends += other.ends;
        self.may_end += other.may_end;
        self.restarts += other.restarts;
    }

    /// Returns how many there are.
    pub fn sum(&self) -> usize {
        self.ends + self.may_end + self.restarts
    }
}

impl FleetWhatIf {
    /// Returns how many pods the change disrupts, of all nodes.
    fn pods(&self) -> DisruptedPods {
        let mut sum = DisruptedPods::default();
        self.workloads.iter().for_each(|it| sum.add_all(it.pods));
        sum
    }

    /// Returns what the change costs, and what order there is.
    pub(super) fn headline(&self) -> Headline {
        let asked = counted(self.nodes.asked, "node");
        let in_waves: usize = self.items.iter().map(|wave| wave.nodes.len()).sum();
        let DisruptedPods { ends, may_end, restarts } = self.pods();
        let parts = [
            (ends, "ends", "end"),
            (may_end, "may end", "may end"),
            (restarts, "restarts", "restart"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many)| {
                format!("{} {}", counted(count, "pod"), if count == 1 { one } else { many })
            })
            .collect();
        let lost = match parts.as_slice() {
            [] => "no pod ends".to_owned(),
            parts => parts.join(", "),
        };
        let plan = match (in_waves, self.left_out.len()) {
            (0, _) => "no node can change".to_owned(),
            (_, 0) => format!("the nodes change in {}", counted(self.items.len(), "wave")),
            (nodes, _) => format!(
                "{} {} in {}",
                counted(nodes, "node"),
                if nodes == 1 { "changes" } else { "change" },
                counted(self.items.len(), "wave")
            ),
        };
        let left_out = match self.left_out.as_slice() {
            [] => String::new(),
            [one] => format!("; {} is left out: {}", one.node, one.reason),
            [first, ..] => format!(
                "; {} are left out, such as {}: {}",
                counted(self.left_out.len(), "node"),
                first.node,
                first.reason
            ),
        };
        let unchecked = match self.budgets.is_none() && !parts.is_empty() {
            true => "; PodDisruptionBudgets are not checked",
            false => "",
        };
        let text = format!("{asked}: {lost}; {plan}{unchecked}{left_out}");
        match (parts.is_empty(), self.left_out.is_empty()) {
            (true, true) => Headline::good("loses-nothing", text),
            (_, true) => Headline::new("loses", text),
            (_, false) => Headline::new("left-out", text),
        }
    }
}
