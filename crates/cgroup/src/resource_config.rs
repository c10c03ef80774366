//! The kubelet's settings for one of its own cgroups, and the files and properties that follow.
//!
//! Mirrors `ResourceConfig` and `toResources` of `pkg/kubelet/cm/cgroup_manager_linux.go` and the
//! `fs`, `fs2` and `systemd` managers of `opencontainers/cgroups` v0.0.6, read in 1.36.2; pinned by
//! the vectors `pod_cgroup.jsonl`, `qos_cgroup.jsonl` and `node_allocatable.jsonl`.

use crate::derivation::{Derived, Stated, Step};
use crate::files::{
    self, CgroupDriver, CgroupVersion, FileValue, hugetlb_files, page_size_text, pids_file,
};
use crate::rule::Rule;
use crate::settings::CgroupSettings;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::unit::Property;
use kq_facts::weight_formula::WeightFormula;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The settings of one cgroup. `None` is not set, which is different from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceConfig {
    pub cpu_shares: Option<Derived<u64>>,
    /// CPU time per period in microseconds; -1 is without limit.
    pub cpu_quota_us: Option<Derived<i64>>,
    /// The period in microseconds.
    pub cpu_period_us: Option<i64>,
    /// The memory limit in bytes.
    pub memory_limit: Option<Derived<i64>>,
    /// The most processes.
    pub pids_limit: Option<Derived<i64>>,
    /// Limits in bytes by page size in bytes.
    pub hugepage_limits: BTreeMap<i64, Derived<i64>>,
    /// The CPUs to run on.
    pub cpuset_cpus: Option<Derived<String>>,
    /// Files of cgroup v2 by name.
    pub unified: BTreeMap<&'static str, Derived<String>>,
}

/// A file that is written, and why it gets this text.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedFile {
    /// The file's name.
    pub file: Cow<'static, str>,
    /// The text.
    pub value: String,
    /// The steps to it.
    pub because: Vec<Step>,
}

impl ExplainedFile {
    /// Adds steps to a file's text.
    pub fn new(FileValue { file, value }: FileValue, because: Vec<Step>) -> Self {
        Self { file, value, because }
    }

    /// Adds the same steps to the texts of several files.
    pub(super) fn all(files: Vec<FileValue>, because: Vec<Step>) -> impl Iterator<Item = Self> {
        let copies = std::iter::repeat_n(because, files.len());
        files.into_iter().zip(copies).map(|(file, because)| Self::new(file, because))
    }

    /// Takes a file of cgroup v2 by its name.
    pub(super) fn unified((file, text): (&'static str, Derived<String>)) -> Self {
        Self { file: file.into(), value: text.value, because: text.because }
    }
}

impl ResourceConfig {
    /// Returns the files that are written, in the order of their controllers.
    ///
    /// A page size that the node lacks makes the write of huge pages fail, and everything after it is
    /// not written: see [`ResourceConfig::unsupported_hugepage_sizes`].
    pub fn files(self, settings: &CgroupSettings) -> Vec<ExplainedFile> {
        let version = settings.version;
        let stops_at_hugepages = !self.unsupported_hugepage_sizes(settings).is_empty();
        let mut written = Vec::with_capacity(8);
        if let Some(shares) = self.cpu_shares {
            written.push(shares_file(shares, version, KUBELET));
        }
        let period_us = self.cpu_period_us;
        let mut quota = self.cpu_quota_us;
        if settings.driver == CgroupDriver::Systemd && !settings.rules.writes_rounded_quota() {
            quota = quota.map(|quota| with_later_quota(quota, period_us));
        }
        written.extend(cpu_files(quota, period_us, version, settings.quota_driver()));
        if let Some(Derived { value: limit, because }) = self.memory_limit {
            written.extend(ExplainedFile::all(files::memory_files(limit, version), because));
        }
        let writes_none = settings.rules.writes_limit_of_no_process();
        let pids_limit = self.pids_limit.filter(|limit| limit.value != 0 || writes_none);
        if let Some(Derived { value: limit, because }) = pids_limit {
            written.push(ExplainedFile::new(pids_file(limit), because));
        }
        if let Some(Derived { value, because }) = self.cpuset_cpus {
            let file = CgroupFile::CpusetCpus.name(version).into();
            written.push(ExplainedFile { file, value, because });
        }
        if stops_at_hugepages {
            return written;
        }
        for size in &settings.hugepage_sizes {
            let asked = self
                .hugepage_limits
                .iter()
                .find(|(bytes, _)| page_size_text(**bytes).is_ok_and(|text| text == *size));
            let (limit, because) = match asked {
                Some((_, limit)) => (limit.value, limit.because.clone()),
                None => (0, vec![Rule::UnlistedHugepageSize.into()]),
            };
            let of_size = hugetlb_files(size, limit.cast_unsigned(), version).into();
            written.extend(ExplainedFile::all(of_size, because));
        }
        if version == CgroupVersion::V2 {
            written.extend(self.unified.into_iter().map(ExplainedFile::unified));
        }
        written
    }

    /// Returns the page sizes that are asked for and that the node does not have.
    pub fn unsupported_hugepage_sizes(&self, settings: &CgroupSettings) -> Vec<String> {
        let asked = self.hugepage_limits.keys().filter_map(|bytes| page_size_text(*bytes).ok());
        asked.filter(|size| !settings.hugepage_sizes.contains(size)).collect()
    }

