//! The facts that the texts hold, read as cadvisor and the kubelet read them.
//!
//! The texts, and why one is unavailable or invalid.

use super::{
    BOOT_ID, CGROUP_CONTROLLERS, CPUS_ONLINE, DBUS_MACHINE_ID, HUGEPAGES, INIT_MOUNTINFO,
    KERNEL_RELEASE, LOADAVG, MACHINE_ID, MEMINFO, MEMSW_LIMIT, NUMA_NODES, OWN_MOUNTINFO, PID_MAX,
    PROC_CGROUPS, PROC_STAT, SWAP_GROUPS, THREADS_MAX, listing, memory_max, numa_huge_pages,
    swap_max,
};
use crate::cgroup_layout::CgroupLayout;
use crate::cgroup_mode::CgroupVersion;
use crate::mounts::Mounts;
use kq_k8s::cpuset::CpuSet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

type Answer<T> = Result<T, HostFactError>;

/// A NUMA node of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaNode {
    /// Its number.
    pub id: i64,
    /// Its CPUs; none for a node of memory only.
    pub cpus: CpuSet,
    pub memory_bytes: i64,
}

impl HostFacts {
    /// Returns the CPUs that run.
    /// Fails for a text that was not read or is not a list of CPUs.
    pub fn cpus(&self) -> Answer<CpuSet> {
        let cpus = self.cpu_list(CPUS_ONLINE)?;
        if cpus.is_empty() {
            return Err(HostFactError::invalid(CPUS_ONLINE, "", "expected a list of CPUs"));
        }
        Ok(cpus)
    }

    /// Returns the machine's memory: `MemTotal`, as `GetMachineMemoryCapacity` of cadvisor does.
    /// Fails for a text that was not read or does not contain it.
    pub fn memory_bytes(&self) -> Answer<i64> {
        kilobytes(MEMINFO, self.text(MEMINFO)?, "MemTotal:")
    }

    /// Returns the machine's swap: `SwapTotal`, as `GetMachineSwapCapacity` of cadvisor does.
    /// Fails for a text that was not read or does not contain it.
    pub fn swap_bytes(&self) -> Answer<i64> {
        kilobytes(MEMINFO, self.text(MEMINFO)?, "SwapTotal:")
    }

    /// Returns how many tasks there are (`runningTaskCount`, `pkg/kubelet/stats/pidlimit`).
    pub fn tasks(&self) -> Option<i64> {
        let fields = self.text(LOADAVG).ok()?.split_whitespace().nth(3)?;
        fields.split_once('/')?.1.parse().ok()
    }

    /// Returns the memory set aside for huge pages, by the size of the page as Kubernetes writes it:
    /// `2Mi`. A kernel without huge pages has none (`GetHugePagesInfo` of cadvisor).
    /// Fails for a text that was not read or is not a number.
    pub fn hugepages(&self) -> Answer<BTreeMap<String, i64>> {
        let mut pages = BTreeMap::new();
        let names = match self.text(&listing(HUGEPAGES)) {
            Err(error) if error.is_absent() => return Ok(pages),
            names => names?,
        };
        for name in names.lines() {
            let Some(size) = name.strip_prefix("hugepages-") else { continue };
            let bytes = size
                .strip_suffix("kB")
                .and_then(positive)
                .and_then(|kilobytes| kilobytes.checked_mul(1024))
                .ok_or_else(|| HostFactError::invalid(HUGEPAGES, name, "expected a size in kB"))?;
            let path = format!("{HUGEPAGES}/{name}/nr_hugepages");
            let count = self.number(&path)?;
            let total = bytes.checked_mul(count).ok_or_else(|| {
                HostFactError::invalid(&path, &count.to_string(), "more pages than memory can hold")
            })?;
            pages.insert(page_size_name(bytes), total);
        }
        Ok(pages)
    }

