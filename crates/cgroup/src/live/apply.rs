//! Performs the steps of a plan one after the other, and restores them.

use crate::live::compare::{KernelValue, Rounding, compare};
use crate::live::repair::{Step, counted_in, lowers_below_usage};
use crate::live::unit_change::{UnitChange, is_same, systemd_text};
use kq_facts::cgroup_file::CgroupFile;
pub use kq_facts::cgroup_file::CgroupFiles;
use kq_facts::snapshot::API_VERSION;
use kq_facts::unit::{Properties, Property};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The progress of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The text is about to be written.
    Begins,
    /// It was written, and the kernel has it: this text.
    Done(&'a str),
    /// It was not necessary: the kernel has the text already.
    Already(&'a str),
    /// The cgroup is gone, and what was written to it with it.
    Gone,
    /// Nothing more is done, for this reason.
    Stopped(&'a str),
}

/// The end of a list of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The number of steps that were performed or not necessary.
    pub done: usize,
    /// Why the next step was not.
    pub stopped: Option<String>,
}

/// How limits below the current usage are treated, and how the kernel rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caution {
    /// Limits below the current usage are written.
    pub allow_oom: bool,
    /// How the kernel rounds.
    pub rounding: Rounding,
}

/// Takes the progress of a step.
pub type ReportStep<'a> = &'a mut dyn FnMut(usize, &Step, Event<'_>) -> Result<(), String>;

/// Performs the steps until one fails. Each file is read again right before its step.
pub fn apply(
    steps: &[Step],
    files: &dyn CgroupFiles,
    caution: Caution,
    tell: ReportStep<'_>,
) -> Outcome {
    until_one_fails(steps, tell, |index, step, tell| one(index, step, files, caution, tell))
}

fn until_one_fails(
    steps: &[Step],
    tell: ReportStep<'_>,
    act: impl Fn(usize, &Step, ReportStep<'_>) -> Result<(), String>,
) -> Outcome {
    let mut outcome = Outcome::default();
    for (index, step) in steps.iter().enumerate() {
        match act(index, step, tell) {
            Ok(()) => outcome.done += 1,
            Err(reason) => {
                // Whether the report succeeds does not matter any more.
                let _ = tell(index, step, Event::Stopped(&reason));
                outcome.stopped = Some(reason);
                break;
            }
        }
    }
    outcome
}

/// Looks at what a step would change: it has to be as expected, and no limit may be cut below what is
/// in use.
/// Fails with the reason why the step must not be done.
pub fn check_step(step: &Step, files: &dyn CgroupFiles, caution: Caution) -> Result<(), String> {
    let Step { cgroup, file, from, to, .. } = step;
    let found = read_there(files, cgroup, file)?;
    if found != *from {
        return Err(format!(
            "expected {from:?}, found {found:?}: it changed since the plan was made"
        ));
    }
    if let Some(counter) = counted_in(file).filter(|_| !caution.allow_oom) {
        let counter = counter.name(caution.rounding.version);
        let usage = read_there(files, cgroup, counter)?;
        let usage =
            usage.parse().map_err(|_| format!("{counter} is {usage:?}, expected a number"))?;
        if lowers_below_usage(file, from, to, usage) {
            return Err(format!(
                "{to} is below the current usage, {usage} ({counter}): --allow-oom sets it"
            ));
        }
    }
    match &step.unit {
        Some(unit) => unit.check(step, files, caution),
        None => Ok(()),
    }
}

/// Checks all steps as if each were performed before the next: a file can be written more than once.
/// Fails with the first step that must not be done, and the reason.
pub fn check_all<'s>(
    steps: &'s [Step],
    files: &dyn CgroupFiles,
    caution: Caution,
) -> Result<(), (&'s Step, String)> {
    let rehearsal = Rehearsal::of(files);
    for step in steps {
        check_step(step, &rehearsal, caution).map_err(|reason| (step, reason))?;
        rehearsal.done(step);
    }
    Ok(())
}

/// Files of which some are taken to hold what will be written to them.
struct Rehearsal<'f> {
    files: &'f dyn CgroupFiles,
    written: RefCell<BTreeMap<(String, String), String>>,
    set: RefCell<BTreeMap<(String, String), Property>>,
}

