//! What a command needs to know. What it does not need is not looked for, and not looked at in a
//! snapshot that has more: so an answer is the same from both.

use super::facts;
use crate::edge::cri::{RuntimeNeeds, StatusNeeds};
use crate::facts::cgroup_tree::CgroupPath;
use crate::facts::lookup::Lookup;
use crate::facts::runtime::RuntimeFacts;
use crate::facts::snapshot::Snapshot;

/// What a command needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// The pods.
    pub pods: PodNeeds,
    /// The kubelet's version and the Node object.
    pub node: bool,
    /// A Node object is given, so that none is asked for.
    pub has_node_file: bool,
    /// Files are given that stand for what a node says, beside those of `--pods`.
    pub files: bool,
    /// No file can stand for what is asked: the cgroups of the kernel, what the runtime has.
    pub only_on_node: bool,
    /// What the runtime says.
    pub runtime: RuntimeNeeds,
    /// The cgroup tree.
    pub tree: Option<TreeDetail>,
    /// The kubelet's own files.
    pub state_files: bool,
    /// The folders that the kubelet and its runtime fill.
    pub folders: FolderNeeds,
    /// What kq recorded of the images.
    pub image_records: bool,
    /// What the kubelet measured.
    pub stats_summary: bool,
    /// The devices of plugins.
    pub devices: DeviceNeeds,
    /// The kubelet's configuration decides something; else it only tells where other facts are.
    pub kubelet_config: bool,
}

/// What is needed of the devices of plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNeeds {
    /// The kubelet's checkpoint.
    pub checkpoint: bool,
    /// What the kubelet tells on its pod-resources socket.
    pub pod_resources: bool,
}

impl DeviceNeeds {
    /// Nothing.
    pub const NONE: Self = Self { checkpoint: false, pod_resources: false };

    /// Both.
    pub const ALL: Self = Self { checkpoint: true, pod_resources: true };
}

/// What is needed of the folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderNeeds {
    /// Nothing.
    None,
    /// What they are on.
    Filesystems,
    /// What they hold as well, which takes its time.
    Usage,
}

/// What is needed of the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodNeeds {
    /// Nothing.
    None,
    /// Their specifications.
    Specifications,
    /// Their names, which the runtime may know as well.
    Names,
}

/// How much of the cgroup tree is read, beside what is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeDetail {
    /// What the kernel counts.
    pub usage: bool,
    /// What it counts at length.
    pub statistics: bool,
    /// The processes.
    pub processes: bool,
}

impl Needs {
    /// Everything that any command needs.
    pub const ALL: Self = Self {
        pods: PodNeeds::Specifications,
        node: true,
        has_node_file: false,
        files: false,
        only_on_node: true,
        runtime: RuntimeNeeds::ALL,
        tree: Some(TreeDetail { usage: true, statistics: true, processes: true }),
        state_files: true,
        folders: FolderNeeds::Usage,
        image_records: true,
        stats_summary: true,
        devices: DeviceNeeds::ALL,
        kubelet_config: true,
    };

    /// What planning needs: no images, and of the tree what tells the driver and the limit of swap.
    pub const PLAN: Self = Self {
        pods: PodNeeds::Specifications,
        node: true,
        has_node_file: false,
        files: false,
        only_on_node: true,
        runtime: RuntimeNeeds {
            images: false,
            image_filesystems: false,
            container_statuses: StatusNeeds::None,
            writable_layers: false,
            image_storage: false,
            sandbox_image: false,
            ..RuntimeNeeds::ALL
        },
        tree: Some(TreeDetail { usage: false, statistics: false, processes: false }),
        state_files: false,
        folders: FolderNeeds::None,
        image_records: false,
        stats_summary: false,
        devices: DeviceNeeds::NONE,
        kubelet_config: true,
    };