    /// Returns how many processes there can be: the smaller of `pid_max` and `threads-max`, as `Stats`
    /// in `pkg/kubelet/stats/pidlimit/pidlimit_linux.go` of Kubernetes computes it; where one of the
    /// files is not there, the other one counts.
    /// Fails for a text that was not read or is not a number, and if neither file exists.
    pub fn pid_limit(&self) -> Answer<i64> {
        match (self.number(PID_MAX), self.number(THREADS_MAX)) {
            (Ok(pids), Ok(threads)) => Ok(pids.min(threads)),
            (Ok(only), Err(error)) | (Err(error), Ok(only)) if error.is_absent() => Ok(only),
            (Err(first), Err(second)) if first.is_absent() => Err(second),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// Returns the NUMA nodes in order of their numbers.
    /// Fails for a text that was not read, and for one of another format.
    pub fn numa_nodes(&self) -> Answer<Vec<NumaNode>> {
        let mut nodes = Vec::new();
        for name in self.text(&listing(NUMA_NODES))?.lines() {
            let Some(id) = name.strip_prefix("node").and_then(positive_or_zero) else { continue };
            let meminfo = format!("{NUMA_NODES}/{name}/meminfo");
            nodes.push(NumaNode {
                id,
                cpus: self.cpu_list(&format!("{NUMA_NODES}/{name}/cpulist"))?,
                memory_bytes: kilobytes(&meminfo, self.text(&meminfo)?, "MemTotal:")?,
            });
        }
        nodes.sort_by_key(|node| node.id);
        Ok(nodes)
    }

    /// Returns the huge pages of each NUMA node: how many there are of each size in KiB. A NUMA node without the folder
    /// has none (`GetNodesInfo` of cadvisor).
    /// Fails for a text that was not read or is not a number. Where nothing was read below the NUMA nodes, the pages of the
    /// machine tell if there is one NUMA node, or no page.
    pub fn numa_huge_pages(&self) -> Answer<BTreeMap<i64, BTreeMap<u64, u64>>> {
        let mut of_nodes = BTreeMap::new();
        let names = self.text(&listing(NUMA_NODES))?;
        let ids = names
            .lines()
            .filter_map(|name| Some((name, name.strip_prefix("node").and_then(positive_or_zero)?)));
        for (name, id) in ids {
            let folder = numa_huge_pages(name);
            let pages = match self.pages_of(&folder) {
                Err(HostFactError::NotRead { path }) => {
                    return self.pages_of_machine().ok_or(HostFactError::NotRead { path });
                }
                pages => pages?,
            };
            of_nodes.insert(id, pages);
        }
        Ok(of_nodes)
    }

    /// Returns the pages of the NUMA nodes, as far as those of the machine show them.
    fn pages_of_machine(&self) -> Option<BTreeMap<i64, BTreeMap<u64, u64>>> {
        let pages = self.pages_of(HUGEPAGES).ok()?;
        let nodes = self.numa_nodes().ok()?;
        let is_clear = nodes.len() == 1 || pages.values().all(|count| *count == 0);
        is_clear.then(|| nodes.iter().map(|node| (node.id, pages.clone())).collect())
    }

    /// Returns how many huge pages of each size in KiB a folder lists.
    fn pages_of(&self, folder: &str) -> Answer<BTreeMap<u64, u64>> {
        let names = match self.text(&listing(folder)) {
            Err(error) if error.is_absent() => return Ok(BTreeMap::new()),
            names => names?,
        };
        let sizes = names.lines().filter_map(|name| Some((name, name.strip_prefix("hugepages-")?)));
        sizes
            .map(|(name, size)| {
                let size = size
                    .strip_suffix("kB")
                    .and_then(positive)
                    .ok_or_else(|| HostFactError::invalid(folder, name, "expected a size in kB"))?;
                let count = self.number(&format!("{folder}/{name}/nr_hugepages"))?;
                // Neither is negative.
                Ok((size.unsigned_abs(), count.unsigned_abs()))
            })
            .collect()
    }

    /// Returns the kernel's version: `6.1.0-18-amd64`.
    /// Fails for a text that was not read or is not a word.
    pub fn kernel_release(&self) -> Answer<&str> {
        self.word(KERNEL_RELEASE)
    }

    /// Returns the machine's number, from the first of both files that can be read.
    /// Fails if neither can be read, and for a text that is not a word.
    pub fn machine_id(&self) -> Answer<&str> {
        match (self.text(MACHINE_ID), self.text(DBUS_MACHINE_ID)) {
            (Ok(_), _) => self.word(MACHINE_ID),
            (Err(_), Ok(_)) => self.word(DBUS_MACHINE_ID),
            (Err(first), Err(second)) => Err(if first.is_absent() { second } else { first }),
        }
    }

    /// Returns the number of the boot.
    /// Fails for a text that was not read or is not a word.
    pub fn boot_id(&self) -> Answer<&str> {
        self.word(BOOT_ID)
    }

    /// Returns when the kernel started, in seconds since 1970.
    /// Fails for a text that was not read or does not contain it.
    pub fn boot_time(&self) -> Answer<i64> {
        let text = self.text(PROC_STAT)?;
        let line = text.lines().find_map(|line| line.strip_prefix("btime "));
        line.and_then(|line| positive(line.trim())).ok_or_else(|| {
            HostFactError::invalid(
                PROC_STAT,
                line.unwrap_or(text),
                "expected the line btime SECONDS",
            )
        })
    }

    /// Returns what is mounted on the node.
    /// Fails for a text that was not read.
    pub fn mounts(&self) -> Answer<Mounts> {
        self.text(self.mountinfo()).map(Mounts::parse)
    }

    /// Returns the table of mounts that was read: where the node's root is not kq's own, only the first
    /// process's describes the node.
    fn mountinfo(&self) -> &'static str {
        if self.text(OWN_MOUNTINFO).is_ok() { OWN_MOUNTINFO } else { INIT_MOUNTINFO }
    }

    /// Returns where cgroups are mounted.
    /// Fails for a text that was not read or is none of mounts.
    pub fn cgroup_layout(&self) -> Answer<CgroupLayout> {
        let path = self.mountinfo();
        let text = self.text(path)?;
        CgroupLayout::parse(text).map_err(|error| {
            let line = text.lines().nth(error.line - 1).unwrap_or("");
            HostFactError::invalid(path, line, error.to_string())
        })
    }

    /// Returns the controllers that the kernel has and has not turned off: those of the unified
    /// hierarchy's root, and without such a root those of cgroup v1.
    /// Fails for a text that was not read or is not a list of controllers.
    pub fn enabled_controllers(&self) -> Answer<BTreeSet<String>> {
        match self.text(CGROUP_CONTROLLERS) {
            Err(error) if error.is_absent() => {}
            text => return Ok(text?.split_whitespace().map(str::to_owned).collect()),
        }
        let mut enabled = BTreeSet::new();
        for line in self.text(PROC_CGROUPS)?.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            match fields.as_slice() {
                [name, _, _, "1"] => {
                    enabled.insert((*name).to_owned());
                }
                [_, _, _, "0"] => {}
                _ => {
                    let problem = "expected a controller, two numbers, and 0 or 1";
                    return Err(HostFactError::invalid(PROC_CGROUPS, line, problem));
                }
            }
        }
        Ok(enabled)
    }

