//! The part of a step that is systemd's: properties of the unit that is the cgroup.
//!
//! systemd writes the files of its units again whenever it applies their properties, so what is written into a file alone
//! is taken back sooner or later. The kubelet and runc therefore set properties over D-Bus: `genV2ResourcesProperties`
//! and `unifiedResToSystemdProps` (`systemd/v2.go`) and `addCPUQuota` (`systemd/common.go`) of `opencontainers/cgroups`
//! v0.0.6. What systemd writes of them: `cgroup_context_apply` in `src/core/cgroup.c` of systemd 257.
//!
//! systemd writes all files of the unit at a time, and those of the slices around it if it was executed again before
//! (measured with systemd 257). It knows less than the kubelet: `memory.oom.group` becomes 0. As libcontainer does, a step
//! writes the files again that systemd changed as well.

use crate::cpu::systemd_quota_per_second;
use crate::files::CgroupVersion;
use crate::live::apply::Caution;
use crate::live::compare::{KernelValue, Rounding, compare};
use crate::live::repair::{Step, lowers_below_usage};
use kq_facts::cgroup_file::{CgroupFile, CgroupFiles};
use kq_facts::cgroup_value::Value;
use kq_facts::unit::{Properties, Property, Unit, listed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The properties that a step sets, besides its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitChange {
    /// The unit of systemd: `kubepods-burstable.slice`.
    pub unit: String,
    /// What systemd has to have before.
    pub from: Properties,
    /// What is set.
    pub to: Properties,
    /// The other files that systemd writes at the same time and would change.
    pub beside: Vec<Beside>,
}

/// A file that systemd changes besides the one of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    /// Its cgroup: that of the step, or one around it.
    pub cgroup: String,
    pub file: String,
    /// The text that stays: it is written again.
    pub stays: String,
    /// What systemd writes.
    pub systemd: String,
}

/// A step that systemd may take back, and why kq does not set its property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoable {
    pub cgroup: String,
    pub file: String,
    pub reason: String,
}

/// Adds systemd's part to the steps of units, and returns the steps that stay without. Steps are taken to be done in
/// their order.
pub fn add_units(steps: &mut [Step], files: &dyn CgroupFiles, rounding: Rounding) -> Vec<Undoable> {
    let changed: BTreeSet<_> =
        steps.iter().map(|step| (step.cgroup.clone(), step.file.clone())).collect();
    let mut without = Vec::new();
    for step in steps {
        let is_left =
            |cgroup: &str, name: &str| !changed.contains(&(cgroup.to_owned(), name.to_owned()));
        match UnitChange::of(step, &is_left, files, rounding) {
            None => {}
            Some(Ok(unit)) => step.unit = Some(unit),
            Some(Err(reason)) => {
                let (cgroup, file) = (step.cgroup.clone(), step.file.clone());
                without.push(Undoable { cgroup, file, reason });
            }
        }
    }
    without
}

/// What became of systemd's part of a step that may be taken back.
pub(super) struct Progress {
    /// The part that leads back from what there is now.
    pub change: UnitChange,
    /// Nothing of it is there: it was never done, or was taken back.
    pub is_before: bool,
}

impl UnitChange {
    /// Returns the part of a step; `None`: its cgroup is no unit, or systemd does not write the file.
    fn of(
        step: &Step,
        is_left: &dyn Fn(&str, &str) -> bool,
        files: &dyn CgroupFiles,
        rounding: Rounding,
    ) -> Option<Result<Self, String>> {
        let unit = Unit::of_cgroup(&step.cgroup)?;
        let file = CgroupFile::named(&step.file)?;
        if file == CgroupFile::MemoryOomGroup {
            let reason =
                "systemd has no property for it, and writes 0 when it applies the unit's memory";
            return Some(Err(reason.to_owned()));
        }
        let to = properties_of(file, &step.to)?;
        let read = || {
            let from =
                to.keys().map(|name| Ok((name.clone(), files.property(&step.cgroup, name)?)));
            let from = from.collect::<Result<_, String>>()?;
            let mut beside = Vec::new();
            for (cgroup, other) in written_with(&step.cgroup, file) {
                let file = other.v2_name();
                if !is_left(cgroup, file) {
                    continue;
                }
                let Some(stays) = files.read(cgroup, file)? else { continue };
                let Some(systemd) = systemd_text(other, cgroup, files)? else { continue };
                if !is_same(file, &systemd, &stays, rounding) {
                    let (cgroup, file) = (cgroup.to_owned(), file.to_owned());
                    beside.push(Beside { cgroup, file, stays, systemd });
                }
            }
            Ok(Self { unit: unit.name.to_owned(), from, to, beside })
        };
        Some(read())
    }

    /// Returns the part that takes this one back.
    #[must_use]
    pub fn back(&self) -> Self {
        Self { from: self.to.clone(), to: self.from.clone(), ..self.clone() }
    }

