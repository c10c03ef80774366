//! The kernel's cgroup files that kq knows: one row for each, with all that depends on the file alone.
//!
//! Defaults and rounding as in `kernel/sched/core.c`, `mm/memcontrol.c`, `mm/hugetlb_cgroup.c` and
//! `mm/page_counter.c` of Linux 6.12.

use crate::cgroup_mode::CgroupVersion;
use crate::unit::{Properties, Property};
use kq_answer::cgroup_fact::CgroupFact;
use kq_k8s::feature_gates::Gate;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// All that depends on a file alone.
#[derive(Debug)]
pub struct Row {
    /// The name on cgroup v1; `SIZE` stands for a page size.
    pub v1: Option<&'static str>,
    /// The name on cgroup v2.
    pub v2: Option<&'static str>,
    /// The controller; on cgroup v1 it has its own hierarchy.
    pub controller: &'static str,
    pub used_for: FileUse,
    /// Its unit.
    pub holds: Holds,
    /// The kernel's text where nothing was written; `None`: it depends on the cgroups around.
    pub untouched: Option<&'static str>,
    /// The file that counts what this one limits.
    pub counted_in: Option<CgroupFile>,
    /// The properties through which systemd writes it.
    pub properties: &'static [&'static str],
    /// The table of a plan has a column for it.
    pub in_plan: bool,
    /// The tables of the live tree that have a column for it.
    pub in_show: Option<Width>,
    /// The premises of its text in every container, besides the pod.
    pub rests_on: &'static [Premise],
    /// Its purpose; `None`: kq has no explanation.
    pub purpose: Option<&'static str>,
    /// Runtimes set it in containers by their own configuration.
    pub set_by_runtime: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The kubelet sets it, or in a container the runtime.
    Setting,
    /// The kernel counts in it.
    Usage,
    /// The kernel computes detailed counters for it, which takes time. Read down to the pods only.
    Statistics,
    /// It names the processes.
    Processes,
    /// It says whether there are processes in the cgroup or below. Read next to the cgroup of all pods only.
    Population,
    /// It belongs to a process and not to a cgroup.
    OfProcess,
}

/// The unit of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A number that the kernel keeps as it is.
    Number,
    /// Bytes, of which the kernel keeps whole pages.
    Bytes,
    /// Bytes, of which the kernel keeps whole huge pages of the size in the file's name.
    HugePages,
    /// Microseconds of CPU time per period, which systemd rounds.
    Quota,
    /// The same, and the period.
    QuotaAndPeriod,
    /// CPUs, or memory nodes.
    Set,
    Text,
}

/// The tables that have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Every,
    Wide,
}

/// Something that the text of a file rests on, besides the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Premise {
    /// A fact about the node.
    Fact(CgroupFact),
    /// A field of the kubelet's configuration.
    Field(&'static str),
    /// A feature gate: the configuration, or the default of the version.
    Gate(Gate),
    /// A rule that kubelets have since a minor version.
    Since(u32),
    /// The component that rounds quotas.
    Rounding,
}

macro_rules! files {
    ($($file:ident = $row:expr,)*) => {
        /// A file of a cgroup, or of a process in it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the variants are the kernel's names, and their rows are below")]
        pub enum CgroupFile { $($file),* }

        impl CgroupFile {
            pub const ALL: &[Self] = &[$(Self::$file),*];
        }

        const ROWS: &[Row] = &[$($row),*];
    };
}

