//! The current cgroups of a node: settings, usage, throttling and pressure.

use crate::files::{CgroupDriver, CgroupVersion};
use crate::live::place::{LiveCgroup, LiveOwner, LivePlace, live_cgroups};
use crate::report::PlaceLevel;
use kq_answer::{Basis, Warning, answer};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::pod_selector::Selection;
use kq_facts::workloads::Workloads;
use serde::Serialize;
use std::collections::BTreeMap;

/// The cgroups of a node.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CgroupUsage<'t> {
    /// The kernel's interface.
    pub cgroup_version: CgroupVersion,
    /// Who made the tree, judging by its names.
    pub cgroup_driver: CgroupDriver,
    /// The cgroups, parents first.
    pub items: Vec<UsedCgroup<'t>>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("CgroupUsage", CgroupUsage<'_>);

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsedCgroup<'t> {
    /// The owner.
    #[serde(flatten)]
    pub place: LivePlace<'t>,
    /// The files in which limits and weights are set, with their texts.
    pub settings: BTreeMap<&'t str, &'t str>,
    /// What the kernel counted.
    pub usage: Usage,
    /// How deep it is in what is shown.
    #[serde(skip)]
    pub depth: usize,
    /// Its name in the tree.
    #[serde(skip)]
    pub label: String,
}

/// The kernel's counters of one cgroup; null: not counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// CPU time in microseconds.
    pub cpu_usec: Option<u64>,
    /// Periods in which the quota was enforced.
    pub periods: Option<u64>,
    /// Periods in which it was used up.
    pub throttled_periods: Option<u64>,
    /// How long tasks waited for the next period, in microseconds.
    pub throttled_usec: Option<u64>,
    /// Memory in bytes, the page cache with it.
    pub memory_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Processes killed because memory ran out.
    pub oom_kills: Option<u64>,
    /// The share of the last ten seconds in which some task waited for CPU, in percent.
    pub cpu_pressure: Option<String>,
    /// The same for memory.
    pub memory_pressure: Option<String>,
    /// The same for input and output.
    pub io_pressure: Option<String>,
}

impl Usage {
    /// Reads the kernel's files.
    pub fn of(texts: &CgroupTexts) -> Self {
        let stat = |key| texts.keyed(CgroupFile::CpuStat, key);
        let nanoseconds = |text: Option<u64>| text.map(|nanoseconds| nanoseconds / 1000);
        let number = |file| texts.number(file);
        let pressure = |file| texts.pressure(file).map(str::to_owned);
        Self {
            cpu_usec: stat("usage_usec").or_else(|| nanoseconds(number(CgroupFile::CpuacctUsage))),
            periods: stat("nr_periods"),
            throttled_periods: stat("nr_throttled"),
            throttled_usec: stat("throttled_usec").or_else(|| nanoseconds(stat("throttled_time"))),
            memory_bytes: number(CgroupFile::MemoryCurrent),
            swap_bytes: number(CgroupFile::MemorySwapCurrent),
            pids: number(CgroupFile::PidsCurrent),
            oom_kills: texts.keyed(CgroupFile::MemoryEvents, "oom_kill"),
            cpu_pressure: pressure(CgroupFile::CpuPressure),
            memory_pressure: pressure(CgroupFile::MemoryPressure),
            io_pressure: pressure(CgroupFile::IoPressure),
        }
    }
}

/// Describes the cgroups of the selected pods; of a whole node, the levels above them too.
pub fn show<'t>(
    tree: &'t CgroupTree,
    roots: &'t [(CgroupDriver, CgroupPath)],
    workloads: &'t Workloads,
    selection: &Selection,
    warnings: Vec<Warning>,
) -> CgroupUsage<'t> {
    let version = tree.layout.version().unwrap_or(CgroupVersion::V2);
    let present: Vec<_> = roots.iter().filter(|(_, root)| tree.get(root).is_some()).collect();
    let mut items = Vec::new();
    for (driver, root) in &present {
        for cgroup in live_cgroups(tree, root, *driver, workloads) {
            if is_shown(&cgroup, selection) {
                items.push(used(&cgroup, version, selection));
            }
        }
    }
    let items = by_name(items);
    let mut basis = Basis::default();
    basis.warn_all(warnings);
    CgroupUsage {
        cgroup_version: version,
        cgroup_driver: present.first().map_or(CgroupDriver::Cgroupfs, |(driver, _)| *driver),
        items,
        basis,
    }
}