    /// Returns what is set as text.
    pub fn text(&self) -> String {
        text(&self.to)
    }

    /// Checks that systemd has what it should have before, and that it lowers no limit below the usage while it writes the
    /// other files.
    /// Fails with the reason why the step must not be done.
    pub(super) fn check(
        &self,
        step: &Step,
        files: &dyn CgroupFiles,
        caution: Caution,
    ) -> Result<(), String> {
        let found = self.found(&step.cgroup, files)?;
        if found != self.from {
            let (expected, found) = (text(&self.from), text(&found));
            return Err(format!(
                "systemd has {found}, expected {expected}: it changed since the plan was made"
            ));
        }
        let Some(file) = CgroupFile::named(&step.file) else { return Ok(()) };
        for (cgroup, other) in written_with(&step.cgroup, file) {
            let name = other.v2_name();
            let counter = other.row().counted_in.filter(|_| !caution.allow_oom);
            let Some(counter) = counter.map(CgroupFile::v2_name) else { continue };
            let Some(text) = files.read(cgroup, name)? else { continue };
            let Some(written) = systemd_text(other, cgroup, files)? else { continue };
            let usage = files.read(cgroup, counter)?.and_then(|text| text.parse().ok());
            if usage.is_some_and(|usage| lowers_below_usage(name, &text, &written, usage)) {
                return Err(format!(
                    "systemd would also set {name} of {cgroup} to {written}, below the current \
                     usage ({counter}): --allow-oom permits it"
                ));
            }
        }
        Ok(())
    }

    /// Sets the properties, and writes again what systemd changed in other files.
    pub(super) fn set(
        &self,
        step: &Step,
        files: &dyn CgroupFiles,
        rounding: Rounding,
    ) -> Result<(), String> {
        let Some(file) = CgroupFile::named(&step.file) else { return Ok(()) };
        let mut kept = Vec::new();
        for (cgroup, name) in
            written_with(&step.cgroup, file).map(|(it, file)| (it, file.v2_name()))
        {
            let Some(text) = files.read(cgroup, name)? else { continue };
            let lost = self.beside.iter().find(|it| it.cgroup == cgroup && it.file == name);
            let lost = lost.filter(|it| it.is_lost(&text, rounding)).map(|it| it.stays.clone());
            kept.push((cgroup, name, lost.unwrap_or(text)));
        }
        files.set_properties(&step.cgroup, &self.to)?;
        for (cgroup, name, text) in kept {
            if files.read(cgroup, name)?.is_some_and(|found| found != text) {
                files.write(cgroup, name, &text)?;
            }
        }
        Ok(())
    }

    /// Returns what became of this part, which leads back.
    /// Fails where systemd has neither what was set nor what was there before.
    pub(super) fn progress(
        &self,
        cgroup: &str,
        files: &dyn CgroupFiles,
        rounding: Rounding,
    ) -> Result<Progress, String> {
        let found = self.found(cgroup, files)?;
        for (name, value) in &found {
            let is_known = |known: &Properties| known.get(name) == Some(value);
            if !is_known(&self.from) && !is_known(&self.to) {
                let (from, to) = (text(&self.from), text(&self.to));
                return Err(format!(
                    "systemd has {name}={value}, which is neither {from} nor {to}: another program changed it"
                ));
            }
        }
        let mut is_before = found == self.to;
        for beside in &self.beside {
            let text = files.read(&beside.cgroup, &beside.file)?;
            is_before &= !text.is_some_and(|text| beside.is_lost(&text, rounding));
        }
        Ok(Progress { change: Self { from: found, ..self.clone() }, is_before })
    }

    /// Returns true if systemd has what is to be set.
    pub(super) fn is_set(&self, cgroup: &str, files: &dyn CgroupFiles) -> Result<bool, String> {
        Ok(self.found(cgroup, files)? == self.to)
    }

    fn found(&self, cgroup: &str, files: &dyn CgroupFiles) -> Result<Properties, String> {
        let names = self.to.keys();
        names.map(|name| Ok((name.clone(), files.property(cgroup, name)?))).collect()
    }
}

impl Beside {
    /// Returns true if the file has systemd's text: kq was killed before it wrote the other one again.
    fn is_lost(&self, text: &str, rounding: Rounding) -> bool {
        is_same(&self.file, &self.systemd, text, rounding)
    }
}

fn text(properties: &Properties) -> String {
    listed(properties.iter().map(|(name, value)| (name.as_str(), value)))
}

/// Returns true if a text of a file is the one that systemd writes.
pub(super) fn is_same(file: &str, written: &str, text: &str, rounding: Rounding) -> bool {
    compare(file, written, text, rounding) != KernelValue::Different
}