    /// What a plan of garbage collection needs.
    pub const GC_PLAN: Self = Self {
        pods: PodNeeds::Specifications,
        node: true,
        has_node_file: false,
        files: false,
        only_on_node: true,
        runtime: RuntimeNeeds {
            cgroup_driver: false,
            low_level: false,
            sandboxes: true,
            containers: true,
            images: true,
            image_filesystems: true,
            container_statuses: StatusNeeds::ImageVolumes,
            writable_layers: false,
            image_storage: true,
            sandbox_image: false,
        },
        tree: None,
        state_files: false,
        folders: FolderNeeds::Filesystems,
        image_records: true,
        stats_summary: false,
        devices: DeviceNeeds::NONE,
        kubelet_config: true,
    };

    /// What a plan of reclaiming under disk pressure needs: what is measured as well.
    pub const GC_EVICTION: Self = Self {
        runtime: RuntimeNeeds { writable_layers: true, ..Self::GC_PLAN.runtime },
        stats_summary: true,
        ..Self::GC_PLAN
    };

    /// What the order of eviction needs: who the pods are, what they request, and what is measured.
    pub const EVICTION: Self = Self {
        only_on_node: false,
        runtime: RuntimeNeeds { image_filesystems: true, ..Self::NAMES.runtime },
        state_files: true,
        image_records: false,
        stats_summary: true,
        ..Self::GC_PLAN
    };

    /// What the policy of garbage collection needs: the kubelet alone.
    pub const GC_POLICY: Self = Self {
        only_on_node: false,
        pods: PodNeeds::None,
        runtime: RuntimeNeeds {
            cgroup_driver: false,
            low_level: false,
            sandboxes: false,
            containers: false,
            images: false,
            image_filesystems: false,
            container_statuses: StatusNeeds::None,
            writable_layers: false,
            image_storage: false,
            sandbox_image: false,
        },
        folders: FolderNeeds::None,
        image_records: false,
        ..Self::GC_PLAN
    };

    /// What judging the settings of garbage collection needs.
    pub const GC_LINT: Self = Self {
        only_on_node: false,
        runtime: RuntimeNeeds {
            image_storage: false,
            sandbox_image: true,
            ..Self::GC_PLAN.runtime
        },
        image_records: false,
        ..Self::GC_PLAN
    };

    /// What a list of images needs.
    pub const GC_IMAGES: Self = Self {
        pods: PodNeeds::Names,
        runtime: RuntimeNeeds {
            image_filesystems: false,
            container_statuses: StatusNeeds::All,
            image_storage: false,
            sandbox_image: false,
            ..Self::GC_PLAN.runtime
        },
        folders: FolderNeeds::None,
        ..Self::GC_PLAN
    };

    /// What records of images need to know beforehand: where the runtime is, and the kubelet's gates.
    pub const GC_RECORD: Self = Self {
        only_on_node: true,
        runtime: RuntimeNeeds { image_filesystems: true, ..Self::GC_POLICY.runtime },
        ..Self::GC_POLICY
    };

    /// What names need.
    pub const NAMES: Self = Self {
        pods: PodNeeds::Names,
        node: false,
        has_node_file: false,
        files: false,
        only_on_node: true,
        runtime: RuntimeNeeds {
            cgroup_driver: false,
            low_level: false,
            sandboxes: true,
            containers: true,
            images: false,
            image_filesystems: false,
            container_statuses: StatusNeeds::None,
            writable_layers: false,
            image_storage: false,
            sandbox_image: false,
        },
        tree: None,
        state_files: false,
        folders: FolderNeeds::None,
        image_records: false,
        stats_summary: false,
        devices: DeviceNeeds::NONE,
        kubelet_config: true,
    };

    /// What the use of the disk needs.
    pub const GC_DISK: Self = Self {
        runtime: RuntimeNeeds {
            images: true,
            image_filesystems: true,
            writable_layers: true,
            ..Self::NAMES.runtime
        },
        node: true,
        folders: FolderNeeds::Usage,
        stats_summary: true,
        ..Self::NAMES
    };

    /// What probing the pods of the node needs: who they are, where they are, which containers they have.
    pub const PROBE: Self = Self { pods: PodNeeds::Specifications, node: true, ..Self::NAMES };

    /// What probing a pod of a file needs: what the runtime has of it.
    pub const PROBE_FILE: Self = Self { pods: PodNeeds::None, ..Self::PROBE };

