//! The confirmation, the progress and the end of `apply` and `rollback`.

use crate::confirm::ask;
use crate::exit::{self, Code, Failure, note};
use crate::write;
use kq::cgroup::live::apply::{Event, Outcome};
use kq::cgroup::live::apply_report::event_line;
use kq::cgroup::live::repair::Step;

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
    ///
    /// # Errors
    ///
    /// Refuses without a terminal, and where the answer is no.
    pub fn confirm(self, verb: &str, values: usize) -> Result<(), Failure> {
        if !self.yes {
            ask(&format!("{verb} {values} {}?", if values == 1 { "value" } else { "values" }))?;
        }
        exit::changes_begin();
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
        if self.is_shown {
            // A closed pipe does not stop a change halfway.
            let _ = write::lines([event_line(at, self.steps, step, event)]);
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