files! {
    CpuShares = Row {
        v1: Some("cpu.shares"), untouched: Some("1024"), properties: &["CPUShares"], in_plan: true,
        in_show: Some(Width::Every), purpose: Some(WEIGHT), ..setting("cpu", Holds::Number)
    },
    CpuWeight = Row {
        v2: Some("cpu.weight"), untouched: Some("100"), properties: &["CPUWeight"], in_plan: true,
        in_show: Some(Width::Every), purpose: Some(WEIGHT), ..setting("cpu", Holds::Number)
    },
    CpuMax = Row {
        v2: Some("cpu.max"), untouched: Some("max 100000"), properties: QUOTA_PROPERTIES,
        in_plan: true, in_show: Some(Width::Every), purpose: Some(QUOTA),
        ..setting("cpu", Holds::QuotaAndPeriod)
    },
    CpuCfsQuota = Row {
        v1: Some("cpu.cfs_quota_us"), untouched: Some("-1"), properties: QUOTA_PROPERTIES,
        in_plan: true, purpose: Some(QUOTA), ..setting("cpu", Holds::Quota)
    },
    CpuCfsPeriod = Row {
        v1: Some("cpu.cfs_period_us"), untouched: Some("100000"), properties: QUOTA_PROPERTIES,
        purpose: Some("length of the period in which the quota may be used up"),
        ..setting("cpu", Holds::Number)
    },
    CpuStat = usage("cpu", Some("cpu.stat"), Some("cpu.stat")),
    CpuPressure = usage("cpu", None, Some("cpu.pressure")),
    CpuacctUsage = usage("cpuacct", Some("cpuacct.usage"), None),
    CpusetCpus = Row {
        v1: Some("cpuset.cpus"), v2: Some("cpuset.cpus"), untouched: None,
        properties: &["AllowedCPUs"], in_show: Some(Width::Wide),
        purpose: Some("the CPUs that its processes may run on"), ..setting("cpuset", Holds::Set)
    },
    CpusetMems = Row {
        v1: Some("cpuset.mems"), v2: Some("cpuset.mems"), untouched: None,
        purpose: Some("the NUMA nodes that its memory may come from"), ..setting("cpuset", Holds::Set)
    },
    MemoryMax = Row {
        v1: Some("memory.limit_in_bytes"), v2: Some("memory.max"),
        counted_in: Some(CgroupFile::MemoryCurrent), properties: &["MemoryLimit", "MemoryMax"],
        in_plan: true, in_show: Some(Width::Every),
        purpose: Some("the most memory in use; at the limit the kernel reclaims, then kills"),
        ..setting("memory", Holds::Bytes)
    },
    MemoryMin = Row {
        v2: Some("memory.min"), untouched: Some("0"), properties: &["MemoryMin"], in_plan: true,
        in_show: Some(Width::Wide), purpose: Some("memory that is never reclaimed from it"),
        ..setting("memory", Holds::Bytes)
    },
    MemoryLow = Row {
        v2: Some("memory.low"), untouched: Some("0"), properties: &["MemoryLow"], in_plan: true,
        in_show: Some(Width::Wide),
        purpose: Some("memory that is reclaimed from it only when no other cgroup has any"),
        ..setting("memory", Holds::Bytes)
    },
    MemoryHigh = Row {
        v2: Some("memory.high"), counted_in: Some(CgroupFile::MemoryCurrent), in_plan: true,
        in_show: Some(Width::Wide),
        purpose: Some("the memory above which the kernel slows down and reclaims, without killing"),
        ..setting("memory", Holds::Bytes)
    },
    MemorySwapMax = Row {
        v2: Some("memory.swap.max"), counted_in: Some(CgroupFile::MemorySwapCurrent), in_plan: true,
        in_show: Some(Width::Wide),
        rests_on: &[Premise::Field("memorySwap"), Premise::Fact(CgroupFact::SwapController)],
        purpose: Some("the most swap in use, memory not counted"), ..setting("memory", Holds::Bytes)
    },
    MemoryOomGroup = Row {
        v2: Some("memory.oom.group"), untouched: Some("0"),
        rests_on: &[Premise::Field("singleProcessOOMKill")],
        purpose: Some("whether the out-of-memory killer takes all processes of the cgroup"),
        ..setting("memory", Holds::Number)
    },
    MemoryMemswLimit = Row {
        v1: Some("memory.memsw.limit_in_bytes"),
        rests_on: &[Premise::Fact(CgroupFact::SwapController)],
        purpose: Some("the most memory and swap in use together"), ..setting("memory", Holds::Bytes)
    },
    MemorySoftLimit = Row {
        v1: Some("memory.soft_limit_in_bytes"), ..setting("memory", Holds::Bytes)
    },
    MemoryCurrent = usage("memory", Some("memory.usage_in_bytes"), Some("memory.current")),
    MemorySwapCurrent = usage("memory", None, Some("memory.swap.current")),
    MemoryEvents = usage("memory", Some("memory.oom_control"), Some("memory.events")),
    MemoryPressure = usage("memory", None, Some("memory.pressure")),
    MemoryStat = Row {
        used_for: FileUse::Statistics, ..usage("memory", Some("memory.stat"), Some("memory.stat"))
    },
    PidsMax = Row {
        // Set by runtimes: `pids_limit` of CRI-O, and `DefaultTasksMax` of systemd in every scope that it makes.
        v1: Some("pids.max"), v2: Some("pids.max"), counted_in: Some(CgroupFile::PidsCurrent),
        properties: &["TasksMax"], in_plan: true, in_show: Some(Width::Every),
        purpose: Some("the most processes and threads; beyond it fork fails"), set_by_runtime: true,
        ..setting("pids", Holds::Number)
    },
    PidsCurrent = usage("pids", Some("pids.current"), Some("pids.current")),
    HugetlbMax = Row {
        v1: Some("hugetlb.SIZE.limit_in_bytes"), v2: Some("hugetlb.SIZE.max"),
        purpose: Some("the most huge pages of this size in use"),
        ..setting("hugetlb", Holds::HugePages)
    },
    HugetlbRsvdMax = Row {
        v1: Some("hugetlb.SIZE.rsvd.limit_in_bytes"), v2: Some("hugetlb.SIZE.rsvd.max"),
        purpose: Some("the most huge pages of this size that may be reserved by mappings"),
        ..setting("hugetlb", Holds::HugePages)
    },
    IoPressure = usage("io", None, Some("io.pressure")),
    CgroupProcs = Row {
        used_for: FileUse::Processes, ..usage("", Some("cgroup.procs"), Some("cgroup.procs"))
    },
    CgroupEvents = Row {
        used_for: FileUse::Population, ..usage("", None, Some("cgroup.events"))
    },
    OomScoreAdj = Row {
        used_for: FileUse::OfProcess, in_plan: true,
        purpose: Some("added to a process's share of memory, in thousandths, when one is chosen to be killed"),
        ..usage("process", Some("oom_score_adj"), Some("oom_score_adj"))
    },
}

