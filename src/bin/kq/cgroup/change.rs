//! What `apply` and `rollback` have in common: looking at everything first, asking, and doing it.

use crate::confirm::ask;
use crate::exit::{self, Code, Failure, note};
use crate::write;
use kq::cgroup::live::apply::{Caution, CgroupFiles, Event, Outcome, Tell};
use kq::cgroup::live::apply_report::event_line;
use kq::cgroup::live::repair::Step;
use kq::edge::cgroup_files::KernelFiles;

/// The kernel's files, as the steps see them.
pub struct Files(pub KernelFiles);

impl CgroupFiles for Files {
    fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
        self.0.read_if_there(cgroup, file)
    }

    fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        self.0.write(cgroup, file, text)
    }
}

/// How a change may be made.
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
    /// Asks, unless that was answered on the command line.
    ///
    /// # Errors
    ///
    /// Refuses where nobody can be asked, and where the answer is no.
    pub fn ask(self, question: &str) -> Result<(), Failure> {
        if !self.yes {
            ask(question)?;
        }
        exit::changes_begin();
        Ok(())
    }
}

/// Does the steps, a line for each before and after it is done, so that whoever stops kq knows how far
/// it came.
pub fn act(
    steps: &[Step],
    files: &dyn CgroupFiles,
    caution: Caution,
    quiet: bool,
    run: impl FnOnce(&[Step], &dyn CgroupFiles, Caution, Tell<'_>) -> Outcome,
) -> Outcome {
    let total = steps.len();
    let mut tell = |index: usize, step: &Step, event: Event<'_>| {
        if quiet {
            return Ok(());
        }
        let line = event_line(index, total, step, event);
        // A reader that went away is no reason to leave things half done.
        let _ = write::lines([line]);
        Ok(())
    };
    run(steps, files, caution, &mut tell)
}

/// Says how it ended, and returns the exit code.
pub fn conclude(outcome: &Outcome, total: usize, rollback: Option<&str>) -> Code {
    let Some(reason) = &outcome.stopped else { return Code::Answered };
    let left = total - outcome.done - 1;
    note(
        "stopped",
        &format!("{} of {total} steps done, 1 failed, {left} left: {reason}", outcome.done),
    );
    if let Some(file) = rollback {
        note("hint", &format!("kq cgroup rollback {file} takes back what was done"));
    }
    Code::Stopped
}

/// Returns `1 value`, `2 values`.
pub fn values(count: usize) -> String {
    if count == 1 { "1 value".to_owned() } else { format!("{count} values") }
}