impl<'f> Rehearsal<'f> {
    fn of(files: &'f dyn CgroupFiles) -> Self {
        Self { files, written: RefCell::default(), set: RefCell::default() }
    }

    /// Takes a step for done.
    fn done(&self, step: &Step) {
        self.put(&step.cgroup, &step.file, &step.to);
        let Some(unit) = &step.unit else { return };
        unit.beside.iter().for_each(|it| self.put(&it.cgroup, &it.file, &it.stays));
        self.put_properties(&step.cgroup, &unit.to);
    }

    fn put_properties(&self, cgroup: &str, properties: &Properties) {
        let all = properties.iter();
        let all = all.map(|(name, value)| ((cgroup.to_owned(), name.clone()), value.clone()));
        self.set.borrow_mut().extend(all);
    }

    fn put(&self, cgroup: &str, file: &str, text: &str) {
        let place = (cgroup.to_owned(), file.to_owned());
        self.written.borrow_mut().insert(place, text.to_owned());
    }
}

impl CgroupFiles for Rehearsal<'_> {
    fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
        match self.written.borrow().get(&(cgroup.to_owned(), file.to_owned())) {
            Some(text) => Ok(Some(text.clone())),
            None => self.files.read(cgroup, file),
        }
    }

    fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        self.put(cgroup, file, text);
        Ok(())
    }

    fn property(&self, cgroup: &str, name: &str) -> Result<Property, String> {
        match self.set.borrow().get(&(cgroup.to_owned(), name.to_owned())) {
            Some(value) => Ok(value.clone()),
            None => self.files.property(cgroup, name),
        }
    }

    fn set_properties(&self, cgroup: &str, properties: &Properties) -> Result<(), String> {
        self.put_properties(cgroup, properties);
        Ok(())
    }
}

fn read_there(files: &dyn CgroupFiles, cgroup: &str, file: &str) -> Result<String, String> {
    files.read(cgroup, file)?.ok_or_else(|| format!("{cgroup}/{file} is not there"))
}

fn one(
    index: usize,
    step: &Step,
    files: &dyn CgroupFiles,
    caution: Caution,
    tell: ReportStep<'_>,
) -> Result<(), String> {
    let Step { cgroup, file, from, to, .. } = step;
    // systemd can have written the value while it applied another unit.
    if let (Some(unit), Some(found)) = (&step.unit, files.read(cgroup, file)?)
        && found != *from
        && is_same(file, to, &found, caution.rounding)
        && unit.is_set(cgroup, files)?
    {
        return tell(index, step, Event::Already(&found));
    }
    check_step(step, files, caution)?;
    tell(index, step, Event::Begins)?;
    set(step, files, caution)?;
    let kept = read_there(files, cgroup, file)?;
    match compare(file, to, &kept, caution.rounding) {
        KernelValue::Equal | KernelValue::Rounded(_) => tell(index, step, Event::Done(&kept)),
        KernelValue::Different => {
            // The kernel's value was not planned, and a rollback would not know it.
            let back = Step {
                from: to.clone(),
                to: from.clone(),
                unit: step.unit.as_ref().map(UnitChange::back),
                ..step.clone()
            };
            let back = set(&back, files, caution);
            let back = back.map_or_else(|error| error, |()| format!("{from} was put back"));
            Err(format!("wrote {to}, and the kernel kept {kept}; {back}"))
        }
    }
}

/// Sets what a step sets. A file of a unit is written as well where systemd made something else of it, as libcontainer does.
fn set(step: &Step, files: &dyn CgroupFiles, caution: Caution) -> Result<(), String> {
    let Step { cgroup, file, to, .. } = step;
    let Some(unit) = &step.unit else { return files.write(cgroup, file, to) };
    unit.set(step, files, caution.rounding)?;
    let found = read_there(files, cgroup, file)?;
    match compare(file, to, &found, caution.rounding) {
        KernelValue::Different => files.write(cgroup, file, to),
        KernelValue::Equal | KernelValue::Rounded(_) => Ok(()),
    }
}

