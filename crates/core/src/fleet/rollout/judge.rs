//! Takes the answers of nodes as they arrive. The pods of a node are counted, and not kept.

use super::answer::{
    BudgetLoss, DisruptedPods, FleetWhatIf, LeftOutNode, LeftOutReason, Wave, WorkloadLoss,
};
use super::budgets::Budgets;
use super::waves::waves;
use crate::fleet::disruptions::{DisruptedPod, NodeDisruptions, StartOutcome};
use crate::fleet::merge::Merge;
use crate::fleet::outcome::{NodeOutcome, Reply};
use kq_answer::{Missing, MissingFact};
use kq_k8s::disruption_budget::DisruptionBudget;
use kq_output::terminal::brief;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The flags that supply the budgets.
const FLAGS: [&str; 2] = ["--pdbs FILE", "--context NAME"];

/// The assumption between two waves.
const RECOVERS: &str = "before a wave begins, the pods of the waves before it are ready again, on their nodes or on others";

/// The answers so far. The pods of a node are counted as they arrive, and not kept.
#[derive(Debug, Default)]
pub struct Rollout {
    merge: Merge,
    budgets: Option<Budgets>,
    nodes: Vec<RolloutNode>,
    workloads: BTreeMap<WorkloadKey, (DisruptedPods, usize)>,
}

/// Pool, namespace, kind, name.
type WorkloadKey = [String; 4];

/// A node, and what its change costs.
#[derive(Debug)]
pub(super) struct RolloutNode {
    pub node: String,
    pub pool: String,
    pub pods: DisruptedPods,
    /// How many healthy pods of each budget it disrupts.
    pub uses: BTreeMap<usize, u32>,
    /// Why no wave takes it.
    pub left_out: Option<LeftOutReason>,
}

impl Rollout {
    /// Begins without nodes. `budgets` are those of the cluster; `None`: they are unknown.
    pub fn new(budgets: Option<Vec<DisruptionBudget>>) -> Self {
        Self { budgets: budgets.map(Budgets::new), ..Self::default() }
    }

    /// Adds the answer of a node.
    pub fn add(&mut self, outcome: &NodeOutcome) {
        self.merge.add(outcome);
        let pool = outcome.group.clone().unwrap_or_default();
        let mut node = RolloutNode {
            node: outcome.node.clone(),
            pool,
            pods: DisruptedPods::default(),
            uses: BTreeMap::new(),
            left_out: None,
        };
        node.left_out = match (&outcome.reply, &outcome.disruptions) {
            (Reply::Failed { why, .. }, _) => {
                Some(LeftOutReason::NoAnswer { reason: brief(&why.to_string()).into_owned() })
            }
            (_, None) => Some(LeftOutReason::PodsUnknown),
            (_, Some(NodeDisruptions { start, pods })) => {
                let pods = pods.as_deref();
                let broken = self.count(&mut node, pods.unwrap_or_default());
                match start {
                    StartOutcome::Fails { reason } => {
                        Some(LeftOutReason::DoesNotStart { reason: brief(reason).into_owned() })
                    }
                    StartOutcome::Unknown => Some(LeftOutReason::StartUnknown),
                    StartOutcome::Runs if pods.is_none() => Some(LeftOutReason::PodsUnknown),
                    StartOutcome::Runs => broken,
                }
            }
        };
        self.nodes.push(node);
    }

    /// Counts the pods of a node, and returns what budgets have against its change.
    fn count(&mut self, node: &mut RolloutNode, pods: &[DisruptedPod]) -> Option<LeftOutReason> {
        let mut workloads: BTreeMap<WorkloadKey, DisruptedPods> = BTreeMap::new();
        let mut of_budgets: BTreeMap<usize, Vec<&DisruptedPod>> = BTreeMap::new();
        let mut unknown = None;
        for pod in pods {
            node.pods.add(pod.disruption);
            let (kind, name) = &pod.workload;
            let key = [&node.pool, &pod.namespace, kind, name].map(|it| brief(it).into_owned());
            workloads.entry(key).or_default().add(pod.disruption);
            let Some(budgets) = &self.budgets else { continue };
            let Some(own) = budgets.of(pod) else {
                unknown.get_or_insert_with(|| LeftOutReason::LabelsUnknown { pod: pod.shown() });
                continue;
            };
            own.into_iter().for_each(|at| of_budgets.entry(at).or_default().push(pod));
        }
        for (key, pods) in workloads {
            let (sum, nodes) = self.workloads.entry(key).or_default();
            sum.add_all(pods);
            *nodes += 1;
        }
        let mut broken = None;
        for (at, pods) in of_budgets {
            let Some(budget) = self.budgets.as_ref().map(|it| &it.all()[at]) else { continue };
            let count = u32::try_from(pods.len()).unwrap_or(u32::MAX);
            node.uses.insert(at, count);
            match budget.room {
                Ok(room) if count > room.allowed => {
                    broken.get_or_insert_with(|| LeftOutReason::BreaksBudget {
                        budget: shown(budget),
                        pods: pods.iter().map(|pod| pod.shown()).collect(),
                        allowed: room.allowed,
                        most: room.expected.saturating_sub(room.desired),
                        expected: room.expected,
                    });
                }
                Ok(_) => {}
                Err(reason) => {
                    let (budget, reason) = (shown(budget), reason.to_string());
                    unknown.get_or_insert(LeftOutReason::BudgetUnknown { budget, reason });
                }
            }
        }
        broken.or(unknown)
    }

