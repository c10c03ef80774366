//! What taking in a pod would cost on each node of a cluster, and which is the cheapest.
//!
//! Nodes are put in the order in which kube-scheduler picks one for preemption
//! (`pickOneNodeForPreemption`, `pkg/scheduler/framework/preemption/preemption.go`, read in 1.36), but for
//! the disruption budgets, which the kubelet does not know. The victims are the kubelet's, not the
//! scheduler's.

use super::reason::PreemptionReason;
use super::report::{Missing, PreemptionExplanation, PreemptionResult, Reasoned, Victim};
use crate::{Check, Explanation, Refusal, qualified};
use kq_answer::{Assumption, Basis, Worded, answer};
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::Pod;
use serde::Serialize;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::sync::Arc;

/// `kq preempt explain --all-nodes`
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPreemption {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// Whether the pod is critical, and why.
    pub critical: Reasoned,
    /// How many nodes answer what.
    pub summary: Summary,
    /// The nodes, the cheapest first.
    pub nodes: Vec<NodeAnswer>,
    /// What all of it rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ClusterPreemption", ClusterPreemption);

/// How many nodes answer what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// It fits.
    pub fits: usize,
    /// It is taken, and others are killed.
    pub preempts: usize,
    /// It is refused: killing is not enough.
    pub not_enough: usize,
    /// It is refused, and no pod can make room.
    pub refused: usize,
    /// A fact is missing, so the result is unknown.
    pub missing: usize,
}

/// The result for the pod on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NodeResult {
    /// It fits, and no pod is killed.
    Fits,
    /// Others are killed, and it is admitted.
    Preempts,
    /// It is refused: killing all possible victims is not enough.
    NotEnough,
    /// It is refused before any preemption, or is not critical.
    Refused,
    /// A fact is missing without which there is no answer.
    Missing,
}

/// What is known of a node apart from its pods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeStanding {
    pub name: String,
    /// It is cordoned.
    pub unschedulable: bool,
    /// Whether it says that it is ready; `None`: unknown.
    pub ready: Option<bool>,
    /// The version of its kubelet, as the Node object has it; may be empty.
    pub kubelet_version: String,
}

/// What taking in the pod costs on one node.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeAnswer {
    pub node: String,
    /// The result for the pod.
    pub result: NodeResult,
    /// Why; where a fact is missing, which.
    pub because: Worded<PreemptionReason>,
    /// The possible rejection messages; the kubelet reports one of them at random.
    pub refusals: Vec<Refusal>,
    /// What is missing.
    pub requirements: Vec<Missing>,
    /// The shortfall if all possible victims are killed.
    pub not_enough: Vec<Missing>,
    /// Victims, in the order in which they are killed.
    pub victims: Vec<NodeVictim>,
    /// What decides between the nodes; null: no pod is killed.
    pub cost: Option<Cost>,
    /// How long the kubelet waits at the most, for all of them.
    pub waits_seconds: i64,
    /// The node is cordoned. The kubelet does not look at that.
    pub unschedulable: bool,
    /// Whether the Node object reports it as ready; null: unknown. The kubelet ignores that.
    pub ready: Option<bool>,
    /// The version of its kubelet; null: not in the Node object.
    pub kubelet_version: Option<String>,
    /// The basis of this node's answer alone.
    #[serde(flatten)]
    pub basis: Basis,
}

/// Who is killed on a node.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeVictim {
    pub pod: String,
    pub uid: String,
    /// Its class.
    pub qos_class: &'static str,
    pub priority: Option<i32>,
    /// What it gives back.
    pub gives: Vec<Missing>,
    /// How long it may take to stop.
    pub grace_period_seconds: i64,
    /// How long the kubelet waits for it at the most.
    pub waits_seconds: i64,
    /// When it started; null: it has not, or does not report it.
    pub started_at: Option<Timestamp>,
    /// The others alone would have been enough.
    pub unneeded: bool,
    /// Others might be killed in its place.
    pub ties: Vec<Arc<str>>,
}

/// What victims are worth, in the order in which nodes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// The highest priority among them; one without any has 0.
    pub highest_priority: i32,
    /// The sum of their priorities, to each of which 2147483648 is added, as kube-scheduler does: so that
    /// none is negative, and more pods are never cheaper.
    pub sum_of_priorities: i64,
    /// How many they are.
    pub victims: usize,
    /// The earliest start among the victims of the highest priority; null: none has started.
    pub started_at: Option<Timestamp>,
}