    /// Returns true if the kernel can limit swap by cgroup, by the rule of `isSwapControllerAvailable` in
    /// the kubelet's runtime manager: the file of the limit exists. On cgroup v2 the kubelet looks into
    /// its own group; kq looks into the groups that a node has, of which one with the memory controller
    /// decides.
    /// Fails if the mounts are unknown, or no group could be read.
    pub fn swap_controller(&self) -> Answer<bool> {
        let version = self.cgroup_layout()?.version();
        if version == Some(CgroupVersion::V1) {
            return self.exists(MEMSW_LIMIT);
        }
        if !self.enabled_controllers()?.contains("memory") {
            return Ok(false);
        }
        let mut decided = None;
        let mut failed = None;
        for group in SWAP_GROUPS {
            match (self.exists(&swap_max(group)), self.exists(&memory_max(group))) {
                (Ok(true), _) => return Ok(true),
                (Ok(false), Ok(true)) => decided = Some(false),
                (Ok(false), Ok(false)) => {}
                (Err(error), _) | (_, Err(error)) => failed = Some(error),
            }
        }
        match (failed, decided) {
            (_, Some(answer)) => Ok(answer),
            (Some(error), None) => Err(error),
            (None, None) => Err(HostFactError::Unreadable {
                path: "/sys/fs/cgroup".to_owned(),
                reason: format!(
                    "none of the groups {} has the memory controller",
                    SWAP_GROUPS.join(", ")
                ),
            }),
        }
    }

