//! Compares a text that the kernel returns with the one that was written.
//!
//! The kernel rounds: memory to whole pages (`page_counter_memparse` in `mm/page_counter.c`), huge
//! pages to whole huge pages (`hugetlb_cgroup_write` in `mm/hugetlb_cgroup.c`). systemd rounds quotas
//! ([`systemd_quota`]).

use crate::cpu::systemd_quota;
use crate::files::{CgroupDriver, CgroupVersion};
use kq_facts::cgroup_file::{CgroupFile, Holds};
use kq_facts::cgroup_value::{Value, page_size_in};
use kq_facts::node_config::Kernel;

/// What decides about rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// The kernel's interface.
    pub version: CgroupVersion,
    pub driver: CgroupDriver,
    /// What the kernel is like.
    pub kernel: Kernel,
}

/// How the value of a kernel file compares with the planned one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelValue {
    /// The kernel has it.
    Equal,
    /// The kernel has what becomes of it, for this reason.
    Rounded(String),
    /// The kernel has something else.
    Different,
}

/// Compares what is planned for a file with what the kernel gives.
pub fn compare(name: &str, planned: &str, actual: &str, rounding: Rounding) -> KernelValue {
    if planned == actual {
        return KernelValue::Equal;
    }
    let Some(file) = CgroupFile::named(name) else { return KernelValue::Different };
    match (file.row().holds, file.value(planned), file.value(actual)) {
        (_, Value::Unlimited, Value::Unlimited) => KernelValue::Equal,
        (_, Value::Set(planned), Value::Set(actual)) if planned == actual => KernelValue::Equal,
        (Holds::Bytes, Value::Number(planned), Value::Number(actual)) => {
            whole_units(planned, actual, u64::try_from(rounding.kernel.page_size).ok(), "pages")
        }
        (Holds::HugePages, Value::Number(planned), Value::Number(actual)) => {
            whole_units(planned, actual, page_size_in(name), "huge pages")
        }
        (Holds::Quota, Value::Number(planned), Value::Number(actual)) => {
            quota(planned, actual, 0, rounding)
        }
        (
            _,
            Value::Quota { quota_us: Some(planned), period_us },
            Value::Quota { quota_us: Some(actual), period_us: actual_period_us },
        ) if period_us == actual_period_us => quota(planned, actual, period_us, rounding),
        _ => KernelValue::Different,
    }
}

fn whole_units(planned: u64, actual: u64, unit: Option<u64>, units: &str) -> KernelValue {
    match unit.filter(|unit| *unit > 0) {
        Some(unit) if planned - planned % unit == actual => {
            KernelValue::Rounded(format!("the kernel keeps whole {units} of {unit} bytes"))
        }
        _ => KernelValue::Different,
    }
}

/// Compares quotas: what runs under systemd can have the quota as it was asked for or as systemd
/// rounds it, depending on the last writer. A kubelet before 1.34 and runtimes of that time write the
/// asked one after systemd wrote the rounded one; `systemctl daemon-reload` then brings systemd's back.
fn quota(planned: u64, actual: u64, period_us: u64, rounding: Rounding) -> KernelValue {
    let becomes = |from: u64, to: u64| {
        let rounded = i64::try_from(from).map(|from| systemd_quota(from, period_us));
        from > 0 && rounded.is_ok_and(|rounded| u64::try_from(rounded) == Ok(to))
    };
    if rounding.driver == CgroupDriver::Systemd {
        if becomes(actual, planned) {
            return KernelValue::Rounded("not rounded up, as systemd would".to_owned());
        }
        if becomes(planned, actual) {
            let reason = "rounded up by systemd, which wrote it last";
            return KernelValue::Rounded(reason.to_owned());
        }
    }
    KernelValue::Different
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
            (
                "v1 without limit of huge pages",
                Cgroupfs,
                "hugetlb.2MB.limit_in_bytes",
                "-1",
                "9223372036852678656",
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
            ("systemd, kept", Systemd, "cpu.max", "8010 100000", "9000 100000", rounded),
            ("systemd, kept more", Systemd, "cpu.max", "8010 100000", "10000 100000", other),
            ("cgroupfs keeps", Cgroupfs, "cpu.max", "8010 100000", "9000 100000", other),
            ("systemd, too far", Systemd, "cpu.max", "9000 100000", "7990 100000", other),
            ("systemd on v1", Systemd, "cpu.cfs_quota_us", "9000", "8010", rounded),
            ("other period", Systemd, "cpu.max", "9000 100000", "8010 50000", other),
            ("garbage", Cgroupfs, "memory.max", "4096", "many", other),
            ("no quota", Cgroupfs, "cpu.max", "max 100000", "1000 100000", other),
        ] {
            let rounding =
                Rounding { version: CgroupVersion::V2, driver, kernel: Kernel::default() };
            let kept = match compare(file, planned, actual, rounding) {
                KernelValue::Equal => same,
                KernelValue::Rounded(_) => rounded,
                KernelValue::Different => other,
            };
            assert_eq!(kept, expected, "{name}");
        }
    }
}
