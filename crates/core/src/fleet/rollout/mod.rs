//! A change of many nodes, judged before it is made: the workloads that it disrupts, and an order of the nodes.
//!
//! * `judge`: takes the answers of nodes as they arrive; `budgets`: the PodDisruptionBudgets;
//! * `waves`: the order of the nodes;
//! * `answer`: the judgement; `view`: its tables.

mod answer;
mod budgets;
mod judge;
#[cfg(test)]
mod tests;
mod view;
mod waves;

pub use answer::{
    BudgetLoss, BudgetUse, DisruptedPods, FleetWhatIf, LeftOutNode, LeftOutReason, Wave, WaveStep,
    WorkloadLoss,
};
pub use judge::Rollout;
