//! The live tree for people.

use crate::live::show::{CgroupUsage, Usage, UsedCgroup};
use crate::report::PlaceLevel;
use kq_facts::cgroup_file::{CgroupFile, Width};
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_value::Value;
use kq_output::table::{Table, or_dash};
use kq_output::units;

/// A column of the tree.
struct UsageColumn {
    heading: String,
    cell: Box<dyn Fn(&UsedCgroup<'_>) -> String>,
    /// A narrow screen has it, too.
    is_kept: bool,
}

impl UsageColumn {
    fn kept(self) -> Self {
        Self { is_kept: true, ..self }
    }
}

fn column(heading: &str, cell: impl Fn(&UsedCgroup<'_>) -> String + 'static) -> UsageColumn {
    UsageColumn { heading: heading.to_owned(), cell: Box::new(cell), is_kept: false }
}

fn settings(width: Width, controllers: &[&str]) -> Vec<UsageColumn> {
    let files = controllers.iter().flat_map(|controller| {
        let is_shown = move |file: &&CgroupFile| {
            file.row().controller == *controller && file.row().in_show == Some(width)
        };
        CgroupFile::ALL.iter().filter(is_shown)
    });
    let columns = files.map(|&file| {
        let of_file = column(&file.v2_name().to_uppercase(), move |cgroup| setting(cgroup, file));
        if file == CgroupFile::MemoryMax { of_file.kept() } else { of_file }
    });
    columns.collect()
}

fn columns(is_wide: bool) -> Vec<UsageColumn> {
    let mut columns = vec![column("QOS", |cgroup| {
        // What is in a pod has no class of its own.
        let has_class = matches!(cgroup.place.level, PlaceLevel::Qos | PlaceLevel::Pod);
        or_dash(cgroup.place.qos_class.filter(|_| has_class))
    })];
    columns.extend(settings(Width::Every, &["cpu"]));
    columns.extend([
        column("CPU TIME", |cgroup| or_dash(cgroup.usage.cpu_usec.map(units::microseconds))),
        column("THROTTLED", |cgroup| or_dash(throttled(&cgroup.usage))),
        column("MEMORY", |cgroup| or_dash(cgroup.usage.memory_bytes.map(units::bytes))).kept(),
    ]);
    columns.extend(settings(Width::Every, &["cpuset", "memory", "hugetlb"]));
    columns.push(column("PIDS", |cgroup| or_dash(cgroup.usage.pids)));
    columns.extend(settings(Width::Every, &["pids"]));
    columns.extend([
        column("OOM KILLS", |cgroup| or_dash(cgroup.usage.oom_kills)).kept(),
        column("PRESSURE", |cgroup| or_dash(pressure(&cgroup.usage))),
    ]);
    if is_wide {
        columns.extend([
            column("THROTTLED TIME", |cgroup| {
                or_dash(cgroup.usage.throttled_usec.map(units::microseconds))
            }),
            column("SWAP", |cgroup| or_dash(cgroup.usage.swap_bytes.map(units::bytes))),
        ]);
        columns.extend(settings(Width::Wide, &["cpu", "memory", "pids", "cpuset", "hugetlb"]));
        columns.push(column("PATH", |cgroup| cgroup.place.cgroup.to_owned()));
    }
    columns
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
    let mut columns = columns(is_wide);
    columns.retain(|it| shown.items.iter().any(|cgroup| (it.cell)(cgroup) != "-"));
    let headings = columns.iter().map(|it| it.heading.clone());
    let headings: Vec<String> = std::iter::once("CGROUP".to_owned()).chain(headings).collect();
    let row = |cgroup: &UsedCgroup<'_>| {
        let cells = columns.iter().map(|it| (it.cell)(cgroup));
        (cgroup.depth, std::iter::once(cgroup.label.clone()).chain(cells).collect())
    };
    let mut table = Table::tree(headings, shown.items.iter().map(row));
    // The first column is the cgroup.
    table.keep((1..).zip(&columns).filter(|(_, it)| it.is_kept).map(|(at, _)| at));
    table
}

/// Returns what is set in a file; quota and period as cgroup v2 writes them.
fn setting(cgroup: &UsedCgroup<'_>, file: CgroupFile) -> String {
    let text = |file: CgroupFile| {
        let names = [CgroupVersion::V2, CgroupVersion::V1].map(|version| file.name(version));
        names.into_iter().find_map(|name| cgroup.settings.get(name).copied())
    };
    let limit = |file: CgroupFile, text: &str| match file.value(text) {
        Value::Unlimited => "max".to_owned(),
        Value::Number(bytes) if file.is_bytes() => units::bytes(bytes),
        _ => text.to_owned(),
    };
    let own = text(file).filter(|text| !text.is_empty());
    or_dash(match (own, file) {
        (Some(own), file) => Some(limit(file, own)),
        (None, CgroupFile::CpuMax) => text(CgroupFile::CpuCfsQuota)
            .zip(text(CgroupFile::CpuCfsPeriod))
            .map(|(quota, period)| format!("{} {period}", limit(CgroupFile::CpuCfsQuota, quota))),
        (None, _) => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_with_a_column_has_it() {
        let headings: Vec<String> = columns(true).into_iter().map(|it| it.heading).collect();
        for file in CgroupFile::ALL.iter().filter(|file| file.row().in_show.is_some()) {
            let name = file.v2_name().to_uppercase();
            assert_eq!(headings.iter().filter(|heading| **heading == name).count(), 1, "{name}");
        }
    }
}
