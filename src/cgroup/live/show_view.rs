//! The live tree for people.

use crate::cgroup::live::show::{CgroupUsage, Usage, UsedCgroup};
use crate::output::table::Table;
use crate::output::tree::branches;
use crate::output::units;

/// A column: its heading, and what it says about a cgroup.
type Column = (&'static str, fn(&UsedCgroup<'_>) -> Option<String>);

/// What a glance needs. A column about which no cgroup says anything is left out.
const COLUMNS: &[Column] = &[
    ("QOS", |cgroup| {
        // What is in a pod has no class of its own.
        ["qos", "pod"]
            .contains(&cgroup.place.level)
            .then_some(cgroup.place.qos_class)?
            .map(|class| class.to_string())
    }),
    ("CPU.SHARES", |cgroup| setting(cgroup, "cpu.shares")),
    ("CPU.WEIGHT", |cgroup| setting(cgroup, "cpu.weight")),
    ("CPU.MAX", |cgroup| setting(cgroup, "cpu.max").or_else(|| v1_quota(cgroup))),
    ("CPU TIME", |cgroup| cgroup.usage.cpu_usec.map(units::microseconds)),
    ("THROTTLED", |cgroup| throttled(&cgroup.usage)),
    ("MEMORY", |cgroup| cgroup.usage.memory_bytes.map(units::bytes)),
    ("MEMORY.MAX", |cgroup| {
        limit(cgroup, "memory.max").or_else(|| limit(cgroup, "memory.limit_in_bytes"))
    }),
    ("PIDS", |cgroup| cgroup.usage.pids.map(|pids| pids.to_string())),
    ("PIDS.MAX", |cgroup| setting(cgroup, "pids.max")),
    ("OOM KILLS", |cgroup| cgroup.usage.oom_kills.map(|kills| kills.to_string())),
    ("PRESSURE", |cgroup| pressure(&cgroup.usage)),
];

/// What else is known.
const WIDE: &[Column] = &[
    ("THROTTLED TIME", |cgroup| cgroup.usage.throttled_usec.map(units::microseconds)),
    ("SWAP", |cgroup| cgroup.usage.swap_bytes.map(units::bytes)),
    ("MEMORY.MIN", |cgroup| limit(cgroup, "memory.min")),
    ("MEMORY.LOW", |cgroup| limit(cgroup, "memory.low")),
    ("MEMORY.HIGH", |cgroup| limit(cgroup, "memory.high")),
    ("MEMORY.SWAP.MAX", |cgroup| limit(cgroup, "memory.swap.max")),
    ("CPUSET.CPUS", |cgroup| setting(cgroup, "cpuset.cpus").filter(|cpus| !cpus.is_empty())),
    ("PATH", |cgroup| Some(cgroup.place.cgroup.to_owned())),
];

/// Returns the tree with what a glance needs.
pub fn table(shown: &CgroupUsage<'_>) -> Table {
    tree(shown, COLUMNS.to_vec())
}

/// Returns the tree with all that is known.
pub fn wide(shown: &CgroupUsage<'_>) -> Table {
    tree(shown, [COLUMNS, WIDE].concat())
}

fn tree(shown: &CgroupUsage<'_>, columns: Vec<Column>) -> Table {
    let depths: Vec<usize> = shown.items.iter().map(|cgroup| cgroup.depth).collect();
    let cells: Vec<Vec<Option<String>>> = shown
        .items
        .iter()
        .map(|cgroup| columns.iter().map(|(_, cell)| cell(cgroup)).collect())
        .collect();
    let telling: Vec<usize> = (0..columns.len())
        .filter(|column| cells.iter().any(|row| row[*column].is_some()))
        .collect();
    let headings = telling.iter().map(|column| columns[*column].0.to_owned());
    let mut table = Table::new(std::iter::once("CGROUP".to_owned()).chain(headings).collect());
    for ((cgroup, entry), row) in shown.items.iter().zip(branches(&depths)).zip(cells) {
        let mut row = row;
        let cells =
            telling.iter().map(|column| row[*column].take().unwrap_or_else(|| "-".to_owned()));
        let name = format!("{}{}", entry.branch, cgroup.label);
        table.add(std::iter::once(name).chain(cells).collect());
    }
    table
}

fn setting(cgroup: &UsedCgroup<'_>, file: &str) -> Option<String> {
    cgroup.settings.get(file).map(|text| (*text).to_owned())
}

/// Returns quota and period of cgroup v1 as v2 writes them.
fn v1_quota(cgroup: &UsedCgroup<'_>) -> Option<String> {
    let quota = cgroup.settings.get("cpu.cfs_quota_us")?;
    let period = cgroup.settings.get("cpu.cfs_period_us")?;
    Some(format!("{} {period}", if *quota == "-1" { "max" } else { quota }))
}

/// Returns a limit in bytes; the largest that v1 knows is none.
fn limit(cgroup: &UsedCgroup<'_>, file: &str) -> Option<String> {
    /// The largest number of bytes in whole pages of 4 KiB, or more.
    const NONE: u64 = 0x7fff_ffff_f000_0000;
    let text = cgroup.settings.get(file)?;
    Some(match text.parse::<u64>() {
        Ok(NONE..) => "max".to_owned(),
        Ok(bytes) => units::bytes(bytes),
        Err(_) => (*text).to_owned(),
    })
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