const WEIGHT: &str =
    "share of CPU time against its siblings, when the CPUs are busy; no limit when they are not";
const QUOTA: &str = "CPU time that may be used in each period, over all CPUs";
const QUOTA_PROPERTIES: &[&str] = &["CPUQuotaPeriodUSec", "CPUQuotaPerSecUSec"];

/// A file with a setting, without its names; its default is no limit.
const fn setting(controller: &'static str, holds: Holds) -> Row {
    Row {
        v1: None,
        v2: None,
        controller,
        used_for: FileUse::Setting,
        holds,
        untouched: Some("max"),
        counted_in: None,
        properties: &[],
        in_plan: false,
        in_show: None,
        rests_on: &[],
        purpose: None,
        set_by_runtime: false,
    }
}

/// A file in which the kernel counts, with its names on cgroup v1 and v2.
const fn usage(
    controller: &'static str,
    v1: Option<&'static str>,
    v2: Option<&'static str>,
) -> Row {
    let row = setting(controller, Holds::Text);
    Row { v1, v2, used_for: FileUse::Usage, untouched: None, ..row }
}

/// The part of a name that stands for a page size.
const SIZE: &str = "SIZE";

impl CgroupFile {
    /// Returns all that depends on the file alone.
    pub const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the file of a name, on whichever version of cgroups.
    pub fn named(name: &str) -> Option<Self> {
        static WITHOUT_SIZE: LazyLock<BTreeMap<&str, CgroupFile>> = LazyLock::new(|| {
            let names = |file: CgroupFile| [file.row().v1, file.row().v2].into_iter().flatten();
            let files = CgroupFile::ALL.iter().filter(|file| !file.has_size());
            files.flat_map(|file| names(*file).map(|name| (name, *file))).collect()
        });
        let is =
            |file: &&Self| file.has_name(file.row().v1, name) || file.has_name(file.row().v2, name);
        let sized = || Self::ALL.iter().filter(|file| file.has_size()).find(is);
        WITHOUT_SIZE.get(name).or_else(sized).copied()
    }

    /// Returns the file of a cgroup that has this name on this version.
    pub fn known(version: CgroupVersion, name: &str) -> Option<Self> {
        let is = |file: &&Self| file.has_name(file.name_on(version), name);
        Self::ALL.iter().find(is).copied().filter(|file| file.row().used_for != FileUse::OfProcess)
    }

    /// Returns the file in which something of a cgroup is set that has this name on this version.
    pub fn setting(version: CgroupVersion, name: &str) -> Option<Self> {
        Self::known(version, name).filter(|file| file.row().used_for == FileUse::Setting)
    }

    fn has_name(self, pattern: Option<&str>, name: &str) -> bool {
        let Some(pattern) = pattern else { return false };
        pattern == name
            || (self.has_size()
                && pattern.split_once(SIZE).is_some_and(|(start, end)| {
                    let size = name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
                    size.is_some_and(|size| !size.is_empty() && !size.contains('.'))
                }))
    }

