//! The kernel's files for cgroup values: names, texts, and the rounding of the two cgroup drivers.
//!
//! Pure. Follows `pkg/kubelet/cm/cgroup_manager_linux.go` of Kubernetes 1.36 and the `fs`, `fs2` and
//! `systemd` folders of `opencontainers/cgroups` v0.0.6; pinned by `tests/vectors/cpu_convert.jsonl`
//! (`quota_files`, `memory_files`).

pub use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
pub use kq_facts::cgroup_value::page_size_bytes;

use crate::cpu::{DEFAULT_PERIOD_US, systemd_quota};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_value::PAGE_SIZE_UNITS;
use kq_facts::weight_formula::WeightFormula;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// One kernel file and the text that is written to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct FileValue {
    /// The name of the file inside the cgroup.
    pub file: Cow<'static, str>,
    /// The text, without a line end.
    pub value: String,
}

impl FileValue {
    fn new(file: CgroupFile, version: CgroupVersion, value: impl fmt::Display) -> Self {
        Self { file: file.name(version).into(), value: value.to_string() }
    }
}

/// Returns the file that shares are written to; on version 1 the formula has no part in it.
pub fn shares_file(shares: u64, version: CgroupVersion, formula: WeightFormula) -> FileValue {
    match version {
        CgroupVersion::V1 => FileValue::new(CgroupFile::CpuShares, version, shares),
        CgroupVersion::V2 => FileValue::new(CgroupFile::CpuWeight, version, formula.weight(shares)),
    }
}

/// Returns the files that quota and period are written to, in the order of writing.
///
/// 0 is "not set", a negative quota is "no limit". `driver` is the one whose rounding the text has, see
/// [`systemd_quota`]: that of the node, or `cgroupfs` where the writer rounds for systemd alone.
pub fn cpu_files(
    quota_us: i64,
    period_us: u64,
    version: CgroupVersion,
    driver: CgroupDriver,
) -> Vec<FileValue> {
    let quota_us = match driver {
        CgroupDriver::Cgroupfs => quota_us,
        CgroupDriver::Systemd => systemd_quota(quota_us, period_us),
    };
    let mut files = Vec::new();
    match version {
        CgroupVersion::V1 => {
            if period_us != 0 {
                files.push(FileValue::new(CgroupFile::CpuCfsPeriod, version, period_us));
            }
            if quota_us != 0 {
                files.push(FileValue::new(CgroupFile::CpuCfsQuota, version, quota_us));
            }
        }
        CgroupVersion::V2 if quota_us == 0 && period_us == 0 => {}
        CgroupVersion::V2 => {
            let quota = if quota_us > 0 { quota_us.to_string() } else { "max".to_owned() };
            let period_us =
                if period_us == 0 { DEFAULT_PERIOD_US.cast_unsigned() } else { period_us };
            let text = format_args!("{quota} {period_us}");
            files.push(FileValue::new(CgroupFile::CpuMax, version, text));
        }
    }
    files
}

/// Returns the files that a memory limit is written to; 0 is "not set", -1 is "no limit".
///
/// On version 1 the value -1 also goes to `memory.memsw.limit_in_bytes`, where the kernel has that
/// file; this is left to the caller, who knows the kernel. Other negative numbers are written as they
/// are, and the kernel refuses them.
pub fn memory_files(bytes: i64, version: CgroupVersion) -> Vec<FileValue> {
    match (version, bytes) {
        (_, 0) => Vec::new(),
        (CgroupVersion::V2, -1) => [CgroupFile::MemoryMax, CgroupFile::MemorySwapMax]
            .map(|file| FileValue::new(file, version, file.no_limit(version)))
            .to_vec(),
        _ => vec![FileValue::new(CgroupFile::MemoryMax, version, bytes)],
    }
}

/// Returns the file that a limit of processes is written to: 0 becomes 1, a negative limit `max`.
pub fn pids_file(limit: i64) -> FileValue {
    let file =
        |text: &dyn fmt::Display| FileValue::new(CgroupFile::PidsMax, CgroupVersion::V2, text);
    match limit {
        0 => file(&1),
        1.. => file(&limit),
        _ => file(&"max"),
    }
}

/// Returns the two files that a limit of huge pages is written to, in the order of writing.
///
/// `page_size` is the kernel's text, such as `2MB`; see [`page_size_text`].
pub fn hugetlb_files(page_size: &str, bytes: u64, version: CgroupVersion) -> [FileValue; 2] {
    [CgroupFile::HugetlbMax, CgroupFile::HugetlbRsvdMax].map(|file| FileValue {
        file: file.sized_name(version, page_size).into(),
        value: bytes.to_string(),
    })
}

