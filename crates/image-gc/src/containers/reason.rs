//! Why a container, a sandbox or a log folder goes or stays, as data; the words are made last.

use super::state::FailedCall;
use kq_answer::reason::Reason;
use kq_k8s::duration::GoDuration;

/// Why everything of a pod goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Reason)]
#[reason(plain)]
pub enum PodRemoval {
    /// The pod was evicted, or deleted and has ended, or is unknown.
    #[text("its pod is gone or evicted")]
    Content,
    /// All containers of the pod have ended for good, and the trigger is the eviction manager.
    #[text("its pod has ended")]
    Runtime,
}

/// Why something goes.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "rule")]
pub enum RemovalReason {
    /// Everything of its pod goes.
    #[text("{pod}")]
    PodRemoved {
        /// Why that is.
        pod: PodRemoval,
    },
    /// There are newer dead ones of the same container of the same pod.
    #[text("{dead} dead ones of this container, {limit} may stay")]
    MaxPerPodContainer {
        /// How many stay.
        limit: u64,
        /// How many there were.
        dead: usize,
    },
    /// There are too many on the node, and more of this container than its share.
    #[text("{dead} dead ones of this container, its share of the {limit} on the node is {share}")]
    MaxContainersShare {
        /// How many stay on the node.
        limit: u64,
        /// How many of each container stay.
        share: u64,
        /// How many of this one there were.
        dead: usize,
    },
    /// There are still too many on the node, and this is one of the oldest.
    #[text("among the oldest of {dead} on the node, {limit} may stay")]
    MaxContainersOldest {
        /// How many stay on the node.
        limit: u64,
        /// How many there were.
        dead: usize,
    },
    /// The pod has a newer sandbox.
    #[text("its pod has a newer sandbox, {newest}")]
    NewerSandbox { newest: String },
}

impl RemovalReason {
    /// Returns the phase of the kubelet's work in which it goes.
    pub fn phase(&self) -> &'static str {
        match self {
            Self::PodRemoved { .. } => "pod_removed",
            Self::MaxPerPodContainer { .. } => "max_per_pod_container",
            Self::MaxContainersShare { .. } | Self::MaxContainersOldest { .. } => "max_containers",
            Self::NewerSandbox { .. } => "newer_sandbox",
        }
    }
}

/// Why something stays.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
#[reason(tag = "rule")]
pub enum KeepReason {
    /// The kubelet could not list what there is.
    #[text("the list is unknown: {error}")]
    NotListed { error: String },
    /// The container runs.
    #[text("runs")]
    Running,
    /// The container was created too short a time ago.
    #[text("created {age} ago, must be {min_age} old")]
    TooYoung {
        /// How long ago.
        age: GoDuration,
        /// How old it must be.
        min_age: GoDuration,
    },
    /// Its pod goes, but the kubelet does not trust that before it has heard from every source of pods.
    #[text("{pod}, but not every source of pods has been heard")]
    SourcesNotReady {
        /// Why the pod goes.
        pod: PodRemoval,
    },
    /// The container is one of the newest of its name in its pod.
    #[text("number {rank} from the newest of this container, {limit} may stay")]
    NewestOfContainer {
        /// 1 is the newest.
        rank: usize,
        /// How many stay.
        limit: u64,
    },
    /// There are no more dead containers on the node than may stay.
    #[text("{limit} dead ones may stay on the node")]
    WithinMaxContainers {
        /// How many may stay.
        limit: u64,
    },
    /// No limit is set.
    #[text("no limit is set")]
    NoLimit,
    /// The sandbox is the newest of its pod.
    #[text("the newest of its pod")]
    NewestSandbox,
    /// The sandbox runs.
    #[text("ready")]
    Ready,
    /// The sandbox still has containers.
    #[text(containers: 1 => "has a container")]
    #[text("has {containers} containers")]
    HasContainers {
        /// How many.
        containers: usize,
    },
    /// Its pod is not removed.
    #[text("its pod is not gone")]
    PodExists,
    /// It should have gone.
    #[text("{0}")]
    Failed(FailedCall),
}
