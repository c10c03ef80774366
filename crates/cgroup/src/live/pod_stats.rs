//! The usage of pods by the counters of their cgroups, in the form of the kubelet's stats summary.
//!
//! Mirrors, read in 1.36.2: the memory is that of the pod's own cgroup, the working set without the
//! page cache that was not touched lately (`setMemoryStats` of cAdvisor, `container/libcontainer`);
//! processes are those of its containers, without the sandbox and without what containers keep in
//! cgroups of their own (`addProcessStats` of `pkg/kubelet/stats/cri_stats_provider.go`).

use super::place::{LiveOwner, LivePod, Part, live_cgroups};
use crate::files::CgroupDriver;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::stats_summary::{MemoryStats, PodReference, PodStats};
use kq_facts::workloads::Workloads;

/// Returns what the pods that have cgroups use. What was not read of one is `None`.
pub fn pod_stats(
    tree: &CgroupTree,
    roots: &[(CgroupDriver, CgroupPath)],
    workloads: &Workloads,
) -> Vec<PodStats> {
    let mut stats: Vec<PodStats> = Vec::new();
    for (driver, root) in roots.iter().filter(|(_, root)| tree.get(root).is_some()) {
        for cgroup in live_cgroups(tree, root, *driver, workloads) {
            match &cgroup.owner {
                LiveOwner::Pod(pod) => stats.push(PodStats {
                    pod_ref: reference(pod),
                    memory: working_set(cgroup.texts).map(|bytes| MemoryStats {
                        working_set_bytes: Some(bytes),
                        ..MemoryStats::default()
                    }),
                    ..PodStats::default()
                }),
                // A pod comes right before what is in it.
                LiveOwner::Container(container) => {
                    if let (Part::Container(..), Some(last)) = (container.part, stats.last_mut()) {
                        add_processes(last, cgroup.texts);
                    }
                }
                _ => {}
            }
        }
    }
    stats
}

fn reference(pod: &LivePod<'_>) -> PodReference {
    let (namespace, name) =
        pod.name.map(|name| (name.namespace.clone(), name.name.clone())).unwrap_or_default();
    PodReference { name, namespace, uid: pod.uid.clone() }
}

/// Returns the memory of a cgroup that it cannot do without.
pub fn working_set(texts: &CgroupTexts) -> Option<u64> {
    let inactive = |key| texts.keyed(CgroupFile::MemoryStat, key);
    let used = texts.number(CgroupFile::MemoryCurrent)?;
    // On cgroup v1 the other key leaves out the cgroups below.
    let inactive = inactive("total_inactive_file").or_else(|| inactive("inactive_file"))?;
    Some(used.saturating_sub(inactive))
}

/// Processes of other pid namespaces are 0 in the list, and count.
fn add_processes(pod: &mut PodStats, texts: &CgroupTexts) {
    let Some(text) = texts.text_of(CgroupFile::CgroupProcs) else { return };
    let own = text.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    let stats = pod.process_stats.get_or_insert_default();
    stats.process_count = Some(stats.process_count.unwrap_or(0).saturating_add(own));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use kq_k8s::pod::Pod;
    use serde_json::json;
    use std::sync::Arc;

    /// A tree of either version: the files of the pod's cgroup and of those in it.
    fn stats(pod: &[(&str, &str)]) -> PodStats {
        let texts = |files: &[(&str, &str)]| {
            let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
            CgroupTexts(files.iter().map(own).collect())
        };
        let cgroups = [
            ("/kubepods", texts(&[])),
            ("/kubepods/podu1", texts(pod)),
            ("/kubepods/podu1/app1", texts(&[("cgroup.procs", "7\n0\n9\n")])),
            ("/kubepods/podu1/app1/inner", texts(&[("cgroup.procs", "10\n")])),
            ("/kubepods/podu1/log1", texts(&[("cgroup.procs", "11\n")])),
            ("/kubepods/podu1/sandbox", texts(&[("cgroup.procs", "6\n")])),
        ];
        let cgroups = cgroups.map(|(path, texts)| (CgroupPath::new(path), texts));
        let tree = CgroupTree {
            cgroups: Arc::new(cgroups.into_iter().collect()),
            ..CgroupTree::default()
        };
        let known = objects::pod("shop/web").uid("u1").statuses(json!([
            {"name": "app", "containerID": "containerd://app1"},
            {"name": "log", "containerID": "containerd://log1"},
        ]));
        let known: Pod = known.read();
        let roots = [(CgroupDriver::Cgroupfs, CgroupPath::new("/kubepods"))];
        let all = pod_stats(&tree, &roots, &Workloads::of([&known], None));
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].pod_ref.uid, "u1");
        all.into_iter().next().expect("one pod")
    }

    #[test]
    fn cgroups_are_added_up_as_the_kubelet_does() {
        let v1 = "inactive_file 1\ntotal_inactive_file 30\n";
        // Files of the pod's cgroup; the working set.
        for (name, files, expected) in [
            (
                "v2",
                &[("memory.current", "100\n"), ("memory.stat", "anon 5\ninactive_file 30\n")][..],
                Some(70),
            ),
            ("v1", &[("memory.usage_in_bytes", "100\n"), ("memory.stat", v1)], Some(70)),
            (
                "more inactive than used",
                &[("memory.current", "1\n"), ("memory.stat", "inactive_file 30\n")],
                Some(0),
            ),
            ("without statistics", &[("memory.current", "100\n")], None),
            ("nothing", &[], None),
        ] {
            let got = stats(files);
            let bytes = got.memory.and_then(|memory| memory.working_set_bytes);
            assert_eq!(bytes, expected, "{name}");
            let processes = got.process_stats.and_then(|stats| stats.process_count);
            assert_eq!(processes, Some(4), "{name}: of the containers, not of what is in them");
        }
    }
}