    /// Returns the name on a version of cgroups; `None`: that has no such file.
    pub const fn name_on(self, version: CgroupVersion) -> Option<&'static str> {
        match version {
            CgroupVersion::V1 => self.row().v1,
            CgroupVersion::V2 => self.row().v2,
        }
    }

    /// Returns the name on a version of cgroups, or on the only one that has the file.
    pub const fn name(self, version: CgroupVersion) -> &'static str {
        match (self.name_on(version), self.row().v1, self.row().v2) {
            (Some(name), ..) | (None, Some(name), _) | (None, None, Some(name)) => name,
            (None, None, None) => "",
        }
    }

    /// Returns the name on cgroup v2, or on v1 if only that has the file.
    pub const fn v2_name(self) -> &'static str {
        self.name(CgroupVersion::V2)
    }

    /// Returns the name with a page size in it, such as `2MB`.
    pub fn sized_name(self, version: CgroupVersion, size: &str) -> String {
        self.name(version).replace(SIZE, size)
    }

    /// Returns the version that alone has a file of this name; `None`: both have.
    pub fn only_on(self, name: &str) -> Option<CgroupVersion> {
        let [v1, v2] = [self.row().v1, self.row().v2].map(|known| self.has_name(known, name));
        match (v1, v2) {
            (true, false) => Some(CgroupVersion::V1),
            (false, true) => Some(CgroupVersion::V2),
            _ => None,
        }
    }

    /// Returns true if it holds bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self.row().holds, Holds::Bytes | Holds::HugePages)
    }

    /// Returns true if its name has a page size in it.
    pub fn has_size(self) -> bool {
        self.row().holds == Holds::HugePages
    }
}

/// Returns the controllers whose hierarchies are read on cgroup v1, in order.
pub fn v1_controllers() -> BTreeSet<&'static str> {
    let is_read = |row: &&Row| !matches!(row.used_for, FileUse::Processes | FileUse::OfProcess);
    ROWS.iter().filter(is_read).filter_map(|row| row.v1.map(|_| row.controller)).collect()
}

/// The kernel's files, and systemd's properties for them, for those who change them.
pub trait CgroupFiles {
    /// Returns the text of a file without its line end; `None`: it is not there, or not any more.
    fn read(&self, cgroup: &str, file: &str) -> Result<Option<String>, String>;

    /// Writes a text to a file.
    fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String>;

    /// Returns a property of the unit of systemd that is a cgroup, as systemd has it.
    fn property(&self, _cgroup: &str, _name: &str) -> Result<Property, String> {
        Err(NO_SYSTEMD.to_owned())
    }

    /// Sets properties of the unit of systemd that is a cgroup, until the machine or the unit ends. systemd writes the
    /// files.
    fn set_properties(&self, _cgroup: &str, _properties: &Properties) -> Result<(), String> {
        Err(NO_SYSTEMD.to_owned())
    }
}

/// Why files alone have no properties.
const NO_SYSTEMD: &str = "systemd is not asked";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup_value::Value;
    use CgroupVersion::{V1, V2};

    #[test]
    fn names_and_rows_agree() {
        for file in CgroupFile::ALL {
            for version in [V1, V2] {
                let Some(name) = file.name_on(version) else { continue };
                let name = name.replace(SIZE, "2MB");
                assert_eq!(CgroupFile::named(&name), Some(*file), "{name}");
                let is_of_cgroup = file.row().used_for != FileUse::OfProcess;
                let known = CgroupFile::known(version, &name);
                assert_eq!(known, is_of_cgroup.then_some(*file), "{name}");
                assert!(!name.is_empty() && name.contains(['.', '_']), "{file:?}");
            }
            let own = file.row().untouched.map(|text| file.value(text));
            assert!(own != Some(Value::Other), "{file:?} is read as what it holds at first");
        }
    }

    #[test]
    fn files_are_found_by_name() {
        for (case, version, name, expected) in [
            ("a limit", V1, "hugetlb.2MB.limit_in_bytes", Some(CgroupFile::HugetlbMax)),
            (
                "a reservation",
                V1,
                "hugetlb.1GB.rsvd.limit_in_bytes",
                Some(CgroupFile::HugetlbRsvdMax),
            ),
            ("usage of huge pages", V1, "hugetlb.2MB.usage_in_bytes", None),
            ("no size", V2, "hugetlb..max", None),
            ("the other version", V1, "memory.max", None),
            ("processes", V1, "cgroup.procs", Some(CgroupFile::CgroupProcs)),
            ("a file of a process", V2, "oom_score_adj", None),
        ] {
            assert_eq!(CgroupFile::known(version, name), expected, "{case}");
        }
    }

    #[test]
    fn every_controller_has_its_hierarchy_on_v1() {
        let expected = ["cpu", "cpuacct", "cpuset", "hugetlb", "memory", "pids"];
        assert!(v1_controllers().into_iter().eq(expected));
    }
}
