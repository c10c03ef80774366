//! The live tree for people.

use crate::cgroup::live::show::{CgroupUsage, Usage, UsedCgroup};
use crate::output::table::{Column, Rows, Table, or_dash};
use crate::output::tree::branches;
use crate::output::units;

/// A cgroup with the lines that connect it with its parent.
type Row<'c> = (String, &'c UsedCgroup<'c>);

fn columns<'c>() -> Vec<Column<Row<'c>>> {
    vec![
        Column::new("QOS", |(_, cgroup)| {
            // What is in a pod has no class of its own.
            let has_class = ["qos", "pod"].contains(&cgroup.place.level);
            or_dash(cgroup.place.qos_class.filter(|_| has_class))
        }),
        Column::new("CPU.SHARES", |(_, cgroup)| setting(cgroup, "cpu.shares")),
        Column::new("CPU.WEIGHT", |(_, cgroup)| setting(cgroup, "cpu.weight")),
        Column::new("CPU.MAX", |(_, cgroup)| quota(cgroup)),
        Column::new("CPU TIME", |(_, it)| or_dash(it.usage.cpu_usec.map(units::microseconds))),
        Column::new("THROTTLED", |(_, cgroup)| or_dash(throttled(&cgroup.usage))),
        Column::new("MEMORY", |(_, cgroup)| or_dash(cgroup.usage.memory_bytes.map(units::bytes))),
        Column::new("MEMORY.MAX", |(_, cgroup)| {
            limit(cgroup, &["memory.max", "memory.limit_in_bytes"])
        }),
        Column::new("PIDS", |(_, cgroup)| or_dash(cgroup.usage.pids)),
        Column::new("PIDS.MAX", |(_, cgroup)| setting(cgroup, "pids.max")),
        Column::new("OOM KILLS", |(_, cgroup)| or_dash(cgroup.usage.oom_kills)),
        Column::new("PRESSURE", |(_, cgroup)| or_dash(pressure(&cgroup.usage))),
        Column::wide("THROTTLED TIME", |(_, cgroup)| {
            or_dash(cgroup.usage.throttled_usec.map(units::microseconds))
        }),
        Column::wide("SWAP", |(_, cgroup)| or_dash(cgroup.usage.swap_bytes.map(units::bytes))),
        Column::wide("MEMORY.MIN", |(_, cgroup)| limit(cgroup, &["memory.min"])),
        Column::wide("MEMORY.LOW", |(_, cgroup)| limit(cgroup, &["memory.low"])),
        Column::wide("MEMORY.HIGH", |(_, cgroup)| limit(cgroup, &["memory.high"])),
        Column::wide("MEMORY.SWAP.MAX", |(_, cgroup)| limit(cgroup, &["memory.swap.max"])),
        Column::wide("CPUSET.CPUS", |(_, cgroup)| {
            or_dash(cgroup.settings.get("cpuset.cpus").filter(|cpus| !cpus.is_empty()))
        }),
        Column::wide("PATH", |(_, cgroup)| cgroup.place.cgroup.to_owned()),
    ]
}

/// Returns the tree with what a glance needs.
pub fn table(shown: &CgroupUsage<'_>) -> Table {
    tree(shown, false)
}

/// Returns the tree with all that is known.
pub fn wide(shown: &CgroupUsage<'_>) -> Table {
    tree(shown, true)
}

/// Returns the tree without the columns in which no cgroup has anything.
fn tree(shown: &CgroupUsage<'_>, is_wide: bool) -> Table {
    let depths: Vec<usize> = shown.items.iter().map(|cgroup| cgroup.depth).collect();
    let branches = branches(&depths).into_iter().map(|entry| entry.branch);
    let rows: Vec<Row<'_>> = branches.zip(&shown.items).collect();
    let tree =
        Column::new("CGROUP", |(branch, cgroup): &Row<'_>| format!("{branch}{}", cgroup.label));
    let known = columns().into_iter().filter(|column| column.is_known(&rows));
    let columns: Vec<Column<Row<'_>>> = std::iter::once(tree).chain(known).collect();
    Rows::of(&rows).wide(is_wide).table(&columns)
}

fn setting(cgroup: &UsedCgroup<'_>, file: &str) -> String {
    or_dash(cgroup.settings.get(file))
}

/// Returns quota and period as cgroup v2 writes them.
fn quota(cgroup: &UsedCgroup<'_>) -> String {
    let of = |file: &str| cgroup.settings.get(file);
    or_dash(of("cpu.max").map(|text| (*text).to_owned()).or_else(|| {
        let (quota, period) = (of("cpu.cfs_quota_us")?, of("cpu.cfs_period_us")?);
        Some(format!("{} {period}", if *quota == "-1" { "max" } else { quota }))
    }))
}

/// Returns the limit in bytes of the first file that there is; the largest that v1 knows is none.
fn limit(cgroup: &UsedCgroup<'_>, files: &[&str]) -> String {
    /// The largest number of bytes in whole pages of 4 KiB, or more.
    const NONE: u64 = 0x7fff_ffff_f000_0000;
    let text = files.iter().find_map(|file| cgroup.settings.get(file));
    or_dash(text.map(|text| match text.parse::<u64>() {
        Ok(NONE..) => "max".to_owned(),
        Ok(bytes) => units::bytes(bytes),
        Err(_) => (*text).to_owned(),
    }))
}

/// Returns the share of periods in which the quota was used up.
fn throttled(usage: &Usage) -> Option<String> {
    match (usage.throttled_periods?, usage.periods?) {
        (_, 0) => None,
        (throttled, periods) => units::percent(throttled, periods),
    }
}

/// Returns how much was waited for: CPU, memory, input and output.
fn pressure(usage: &Usage) -> Option<String> {
    let all = [&usage.cpu_pressure, &usage.memory_pressure, &usage.io_pressure];
    if all.iter().all(|pressure| pressure.is_none()) {
        return None;
    }
    Some(all.map(|pressure| pressure.as_deref().unwrap_or("-")).join("/"))
}