/// The way back from a list of steps. It is stored before the first step is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollback {
    /// `kq/v1`
    pub api_version: String,
    /// `CgroupRollback`
    pub kind: String,
    /// When it was made: RFC 3339, UTC.
    pub made_at: String,
    /// The steps in the order in which they are to be taken back: `from` is what was written, `to` is
    /// what was there before.
    pub steps: Vec<Step>,
}

/// Why a text is not a rollback file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RollbackError {
    /// It is no JSON, or has other fields.
    #[error("{0}")]
    Syntax(String),
    /// It is something else.
    #[error("{kind:?} of {version:?}, expected \"CgroupRollback\" of \"{API_VERSION}\"")]
    Kind { kind: String, version: String },
}

impl Rollback {
    /// Returns the way back from these steps.
    pub fn of(steps: &[Step], made_at: String) -> Self {
        let back = |step: &Step| Step {
            from: step.to.clone(),
            to: step.from.clone(),
            unit: step.unit.as_ref().map(UnitChange::back),
            ..step.clone()
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "CgroupRollback".to_owned(),
            made_at,
            steps: steps.iter().rev().map(back).collect(),
        }
    }

    /// Reads a stored way back.
    /// Fails for any other text.
    pub fn parse(bytes: &[u8]) -> Result<Self, RollbackError> {
        let rollback: Self = serde_json::from_slice(bytes)
            .map_err(|error| RollbackError::Syntax(error.to_string()))?;
        if rollback.kind != "CgroupRollback" || rollback.api_version != API_VERSION {
            let Self { kind, api_version: version, .. } = rollback;
            return Err(RollbackError::Kind { kind, version });
        }
        Ok(rollback)
    }
}

/// Takes back what was done of a list of steps; what was never done, or is as before already, is
/// passed over.
pub fn roll_back(
    rollback: &Rollback,
    files: &dyn CgroupFiles,
    caution: Caution,
    tell: ReportStep<'_>,
) -> Outcome {
    let steps = &rollback.steps;
    until_one_fails(steps, tell, |index, _, tell| one_back(index, steps, files, caution, tell))
}

fn one_back(
    index: usize,
    steps: &[Step],
    files: &dyn CgroupFiles,
    caution: Caution,
    tell: ReportStep<'_>,
) -> Result<(), String> {
    let step = &steps[index];
    match rollback_state(&steps[index..], files, caution)? {
        RollbackState::Gone => tell(index, step, Event::Gone),
        RollbackState::Already => tell(index, step, Event::Already(&step.to)),
        RollbackState::Write(now) => one(index, &now, files, caution, tell),
    }
}

/// What there is to take back of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollbackState {
    /// Nothing: the cgroup is gone.
    Gone,
    /// Nothing: it was never done, or was taken back.
    Already,
    Write(Box<Step>),
}

/// Returns the state of each step of a rollback, as if the steps before were restored.
pub fn rollback_states(
    steps: &[Step],
    files: &dyn CgroupFiles,
    caution: Caution,
) -> Vec<Result<RollbackState, String>> {
    let rehearsal = Rehearsal::of(files);
    let looked = (0..steps.len()).map(|index| {
        let looked = rollback_state(&steps[index..], &rehearsal, caution);
        if let Ok(RollbackState::Write(step)) = &looked {
            rehearsal.done(step);
        }
        looked
    });
    looked.collect()
}