    /// Returns how many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the worst exit code of the answers.
    pub fn exit_code(&self) -> u8 {
        self.merge.exit_code()
    }

    /// Returns the judgement, with at most so many nodes in a wave.
    pub fn finish(mut self, command: Vec<String>, most: usize) -> FleetWhatIf {
        self.nodes.sort_unstable_by(|a, b| a.node.cmp(&b.node));
        let all = self.budgets.as_ref().map(Budgets::all).unwrap_or_default();
        let waves = waves(&self.nodes, all, most.max(1));
        let budgets = self.budgets.as_ref().map(|budgets| self.losses(budgets, &waves));
        let merged = self.merge.finish(command, None);
        let mut basis = merged.basis;
        let is_disrupted = self.nodes.iter().any(|node| node.pods.sum() > 0);
        if is_disrupted {
            basis.assume(RECOVERS);
        }
        if is_disrupted && budgets.is_none() {
            let text = "the PodDisruptionBudgets: no wave takes account of them";
            basis.lack(Missing::new(MissingFact::DisruptionBudgets, text).with_flags(FLAGS));
        }
        let mut workloads: Vec<WorkloadLoss> = self
            .workloads
            .into_iter()
            .map(|([pool, namespace, kind, name], (pods, nodes))| WorkloadLoss {
                pool,
                namespace,
                kind,
                name,
                pods,
                nodes,
            })
            .collect();
        // Of equal ones, the order of the keys stays.
        workloads.sort_by_key(|it| Reverse(it.pods));
        let left_out = self.nodes.into_iter().filter_map(|it| {
            Some(LeftOutNode { node: it.node, pool: it.pool, reason: it.left_out?.into() })
        });
        let mut left_out: Vec<LeftOutNode> = left_out.collect();
        left_out.sort_by_key(|it| !it.reason.is_known());
        FleetWhatIf {
            command: merged.command,
            nodes: merged.nodes,
            items: waves,
            left_out,
            workloads,
            budgets,
            results: merged.items,
            basis,
        }
    }

    /// Returns the budgets of disrupted pods, in the order of their names.
    fn losses(&self, budgets: &Budgets, waves: &[Wave]) -> Vec<BudgetLoss> {
        let mut losses: BTreeMap<usize, BudgetLoss> = BTreeMap::new();
        for (at, pods) in self.nodes.iter().flat_map(|node| &node.uses) {
            let loss = losses.entry(*at).or_insert_with(|| BudgetLoss::of(&budgets.all()[*at]));
            loss.pods = loss.pods.saturating_add(*pods);
            loss.nodes += 1;
            loss.most_on_a_node = loss.most_on_a_node.max(*pods);
        }
        let mut by_name: BTreeMap<String, u32> = BTreeMap::new();
        for it in waves.iter().flat_map(|wave| &wave.budgets) {
            let most = by_name.entry(it.budget.clone()).or_default();
            *most = it.pods.max(*most);
        }
        let mut losses: Vec<BudgetLoss> = losses
            .into_iter()
            .map(|(at, mut loss)| {
                loss.most_in_a_wave = by_name.get(&shown(&budgets.all()[at])).copied().unwrap_or(0);
                loss
            })
            .collect();
        losses.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        losses
    }
}

impl DisruptedPod {
    fn shown(&self) -> String {
        brief(&format!("{}/{}", self.namespace, self.name)).into_owned()
    }
}

/// Returns the name of a budget, as NAMESPACE/NAME.
pub(super) fn shown(budget: &DisruptionBudget) -> String {
    brief(&format!("{}/{}", budget.namespace, budget.name)).into_owned()
}

impl BudgetLoss {
    fn of(budget: &DisruptionBudget) -> Self {
        let room = budget.room.ok();
        Self {
            namespace: brief(&budget.namespace).into_owned(),
            name: brief(&budget.name).into_owned(),
            allowed: room.map(|it| it.allowed),
            expected: room.map(|it| it.expected),
            desired: room.map(|it| it.desired),
            healthy: room.map(|it| it.healthy),
            unknown: budget.room.err().map(|it| it.to_string()),
            pods: 0,
            nodes: 0,
            most_on_a_node: 0,
            most_in_a_wave: 0,
        }
    }
}
