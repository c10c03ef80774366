//! Changes of cgroup files: the plan of a node, written step by step, and a stored rollback file, restored.

use super::node_cgroups::NodeCgroups;
use anyhow::{Context, anyhow};
use kq_answer::{Basis, Failure, Warning, WarningCode};
use kq_cgroup::files::{CgroupDriver, CgroupVersion};
use kq_cgroup::live::apply::{
    Caution, Outcome, ReportStep, Rollback, RollbackState, apply, check_all, roll_back,
    rollback_states,
};
use kq_cgroup::live::compare::Rounding;
use kq_cgroup::live::difference::is_incomplete;
use kq_cgroup::live::repair::{Ground, Repair, Step, check, repair};
use kq_cgroup::live::unit_change::{Undoable, add_units};
use kq_core::question::cgroup::Compared;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::node::Node;
use kq_facts::node_config::Kernel;
use kq_facts::unit::Unit;
use kq_io::cgroup_files::KernelFiles;
use kq_io::clock::{now, pause};
use kq_io::input::read_input;
use kq_io::replace::create;
use kq_output::value::write_json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time between two comparisons. A runtime creates or removes a container in less.
const PAUSE: Duration = Duration::from_millis(500);

/// The most comparisons of one answer.
const COMPARISONS: usize = 4;

/// Gathers and compares until all drift was also drift in the comparison before, with the same containers. Values that
/// still differ after the last comparison are changing. `compare` gets true for each comparison but the first.
///
/// # Errors
///
/// Fails where the first comparison does.
pub fn settled(compare: impl Fn(bool) -> Result<Compared, Failure>) -> Result<Compared, Failure> {
    let mut compared = compare(false)?;
    // A plan that cannot be made is the same the next time.
    let Ok(mut seen) = compared.drift() else { return Ok(compared) };
    for _ in 1..COMPARISONS {
        if seen.is_clean() {
            break;
        }
        pause(PAUSE);
        // A source that fails now may be what is changing; its earlier facts stay.
        let Ok(next) = compare(true) else { break };
        let Ok(now) = next.drift() else { break };
        let confirmed = now.confirmed(&seen);
        let is_settled = now.is_settled(&confirmed);
        (compared, seen) = (next.with_confirmed(confirmed), now);
        if is_settled {
            break;
        }
    }
    Ok(compared)
}

/// A planned change of cgroup files.
pub struct CgroupApply<'a> {
    compared: &'a Compared,
    /// The steps, the refusals, and the differences that stay.
    pub plan: Repair,
    pub basis: Basis,
    /// Some values could not be compared.
    pub is_incomplete: bool,
    files: NodeCgroups,
    caution: Caution,
}

/// The progress of a change.
#[derive(Debug)]
pub struct Applied {
    pub outcome: Outcome,
    pub rollback_file: String,
}

impl<'a> CgroupApply<'a> {
    /// Plans the steps. Those of a node that is not stored have systemd's part.
    ///
    /// # Errors
    ///
    /// Fails where pods could not be read, where no plan can be made, and where pods have no cgroups.
    pub fn prepare(
        compared: &'a Compared,
        allow_oom: bool,
        is_stored: bool,
    ) -> Result<Self, Failure> {
        let live = &compared.live;
        if let Some(problem) = live.left_out.first() {
            let refused = anyhow!("not all pods could be read, so nothing is written: {problem}");
            return Err(Failure::refused(refused).hint("kq cgroup diff compares the others"));
        }
        let (found, mut basis) = compared.answer()?;
        let root = compared.root()?;
        let version = compared.settings.cgroup_version;
        let ground = Ground { version, root, allow_oom };
        let tree = live.tree()?;
        let mut plan = repair(&found, tree, ground);
        let rounding = compared.rounding();
        let files = node_cgroups(live, version, &plan.steps)?;
        if !is_stored {
            basis.warnings.extend(may_undo(&add_units(&mut plan.steps, &files, rounding)));
        }
        let is_incomplete = is_incomplete(&found);
        let caution = Caution { allow_oom, rounding };
        Ok(Self { compared, plan, basis, is_incomplete, files, caution })
    }

    /// Refuses to write values that rest on a guess.
    ///
    /// # Errors
    ///
    /// Fails where there are steps and a fact behind them is assumed.
    pub fn check_basis(&self) -> Result<(), Failure> {
        let is_weight = |step: &Step| step.is(CgroupFile::CpuWeight) && step.writer == "runtime";
        match self.plan.steps.is_empty() {
            true => Ok(()),
            false => self.compared.check_basis(self.plan.steps.iter().any(is_weight)),
        }
    }

    /// Returns true if drift stays after all steps.
    pub fn leaves_drift(&self) -> bool {
        self.plan.left.iter().any(|left| left.is_drift)
    }

    /// Reads every file before the first one is written, has the change confirmed, stores the rollback file
    /// (default: `kq-rollback-TIME.json` in the current directory), and performs the steps. `stored` gets the path of
    /// the rollback file before the first step.
    ///
    /// # Errors
    ///
    /// Refuses where a file has changed or cannot be reached safely, where the change is not confirmed, and where the
    /// rollback file cannot be stored. Nothing was written then.
    pub fn execute(
        &self,
        rollback_file: Option<PathBuf>,
        confirm: &mut dyn FnMut(usize) -> Result<(), Failure>,
        stored: &mut dyn FnMut(&str),
        tell: ReportStep<'_>,
    ) -> Result<Applied, Failure> {
        let steps = &self.plan.steps;
        check_all(steps, &self.files, self.caution).map_err(|(step, reason)| {
            let place = format!("{}/{}", step.cgroup, step.file);
            Failure::refused(anyhow!("{place}: {reason}"))
                .hint("nothing was written; run the command again for a new plan")
        })?;
        confirm(steps.len())?;
        let made_at = now();
        let rollback_file = rollback_file.unwrap_or_else(|| {
            PathBuf::from(format!("kq-rollback-{}.json", made_at.replace([':', '-'], "")))
        });
        let mut json = Vec::new();
        write_json(&mut json, &Rollback::of(steps, made_at)).map_err(|error| {
            Failure::refused(anyhow!("the rollback file cannot be written: {error}"))
        })?;
        create(&rollback_file, &json).map_err(|error| {
            Failure::refused(error).hint("name another file with --rollback-file")
        })?;
        let rollback_file = rollback_file.display().to_string();
        stored(&rollback_file);
        let outcome = apply(steps, &self.files, self.caution, tell);
        Ok(Applied { outcome, rollback_file })
    }
}

