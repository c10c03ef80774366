//! The reasons why a file or a value cannot be explained, with the nearest known name.

use super::known_files;
use kq_facts::cgroup_file::{CgroupFile, FileUse};
use kq_facts::cgroup_value::page_size_in;
use kq_k8s::nearest::nearest;

/// Files in which the kernel reports what was used and that kq does not read; `SIZE` as in [`known_files`].
const STATISTICS: &str = "cpu.stat.local cpuacct.stat cpuacct.usage_all cpuacct.usage_percpu hugetlb.SIZE.current \
    hugetlb.SIZE.events hugetlb.SIZE.events.local hugetlb.SIZE.numa_stat \
    hugetlb.SIZE.rsvd.current hugetlb.SIZE.usage_in_bytes hugetlb.SIZE.max_usage_in_bytes \
    hugetlb.SIZE.failcnt io.stat irq.pressure memory.events.local memory.failcnt \
    memory.max_usage_in_bytes memory.memsw.failcnt memory.memsw.max_usage_in_bytes \
    memory.memsw.usage_in_bytes memory.numa_stat memory.peak memory.swap.events \
    memory.swap.peak memory.zswap.current pids.events pids.events.local pids.peak";

/// Why a file or value cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// Not one of [`known_files`].
    #[error("unknown file \"{file}\": expected one of {}", known_files().join(", "))]
    UnknownFile {
        /// What was asked for.
        file: String,
    },
    /// A file that holds a measurement of the kernel, not a setting.
    #[error("{file} reports usage: it is not written by the kubelet or a container runtime")]
    Statistics { file: String },
    /// Not a value that the kernel shows in, or takes for, that file.
    #[error("\"{value}\" is not a value of {file}: expected {expected}")]
    BadValue {
        file: String,
        /// What was given.
        value: String,
        /// What the file holds.
        expected: &'static str,
    },
}

impl ExplainError {
    /// Returns the error for a file, by path and by name, that is not explained.
    pub(super) fn of_file(path: &str, name: &str) -> Self {
        let used_for = CgroupFile::named(name).map(|file| file.row().used_for);
        if matches!(used_for, Some(FileUse::Usage | FileUse::Statistics))
            || STATISTICS.split(' ').any(|known| with_size(known, name) == name)
        {
            return Self::Statistics { file: name.to_owned() };
        }
        Self::UnknownFile { file: path.to_owned() }
    }

    /// Returns a way out, if one suggests itself.
    pub fn hint(&self) -> Option<String> {
        let Self::UnknownFile { file } = self else {
            return None;
        };
        let name = file.rsplit('/').next().unwrap_or(file);
        if name.starts_with("hugetlb.") && size_of(name).is_none() {
            return Some("SIZE is a page size, such as 2MB in hugetlb.2MB.max".to_owned());
        }
        let known: Vec<String> =
            known_files().into_iter().map(|known| with_size(known, name)).collect();
        nearest(name, known.iter().map(String::as_str))
            .map(|known| format!("did you mean {known}?"))
    }
}

fn size_of(name: &str) -> Option<&str> {
    page_size_in(name).filter(|bytes| *bytes > 0)?;
    name.split('.').nth(1)
}

/// Returns a known name with the page size of the name that was asked for.
fn with_size(known: &str, name: &str) -> String {
    known.replace("SIZE", size_of(name).unwrap_or("SIZE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_file_has_a_hint() {
        for (file, expected) in [
            ("cpu.weigth", Some("did you mean cpu.weight?")),
            ("/sys/fs/cgroup/kubepods/memory.mx", Some("did you mean memory.max?")),
            (" pids.max", Some("did you mean pids.max?")),
            ("hugetlb.2MB.mx", Some("did you mean hugetlb.2MB.max?")),
            ("hugetlb.2Mi.max", Some("SIZE is a page size, such as 2MB in hugetlb.2MB.max")),
            ("something.else", None),
            ("", None),
        ] {
            let name = file.rsplit('/').next().unwrap_or(file);
            assert_eq!(ExplainError::of_file(file, name).hint().as_deref(), expected, "{file}");
        }
    }

    #[test]
    fn statistics_are_told_apart() {
        for file in ["cpu.stat", "memory.current", "cpu.pressure", "hugetlb.1GB.rsvd.current"] {
            let error = ExplainError::of_file(file, file);
            assert_eq!(error, ExplainError::Statistics { file: file.to_owned() });
            assert_eq!(error.hint(), None);
        }
        for known in known_files() {
            assert!(STATISTICS.split(' ').all(|other| other != known), "{known}");
        }
    }
}