/// Returns the state of the first of the remaining steps of a rollback.
fn rollback_state(
    steps: &[Step],
    files: &dyn CgroupFiles,
    caution: Caution,
) -> Result<RollbackState, String> {
    let Some(step) = steps.first() else { return Ok(RollbackState::Already) };
    let Some(found) = files.read(&step.cgroup, &step.file)? else { return Ok(RollbackState::Gone) };
    let unit = step.unit.as_ref();
    let unit = unit.map(|it| it.progress(&step.cgroup, files, caution.rounding)).transpose()?;
    // What a later step leads to was there before this one: this one was never done.
    let mut of_file = steps.iter().filter(|it| it.cgroup == step.cgroup && it.file == step.file);
    if unit.as_ref().is_none_or(|unit| unit.is_before) && of_file.any(|later| found == later.to) {
        return Ok(RollbackState::Already);
    }
    // What the kernel made of the text that was written is what has to be there; or the text from before, where only
    // systemd has the new value.
    let is_known = compare(&step.file, &step.from, &found, caution.rounding)
        != KernelValue::Different
        || (unit.is_some() && (found == step.to || is_systemds(step, &found, files, caution)?));
    if !is_known {
        let Step { from, to, .. } = step;
        return Err(format!(
            "found {found}, which is neither {from} nor {to}: another program changed it"
        ));
    }
    let now = Step { from: found, unit: unit.map(|unit| unit.change), ..step.clone() };
    check_step(&now, files, caution)?;
    Ok(RollbackState::Write(Box::new(now)))
}

