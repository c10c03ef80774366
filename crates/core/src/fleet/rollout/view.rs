//! The judgement of a rollout for people, and its waves for other commands.

use super::answer::{BudgetLoss, FleetWhatIf, LeftOutNode, Wave, WaveStep, WorkloadLoss};
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, or_dash};
use kq_output::units::first_few;
use std::fmt;

/// How many nodes a narrow table names, and how many rows it has.
const NAMED: usize = 3;
const SHOWN: usize = 12;

impl fmt::Display for WaveStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Canary => "canary",
            Self::LosesNothing => "loses nothing",
            Self::LosingCanary => "losing canary",
            Self::Loses => "loses pods",
        })
    }
}

impl FleetWhatIf {
    /// Returns the waves, what they cost, and the nodes that no wave has.
    pub fn table(&self) -> Doc {
        self.doc(false)
    }

    /// Returns the same with every node, workload and budget.
    pub fn wide(&self) -> Doc {
        self.doc(true)
    }

    /// Returns a line for each wave: its nodes, as `--nodes-from` of the other commands takes them.
    pub fn lines(&self) -> Vec<String> {
        let line = |it: &Wave| format!("{} # wave {}: {}", it.nodes.join(" "), it.wave, it.step);
        self.items.iter().map(line).collect()
    }

    fn doc(&self, is_wide: bool) -> Doc {
        let mut doc = Doc::default();
        let parts: [Option<(Table, usize)>; 4] = [
            part(&self.items, is_wide, |rows| Rows::of(rows).wide(is_wide).table(&waves())),
            part(&self.left_out, is_wide, |rows| Rows::of(rows).wide(is_wide).table(&left_out())),
            part(&self.workloads, is_wide, |rows| Rows::of(rows).wide(is_wide).table(&workloads())),
            part(self.budgets.as_deref().unwrap_or_default(), is_wide, |rows| {
                Rows::of(rows).wide(is_wide).table(&budgets())
            }),
        ];
        for (table, more) in parts.into_iter().flatten() {
            if !doc.is_empty() {
                doc.blank();
            }
            doc.add(table);
            if more > 0 {
                doc.line(format!("and {more} more (-o wide)"));
            }
        }
        if self.budgets.as_ref().is_some_and(|budgets| !budgets.is_empty()) {
            doc.line("The kubelet ends pods without asking their budgets: only evictions through the API server do.");
        }
        doc
    }
}

/// Returns the table of the first rows, and how many more there are; `None` without rows.
fn part<T>(rows: &[T], is_wide: bool, table: impl FnOnce(&[T]) -> Table) -> Option<(Table, usize)> {
    let shown = if is_wide { rows.len() } else { rows.len().min(SHOWN) };
    (shown > 0).then(|| (table(&rows[..shown]), rows.len() - shown))
}

fn waves() -> [Column<Wave>; 8] {
    [
        Column::name("WAVE", |it| it.wave.to_string()),
        Column::new("STEP", |it| it.step.to_string()),
        Column::new("NODES", |it| it.nodes.len().to_string()),
        Column::new("END", |it| it.pods.ends.to_string()),
        Column::new("MAY END", |it| it.pods.may_end.to_string()),
        Column::new("RESTART", |it| it.pods.restarts.to_string()),
        Column::narrow(Column::text("NAMES", |it| first_few(NAMED, &it.nodes))),
        Column::wide(Column::text("NAMES", |it| it.nodes.join(", "))),
    ]
}

fn left_out() -> [Column<LeftOutNode>; 3] {
    [
        Column::name("LEFT OUT", |it| it.node.clone()),
        Column::new("POOL", |it| pool(&it.pool)),
        Column::text("REASON", |it| it.reason.to_string()),
    ]
}

fn workloads() -> [Column<WorkloadLoss>; 7] {
    [
        Column::new("POOL", |it| pool(&it.pool)),
        Column::new("NAMESPACE", |it| it.namespace.clone()),
        Column::name("WORKLOAD", |it| format!("{} {}", it.kind, it.name)),
        Column::new("END", |it| it.pods.ends.to_string()),
        Column::new("MAY END", |it| it.pods.may_end.to_string()),
        Column::new("RESTART", |it| it.pods.restarts.to_string()),
        Column::new("NODES", |it| it.nodes.to_string()),
    ]
}

fn budgets() -> [Column<BudgetLoss>; 7] {
    [
        Column::name("BUDGET", |it| format!("{}/{}", it.namespace, it.name)),
        Column::new("ALLOWED", |it| or_dash(it.allowed)),
        Column::new("PODS", |it| it.pods.to_string()),
        Column::new("NODES", |it| it.nodes.to_string()),
        Column::new("ON A NODE", |it| it.most_on_a_node.to_string()),
        Column::new("IN A WAVE", |it| it.most_in_a_wave.to_string()),
        Column::text("READY", |it| match (it.healthy, it.expected, it.desired) {
            (Some(healthy), Some(expected), Some(desired)) => {
                format!("{healthy} of {expected}, {desired} must be")
            }
            _ => it.unknown.clone().unwrap_or_default(),
        }),
    ]
}

fn pool(pool: &str) -> String {
    or_dash(Some(pool).filter(|pool| !pool.is_empty()))
}
