//! `kq cgroup rollback`

use super::apply::{ChangeArgs, Progress, conclude};
use super::gather::gather_tree;
use crate::exit::{Code, Failure, note};
use crate::node_args::RootArgs;
use crate::source_args::SourceArgs;
use crate::write;
use anyhow::anyhow;
use kq_cgroup::live::apply_report::rollback_table;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_node::action::cgroup::{CgroupRollback, read_rollback};

/// Restore the values that kq cgroup apply changed
///
/// rollback works after an apply that completed, stopped or was killed at any
/// step. It skips values that were not written or already have the old value. It
/// stops at a value that another program changed since, and does not touch it.
///
/// Examples:
///
///   kq cgroup rollback kq-rollback-20260102T030405Z.json
///   kq cgroup rollback before.json --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The rollback file written by apply
    file: String,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,
}

impl Args {
    /// Reads, checks, shows, asks and restores.
    pub fn run(self) -> Result<Code, Failure> {
        if self.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!("a snapshot cannot be changed")));
        }
        let rollback = read_rollback(&self.file)?;
        let needs = Needs::NAMES.with(&[FactKey::CgroupTree]);
        let live = gather_tree(&self.sources, &self.root, needs)?;
        let rollback = CgroupRollback::prepare(&self.file, rollback, &live, self.change.allow_oom)?;
        let shown = write::doc(rollback_table(rollback.steps(), &rollback.states));
        write::shown_plan(shown, self.change.dry_run)?;
        rollback.check()?;
        let values = rollback.pending();
        if values == 0 || self.change.dry_run {
            return Ok(Code::Answered);
        }
        self.change.confirm("Restore", values)?;
        let progress = Progress { steps: rollback.steps().len(), is_shown: true };
        let outcome = rollback.execute(&mut |at, step, event| progress.show(at, step, event));
        if outcome.stopped.is_none() {
            note("done", "all values that still exist are restored");
        }
        Ok(conclude(&outcome, progress.steps, None))
    }
}
