//! The facts that questions can need.

/// A fact, or a part of one, that a question can need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKey {
    /// The kubelet's version and the Node object.
    Node,
    /// The kubelet's configuration, where the answer depends on it; otherwise it only locates other facts.
    KubeletConfig,
    /// The input of the kubelet's next start.
    ConfigOnDisk,
    /// The files that a start of the kubelet reads next to its configuration.
    StartFiles,
    /// The pods with their specifications.
    Pods,
    /// The names of the pods, which the runtime may know as well.
    PodNames,
    /// The events about the pods of the node.
    Events,
    /// The cgroup driver of the runtime.
    CgroupDriver,
    /// The program that creates containers.
    LowLevelRuntime,
    /// The sandboxes of pods.
    Sandboxes,
    Containers,
    Images,
    /// The file systems of images and containers.
    ImageFilesystems,
    /// The statuses of containers that may have image volumes.
    ImageVolumes,
    /// The statuses of all containers.
    ContainerStatuses,
    /// The writable layers of containers.
    WritableLayers,
    /// The storage of images, which the CRI does not report.
    ImageStorage,
    /// The name of the image of sandboxes.
    SandboxImage,
    /// The cgroup tree: the files in which something is set.
    CgroupTree,
    /// The counters of its cgroups.
    CgroupUsage,
    /// The long counters of its cgroups.
    CgroupStatistics,
    /// The processes in its cgroups.
    Processes,
    /// The kubelet's own files.
    StateFiles,
    /// The file systems of the folders that the kubelet and its runtime fill.
    Filesystems,
    /// The disk usage of these folders, which takes time to measure.
    FolderUsage,
    /// The image records of kq.
    ImageRecords,
    /// The kubelet's measurements.
    StatsSummary,
    /// The device manager's checkpoint.
    DeviceCheckpoint,
    /// The answers of the pod-resources API.
    PodResources,
    /// The validity of the kubelet's certificates.
    Certificates,
    /// The drop-ins of systemd for the cgroups of pods.
    DropIns,
}

impl FactKey {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Node,
        Self::KubeletConfig,
        Self::ConfigOnDisk,
        Self::StartFiles,
        Self::Pods,
        Self::PodNames,
        Self::Events,
        Self::CgroupDriver,
        Self::LowLevelRuntime,
        Self::Sandboxes,
        Self::Containers,
        Self::Images,
        Self::ImageFilesystems,
        Self::ImageVolumes,
        Self::ContainerStatuses,
        Self::WritableLayers,
        Self::ImageStorage,
        Self::SandboxImage,
        Self::CgroupTree,
        Self::CgroupUsage,
        Self::CgroupStatistics,
        Self::Processes,
        Self::StateFiles,
        Self::Filesystems,
        Self::FolderUsage,
        Self::ImageRecords,
        Self::StatsSummary,
        Self::DeviceCheckpoint,
        Self::PodResources,
        Self::Certificates,
        Self::DropIns,
    ];
}

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactSet(u32);

impl FactSet {
    /// Returns the set of these.
    pub const fn of(facts: &[FactKey]) -> Self {
        Self(0).with(facts)
    }

    /// Adds facts.
    pub const fn with(self, facts: &[FactKey]) -> Self {
        Self(self.0 | bits(facts))
    }

    /// Returns the facts of both sets.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Removes facts.
    pub const fn without(self, facts: &[FactKey]) -> Self {
        Self(self.0 & !bits(facts))
    }

    /// Returns true if a fact is in the set.
    pub const fn has(self, fact: FactKey) -> bool {
        self.0 & bits(&[fact]) != 0
    }
}

const fn bits(facts: &[FactKey]) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < facts.len() {
        bits |= 1 << facts[at] as u32;
        at += 1;
    }
    bits
}