impl Cost {
    /// Returns what victims are worth, of each its priority and when it started; `None`: there are none.
    pub fn of(victims: &[(Option<i32>, Option<Timestamp>)]) -> Option<Self> {
        let priority = |it: &(Option<i32>, _)| it.0.unwrap_or(0);
        let highest_priority = victims.iter().map(priority).max()?;
        let highest = victims.iter().filter(|it| priority(it) == highest_priority);
        let shifted = |it| i64::from(priority(it)) + (1 << 31);
        Some(Self {
            highest_priority,
            sum_of_priorities: victims.iter().map(shifted).sum(),
            victims: victims.len(),
            started_at: highest.filter_map(|it| it.1).min(),
        })
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Self) -> Ordering {
        // What has not started starts now at the earliest: later than all that has.
        let started = |it: &Self| Reverse((it.started_at.is_none(), it.started_at));
        (self.highest_priority, self.sum_of_priorities, self.victims, started(self)).cmp(&(
            other.highest_priority,
            other.sum_of_priorities,
            other.victims,
            started(other),
        ))
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl NodeAnswer {
    /// Returns the result for the pod on a node; the victims are those of the answer.
    pub fn new(
        node: &NodeStanding,
        admission: &Explanation,
        explained: PreemptionExplanation,
        victims: &[&Pod],
        basis: Basis,
    ) -> Self {
        if let Some(Check { check, because, .. }) = admission.open_check() {
            return Self::missing(node, format!("{}: {because}", check.name()), basis);
        }
        let PreemptionExplanation { result, because, refusals, requirements, not_enough, .. } =
            explained;
        let killed = victims.iter().zip(explained.victims);
        let victims: Vec<NodeVictim> = killed.map(|(pod, victim)| of_victim(pod, victim)).collect();
        let worth: Vec<_> = victims.iter().map(|it| (it.priority, it.started_at)).collect();
        Self {
            result: match result {
                PreemptionResult::Fits => NodeResult::Fits,
                PreemptionResult::Preempts => NodeResult::Preempts,
                PreemptionResult::NotEnough => NodeResult::NotEnough,
                PreemptionResult::Refused => NodeResult::Refused,
            },
            because,
            refusals,
            requirements,
            not_enough,
            waits_seconds: victims.iter().fold(0, |sum, it| sum.saturating_add(it.waits_seconds)),
            victims,
            cost: Cost::of(&worth),
            ..Self::missing(node, String::new(), basis)
        }
    }

    /// Returns the statement that a fact is missing without which there is no answer.
    pub fn missing(node: &NodeStanding, error: String, basis: Basis) -> Self {
        let NodeStanding { name, unschedulable, ready, kubelet_version } = node.clone();
        Self {
            node: name,
            result: NodeResult::Missing,
            because: PreemptionReason::Missing { error }.into(),
            refusals: Vec::new(),
            requirements: Vec::new(),
            not_enough: Vec::new(),
            victims: Vec::new(),
            cost: None,
            waits_seconds: 0,
            unschedulable,
            ready,
            kubelet_version: Some(kubelet_version).filter(|version| !version.is_empty()),
            basis,
        }
    }

    /// Returns by what nodes are put in order.
    fn key(&self) -> (NodeResult, Option<Cost>, &str) {
        (self.result, self.cost, &self.node)
    }
}

fn of_victim(pod: &Pod, victim: Victim) -> NodeVictim {
    NodeVictim {
        pod: victim.pod,
        uid: victim.uid,
        qos_class: victim.qos_class,
        priority: victim.priority,
        gives: victim.gives,
        grace_period_seconds: victim.grace_period_seconds,
        waits_seconds: victim.waits_seconds,
        started_at: pod.status.start_time.as_deref().and_then(|time| time.parse().ok()),
        unneeded: victim.unneeded,
        ties: victim.ties,
    }
}

impl ClusterPreemption {
    /// Puts an answer together: the nodes in their order, and what all of them rest on said once.
    pub fn new(
        pod: &Pod,
        critical: Reasoned,
        mut nodes: Vec<NodeAnswer>,
        mut basis: Basis,
    ) -> Self {
        nodes.sort_by(|one, other| one.key().cmp(&other.key()));
        let mut summary = Summary::default();
        for node in &nodes {
            *match node.result {
                NodeResult::Fits => &mut summary.fits,
                NodeResult::Preempts => &mut summary.preempts,
                NodeResult::NotEnough => &mut summary.not_enough,
                NodeResult::Refused => &mut summary.refused,
                NodeResult::Missing => &mut summary.missing,
            } += 1;
        }
        share_basis(&mut nodes, &mut basis);
        Self { pod: qualified(pod), critical, summary, nodes, basis }
    }

    /// Returns true if any node takes the pod.
    pub fn is_taken(&self) -> bool {
        self.summary.fits + self.summary.preempts > 0
    }

    /// Returns true if a fact is missing, of all or of one node.
    pub fn lacks_facts(&self) -> bool {
        self.summary.missing > 0
            || !self.basis.missing.is_empty()
            || self.nodes.iter().any(|node| !node.basis.missing.is_empty())
    }
}

/// Takes what all nodes with an answer assume out of each, and says it once.
fn share_basis(nodes: &mut [NodeAnswer], basis: &mut Basis) {
    let answered = |node: &&mut NodeAnswer| node.result != NodeResult::Missing;
    let mut all = nodes.iter().filter(|node| node.result != NodeResult::Missing);
    let Some(first) = all.next() else { return };
    let mut shared: BTreeSet<Assumption> = first.basis.assumptions.iter().cloned().collect();
    for node in all {
        let its: BTreeSet<&Assumption> = node.basis.assumptions.iter().collect();
        shared.retain(|text| its.contains(text));
    }
    let in_order = first.basis.assumptions.iter().filter(|text| shared.contains(*text));
    basis.assume_all(in_order.cloned());
    for node in nodes.iter_mut().filter(answered) {
        node.basis.assumptions.retain(|text| !shared.contains(text));
    }
}