    /// What planning the probes of a file needs: the kubelet alone.
    pub const KUBELET_OF_FILE: Self = Self { files: true, only_on_node: false, ..Self::GC_POLICY };

    /// What the devices of a node need: who the pods are, and which of them are active.
    pub const DEVICES: Self = Self {
        only_on_node: false,
        pods: PodNeeds::Specifications,
        node: true,
        state_files: true,
        devices: DeviceNeeds::ALL,
        ..Self::NAMES
    };

    /// What a list of devices needs. All in it is told by the checkpoint, the kubelet and the pods; the
    /// configuration says at most where they are.
    pub const DEVICE_LIST: Self =
        Self { state_files: false, kubelet_config: false, ..Self::DEVICES };

    /// Tells whether the runtime is to be asked for anything.
    pub fn needs_runtime(self) -> bool {
        self.runtime != RuntimeNeeds::default()
    }

    /// Tells whether the list of pods is needed beside what the runtime said.
    pub fn needs_pods(self, runtime: &Lookup<RuntimeFacts>) -> bool {
        let named = runtime.value().is_some_and(|facts| {
            facts.sandboxes.found.is_some() && facts.containers.found.is_some()
        });
        match self.pods {
            PodNeeds::None => false,
            PodNeeds::Names => !named,
            PodNeeds::Specifications => true,
        }
    }

    /// Forgets what is not needed.
    pub fn restrict(self, snapshot: &mut Snapshot, roots: &[CgroupPath]) {
        if let Some(found) = &mut snapshot.runtime.found {
            restrict_statuses(self.runtime, &mut found.value);
        }
        if !self.needs_runtime() {
            snapshot.runtime = Lookup::default();
        }
        if !self.needs_pods(&snapshot.runtime) {
            snapshot.pods = Lookup::default();
        }
        facts::restrict(self, snapshot);
        if !self.state_files {
            snapshot.state_files = None;
        }
        match self.folders {
            FolderNeeds::None => snapshot.folders.clear(),
            FolderNeeds::Filesystems => {
                snapshot.folders.values_mut().for_each(|folder| folder.usage = Lookup::default());
            }
            FolderNeeds::Usage => {}
        }
        if self.devices == DeviceNeeds::NONE {
            snapshot.devices = None;
        }
        if let (Some(detail), Some(found)) = (self.tree, &mut snapshot.cgroups.found) {
            let TreeDetail { usage, statistics, processes } = detail;
            found.value.restrict(roots, usage, statistics, processes);
        }
    }
}

