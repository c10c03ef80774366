//! The value of a cgroup file, read from its text.
//!
//! The kernel's rounding and its largest amounts as in `mm/page_counter.c` and `mm/hugetlb_cgroup.c` of
//! Linux 6.12.

use crate::cgroup_file::{CgroupFile, Holds};
use crate::cgroup_mode::CgroupVersion;
use kq_k8s::cpuset::CpuSet;

/// The value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No limit: `max`; on cgroup v1 also -1, or the largest amount that the kernel has.
    Unlimited,
    /// A number in the unit of the file.
    Number(u64),
    /// Microseconds of CPU time per period; without a quota there is no limit.
    Quota {
        /// The CPU time.
        quota_us: Option<u64>,
        period_us: u64,
    },
    /// CPUs, or memory nodes.
    Set(CpuSet),
    /// A text that is none of these.
    Other,
}

/// Amounts in bytes from this one on are no limit: the largest whole number of pages, whatever their
/// size up to 64 KiB.
const NO_LIMIT: u128 = (i64::MAX - 0xffff) as u128;

/// The same of huge pages, which have up to 16 GiB.
const NO_HUGE_PAGE_LIMIT: u128 = (i64::MAX - 0x3_ffff_ffff) as u128;

impl CgroupFile {
    /// Returns the text that is written for no limit.
    pub fn no_limit(self, version: CgroupVersion) -> &'static str {
        match (version, self.row().holds) {
            (CgroupVersion::V1, Holds::Bytes | Holds::HugePages | Holds::Quota) => "-1",
            _ => "max",
        }
    }

    /// Reads a text of the kernel, without its line end.
    pub fn value(self, text: &str) -> Value {
        let number = || text.parse::<u128>().ok();
        let exact = |number: u128| u64::try_from(number).map_or(Value::Other, Value::Number);
        match (self.row().holds, text) {
            (_, "max") => Value::Unlimited,
            (Holds::Bytes | Holds::HugePages | Holds::Quota, "-1") => Value::Unlimited,
            (Holds::Bytes, _) if number() >= Some(NO_LIMIT) => Value::Unlimited,
            (Holds::HugePages, _) if number() >= Some(NO_HUGE_PAGE_LIMIT) => Value::Unlimited,
            (Holds::Bytes | Holds::HugePages | Holds::Number | Holds::Quota, _) => {
                number().map_or(Value::Other, exact)
            }
            (Holds::QuotaAndPeriod, _) => quota_and_period(text).unwrap_or(Value::Other),
            (Holds::Set, _) => text.parse().map_or(Value::Other, Value::Set),
            (Holds::Text, _) => Value::Other,
        }
    }
}

fn quota_and_period(text: &str) -> Option<Value> {
    let (quota, period) = text.split_once(' ')?;
    let quota_us = match quota {
        "max" => None,
        quota => Some(quota.parse().ok()?),
    };
    Some(Value::Quota { quota_us, period_us: period.parse().ok()? })
}

impl Value {
    /// Returns how much it grants; of a quota, per second.
    pub fn amount(&self) -> u128 {
        match *self {
            Self::Unlimited | Self::Quota { quota_us: None, .. } => u128::MAX,
            Self::Number(number) => number.into(),
            Self::Quota { quota_us: Some(quota_us), period_us } => {
                let per_second = u128::from(quota_us) * 1_000_000;
                per_second.checked_div(period_us.into()).unwrap_or_default()
            }
            Self::Set(_) | Self::Other => 0,
        }
    }

    /// Returns true if it grants less than another value; of two sets, if they differ.
    pub fn is_below(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Set(own), Self::Set(other)) => own.is_subset(other),
            (Self::Set(_), _) | (_, Self::Set(_)) => false,
            _ => self.amount() < other.amount(),
        }
    }
}

/// The kernel's units of a page size, each 1024 of the one before.
pub const PAGE_SIZE_UNITS: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];

/// Returns the bytes of a kernel's page size such as `2MB`; `None` for any other text.
pub fn page_size_bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (amount, unit) = text.split_at(end);
    let index = PAGE_SIZE_UNITS.iter().position(|known| *known == unit)?;
    amount.parse::<u64>().ok()?.checked_mul(1 << (10 * index))
}

/// Returns the page size in the name of a file.
pub fn page_size_in(name: &str) -> Option<u64> {
    page_size_bytes(name.split('.').nth(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_by_their_files() {
        let quota = |quota_us, period_us| Value::Quota { quota_us, period_us };
        for (file, text, expected) in [
            (CgroupFile::MemoryMax, "max", Value::Unlimited),
            (CgroupFile::MemoryMax, "-1", Value::Unlimited),
            (CgroupFile::MemoryMax, "9223372036854771712", Value::Unlimited),
            (CgroupFile::MemoryMax, "9223372036854710272", Value::Unlimited),
            (CgroupFile::MemoryMax, "18446744073709551616", Value::Unlimited),
            (CgroupFile::MemoryMax, "4611686018427387904", Value::Number(1 << 62)),
            (CgroupFile::MemoryMax, "-2", Value::Other),
            (CgroupFile::MemoryMax, "", Value::Other),
            (CgroupFile::MemoryOomGroup, "-1", Value::Other),
            (CgroupFile::PidsMax, "max", Value::Unlimited),
            (CgroupFile::PidsMax, "7", Value::Number(7)),
            (CgroupFile::CpuCfsQuota, "-1", Value::Unlimited),
            (CgroupFile::CpuMax, "max 100000", quota(None, 100_000)),
            (CgroupFile::CpuMax, "5000 100000", quota(Some(5000), 100_000)),
            (CgroupFile::CpuMax, "5000", Value::Other),
            (CgroupFile::CpusetCpus, "0-1", Value::Set([0, 1].into_iter().collect())),
            (CgroupFile::CpusetCpus, "none", Value::Other),
        ] {
            assert_eq!(file.value(text), expected, "{file:?} {text:?}");
        }
    }
}
