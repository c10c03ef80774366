//! The facts that a question needs. Others are neither gathered nor read from a snapshot, so the answer is the same
//! from both.

use crate::cgroup_tree::CgroupPath;
use crate::fact_key::{FactKey, FactSet};
use crate::fact_table;
use crate::lookup::Lookup;
use crate::runtime::RuntimeFacts;
use crate::runtime_needs::{RuntimeNeeds, StatusNeeds};
use crate::snapshot::Snapshot;
use FactKey::*;

/// The facts that a question needs.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    pub facts: FactSet,
    /// The Node object is from a file, so it is not requested.
    pub has_node_file: bool,
    /// Facts are from files, besides the pods of `--pods`.
    pub files: bool,
    /// No file can replace the facts: the kernel's cgroups, the runtime's images.
    pub only_on_node: bool,
}

impl Needs {
    /// Everything that any question needs.
    pub const ALL: Self = Self::of(FactKey::ALL).without(&[PodNames, ImageVolumes]);

    /// For planning: no images, and of the tree only the signs of the driver and of the swap limit.
    pub const PLAN: Self = Self::NAMES.without(&[PodNames]).with(&[
        Node,
        Pods,
        CgroupDriver,
        LowLevelRuntime,
        CgroupTree,
    ]);

    /// For a plan of garbage collection.
    pub const GC_PLAN: Self = Self::of(&[
        Node,
        KubeletConfig,
        Pods,
        Sandboxes,
        Containers,
        Images,
        ImageFilesystems,
        ImageVolumes,
        ImageStorage,
        Filesystems,
        ImageRecords,
        StatsSummary,
    ]);

    /// For a plan of reclaiming under disk pressure: also what the containers use.
    pub const GC_EVICTION: Self = Self::GC_PLAN.with(&[WritableLayers]);

    /// For the order of eviction: the pods' names, requests and measured usage.
    pub const EVICTION: Self = Self::of(&[
        Node,
        KubeletConfig,
        Pods,
        Sandboxes,
        Containers,
        ImageFilesystems,
        Filesystems,
        StateFiles,
        StatsSummary,
    ])
    .in_files();

    /// For the order of eviction for a disk: also what is reclaimed first.
    pub const EVICTION_OF_DISK: Self =
        Self::EVICTION.with(&[Images, ImageVolumes, ImageStorage, ImageRecords, WritableLayers]);

    /// For the policy of garbage collection: only the kubelet.
    pub const GC_POLICY: Self = Self::of(&[Node, KubeletConfig]).in_files();

    /// For checking the settings of garbage collection.
    pub const GC_LINT: Self = Self::GC_PLAN
        .without(&[ImageStorage, ImageRecords, StatsSummary])
        .with(&[SandboxImage])
        .in_files();

    /// For a list of images.
    pub const GC_IMAGES: Self = Self::NAMES.with(&[Node, Images, ContainerStatuses, ImageRecords]);

    /// For recording images: the runtime's endpoint, and the kubelet's gates.
    pub const GC_RECORD: Self = Self::of(&[Node, KubeletConfig, ImageFilesystems]);

    /// For names.
    pub const NAMES: Self = Self::of(&[PodNames, Sandboxes, Containers, KubeletConfig]);

    /// For disk usage.
    pub const GC_DISK: Self = Self::NAMES.with(&[
        Node,
        Images,
        ImageFilesystems,
        WritableLayers,
        Filesystems,
        FolderUsage,
        StatsSummary,
    ]);

    /// For probing the pods of the node: their names, addresses and containers.
    pub const PROBE: Self = Self::PROBE_FILE.with(&[Pods]);

    /// For planning the probes of the node's pods: also the results that the kubelet reported.
    pub const PROBE_PLAN: Self = Self::PROBE.with(&[Events]);

    /// For probing a pod of a file: its containers and sandbox.
    pub const PROBE_FILE: Self = Self::of(&[Node, Sandboxes, Containers, KubeletConfig]);

    /// For planning the probes of a file: only the kubelet.
    pub const KUBELET_OF_FILE: Self = Self { files: true, ..Self::GC_POLICY };

    /// For the devices of a node: the pods, and which of them are active.
    pub const DEVICES: Self =
        Self::PROBE.with(&[StateFiles, DeviceCheckpoint, PodResources]).in_files();

    /// For admission: also whether the kubelet decodes its configuration, and the measurements of its eviction manager.
    pub const ADMISSION: Self =
        Self::DEVICES.with(&[ConfigOnDisk, Filesystems, ImageFilesystems, StatsSummary]);

    /// For the admission of all pods by a kubelet that starts: also whether it starts.
    pub const READMISSION: Self = Self::ADMISSION.with(&[CgroupDriver, CgroupTree, StartFiles]);