/// Keeps the statuses that would have been asked for, with what is needed of them. It comes before
/// anything else is forgotten: which are needed depends on the states of their containers.
fn restrict_statuses(needs: RuntimeNeeds, facts: &mut RuntimeFacts) {
    let wanted = needs.container_statuses;
    if !needs.containers || !wanted.applies_to(&facts.version) {
        facts.container_statuses = Lookup::default();
        return;
    }
    let Some(found) = &mut facts.container_statuses.found else { return };
    match wanted {
        StatusNeeds::All | StatusNeeds::None => {}
        StatusNeeds::ImageVolumes => {
            found.value.iter_mut().for_each(|status| status.finished_at = None);
        }
        StatusNeeds::Ended => {
            let containers = facts.containers.value().map(Vec::as_slice).unwrap_or_default();
            // Statuses stand in the order of their containers, all of them or only those that ended.
            if found.value.len() == containers.len() {
                let mut states =
                    containers.iter().map(|container| wanted.includes(container.state));
                found.value.retain(|_| states.next().unwrap_or(true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::filesystems::{FolderRole, FolderUsage, NodeFolder};
    use crate::facts::runtime::{Container, ContainerState, ContainerStatus, RuntimeVersion};

    /// Three containers of which two ended, all with a status.
    fn runtime(version: &str) -> RuntimeFacts {
        let container = |(id, state): (&str, ContainerState)| Container {
            id: id.to_owned(),
            state,
            ..Container::default()
        };
        let status = |(id, finished_at): (&str, Option<i64>)| ContainerStatus {
            id: id.to_owned(),
            finished_at,
            ..ContainerStatus::default()
        };
        // One id is there twice: what the runtime says is not judged.
        let containers = [
            ("a", ContainerState::Exited),
            ("b", ContainerState::Running),
            ("a", ContainerState::Running),
            ("c", ContainerState::Exited),
        ];
        let statuses = [("a", Some(7)), ("b", None), ("a", None), ("c", Some(9))];
        RuntimeFacts {
            version: RuntimeVersion {
                runtime_name: "containerd".to_owned(),
                runtime_version: version.to_owned(),
                ..RuntimeVersion::default()
            },
            containers: Lookup::found("s", containers.map(container).to_vec()),
            container_statuses: Lookup::found("s", statuses.map(status).to_vec()),
            ..RuntimeFacts::default()
        }
    }

    #[test]
    fn statuses_are_those_that_would_have_been_asked_for() {
        let all: &[(&str, Option<i64>)] =
            &[("a", Some(7)), ("b", None), ("a", None), ("c", Some(9))];
        let ended: &[(&str, Option<i64>)] = &[("a", Some(7)), ("c", Some(9))];
        let times_are_gone: &[(&str, Option<i64>)] =
            &[("a", None), ("b", None), ("a", None), ("c", None)];
        for (name, wanted, version, expected) in [
            ("all", StatusNeeds::All, "1.7.0", Some(all)),
            ("none", StatusNeeds::None, "2.1.0", None),
            ("ended", StatusNeeds::Ended, "1.7.0", Some(ended)),
            ("volumes", StatusNeeds::ImageVolumes, "2.1.0", Some(times_are_gone)),
            ("volumes that may be", StatusNeeds::ImageVolumes, "main", Some(times_are_gone)),
            ("volumes that cannot be", StatusNeeds::ImageVolumes, "1.7.0", None),
        ] {
            let needs = RuntimeNeeds { container_statuses: wanted, ..RuntimeNeeds::ALL };
            let mut facts = runtime(version);
            // What was restricted once stays as it is.
            for _ in 0..2 {
                restrict_statuses(needs, &mut facts);
                let found = facts.container_statuses.value().map(|list| {
                    list.iter().map(|status| (&*status.id, status.finished_at)).collect::<Vec<_>>()
                });
                assert_eq!(found.as_deref(), expected, "{name}");
            }
        }
    }

    #[test]
    fn each_question_keeps_what_it_is_about() {
        let folder = NodeFolder {
            usage: Lookup::found("/", FolderUsage::default()),
            ..NodeFolder::default()
        };
        let all = Snapshot {
            folders: [(FolderRole::Kubelet, folder)].into(),
            image_records: Lookup::failed("f", "absent"),
            stats_summary: Lookup::failed("s", "absent"),
            runtime: Lookup::found("s", runtime("2.1.0")),
            ..Snapshot::default()
        };
        for (name, needs, expected) in [
            ("all", Needs::ALL, "folders usage records summary statuses"),
            ("plan", Needs::PLAN, ""),
            ("names", Needs::NAMES, ""),
            ("gc plan", Needs::GC_PLAN, "folders records statuses"),
            ("gc eviction", Needs::GC_EVICTION, "folders records summary statuses"),
            ("evict", Needs::EVICTION, "folders summary"),
            ("gc policy", Needs::GC_POLICY, ""),
            ("gc images", Needs::GC_IMAGES, "records statuses"),
            ("gc disk", Needs::GC_DISK, "folders usage summary"),
        ] {
            let mut left = all.clone();
            needs.restrict(&mut left, &[]);
            let usage = left.folders.values().any(|folder| folder.usage.found.is_some());
            let runtime = left.runtime.value();
            let kept = [
                ("folders", !left.folders.is_empty()),
                ("usage", usage),
                ("records", !left.image_records.was_not_queried()),
                ("summary", !left.stats_summary.was_not_queried()),
                ("statuses", runtime.is_some_and(|r| !r.container_statuses.was_not_queried())),
            ];
            let kept = kept.into_iter().filter_map(|(what, is_kept)| is_kept.then_some(what));
            assert_eq!(kept.collect::<Vec<_>>().join(" "), expected, "{name}");
        }
    }
}
