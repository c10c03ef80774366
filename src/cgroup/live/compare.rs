//! Whether a text that the kernel gives back is what was written.
//!
//! The kernel rounds: memory to whole pages (`page_counter_memparse` in `mm/page_counter.c`), huge
//! pages to whole huge pages (`hugetlb_cgroup_write` in `mm/hugetlb_cgroup.c`). systemd rounds quotas
//! ([`systemd_quota`]).

use crate::cgroup::cpu::systemd_quota;
use crate::cgroup::files::{CgroupDriver, CgroupVersion, page_size_bytes};
use crate::k8s::cpuset::CpuSet;

/// What decides about rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// The kernel's interface.
    pub version: CgroupVersion,
    /// Who creates cgroups.
    pub driver: CgroupDriver,
    /// The size of a page of memory in bytes.
    pub page_size: i64,
}

/// What became of a text that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The kernel has it.
    Same,
    /// The kernel has what becomes of it, for this reason.
    Rounded(String),
    /// The kernel has something else.
    Other,
}

/// Compares what is planned for a file with what the kernel gives.
pub fn compare(file: &str, planned: &str, actual: &str, rounding: Rounding) -> Kept {
    if planned == actual || (is_unlimited(file, planned) && is_unlimited(file, actual)) {
        return Kept::Same;
    }
    match file {
        "cpu.max" => quota(planned, actual, rounding, true),
        "cpu.cfs_quota_us" => quota(planned, actual, rounding, false),
        "cpuset.cpus" => match (planned.parse::<CpuSet>(), actual.parse::<CpuSet>()) {
            (Ok(planned), Ok(actual)) if planned == actual => Kept::Same,
            _ => Kept::Other,
        },
        _ if file.starts_with("hugetlb.") => {
            let size = file.split('.').nth(1).and_then(page_size_bytes);
            let unit = size.and_then(|size| i64::try_from(size).ok());
            unit.map_or(Kept::Other, |unit| whole_units(planned, actual, unit, "huge pages"))
        }
        _ if file.starts_with("memory.") && file != "memory.oom.group" => {
            whole_units(planned, actual, rounding.page_size, "pages")
        }
        _ => Kept::Other,
    }
}

/// The largest limit in bytes of cgroup v1 is the largest number of whole pages, whatever their size
/// up to 64 KiB.
const NO_LIMIT: i64 = i64::MAX - 0xffff;

/// Tells whether a text is one of those for "no limit".
pub fn is_unlimited(file: &str, text: &str) -> bool {
    match text {
        "max" => true,
        "-1" => file.starts_with("memory.") || file == "cpu.cfs_quota_us",
        _ => {
            let in_bytes = file.starts_with("memory.") || file.starts_with("hugetlb.");
            in_bytes && text.parse::<i64>().is_ok_and(|bytes| bytes >= NO_LIMIT)
        }
    }
}

/// Returns what the kernel has where nobody wrote anything; `None`: it depends on what is around.
pub fn untouched(file: &str) -> Option<&'static str> {
    Some(match file {
        "cpu.shares" => "1024",
        "cpu.weight" => "100",
        "cpu.max" => "max 100000",
        "cpu.cfs_quota_us" => "-1",
        "cpu.cfs_period_us" => "100000",
        "memory.min" | "memory.low" | "memory.oom.group" => "0",
        "cpuset.cpus" | "cpuset.mems" => return None,
        // What a huge page limit is at first depends on the kernel: without a limit, always.
        _ => "max",
    })
}

fn whole_units(planned: &str, actual: &str, unit: i64, units: &str) -> Kept {
    let (Ok(planned), Ok(actual)) = (planned.parse::<i64>(), actual.parse::<i64>()) else {
        return Kept::Other;
    };
    if unit > 0 && planned >= 0 && planned - planned % unit == actual {
        return Kept::Rounded(format!("the kernel keeps whole {units} of {unit} bytes"));
    }
    Kept::Other
}

/// Compares quotas: what runs under systemd can have the quota as it was asked for or as systemd
/// rounds it, depending on who wrote last.
fn quota(planned: &str, actual: &str, rounding: Rounding, with_period: bool) -> Kept {
    let parse = |text: &str| -> Option<(i64, u64)> {
        match text.split_once(' ') {
            Some((quota, period)) if with_period => {
                Some((quota.parse().ok()?, period.parse().ok()?))
            }
            None if !with_period => Some((text.parse().ok()?, 0)),
            _ => None,
        }
    };
    let (Some((planned, period)), Some((actual, actual_period))) = (parse(planned), parse(actual))
    else {
        return Kept::Other;
    };
    let same_period = period == actual_period;
    if rounding.driver == CgroupDriver::Systemd
        && same_period
        && actual > 0
        && systemd_quota(actual, period) == planned
    {
        return Kept::Rounded("asked for as it is, and systemd would round it up".to_owned());
    }
    Kept::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_rounds_and_nothing_else_is_forgiven() {
        use CgroupDriver::{Cgroupfs, Systemd};
        let same = "same";
        let (rounded, other) = ("rounded", "other");
        for (name, driver, file, planned, actual, expected) in [
            ("equal", Cgroupfs, "cpu.weight", "17", "17", same),
            ("not equal", Cgroupfs, "cpu.weight", "17", "18", other),
            ("pages", Cgroupfs, "memory.max", "100001", "98304", rounded),
            ("more than a page", Cgroupfs, "memory.max", "100001", "94208", other),
            ("never up", Cgroupfs, "memory.max", "100001", "102400", other),
            (
                "v1 without limit",
                Cgroupfs,
                "memory.limit_in_bytes",
                "-1",
                "9223372036854771712",
                same,
            ),
            ("v2 without limit", Cgroupfs, "memory.max", "max", "max", same),
            ("limit instead of none", Cgroupfs, "memory.max", "max", "4096", other),
            ("huge pages", Cgroupfs, "hugetlb.2MB.max", "3000000", "2097152", rounded),
            ("huge pages, other size", Cgroupfs, "hugetlb.1GB.max", "2097152", "2097152", same),
            ("a switch is no amount", Cgroupfs, "memory.oom.group", "1", "0", other),
            ("cpus", Cgroupfs, "cpuset.cpus", "0,1,2", "0-2", same),
            ("other cpus", Cgroupfs, "cpuset.cpus", "0-2", "0-1", other),
            ("systemd, asked", Systemd, "cpu.max", "9000 100000", "8010 100000", rounded),
            ("cgroupfs rounds nothing", Cgroupfs, "cpu.max", "9000 100000", "8010 100000", other),
            ("systemd, too far", Systemd, "cpu.max", "9000 100000", "7990 100000", other),
            ("systemd on v1", Systemd, "cpu.cfs_quota_us", "9000", "8010", rounded),
            ("other period", Systemd, "cpu.max", "9000 100000", "8010 50000", other),
            ("garbage", Cgroupfs, "memory.max", "4096", "many", other),
            ("no quota", Cgroupfs, "cpu.max", "max 100000", "1000 100000", other),
        ] {
            let rounding = Rounding { version: CgroupVersion::V2, driver, page_size: 4096 };
            let kept = match compare(file, planned, actual, rounding) {
                Kept::Same => same,
                Kept::Rounded(_) => rounded,
                Kept::Other => other,
            };
            assert_eq!(kept, expected, "{name}");
        }
    }
}
