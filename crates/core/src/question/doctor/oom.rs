//! The level at which memory ran out.
//!
//! `memory.events` of a cgroup counts with `oom` how often its own limit, or that of a cgroup below it, was reached, and with
//! `oom_kill` the killed processes, wherever the limit was (Documentation/admin-guide/cgroup-v2.rst of the kernel).

use super::pod_rule::OomLevel;
use kq_cgroup::live::place::{LiveCgroup, LiveOwner};
use kq_facts::cgroup_file::CgroupFile;
use std::collections::BTreeMap;

/// How often the limits of cgroups were reached.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pods: BTreeMap<String, Reached>,
    kubepods: Reached,
}

/// How often a limit was reached at a cgroup, and below it.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    in_all: Option<u64>,
    below: u64,
}

impl Reached {
    /// Returns true if the limit of the cgroup itself was reached; `None`: it is not counted.
    fn here(self) -> Option<bool> {
        Some(self.in_all? > self.below)
    }
}

impl Limits {
    /// Reads the counters of all cgroups of pods.
    pub(super) fn of<'c, 't: 'c>(cgroups: impl Iterator<Item = &'c LiveCgroup<'t>>) -> Self {
        let mut limits = Self::default();
        for cgroup in cgroups {
            let reached = cgroup.texts.keyed(CgroupFile::MemoryEvents, "oom");
            match &cgroup.owner {
                LiveOwner::Kubepods => limits.kubepods.in_all = reached,
                LiveOwner::Pod(pod) => {
                    limits.pods.entry(pod.uid.clone()).or_default().in_all = reached;
                    limits.kubepods.below += reached.unwrap_or(0);
                }
                LiveOwner::Container(container) => {
                    let of_pod = limits.pods.entry(container.pod.uid.clone()).or_default();
                    of_pod.below += reached.unwrap_or(0);
                }
                _ => {}
            }
        }
        limits
    }

    /// Returns the level whose limit a container that was OOM-killed ran into.
    pub(super) fn level(&self, pod: &str, container: &LiveCgroup<'_>) -> OomLevel {
        match container.texts.keyed(CgroupFile::MemoryEvents, "oom") {
            None => return OomLevel::Unknown,
            Some(1..) => return OomLevel::Container,
            Some(0) => {}
        }
        let of_pod = self.pods.get(pod).copied().unwrap_or_default();
        match (of_pod.here(), self.kubepods.here()) {
            (Some(true), _) => OomLevel::Pod,
            (Some(false), Some(true)) => OomLevel::Kubepods,
            (Some(false), Some(false)) => OomLevel::Node,
            _ => OomLevel::AboveContainer,
        }
    }
}
