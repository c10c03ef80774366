//! The measurements of a node whose kubelet does not give its own, made of what the kernel says, as the kubelet makes them.

use kq_cgroup::live::pod_stats::{pod_stats, working_set};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::filesystems::{Filesystem, FolderRole};
use kq_facts::lookup::Sourced;
use kq_facts::node::Node;
use kq_facts::stats_summary::{
    ContainerStats, FsStats, MemoryStats, NodeStats, RlimitStats, RuntimeStats, StatsSummary,
};

/// The name of all pods among the system's containers (`SystemContainerPods`).
const PODS: &str = "pods";

/// Above it, a limit is none (`isMemoryUnlimited`, `pkg/kubelet/stats/helper.go`).
const UNLIMITED: u64 = 1 << 62;

/// Returns the measurements of a node: the kubelet's own, else those of the machine; `None`: neither is known.
pub fn stats(node: &Node) -> Option<&Sourced<StatsSummary>> {
    let own = node.snapshot.stats_summary.found.as_ref();
    own.or_else(|| node.measured.get_or_init(|| of_machine(node)).as_ref())
}

/// Measures a node by what was read of its machine.
///
/// Memory: all that is in use but the page cache that was not touched lately (`setMemoryStats` of cAdvisor,
/// `rootStatsFromMeminfo` of libcontainer); processes: `pkg/kubelet/stats/pidlimit`; disks: `statfs`. What pods use of the
/// disks is not measured.
fn of_machine(node: &Node) -> Option<Sourced<StatsSummary>> {
    let snapshot = &node.snapshot;
    let tree = snapshot.cgroups.value();
    let config = node.config();
    let roots = kubelet_roots(&config.cgroup_root, config.cgroups_per_qos);
    let of_pods = roots.iter().find_map(|(_, root)| tree?.get(root));
    let of = |role| snapshot.folders.get(&role).and_then(|folder| folder.filesystem.value());
    let images = of(FolderRole::Images).map(space);
    let containers = of(FolderRole::Containers).map(space).or_else(|| images.clone());
    let fs = of(FolderRole::Kubelet).map(space);
    if tree.is_none() && fs.is_none() && images.is_none() {
        return None;
    }
    let value = StatsSummary {
        node: NodeStats {
            system_containers: Vec::from_iter(of_pods.map(|texts| ContainerStats {
                name: PODS.to_owned(),
                memory: Some(limited(texts)),
                ..ContainerStats::default()
            })),
            memory: tree.and_then(|tree| memory(node, tree)),
            fs,
            runtime: images
                .is_some()
                .then_some(RuntimeStats { image_fs: images, container_fs: containers }),
            rlimit: Some(RlimitStats {
                max_pid: snapshot.host.pid_limit().ok(),
                running_processes: snapshot.host.tasks(),
                ..RlimitStats::default()
            }),
            ..NodeStats::default()
        },
        pods: tree.map(|tree| pod_stats(tree, &roots, &node.workloads)).unwrap_or_default().into(),
        is_of_machine: true,
    };
    let source = "the cgroups, /proc, statfs".to_owned();
    Some(Sourced { source, value })
}

/// Returns the memory of the machine.
fn memory(node: &Node, tree: &CgroupTree) -> Option<MemoryStats> {
    let total = u64::try_from(node.snapshot.host.memory_bytes().ok()?).ok()?;
    let texts = tree.get(&CgroupPath::root())?;
    let used = match tree.layout.version()? {
        CgroupVersion::V1 => working_set(texts)?,
        CgroupVersion::V2 => {
            let of = |key| texts.keyed(CgroupFile::MemoryStat, key);
            (of("anon")? + of("file")?).saturating_sub(of("inactive_file")?)
        }
    };
    let huge = match node.kubelet.rules.subtracts_hugepages() {
        true => node.snapshot.host.hugepages().ok()?.values().sum::<i64>().unsigned_abs(),
        false => 0,
    };
    Some(MemoryStats {
        working_set_bytes: Some(used),
        available_bytes: Some(total.saturating_sub(used).saturating_sub(huge)),
        ..MemoryStats::default()
    })
}