/// What the kubelet writes for no limit of huge pages at the QoS level: `hugePageLimit`, 2^62 bytes.
pub(crate) const UNBOUNDED_HUGEPAGES: i64 = 1 << 62;

/// A page size that the kubelet has no text for, and whose limit it leaves out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("size: {amount}{unit} must be guaranteed to divisible into the largest units")]
pub struct OddPageSize {
    /// What is left after dividing.
    pub amount: i64,
    /// The unit of what is left.
    pub unit: &'static str,
}

/// Returns the kernel's text of a page size, such as `2MB` for 2097152.
///
/// As `HugePageUnitSizeFromByteSize` in `pkg/apis/core/v1/helper/helpers.go`, oddities included: 0 is
/// `0PB`.
/// Fails where the kubelet drops the entry: more than 1024 of a unit other than the largest.
pub fn page_size_text(bytes: i64) -> Result<String, OddPageSize> {
    let (mut amount, mut index) = (bytes, 0);
    while amount % 1024 == 0 && index + 1 < PAGE_SIZE_UNITS.len() {
        amount /= 1024;
        index += 1;
    }
    let unit = PAGE_SIZE_UNITS[index];
    if amount > 1024 && index + 1 < PAGE_SIZE_UNITS.len() {
        return Err(OddPageSize { amount, unit });
    }
    Ok(format!("{amount}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn page_sizes_have_texts() {
        let cases = [
            ("usual", 2 << 20, Ok("2MB")),
            ("gigantic", 1 << 30, Ok("1GB")),
            ("arm", 64 << 10, Ok("64KB")),
            ("exactly 1024 of a unit moves on", 1 << 20, Ok("1MB")),
            ("bytes", 512, Ok("512B")),
            ("zero", 0, Ok("0PB")),
            ("negative", -5, Ok("-5B")),
            ("dropped", 1025, Err(OddPageSize { amount: 1025, unit: "B" })),
            ("largest unit is never dropped", 1 << 61, Ok("2048PB")),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(page_size_text(bytes), expected.map(str::to_owned), "{name}");
        }
    }

    #[test]
    fn other_texts_are_not_page_sizes() {
        for text in ["", "MB", "2", "2Mi", "2 MB", "-2MB", "99999999999999999999B", "99999PB"] {
            assert_eq!(page_size_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn files_follow_the_version() {
        use CgroupVersion::{V1, V2};
        let text = |files: &[FileValue]| {
            files.iter().map(|f| format!("{}={}", f.file, f.value)).collect::<Vec<_>>().join(" ")
        };
        let linear = WeightFormula::Linear;
        let cgroupfs = CgroupDriver::Cgroupfs;
        let cases = [
            ("nothing set", cpu_files(0, 0, V2, cgroupfs), ""),
            ("period alone", cpu_files(0, 50_000, V2, cgroupfs), "cpu.max=max 50000"),
            ("quota alone", cpu_files(5000, 0, V2, cgroupfs), "cpu.max=5000 100000"),
            ("v1 quota alone", cpu_files(-1, 0, V1, cgroupfs), "cpu.cfs_quota_us=-1"),
            ("no pids", vec![pids_file(0)], "pids.max=1"),
            ("some pids", vec![pids_file(7)], "pids.max=7"),
            ("any pids", vec![pids_file(-1)], "pids.max=max"),
            ("v1 shares", vec![shares_file(1024, V1, linear)], "cpu.shares=1024"),
            ("v2 shares", vec![shares_file(1024, V2, linear)], "cpu.weight=39"),
            (
                "v2 huge pages",
                hugetlb_files("2MB", 0, V2).to_vec(),
                "hugetlb.2MB.max=0 hugetlb.2MB.rsvd.max=0",
            ),
            (
                "v1 huge pages",
                hugetlb_files("1GB", 7, V1).to_vec(),
                "hugetlb.1GB.limit_in_bytes=7 hugetlb.1GB.rsvd.limit_in_bytes=7",
            ),
        ];
        for (name, files, expected) in cases {
            assert_eq!(text(&files), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn page_sizes_print_and_parse(amount in 1_i64..1024, shift in 0_u32..5) {
            let bytes = amount << (10 * shift);
            let text = page_size_text(bytes).expect("at most 1024 of a unit");
            prop_assert_eq!(page_size_bytes(&text), Some(bytes.cast_unsigned()));
        }
    }
}
