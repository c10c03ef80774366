//! `kq cgroup rollback`

use super::change::{ChangeArgs, Files, act, conclude, values};
use super::live_tree::LiveTree;
use crate::exit::{Code, Failure, note};
use crate::node_args::RootArgs;
use crate::source_args::SourceArgs;
use crate::write;
use anyhow::{Context, anyhow};
use kq::cgroup::files::{CgroupDriver, CgroupVersion};
use kq::cgroup::live::apply::{Back, Caution, Rollback, look_back_at_all, roll_back};
use kq::cgroup::live::apply_report::way_back_table;
use kq::cgroup::live::compare::Rounding;
use kq::cgroup::live::repair::{Ground, check};
use kq::edge::cgroup_files::KernelFiles;
use kq::edge::input::read_input;
use kq::node::{FactKey, Needs};
use std::path::Path;

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
    /// Reads, checks, shows, asks and takes back.
    pub fn run(self) -> Result<Code, Failure> {
        if self.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!("a snapshot cannot be changed")));
        }
        let content = read_input(&self.file).map_err(Failure::missing)?;
        let rollback = Rollback::parse(&content)
            .with_context(|| format!("{} is no way back", self.file))
            .map_err(Failure::usage)?;
        let needs = Needs::NAMES.with(&[FactKey::CgroupTree]);
        let live = LiveTree::gather(&self.sources, &self.root, needs)?;
        let tree = live.tree()?;
        let version = tree.layout.version().unwrap_or(CgroupVersion::V2);
        for step in &rollback.steps {
            let allowed = live
                .roots
                .iter()
                .any(|(_, root)| check(step, Ground { version, root, allow_oom: false }).is_ok());
            if !allowed {
                let place = format!("{}/{}", step.cgroup, step.file);
                return Err(Failure::refused(anyhow!(
                    "{}: {place} is not the kubelet's",
                    self.file
                ))
                .hint("nothing was written; say --cgroup-root if the kubelet has another root"));
            }
        }
        let host_root = Path::new(&live.snapshot.host_root.path);
        let files = Files(KernelFiles::new(host_root, &tree.layout));
        let made = live.roots.iter().find(|(_, root)| tree.get(root).is_some());
        let rounding = Rounding {
            version,
            driver: made.map_or(CgroupDriver::Cgroupfs, |(driver, _)| *driver),
            // The host's own: what it is was asked a moment ago.
            page_size: live.snapshot.host.page_size.unwrap_or(4096),
        };
        let caution = Caution { allow_oom: self.change.allow_oom, rounding };
        let steps = &rollback.steps;
        let looked = look_back_at_all(steps, &files, caution);
        write::text(way_back_table(steps, &looked))?;
        if let Some((step, Err(reason))) =
            steps.iter().zip(&looked).find(|(_, looked)| looked.is_err())
        {
            let blocked = anyhow!("{}/{}: {reason}", step.cgroup, step.file);
            return Err(Failure::refused(blocked).hint("nothing was written"));
        }
        let todo = looked.iter().filter(|looked| matches!(looked, Ok(Back::Write(_)))).count();
        if todo == 0 || self.change.dry_run {
            return Ok(Code::Answered);
        }
        self.change.ask(&format!("Take back {}?", values(todo)))?;
        let outcome = act(steps, &files, caution, false, |_, files, caution, tell| {
            roll_back(&rollback, files, caution, tell)
        });
        if outcome.stopped.is_none() {
            note("done", "everything that is there is as it was before");
        }
        Ok(conclude(&outcome, steps.len(), None))
    }
}