    fn exists(&self, path: &str) -> Answer<bool> {
        match self.text(path) {
            Ok(_) => Ok(true),
            Err(error) if error.is_absent() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn number(&self, path: &str) -> Answer<i64> {
        let text = self.text(path)?.trim_end();
        positive_or_zero(text)
            .ok_or_else(|| HostFactError::invalid(path, text, "expected a number"))
    }

    fn word(&self, path: &str) -> Answer<&str> {
        const LONGEST: usize = 256;
        let text = self.text(path)?.trim();
        if text.is_empty() || text.len() > LONGEST || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(HostFactError::invalid(path, text, "expected one word"));
        }
        Ok(text)
    }

    pub(super) fn cpu_list(&self, path: &str) -> Answer<CpuSet> {
        let text = self.text(path)?.trim_end();
        // The kernel counts upwards. What does not is none of its lists, and could name the same CPUs
        // over and over, which costs time.
        let mut before = None;
        for part in text.split([',', '-']).filter(|_| !text.is_empty()) {
            let number = positive_or_zero(part).filter(|number| *number < CpuSet::MOST);
            if number.is_none() || number <= before && before.is_some() {
                let problem = "expected CPUs in order, such as 0-3,7";
                return Err(HostFactError::invalid(path, text, problem));
            }
            before = number;
        }
        text.parse().map_err(|error| HostFactError::invalid(path, text, format!("{error}")))
    }
}

/// Finds `NAME   NUMBER kB` and returns bytes; the first one counts.
fn kilobytes(path: &str, text: &str, name: &str) -> Answer<i64> {
    let Some((_, rest)) = text.split_once(name) else {
        return Err(HostFactError::invalid(path, text, format!("expected a line with {name}")));
    };
    let line = rest.lines().next().unwrap_or("").trim();
    line.strip_suffix(" kB")
        .and_then(positive_or_zero)
        .and_then(|kilobytes| kilobytes.checked_mul(1024))
        .ok_or_else(|| {
            HostFactError::invalid(path, line, format!("expected a number of kB after {name}"))
        })
}

pub(super) fn positive_or_zero(text: &str) -> Option<i64> {
    // Rust would take a sign, which the kernel writes nowhere.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn positive(text: &str) -> Option<i64> {
    positive_or_zero(text).filter(|number| *number > 0)
}

/// Returns the size of a page as the name of a resource has it: `2Mi`, `1Gi`.
fn page_size_name(bytes: i64) -> String {
    const UNITS: [(u32, &str); 5] = [(50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")];
    for (bits, unit) in UNITS {
        if bytes.trailing_zeros() >= bits {
            return format!("{}{unit}", bytes >> bits);
        }
    }
    bytes.to_string()
}

/// The result of reading a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Text {
    /// The text as it was read.
    Read(String),
    /// There is no such file.
    Absent,
    /// Why it could not be read: a lowercase fragment.
    Unreadable(String),
}

/// The texts of the node's kernel and files, unparsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// The files by their path on the node. A path that ends in a slash is a folder: its text is the
    /// names in it, one per line.
    pub texts: BTreeMap<String, Text>,
    /// The size of a page of memory, in bytes.
    pub page_size: Option<i64>,
}

/// Why a fact is unavailable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostFactError {
    /// The file was not read: the facts are from a kq that did not need it.
    #[error("{path}: was not read")]
    NotRead {
        /// The file on the node.
        path: String,
    },
    /// There is no such file.
    #[error("{path}: no such file")]
    Absent {
        /// The file on the node.
        path: String,
    },
    /// It could not be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file on the node.
        path: String,
        reason: String,
    },
    /// Its text is not that of such a file.
    #[error("{path}: {value:?}: {problem}")]
    Invalid {
        /// The file on the node.
        path: String,
        /// The text, shortened.
        value: String,
        problem: String,
    },
}

impl HostFacts {
    /// Returns the text of a file.
    /// Fails for a file that was not read, with the reason.
    pub fn text(&self, path: &str) -> Result<&str, HostFactError> {
        let path = || path.to_owned();
        match self.texts.get(&path()) {
            Some(Text::Read(text)) => Ok(text),
            Some(Text::Absent) => Err(HostFactError::Absent { path: path() }),
            Some(Text::Unreadable(reason)) => {
                Err(HostFactError::Unreadable { path: path(), reason: reason.clone() })
            }
            None => Err(HostFactError::NotRead { path: path() }),
        }
    }
}

impl HostFactError {
    /// Returns true if the file does not exist, which for some files is an answer.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent { .. })
    }

    /// Returns the file on the node.
    pub fn path(&self) -> &str {
        match self {
            Self::NotRead { path }
            | Self::Absent { path }
            | Self::Unreadable { path, .. }
            | Self::Invalid { path, .. } => path,
        }
    }

    /// Returns an error about a text, of which it keeps the beginning.
    pub(super) fn invalid(path: &str, value: &str, problem: impl Into<String>) -> Self {
        const MOST: usize = 60;
        let mut shown: String = value.chars().take(MOST).collect();
        if shown.len() < value.len() {
            shown.push_str("...");
        }
        Self::Invalid { path: path.to_owned(), value: shown, problem: problem.into() }
    }
}