    /// For a list of devices: the checkpoint, the pod-resources API and the pods; the configuration only locates
    /// them.
    pub const DEVICE_LIST: Self = Self::DEVICES.without(&[StateFiles, KubeletConfig]);

    /// Needs facts that only the node itself has.
    pub const fn of(facts: &[FactKey]) -> Self {
        let facts = FactSet::of(facts);
        Self { facts, has_node_file: false, files: false, only_on_node: true }
    }

    /// Needs more facts.
    pub const fn with(self, facts: &[FactKey]) -> Self {
        Self { facts: self.facts.with(facts), ..self }
    }

    /// Removes some facts.
    pub const fn without(self, facts: &[FactKey]) -> Self {
        Self { facts: self.facts.without(facts), ..self }
    }

    /// Keeps some facts only if a condition holds.
    pub const fn with_if(self, holds: bool, facts: &[FactKey]) -> Self {
        if holds { self.with(facts) } else { self.without(facts) }
    }

    /// Allows files to replace facts.
    pub const fn in_files(self) -> Self {
        Self { only_on_node: false, ..self }
    }

    /// Returns true if a fact is needed.
    pub const fn has(self, fact: FactKey) -> bool {
        self.facts.has(fact)
    }

    /// Returns the facts that the runtime is queried for.
    pub fn runtime(self) -> RuntimeNeeds {
        RuntimeNeeds {
            cgroup_driver: self.has(CgroupDriver),
            low_level: self.has(LowLevelRuntime),
            sandboxes: self.has(Sandboxes),
            containers: self.has(Containers),
            images: self.has(Images),
            image_filesystems: self.has(ImageFilesystems),
            container_statuses: match (self.has(ContainerStatuses), self.has(ImageVolumes)) {
                (true, _) => StatusNeeds::All,
                (false, true) => StatusNeeds::ImageVolumes,
                (false, false) => StatusNeeds::None,
            },
            writable_layers: self.has(WritableLayers),
            image_storage: self.has(ImageStorage),
            sandbox_image: self.has(SandboxImage),
        }
    }

    /// Returns true if the runtime is queried.
    pub fn needs_runtime(self) -> bool {
        self.runtime() != RuntimeNeeds::default()
    }

    /// Returns true if pods are needed, even if only their names.
    pub fn needs_any_pods(self) -> bool {
        self.has(Pods) || self.has(PodNames)
    }

    /// Returns true if a fact about devices is needed.
    pub fn needs_devices(self) -> bool {
        self.has(DeviceCheckpoint) || self.has(PodResources)
    }

    /// Returns true if the pod list is needed in addition to the runtime's sandboxes.
    pub fn needs_pods(self, runtime: &Lookup<RuntimeFacts>) -> bool {
        let named = runtime.value().is_some_and(|facts| {
            facts.sandboxes.found.is_some() && facts.containers.found.is_some()
        });
        self.has(Pods) || (self.has(PodNames) && !named)
    }

    /// Removes the facts that are not needed.
    pub fn restrict(self, snapshot: &mut Snapshot, roots: &[CgroupPath]) {
        if let Some(found) = &mut snapshot.runtime.found {
            restrict_statuses(self.runtime(), &mut found.value);
        }
        if !self.needs_runtime() {
            snapshot.runtime = Lookup::default();
        }
        if !self.needs_pods(&snapshot.runtime) {
            snapshot.pods = Lookup::default();
        }
        fact_table::restrict(self, snapshot);
        if !self.has(StateFiles) {
            snapshot.state_files = None;
        }
        if !self.has(Filesystems) {
            snapshot.folders.clear();
        } else if !self.has(FolderUsage) {
            snapshot.folders.values_mut().for_each(|folder| folder.usage = Lookup::default());
        }
        if !self.needs_devices() {
            snapshot.devices = None;
        }
        if let Some(found) = &mut snapshot.cgroups.found {
            let (usage, statistics) = (self.has(CgroupUsage), self.has(CgroupStatistics));
            found.value.restrict(roots, usage, statistics, self.has(Processes));
        }
    }
}

/// Keeps the needed statuses, with their needed fields. It runs first, because the selection depends on the states
/// of the containers.
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
            let containers = facts.containers.value().map(AsRef::as_ref).unwrap_or_default();
            // The statuses are in the order of their containers: all of them, or only those that ended.
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
    use crate::filesystems::{FolderRole, FolderUsage, NodeFolder};
    use crate::runtime::{Container, ContainerState, ContainerStatus, RuntimeVersion};

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
        // The runtime lists an ID twice: its answer is kept as it is.
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
            containers: Lookup::found("s", containers.map(container).to_vec().into()),
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
            // Restricting twice is the same as once.
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
            ("gc plan", Needs::GC_PLAN, "folders records summary statuses"),
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
