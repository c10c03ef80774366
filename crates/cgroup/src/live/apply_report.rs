//! A change as JSON, and as tables and lines.

use crate::live::apply::{Event, Outcome, RollbackState};
use crate::live::repair::{Left, Refusal, Repair, Step};
use crate::live::unit_change::UnitChange;
use kq_answer::{Basis, answer};
use kq_output::table::{Column, Rows, Table};
use serde::Serialize;

/// A change of cgroups: what was planned, and what became of it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CgroupChange<'a> {
    /// The SHA-256 of the plan: the steps, in order. `--plan-digest` applies this plan and no other.
    pub plan_digest: String,
    /// Where the way back is stored.
    pub rollback_file: Option<String>,
    /// The steps, in order, with their results.
    pub items: Vec<StepResult<'a>>,
    /// What differs and is not touched.
    pub left: &'a [Left],
    /// Why nothing was written.
    pub refusals: Vec<String>,
    /// Why it stopped part-way.
    pub stopped: Option<String>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("CgroupApply", CgroupChange<'_>);

/// A step and what became of it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepResult<'a> {
    #[serde(flatten)]
    pub step: &'a Step,
    /// `planned`, `done`, `failed` or `left`.
    pub result: &'static str,
}

impl<'a> CgroupChange<'a> {
    /// Joins a plan and its outcome; without an outcome nothing was done.
    pub fn new(repair: &'a Repair, outcome: Option<&Outcome>, basis: Basis) -> Self {
        let result = |index: usize| match outcome {
            None => "planned",
            Some(outcome) if index < outcome.done => "done",
            Some(outcome) if index == outcome.done && outcome.stopped.is_some() => "failed",
            Some(_) => "left",
        };
        let items = repair.steps.iter().enumerate();
        Self {
            plan_digest: repair.digest(),
            rollback_file: None,
            items: items.map(|(index, step)| StepResult { step, result: result(index) }).collect(),
            left: &repair.left,
            refusals: repair.refusals.iter().map(Refusal::to_string).collect(),
            stopped: outcome.and_then(|outcome| outcome.stopped.clone()),
            basis,
        }
    }
}

/// Returns the steps as a table.
pub fn steps_table(steps: &[Step]) -> Table {
    let rows: Vec<(usize, &Step)> = steps.iter().enumerate().collect();
    let has_units = steps.iter().any(|step| step.unit.is_some());
    Rows::of(&rows).table(&[
        Column::new("STEP", |(at, _)| (at + 1).to_string()),
        Column::name("POD", |(_, step)| step.owner.clone()),
        Column::name("FILE", |(_, step)| step.file.clone()),
        Column::new("FROM", |(_, step)| step.from.clone()),
        Column::new("TO", |(_, step)| step.to.clone()),
        Column::when(has_units, Column::text("PROPERTY", |(_, step)| property(step))),
        Column::new("WRITER", |(_, step)| step.writer.clone()),
        Column::name("CGROUP", |(_, step)| step.cgroup.clone()),
    ])
}

fn property(step: &Step) -> String {
    step.unit.as_ref().map_or_else(|| "-".to_owned(), UnitChange::text)
}

/// Returns the steps of a way back, with what there is to do for each.
pub fn rollback_table(steps: &[Step], looked: &[Result<RollbackState, String>]) -> Table {
    let row = |(at, (step, looked))| (at, step, state(looked));
    let rows: Vec<(usize, &Step, &'static str)> =
        steps.iter().zip(looked).enumerate().map(row).collect();
    Rows::of(&rows).table(&[
        Column::new("STEP", |(at, ..)| (at + 1).to_string()),
        Column::name("POD", |(_, step, _)| step.owner.clone()),
        Column::name("FILE", |(_, step, _)| step.file.clone()),
        Column::new("FROM", |(_, step, _)| step.from.clone()),
        Column::new("TO", |(_, step, _)| step.to.clone()),
        Column::new("STATE", |(_, _, state)| (*state).to_owned()),
        Column::name("CGROUP", |(_, step, _)| step.cgroup.clone()),
    ])
}

fn state(looked: &Result<RollbackState, String>) -> &'static str {
    match looked {
        Ok(RollbackState::Write(_)) => "to do",
        Ok(RollbackState::Already) => "as before",
        Ok(RollbackState::Gone) => "gone",
        Err(_) => "blocked",
    }
}

/// Returns what happens to a step as a line.
pub fn event_line(index: usize, total: usize, step: &Step, event: Event<'_>) -> String {
    let Step { cgroup, file, from, to, .. } = step;
    let place = format!("{}/{total} {cgroup}/{file}", index + 1);
    match event {
        Event::Begins => match &step.unit {
            Some(unit) => format!("{place}: {from} -> {to} ({}) ...", unit.text()),
            None => format!("{place}: {from} -> {to} ..."),
        },
        Event::Done(kept) => format!("{place}: done, is {kept}"),
        Event::Already(kept) => format!("{place}: is {kept} already"),
        Event::Gone => format!("{place}: gone with its cgroup"),
        Event::Stopped(reason) => format!("{place}: stopped: {reason}"),
    }
}