/// Returns true if a file has the text that systemd writes into it: it did so with another file of the unit.
fn is_systemds(
    step: &Step,
    found: &str,
    files: &dyn CgroupFiles,
    caution: Caution,
) -> Result<bool, String> {
    let Some(file) = CgroupFile::named(&step.file) else { return Ok(false) };
    let written = systemd_text(file, &step.cgroup, files)?;
    Ok(written.is_some_and(|written| is_same(&step.file, &written, found, caution.rounding)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{CgroupDriver, CgroupVersion};

    /// A kernel that keeps whole pages, and can refuse.
    #[derive(Default)]
    struct Kernel(RefCell<BTreeMap<String, String>>);

    impl Kernel {
        fn with(files: &[(&str, &str)]) -> Self {
            let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            Self(RefCell::new(files.collect()))
        }
    }

    impl CgroupFiles for Kernel {
        fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
            Ok(self.0.borrow().get(&format!("{cgroup}/{file}")).cloned())
        }

        fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
            let kept = match text.parse::<u64>() {
                Ok(bytes) if file == "memory.max" => (bytes - bytes % 4096).to_string(),
                _ if text == "refused" => return Err("invalid argument".to_owned()),
                _ => text.to_owned(),
            };
            self.0.borrow_mut().insert(format!("{cgroup}/{file}"), kept);
            Ok(())
        }
    }

    fn step(cgroup: &str, file: &str, from: &str, to: &str) -> Step {
        Step {
            cgroup: cgroup.to_owned(),
            owner: "default/web".to_owned(),
            file: file.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            writer: "kubelet".to_owned(),
            unit: None,
        }
    }

    const CAUTION: Caution = Caution {
        allow_oom: false,
        rounding: Rounding {
            version: CgroupVersion::V2,
            driver: CgroupDriver::Cgroupfs,
            kernel: kq_facts::node_config::Kernel { swap_controller: false, page_size: 4096 },
        },
    };

    fn kernel() -> Kernel {
        Kernel::with(&[
            ("/k/memory.max", "max"),
            ("/k/memory.current", "8192"),
            ("/k/cpu.weight", "1"),
            ("/k/p/cpu.weight", "2"),
        ])
    }

    #[test]
    fn steps_are_looked_at_again_and_stop_at_the_first_failure() {
        for (name, steps, done, expected) in [
            (
                "all",
                vec![step("/k", "cpu.weight", "1", "5"), step("/k", "memory.max", "max", "10000")],
                2,
                "",
            ),
            (
                "changed",
                vec![step("/k", "cpu.weight", "3", "5"), step("/k/p", "cpu.weight", "2", "9")],
                0,
                "expected \"3\", found \"1\"",
            ),
            (
                "in use",
                vec![step("/k/p", "cpu.weight", "2", "9"), step("/k", "memory.max", "max", "4096")],
                1,
                "below the current usage, 8192",
            ),
            ("refused", vec![step("/k", "cpu.weight", "1", "refused")], 0, "invalid argument"),
            ("gone", vec![step("/gone", "cpu.weight", "1", "2")], 0, "is not there"),
        ] {
            let kernel = kernel();
            let mut told = Vec::new();
            let outcome = apply(&steps, &kernel, CAUTION, &mut |index, _, event| {
                told.push(format!("{index} {event:?}"));
                Ok(())
            });
            assert_eq!(outcome.done, done, "{name}: {told:?}");
            let reason = outcome.stopped.unwrap_or_default();
            assert!(
                reason.contains(expected) && reason.is_empty() == expected.is_empty(),
                "{name}: {reason}"
            );
        }
    }

    #[test]
    fn every_prefix_can_be_taken_back() {
        let steps = [
            step("/k", "cpu.weight", "1", "5"),
            step("/k/p", "cpu.weight", "2", "9"),
            step("/k", "memory.max", "max", "10000"),
        ];
        for killed_after in 0..=steps.len() {
            let kernel = kernel();
            let before = kernel.0.borrow().clone();
            let rollback = Rollback::of(&steps, String::new());
            apply(&steps[..killed_after], &kernel, CAUTION, &mut |_, _, _| Ok(()));
            let stored = serde_json::to_vec(&rollback).expect("it can be written");
            let rollback = Rollback::parse(&stored).expect("it can be read");
            let outcome = roll_back(&rollback, &kernel, CAUTION, &mut |_, _, _| Ok(()));
            assert_eq!(outcome.stopped, None, "after {killed_after}");
            assert_eq!(*kernel.0.borrow(), before, "after {killed_after}");
        }
    }

    #[test]
    fn a_file_that_is_written_twice_can_be_taken_back() {
        let (quota, period) = ("cpu.cfs_quota_us", "cpu.cfs_period_us");
        let steps = [
            step("/k", quota, "2500", "-1"),
            step("/k", period, "10000", "250000"),
            step("/k", quota, "-1", "62500"),
        ];
        let fresh =
            || Kernel::with(&[("/k/cpu.cfs_quota_us", "2500"), ("/k/cpu.cfs_period_us", "10000")]);
        assert_eq!(check_all(&steps, &fresh(), CAUTION), Ok(()));
        let rollback = Rollback::of(&steps, String::new());
        for killed_after in 0..=steps.len() {
            let kernel = fresh();
            apply(&steps[..killed_after], &kernel, CAUTION, &mut |_, _, _| Ok(()));
            let looked = rollback_states(&rollback.steps, &kernel, CAUTION);
            let to_do =
                looked.iter().filter(|it| matches!(it, Ok(RollbackState::Write(_)))).count();
            assert_eq!(to_do, killed_after, "after {killed_after}: {looked:?}");
            let outcome = roll_back(&rollback, &kernel, CAUTION, &mut |_, _, _| Ok(()));
            assert_eq!(outcome.stopped, None, "after {killed_after}");
            assert_eq!(*kernel.0.borrow(), *fresh().0.borrow(), "after {killed_after}");
        }
        let kernel =
            Kernel::with(&[("/k/cpu.cfs_quota_us", "7000"), ("/k/cpu.cfs_period_us", "10000")]);
        assert!(rollback_states(&rollback.steps, &kernel, CAUTION)[0].is_err(), "somebody else's");
    }

    #[test]
    fn what_somebody_else_changed_is_not_taken_back() {
        let steps = [step("/k", "cpu.weight", "1", "5")];
        let kernel = Kernel::with(&[("/k/cpu.weight", "77")]);
        let rollback = Rollback::of(&steps, String::new());
        let outcome = roll_back(&rollback, &kernel, CAUTION, &mut |_, _, _| Ok(()));
        assert!(outcome.stopped.is_some_and(|reason| reason.contains("neither 5 nor 1")));
        assert_eq!(kernel.read("/k", "cpu.weight"), Ok(Some("77".to_owned())));
    }
}
