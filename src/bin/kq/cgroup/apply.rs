//! `kq cgroup apply`, and the confirmation, the progress and the end that `rollback` shares with it

use super::diff::{ComparisonArgs, code};
use crate::exit::{self, Code, Failure, note, tell, tell_all};
use crate::output_format::{OutputFormat, formats_with};
use crate::plan_digest::PlanDigestArgs;
use crate::write;
use crate::write::confirm;
use anyhow::anyhow;
use kq_cgroup::live::apply::{Event, Outcome};
use kq_cgroup::live::apply_report::{CgroupChange, event_line, steps_table};
use kq_cgroup::live::repair::{Repair, Step};
use kq_node::action::cgroup::CgroupApply;
use std::path::PathBuf;

/// Write the planned values where the kernel differs
///
/// kq shows the steps, asks for confirmation, stores a rollback file, and
/// performs the steps one after the other: values to raise from the top of the
/// tree down, values to lower from the bottom up. kq reads each file again right
/// before and right after the write, and stops at the first failure.
///
/// kq creates and removes no cgroups, moves no processes, and never writes
/// outside the kubelet's cgroup root. The kubelet rewrites QoS classes and
/// kubepods once a minute, and pods when they change. Under systemd, kq sets the
/// unit's properties over D-Bus (SetUnitProperties, runtime), as the kubelet and
/// the runtime do, so that systemd keeps the value. A warning names the steps
/// that systemd may undo.
///
/// Exit code 4: refused, nothing was written. 5: partially applied.
///
/// Examples:
///
///   kq cgroup apply --dry-run
///   kq cgroup apply default/web
///   kq cgroup apply --yes --rollback-file /root/before.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    expected: PlanDigestArgs,

    /// Where to store the rollback file (default: kq-rollback-TIME.json in the current directory)
    #[arg(long, value_name = "FILE")]
    rollback_file: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups"))]
    output: OutputFormat,

    #[command(flatten)]
    comparison: ComparisonArgs,
}

impl Args {
    /// Gathers, plans, shows, asks and writes.
    pub fn run(self) -> Result<Code, Failure> {
        tell_all();
        if self.comparison.sources.snapshot.is_some() && !self.change.dry_run {
            return Err(Failure::usage(anyhow!("a snapshot cannot be changed"))
                .hint("--dry-run shows the steps"));
        }
        let compared = self.comparison.gather(true)?;
        let is_stored = self.comparison.sources.snapshot.is_some();
        let apply = CgroupApply::prepare(&compared, self.change.allow_oom, is_stored)?;
        let plan = &apply.plan;
        let is_for_people = self.output.is_for_people();
        let unchanged = |code| {
            if !is_for_people {
                write::answer(self.output, &CgroupChange::new(plan, None, apply.basis.clone()))?;
            }
            Ok(code)
        };
        if is_for_people {
            write::shown_plan(self.show(plan), self.change.dry_run)?;
            tell(&apply.basis);
        }
        self.expected.check(&plan.digest())?;
        if let Err(refused) = apply.check_basis() {
            if !self.change.dry_run {
                return Err(refused);
            }
            note("refused", &refused.reason());
            return unchanged(Code::Refused);
        }
        if !plan.refusals.is_empty() {
            plan.refusals.iter().for_each(|refusal| note("refused", &refusal.to_string()));
            note("hint", "nothing was written; limits below the current usage need --allow-oom");
            return unchanged(Code::Refused);
        }
        let after = match apply.leaves_drift() {
            true => Code::No,
            false => code(&compared).unless(apply.is_incomplete),
        };
        match plan.steps.is_empty() {
            true => return unchanged(after),
            false if self.change.dry_run => return unchanged(Code::Answered),
            false => {}
        }
        let progress = Progress { steps: plan.steps.len(), is_shown: is_for_people };
        let applied = apply.execute(
            self.rollback_file.clone(),
            &mut |values| self.change.confirm("Write", values),
            &mut |file| note("rollback", file),
            &mut |at, step, event| progress.show(at, step, event),
        )?;
        let (outcome, file) = (&applied.outcome, &applied.rollback_file);
        if !is_for_people {
            let mut change = CgroupChange::new(plan, Some(outcome), apply.basis.clone());
            change.rollback_file = Some(file.clone());
            // The files are written even if the answer cannot be; the exit code is about the files.
            write::told(write::answer(self.output, &change));
        }
        Ok(match conclude(outcome, plan.steps.len(), Some(file)) {
            Code::Answered => after,
            code => code,
        })
    }

    fn show(&self, plan: &Repair) -> Result<(), Failure> {
        match plan.steps.is_empty() {
            _ if self.output == OutputFormat::Name => {
                let mut cgroups: Vec<_> = plan.steps.iter().map(|s| s.cgroup.clone()).collect();
                cgroups.dedup();
                write::lines(cgroups)?;
            }
            true => write::lines(["nothing to write".to_owned()])?,
            false => write::doc(steps_table(&plan.steps))?,
        }
        for left in &plan.left {
            let place = match &left.file {
                Some(file) => format!("{}/{file}", left.cgroup),
                None => left.cgroup.clone(),
            };
            note("left", &format!("{place}: {}", left.reason));
        }
        Ok(())
    }
}

/// The flags of a change.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ChangeArgs {
    /// Show the plan without applying it
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask for confirmation
    #[arg(short, long, conflicts_with = "dry_run")]
    pub yes: bool,

    /// Set limits even below the current usage; the kernel may then kill processes
    #[arg(long)]
    pub allow_oom: bool,
}

impl ChangeArgs {
    /// Has the change of a number of values confirmed, unless --yes did.
    /// Refuses without a terminal, and where the answer is no.
    pub fn confirm(self, verb: &str, values: usize) -> Result<(), Failure> {
        if !self.yes {
            confirm(&format!("{verb} {values} {}?", if values == 1 { "value" } else { "values" }))?;
        }
        exit::changes_begin(Some(values));
        Ok(())
    }
}

/// Prints a line before and after each step, so that the progress is known wherever kq is stopped.
pub struct Progress {
    pub steps: usize,
    pub is_shown: bool,
}

impl Progress {
    pub fn show(&self, at: usize, step: &Step, event: Event<'_>) -> Result<(), String> {
        let is_done = matches!(event, Event::Done(_) | Event::Already(_) | Event::Gone);
        let line = event_line(at, self.steps, step, event);
        if is_done {
            exit::change_done(line.clone());
        }
        if self.is_shown {
            // A closed pipe does not stop a change halfway.
            let _ = write::lines([line]);
        }
        Ok(())
    }
}

/// Reports a change that stopped, and returns the exit code.
pub fn conclude(outcome: &Outcome, total: usize, rollback: Option<&str>) -> Code {
    let Some(reason) = &outcome.stopped else { return Code::Answered };
    let (done, left) = (outcome.done, total - outcome.done - 1);
    note("stopped", &format!("{done} of {total} steps done, 1 failed, {left} left: {reason}"));
    if let Some(file) = rollback {
        note("hint", &format!("kq cgroup rollback {file} restores the old values"));
    }
    Code::Stopped
}