/// Returns the memory of a cgroup; without a limit nothing is available.
fn limited(texts: &CgroupTexts) -> MemoryStats {
    let used = working_set(texts);
    let limit = texts.number(CgroupFile::MemoryMax).filter(|limit| *limit <= UNLIMITED);
    MemoryStats {
        working_set_bytes: used,
        available_bytes: used.zip(limit).map(|(used, limit)| limit.saturating_sub(used)),
        ..MemoryStats::default()
    }
}

fn space(of: &Filesystem) -> FsStats {
    FsStats {
        available_bytes: Some(of.available_bytes),
        capacity_bytes: Some(of.capacity_bytes),
        used_bytes: Some(of.capacity_bytes.saturating_sub(of.free_bytes)),
        inodes_free: Some(of.inodes_free),
        inodes: Some(of.inodes),
        inodes_used: Some(of.inodes.saturating_sub(of.inodes_free)),
        ..FsStats::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::cgroup_layout::CgroupLayout;
    use kq_facts::host::{LOADAVG, MEMINFO, PID_MAX, THREADS_MAX, Text};
    use kq_facts::lookup::Lookup;
    use kq_facts::overrides::Overrides;
    use kq_facts::snapshot::Snapshot;

    /// Returns the node of a machine with 1000 KiB of memory, of which 300 KiB are in use and 100 KiB of these in a cache
    /// that was not touched lately.
    fn node(layout: CgroupLayout, root: &[(&str, &str)]) -> Node {
        let texts = |files: &[(&str, &str)]| {
            let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
            CgroupTexts(files.iter().map(own).collect())
        };
        let pods = [
            ("memory.current", "4096\n"),
            ("memory.max", "8192\n"),
            ("memory.stat", "inactive_file 1024\n"),
        ];
        let cgroups = [("/", texts(root)), ("/kubepods", texts(&pods))];
        let cgroups = cgroups.map(|(path, texts)| (CgroupPath::new(path), texts));
        let cgroups = std::sync::Arc::new(cgroups.into());
        let tree = CgroupTree { layout, cgroups, ..CgroupTree::default() };
        let mut snapshot =
            Snapshot { cgroups: Lookup::found("/sys/fs/cgroup", tree), ..Snapshot::default() };
        "2026-11-27T05:00:00Z".clone_into(&mut snapshot.taken_at);
        for (path, text) in [
            (MEMINFO, "MemTotal:  1000 kB\nMemFree:  1 kB\n"),
            (LOADAVG, "0.50 0.40 0.30 2/345 9999\n"),
            (PID_MAX, "4000\n"),
            (THREADS_MAX, "3000\n"),
        ] {
            snapshot.host.texts.insert(path.to_owned(), Text::Read(text.to_owned()));
        }
        Node::of(snapshot, Overrides::default()).expect("a node")
    }

    #[test]
    fn a_machine_is_measured_as_the_kubelet_measures_it() {
        let v2 = CgroupLayout { unified: Some("/sys/fs/cgroup".to_owned()), ..Default::default() };
        let node = node(v2, &[("memory.stat", "anon 204800\nfile 102400\ninactive_file 102400\n")]);
        let found = stats(&node).expect("the cgroups are known");
        assert!(found.value.is_of_machine);
        let memory = found.value.node.memory.as_ref().expect("memory");
        assert_eq!(memory.working_set_bytes, Some(204_800));
        assert_eq!(memory.available_bytes, Some(1_024_000 - 204_800));
        let rlimit = found.value.node.rlimit.as_ref().expect("processes");
        assert_eq!((rlimit.max_pid, rlimit.running_processes), (Some(3000), Some(345)));
        let pods = found.value.node.system_containers[0].memory.as_ref().expect("all pods");
        assert_eq!((pods.working_set_bytes, pods.available_bytes), (Some(3072), Some(5120)));
        assert_eq!(found.value.node.fs, None, "no disk was read");
    }

    #[test]
    fn what_was_not_read_is_not_measured() {
        let v2 = CgroupLayout { unified: Some("/sys/fs/cgroup".to_owned()), ..Default::default() };
        let node = node(v2, &[]);
        assert_eq!(stats(&node).expect("the cgroups are known").value.node.memory, None);
        let nothing = Node::of(
            Snapshot { taken_at: "2026-11-27T05:00:00Z".to_owned(), ..Snapshot::default() },
            Overrides::default(),
        );
        assert!(stats(&nothing.expect("a node")).is_none());
    }
}