/// Puts the cgroups in each cgroup in the order of their names, which are not those in their paths:
/// unknown cgroups, such as a sandbox's, come last.
fn by_name(items: Vec<UsedCgroup<'_>>) -> Vec<UsedCgroup<'_>> {
    // The names on the way to a cgroup put it in its place.
    let mut way: Vec<(u8, String, &str)> = Vec::new();
    let mut ways = Vec::with_capacity(items.len());
    for item in &items {
        let rank = match (item.place.level, item.place.container) {
            (PlaceLevel::Qos, _) => 1,
            (PlaceLevel::Sandbox | PlaceLevel::Other, _) | (PlaceLevel::Container, None) => 2,
            _ => 0,
        };
        way.truncate(item.depth);
        way.push((rank, item.label.clone(), item.place.cgroup));
        ways.push(way.clone());
    }
    let mut items: Vec<_> = ways.into_iter().zip(items).collect();
    items.sort_by(|(way, _), (other, _)| way.cmp(other));
    items.into_iter().map(|(_, item)| item).collect()
}

/// What programs make in their containers is theirs.
pub(super) fn is_shown(cgroup: &LiveCgroup<'_>, selection: &Selection) -> bool {
    match (&cgroup.owner, cgroup.owner.pod()) {
        (LiveOwner::Inside(_), _) => false,
        (_, None) => selection.is_all(),
        (_, Some(pod)) => match pod.name {
            Some(name) => selection.has(&name.namespace, &name.name, &pod.uid),
            None => selection.has("", "", &pod.uid),
        },
    }
}

fn used<'t>(
    cgroup: &LiveCgroup<'t>,
    version: CgroupVersion,
    selection: &Selection,
) -> UsedCgroup<'t> {
    let is_setting = |name: &&str| CgroupFile::setting(version, name).is_some();
    let names = cgroup.texts.0.keys().map(String::as_str).filter(is_setting);
    let settings = names.filter_map(|name| Some((name, cgroup.texts.text(name)?))).collect();
    let label = match &cgroup.owner {
        LiveOwner::Pod(pod) => pod.label(),
        LiveOwner::Container(container) => container.label(),
        LiveOwner::Kubepods => cgroup.path.as_str().to_owned(),
        LiveOwner::Qos(_) | LiveOwner::Inside(_) | LiveOwner::Stranger => {
            cgroup.path.name().to_owned()
        }
    };
    let depth = match (&cgroup.owner, selection.is_all()) {
        (_, true) => cgroup.depth,
        (LiveOwner::Container(_), false) => 1,
        (_, false) => 0,
    };
    let usage = Usage::of(cgroup.texts);
    UsedCgroup { place: LivePlace::of(cgroup), settings, usage, depth, label }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(files: &[(&str, &str)]) -> CgroupTexts {
        CgroupTexts(files.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect())
    }

    #[test]
    fn both_versions_count_the_same() {
        let v1 = Usage::of(&texts(&[
            ("cpuacct.usage", "2000000\n"),
            ("cpu.stat", "nr_periods 10\nnr_throttled 5\nthrottled_time 3000\n"),
            ("memory.usage_in_bytes", "4096\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
            ("pids.current", "3\n"),
        ]));
        let v2 = Usage::of(&texts(&[
            ("cpu.stat", "usage_usec 2000\nnr_periods 10\nnr_throttled 5\nthrottled_usec 3\n"),
            ("memory.current", "4096\n"),
            ("memory.events", "oom 2\noom_kill 2\n"),
            ("pids.current", "3\n"),
        ]));
        assert_eq!(v1, v2);
        assert_eq!(v1.cpu_usec, Some(2000));
        assert_eq!(Usage::of(&texts(&[])), Usage::default(), "nothing counted is not zero");
        let garbage = texts(&[("memory.current", "many\n"), ("cpu.stat", "usage_usec\n")]);
        assert_eq!(Usage::of(&garbage), Usage::default(), "garbage is not zero");
    }
}