/// Returns the cgroups of a node. systemd is asked where steps are about its units.
fn node_cgroups(
    live: &Node,
    version: CgroupVersion,
    steps: &[Step],
) -> Result<NodeCgroups, Failure> {
    let root = Path::new(&live.snapshot.host_root.path);
    let files = KernelFiles::new(root, &live.tree()?.layout);
    let has_units = steps.iter().any(|step| Unit::of_cgroup(&step.cgroup).is_some());
    Ok(match (has_units, version) {
        (true, CgroupVersion::V2) => NodeCgroups::with_systemd(files, root),
        (true, CgroupVersion::V1) => {
            NodeCgroups::without_systemd(files, "kq sets its properties on cgroup v2 only")
        }
        (false, _) => NodeCgroups::without_systemd(files, "no step is about a unit"),
    })
}

/// Returns a warning for each reason why steps are without systemd's part.
fn may_undo(without: &[Undoable]) -> Vec<Warning> {
    let mut by_reason: BTreeMap<&str, Vec<&Undoable>> = BTreeMap::new();
    for it in without {
        by_reason.entry(&it.reason).or_default().push(it);
    }
    let warnings = by_reason.into_iter().filter_map(|(reason, steps)| {
        let Undoable { cgroup, file, .. } = steps.first()?;
        let count = match steps.len() {
            1 => "the step".to_owned(),
            count => format!("{count} steps, the first"),
        };
        let text = format!("systemd may undo {count} of {cgroup}/{file}: {reason}");
        Some(Warning::new(WarningCode::SystemdMayUndo, text).about(cgroup.clone()))
    });
    warnings.collect()
}

/// Reads a rollback file.
///
/// # Errors
///
/// Fails where it cannot be read, and for any other file.
pub fn read_rollback(file: &str) -> Result<Rollback, Failure> {
    let content = read_input(file).map_err(Failure::missing)?;
    Rollback::parse(&content)
        .with_context(|| format!("{file} is not a rollback file"))
        .map_err(Failure::usage)
}

/// A rollback that was compared with the kernel.
pub struct CgroupRollback {
    rollback: Rollback,
    files: NodeCgroups,
    caution: Caution,
    /// The state of each step.
    pub states: Vec<Result<RollbackState, String>>,
}

impl CgroupRollback {
    /// Compares the steps of `file` with the kernel's values.
    ///
    /// # Errors
    ///
    /// Fails for an unknown cgroup tree, and for a step outside of the kubelet's cgroups.
    pub fn prepare(
        file: &str,
        rollback: Rollback,
        live: &Node,
        allow_oom: bool,
    ) -> Result<Self, Failure> {
        let tree = live.tree()?;
        let version = tree.layout.version().unwrap_or(CgroupVersion::V2);
        for step in &rollback.steps {
            let allowed = live
                .roots
                .iter()
                .any(|(_, root)| check(step, Ground { version, root, allow_oom: false }).is_ok());
            if !allowed {
                let Step { cgroup, file: name, .. } = step;
                let refused = anyhow!("{file}: {cgroup}/{name} is not the kubelet's");
                return Err(Failure::refused(refused).hint(
                    "nothing was written; name the kubelet's root with --cgroup-root if it is another",
                ));
            }
        }
        let with_unit = rollback.steps.iter().filter(|step| step.unit.is_some()).cloned();
        let files = node_cgroups(live, version, &with_unit.collect::<Vec<_>>())?;
        let made = live.roots.iter().find(|(_, root)| tree.get(root).is_some());
        let rounding = Rounding {
            version,
            driver: made.map_or(CgroupDriver::Cgroupfs, |(driver, _)| *driver),
            // The host's own, read a moment ago.
            kernel: Kernel {
                page_size: live.snapshot.host.page_size.unwrap_or(4096),
                ..Kernel::default()
            },
        };
        let caution = Caution { allow_oom, rounding };
        let states = rollback_states(&rollback.steps, &files, caution);
        Ok(Self { rollback, files, caution, states })
    }

    /// Returns the steps, in the order in which they are restored.
    pub fn steps(&self) -> &[Step] {
        &self.rollback.steps
    }

    /// Refuses a rollback with a step that must not be performed.
    ///
    /// # Errors
    ///
    /// Fails with the first of them.
    pub fn check(&self) -> Result<(), Failure> {
        for (step, state) in self.steps().iter().zip(&self.states) {
            if let Err(reason) = state {
                let blocked = anyhow!("{}/{}: {reason}", step.cgroup, step.file);
                return Err(Failure::refused(blocked).hint("nothing was written"));
            }
        }
        Ok(())
    }

    /// Returns the number of values to write.
    pub fn pending(&self) -> usize {
        self.states.iter().filter(|state| matches!(state, Ok(RollbackState::Write(_)))).count()
    }

    /// Restores the values; each is read again right before.
    pub fn execute(&self, tell: ReportStep<'_>) -> Outcome {
        roll_back(&self.rollback, &self.files, self.caution, tell)
    }
}
