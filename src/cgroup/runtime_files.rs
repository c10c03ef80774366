//! What a container runtime writes for a container.
//!
//! Follows runc (`libcontainer/cgroups/fs`, `fs2`, `systemd`) and containerd's CRI plugin
//! (`internal/cri/opts/spec_linux_opts.go`, `WithResources`).

use crate::cgroup::container::RuntimeResources;
use crate::cgroup::derivation::Derived;
use crate::cgroup::files::{CgroupVersion, FileValue, hugetlb_files, memory_files};
use crate::cgroup::plan::RuntimeFormula;
use crate::cgroup::resource_config::{ExplainedFile, WeightWriter, cpu_files, shares_file};
use crate::cgroup::rule::Rule;
use crate::cgroup::settings::CgroupSettings;
use crate::facts::cgroup_file::CgroupFile;

/// Returns the files, in the order of their controllers. What is 0 is not set.
pub fn container_files(
    resources: &RuntimeResources,
    RuntimeFormula { formula, assumed, limits_reservations }: RuntimeFormula,
    settings: &CgroupSettings,
) -> Vec<ExplainedFile> {
    let version = settings.version;
    let mut files = Vec::with_capacity(6);
    if resources.cpu_shares.value != 0 {
        let shares = Derived {
            value: resources.cpu_shares.value.cast_unsigned(),
            because: resources.cpu_shares.because.clone(),
        };
        let writer = WeightWriter { writer: "runtime", formula, assumed };
        files.push(shares_file(&shares, version, writer));
    }
    files.extend(cpu_files(
        Some(&resources.cpu_quota_us),
        Some(resources.cpu_period_us),
        version,
        settings.driver,
    ));
    let limit = &resources.memory_limit;
    let memory = memory_files(limit.value, version).into_iter();
    files.extend(memory.map(|file| ExplainedFile::new(file, limit.because.clone())));
    if let Some(limit) = &resources.memory_swap_limit {
        let file = CgroupFile::MemoryMemswLimit.name(version);
        let file = FileValue { file: file.into(), value: limit.value.to_string() };
        files.push(ExplainedFile::new(file, limit.because.clone()));
    }
    for (size, limit) in &resources.hugepage_limits {
        let files_of_size = hugetlb_files(size, limit.value, version).into_iter();
        for file in files_of_size.take(if limits_reservations { 2 } else { 1 }) {
            let mut because = limit.because.clone();
            because.push(Rule::RuntimeMayIgnoreHugepages.into());
            files.push(ExplainedFile::new(file, because));
        }
    }
    if version == CgroupVersion::V2 {
        for (file, text) in &resources.unified {
            let file = FileValue { file: (*file).into(), value: text.value.clone() };
            files.push(ExplainedFile::new(file, text.because.clone()));
        }
    }
    files
}