/// Returns the other files that systemd writes with one, with their cgroups: those of the unit, and of the slices around it.
fn written_with(cgroup: &str, file: CgroupFile) -> impl Iterator<Item = (&str, CgroupFile)> {
    let is_written = |file: &CgroupFile| {
        let others = [CgroupFile::CpuMax, CgroupFile::MemoryOomGroup];
        let sets = [CgroupFile::CpusetCpus, CgroupFile::CpusetMems];
        number_name(*file).is_some() || others.contains(file) || sets.contains(file)
    };
    let around = std::iter::successors(Some(cgroup), |path| Some(path.rsplit_once('/')?.0));
    let units = around.take_while(|path| Unit::of_cgroup(path).is_some());
    let all = units.flat_map(move |path| {
        CgroupFile::ALL.iter().copied().filter(is_written).map(move |file| (path, file))
    });
    all.filter(move |(path, other)| *path != cgroup || *other != file)
}

/// Returns the properties that systemd has for a text of a file; `None`: it has none.
fn properties_of(file: CgroupFile, text: &str) -> Option<Properties> {
    let number = |name: &str, number| vec![(name.to_owned(), Property::Number(number))];
    let set = |name: &str, set| vec![(name.to_owned(), Property::of_set(&set))];
    let found = match (file, file.value(text)) {
        (_, Value::Quota { quota_us, period_us }) => {
            let quota_us = quota_us.map_or(Some(-1), |quota| i64::try_from(quota).ok())?;
            let per_second = systemd_quota_per_second(quota_us, period_us).unwrap_or(u64::MAX);
            [number(PER_SECOND, per_second), number(PERIOD, period_us)].concat()
        }
        (CgroupFile::CpusetCpus, Value::Set(cpus)) => set("AllowedCPUs", cpus),
        (CgroupFile::CpusetMems, Value::Set(nodes)) => set("AllowedMemoryNodes", nodes),
        // systemd takes no 0, and libcontainer sets 1.
        (CgroupFile::PidsMax, Value::Number(0)) => number("TasksMax", 1),
        (_, Value::Number(amount)) => number(number_name(file)?, amount),
        (_, Value::Unlimited) => number(number_name(file)?, u64::MAX),
        _ => return None,
    };
    Some(found.into_iter().collect())
}

const PER_SECOND: &str = "CPUQuotaPerSecUSec";
const PERIOD: &str = "CPUQuotaPeriodUSec";

/// The period of systemd and of the kernel where none is set.
const DEFAULT_PERIOD_US: u64 = 100_000;

/// Returns the property with the number of a file.
const fn number_name(file: CgroupFile) -> Option<&'static str> {
    Some(match file {
        CgroupFile::CpuWeight => "CPUWeight",
        CgroupFile::MemoryMax => "MemoryMax",
        CgroupFile::MemoryMin => "MemoryMin",
        CgroupFile::MemoryLow => "MemoryLow",
        CgroupFile::MemoryHigh => "MemoryHigh",
        CgroupFile::MemorySwapMax => "MemorySwapMax",
        CgroupFile::PidsMax => "TasksMax",
        _ => return None,
    })
}

/// Returns the text that systemd writes into a file of a unit; `None`: it does not write it.
pub(super) fn systemd_text(
    file: CgroupFile,
    cgroup: &str,
    files: &dyn CgroupFiles,
) -> Result<Option<String>, String> {
    let number = |name: &str| match files.property(cgroup, name)? {
        Property::Number(number) => Ok(number),
        Property::Bits(_) => Err(format!("systemd's {name} is not a number")),
    };
    Ok(Some(match file {
        CgroupFile::MemoryOomGroup => "0".to_owned(),
        CgroupFile::CpuMax => {
            let period_us = Some(number(PERIOD)?).filter(|period| *period != u64::MAX);
            let period_us = period_us.unwrap_or(DEFAULT_PERIOD_US);
            match number(PER_SECOND)? {
                u64::MAX => format!("max {period_us}"),
                per_second => {
                    let quota_us = u128::from(per_second) * u128::from(period_us) / 1_000_000;
                    format!("{quota_us} {period_us}")
                }
            }
        }
        CgroupFile::CpusetCpus | CgroupFile::CpusetMems => {
            let is_cpus = file == CgroupFile::CpusetCpus;
            let name = if is_cpus { "AllowedCPUs" } else { "AllowedMemoryNodes" };
            // Without the property, systemd leaves the file as it is.
            match files.property(cgroup, name)?.set() {
                set if set.is_empty() => return Ok(None),
                set => set.to_string(),
            }
        }
        _ => {
            let Some(name) = number_name(file) else { return Ok(None) };
            match (number(name)?, file.row().untouched) {
                (u64::MAX, Some(untouched)) => untouched.to_owned(),
                (u64::MAX, None) => file.no_limit(CgroupVersion::V2).to_owned(),
                (amount, _) => amount.to_string(),
            }
        }
    }))
}

#[cfg(test)]
mod tests;