    /// Returns the properties that systemd sets on the slice; `u64::MAX` is `infinity`.
    pub fn systemd_properties(
        &self,
        settings: &CgroupSettings,
    ) -> BTreeMap<&'static str, Property> {
        let mut properties = BTreeMap::new();
        let CgroupSettings { version, rules, .. } = *settings;
        let v2 = version == CgroupVersion::V2;
        if let Some(limit) = self.memory_limit.as_ref().filter(|limit| limit.value != 0) {
            let name = if v2 { "MemoryMax" } else { "MemoryLimit" };
            properties.insert(name, Property::Number(limit.value.cast_unsigned()));
        }
        if let Some(Derived { value: shares, .. }) = self.cpu_shares {
            let (name, value) = if v2 {
                ("CPUWeight", WeightFormula::Linear.weight(shares))
            } else {
                ("CPUShares", shares)
            };
            properties.insert(name, Property::Number(value));
        }
        let quota_us = self.cpu_quota_us.as_ref().map_or(0, |quota| quota.value);
        let period_us = self.cpu_period_us.unwrap_or(0);
        if period_us != 0 {
            properties.insert("CPUQuotaPeriodUSec", Property::Number(period_us.cast_unsigned()));
        }
        if quota_us != 0 || period_us != 0 {
            let per_second =
                crate::cpu::systemd_quota_per_second(quota_us, period_us.cast_unsigned());
            properties
                .insert("CPUQuotaPerSecUSec", Property::Number(per_second.unwrap_or(u64::MAX)));
        }
        let pids_limit = self.pids_limit.as_ref();
        if let Some(limit) =
            pids_limit.filter(|limit| limit.value != 0 || rules.writes_limit_of_no_process())
        {
            // systemd does not take 0. The library asks it for 1, and writes 1 itself (`setPids`,
            // `fs2/pids.go` of `opencontainers/cgroups`).
            let most = match limit.value {
                0 => 1,
                limit => u64::try_from(limit).unwrap_or(u64::MAX),
            };
            properties.insert("TasksMax", Property::Number(most));
        }
        if let Some(cpus) = &self.cpuset_cpus {
            let set = cpus.value.parse().unwrap_or_default();
            properties.insert("AllowedCPUs", Property::of_set(&set));
        }
        if v2 {
            for (file, text) in &self.unified {
                let known = CgroupFile::named(file);
                if let (Some(known), Ok(number)) = (known, text.value.parse()) {
                    let named = known.row().properties.iter();
                    properties.extend(named.map(|name| (*name, Property::Number(number))));
                }
            }
        }
        properties
    }
}

/// The program that converts shares to a weight, and its formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightWriter {
    /// `kubelet` or `runtime`.
    pub writer: &'static str,
    pub formula: WeightFormula,
    /// The formula is assumed.
    pub assumed: bool,
}

/// The kubelet itself, in every version.
const KUBELET: WeightWriter =
    WeightWriter { writer: "kubelet", formula: WeightFormula::Linear, assumed: false };

/// Returns the file of shares with the formula as the last step on cgroup v2.
pub fn shares_file(
    shares: Derived<u64>,
    version: CgroupVersion,
    WeightWriter { writer, formula, assumed }: WeightWriter,
) -> ExplainedFile {
    let Derived { value: shares, mut because } = shares;
    let file = files::shares_file(shares, version, formula);
    if version == CgroupVersion::V2 {
        let weight = formula.weight(shares);
        let otherwise = assumed.then(|| formula.other().weight(shares));
        because.push(Step::SharesToWeight { shares, formula, writer, otherwise, weight });
    }
    ExplainedFile::new(file, because)
}

/// Adds what systemd makes of a quota that is written as it was asked for.
fn with_later_quota(mut quota: Derived<i64>, period_us: Option<i64>) -> Derived<i64> {
    let asked_us = quota.value;
    let later_us = crate::cpu::systemd_quota(asked_us, period_us.unwrap_or(0).cast_unsigned());
    if later_us != asked_us {
        quota.because.push(Step::SystemdQuotaLater { asked_us, later_us });
    }
    quota
}

/// Returns the files of quota and period, with systemd's rounding as the last step where it rounds.
pub fn cpu_files(
    quota_us: Option<Derived<i64>>,
    period_us: Option<i64>,
    version: CgroupVersion,
    driver: CgroupDriver,
) -> impl Iterator<Item = ExplainedFile> {
    let period_us = period_us.unwrap_or(0).cast_unsigned();
    let (asked_us, mut because) =
        quota_us.map_or((0, Vec::new()), |quota| (quota.value, quota.because));
    if driver == CgroupDriver::Systemd {
        let kept_us = crate::cpu::systemd_quota(asked_us, period_us);
        if kept_us != asked_us {
            because.push(Step::SystemdQuota { asked_us, kept_us });
        }
    }
    files::cpu_files(asked_us, period_us, version, driver).into_iter().map(move |file| {
        // Only one of the files has the quota.
        let because = if CgroupFile::named(&file.file) == Some(CgroupFile::CpuCfsPeriod) {
            let value = Stated::Microseconds(period_us);
            vec![Step::Given { field: "cpuCFSQuotaPeriod".into(), value }]
        } else {
            std::mem::take(&mut because)
        };
        ExplainedFile::new(file, because)
    })
}
