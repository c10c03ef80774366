//! The states of devices, resources and sources, and their sentences.

use super::holding::Role;
use crate::manager::NoneHealthy;
use kq_answer::MissingFact;
use kq_facts::node_pods::StandingReason;
use kq_output::units::and_more;
use serde::{Serialize, Serializer};
use std::fmt;

/// What is the matter with a device in a container; the first that applies is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is in two containers that may not share.
    Double,
    /// Its pod is there, but nothing in it asks for the device.
    Orphan,
    /// One source has it, and the other should.
    Missing,
    /// The kubelet does not offer it any more.
    Unhealthy,
    /// Its pod is gone.
    Stale,
    /// An init container took it and ended.
    InitHeld,
    /// A source that decides is unknown.
    Unknown,
    /// As it should be.
    Ok,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Double => "DOUBLE",
            Self::Orphan => "ORPHAN",
            Self::Missing => "MISSING",
            Self::Unhealthy => "UNHEALTHY",
            Self::Stale => "STALE",
            Self::InitHeld => "INIT-HELD",
            Self::Unknown => "UNKNOWN",
            Self::Ok => "OK",
        })
    }
}

kq_k8s::schema_as!(State, String);

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a device is in its state.
#[derive(Clone, Debug, PartialEq, Eq, kq_answer::reason::Reason)]
pub enum Reason {
    /// Other pods have it as well.
    #[text("also in {others}{more}", others = others.join(", "), more = and_more(*more))]
    OtherPods {
        /// Their names, and the containers.
        others: Vec<String>,
        /// How many more than are named.
        more: usize,
    },
    /// Other containers of the pod have it that may not share it.
    #[text(
        "also in {others} of the pod{more}; only what an ordinary init container had may be used \
         again",
        others = others.join(", "),
        more = and_more(*more)
    )]
    OtherContainers {
        /// Their names.
        others: Vec<String>,
        /// How many more than are named.
        more: usize,
    },
    /// The pod has no such container.
    #[text("the pod has no such container")]
    NoSuchContainer,
    /// The container asks for none.
    #[text("the container's limits do not name the resource")]
    NotAskedFor,
    /// The kubelet lists the pod's devices without this one.
    #[text(
        "in the checkpoint, but not reported by the kubelet: the checkpoint is older or newer than \
         the kubelet's memory"
    )]
    NotTold,
    /// The kubelet does not list the pod.
    #[text("in the checkpoint, but the kubelet does not list the pod among those with resources")]
    PodNotTold,
    /// The checkpoint does not have it.
    #[text(
        "reported by the kubelet, but not in the checkpoint: forgotten when the kubelet restarts"
    )]
    NotRecorded,
    /// There is no checkpoint.
    #[text(
        "the kubelet reports it, but there is no checkpoint: forgotten when the kubelet starts \
         again"
    )]
    NoCheckpoint,
    /// The kubelet holds it, and its checkpoint is damaged.
    #[text("held; forgotten when the kubelet starts again, as its checkpoint is damaged")]
    Damaged,
    /// The plugin's answer in the checkpoint cannot be decoded.
    #[text(
        "what the plugin answered cannot be decoded ({error}): the entry is skipped when the \
         kubelet starts again"
    )]
    Skipped {
        /// The kubelet's error.
        error: String,
    },
    /// No device of the resource is healthy.
    #[text("no device of the resource is healthy: {why}")]
    NoneHealthy {
        /// What that can mean.
        why: NoneHealthy,
    },
    /// Others of the resource are healthy.
    #[text("not healthy: its plugin reports it unhealthy, or no longer lists it")]
    NotAmongHealthy {
        /// How many.
        healthy: usize,
    },
    /// The pod is gone.
    #[text("the pod is gone ({why}); the entry stays until a pod requests devices again")]
    PodGone {
        /// How that is known.
        why: StandingReason,
    },
    #[text("the pod ended ({why}); the entry stays until a pod requests devices again")]
    PodEnded {
        /// How that is known.
        why: StandingReason,
    },
    /// The init container ended.
    #[text(if used_by.is_empty() => "the init container ended; kept, unused, until the pod ends")]
    #[text("the init container ended; used again by {used_by}", used_by = used_by.join(", "))]
    InitEnded {
        /// The containers that use the device again.
        used_by: Vec<String>,
    },
    /// Whether the pod is active is unknown.
    #[text("{why}")]
    PodUnknown { why: StandingReason },
    /// The pod's specification is unknown.
    #[text("the pod's specification is unknown, so its containers' requests are too")]
    SpecUnknown,
    /// Which devices are healthy is unknown.
    #[text("{why}")]
    HealthUnknown { why: SourceGap },
    /// Only the checkpoint has it, and the pod-resources API was not queried or is unavailable.
    #[text(
        is_damaged: true => "in a checkpoint that is damaged, and {why}",
        why = other_source(why.as_ref())
    )]
    #[text("in the checkpoint; {why}", why = other_source(why.as_ref()))]
    OnlyInCheckpoint {
        /// The kubelet rejects the checkpoint.
        is_damaged: bool,
        /// Null: the API was not queried.
        why: Option<SourceGap>,
    },
    /// The checkpoint has it and the kubelet does not list it; an init container may hold it.
    #[text("in the checkpoint, but not reported by the kubelet, as for init containers")]
    MayBeInit,
    /// Only the kubelet lists it, and the checkpoint is unavailable.
    #[text("the kubelet reports it; {why}")]
    OnlyTold { why: SourceGap },
    /// As it should be.
    #[text(role: Role::Init => "init container, pod active: {why}")]
    #[text(role: Role::Sidecar => "sidecar, pod active: {why}")]
    #[text("pod active: {why}")]
    Held {
        /// What the container is in its pod.
        role: Role,
        /// Why the pod is active.
        why: StandingReason,
    },
}

/// A source that is unavailable, or that leaves something out.
#[derive(Clone, Debug, PartialEq, Eq, kq_answer::reason::Reason)]
pub enum SourceGap {
    /// The checkpoint is unavailable.
    #[text("the checkpoint is unavailable ({error})")]
    Checkpoint {
        /// Why.
        error: String,
    },
    /// The pod-resources API is unavailable.
    #[text("the pod-resources API is unavailable ({error})")]
    PodResources {
        /// Why.
        error: String,
    },
    /// The pod-resources API does not list the healthy devices.
    #[text("the kubelet does not report its healthy devices ({error})")]
    HealthyDevices {
        /// Why.
        error: String,
    },
}

impl SourceGap {
    /// Returns the fact that is missing.
    pub fn fact(&self) -> MissingFact {
        match self {
            Self::Checkpoint { .. } => MissingFact::DeviceCheckpoint,
            Self::PodResources { .. } | Self::HealthyDevices { .. } => MissingFact::PodResources,
        }
    }
}

/// Why a device is healthy or not, or why that is unknown.
#[derive(Clone, Debug, PartialEq, Eq, kq_answer::reason::Reason)]
pub enum HealthReason {
    /// The kubelet offers it.
    #[text("the kubelet offers it")]
    Offered,
    /// The kubelet does not offer it.
    #[text("the kubelet does not offer it")]
    NotOffered,
    /// The pod-resources API was not queried.
    #[text(
        "the pod-resources API was not asked{was_healthy}",
        was_healthy = health_before(*was_healthy)
    )]
    NotAsked {
        /// Whether it was healthy when the checkpoint was written; null: unknown.
        was_healthy: Option<bool>,
    },
    /// The kubelet's healthy devices are unknown.
    #[text("{why}{was_healthy}", was_healthy = health_before(*was_healthy))]
    Unknown {
        why: SourceGap,
        /// Whether it was healthy when the checkpoint was written; null: unknown.
        was_healthy: Option<bool>,
    },
}

/// What contradicts what about a resource.
#[derive(Clone, Debug, PartialEq, Eq, kq_answer::reason::Reason)]
pub enum ResourceNote {
    /// The node's status has another number than the kubelet.
    #[text(
        "the node's status says {allocatable} allocatable, and the kubelet has {healthy} healthy: \
         it reports its status every few seconds, and at once on changes"
    )]
    StatusDiffers {
        /// Of the node's status.
        allocatable: i64,
        /// Of the kubelet.
        healthy: i64,
    },
    /// The node's status does not have the resource.
    #[text(
        "the node's status does not have it: a plugin has just registered, or the resource was \
         just removed"
    )]
    NotInStatus,
    /// Pods have more devices than are allocatable.
    #[text(
        "pods have {allocated} devices and {allocatable} are allocatable: the scheduler sends no \
         more, and those that run keep theirs"
    )]
    MoreThanAllocatable {
        /// How many devices active pods have.
        allocated: usize,
        /// Of the node's status.
        allocatable: i64,
    },
}

/// What is wrong with a checkpoint that the kubelet rejects, by what is shown in its place.
#[derive(Clone, Debug, PartialEq, Eq, kq_answer::reason::Reason)]
pub enum CheckpointDamage {
    /// What the kubelet lists is shown.
    #[text("{damaged}; the values are the kubelet's", damaged = damaged(error))]
    KubeletShown {
        /// The kubelet's error.
        error: String,
    },
    /// The entries that are whole are shown.
    #[text(entries: 0 => "{damaged}; no entry in it is whole", damaged = damaged(error))]
    #[text(
        entries: 1 => "{damaged}; the one entry that is whole is shown",
        damaged = damaged(error)
    )]
    #[text("{damaged}; the {entries} entries that are whole are shown", damaged = damaged(error))]
    WholeEntriesShown {
        /// The kubelet's error.
        error: String,
        /// How many.
        entries: usize,
    },
    /// Its entries are shown as they are.
    #[text("{damaged}; its entries are shown as they stand there", damaged = damaged(error))]
    EntriesShown {
        /// The kubelet's error.
        error: String,
    },
}

impl Reason {
    /// Returns the state that follows.
    pub fn state(&self) -> State {
        match self {
            Self::OtherPods { .. } | Self::OtherContainers { .. } => State::Double,
            Self::NoSuchContainer | Self::NotAskedFor => State::Orphan,
            Self::NotTold
            | Self::PodNotTold
            | Self::NotRecorded
            | Self::NoCheckpoint
            | Self::Skipped { .. } => State::Missing,
            Self::NoneHealthy { .. } | Self::NotAmongHealthy { .. } => State::Unhealthy,
            Self::PodGone { .. } | Self::PodEnded { .. } => State::Stale,
            Self::InitEnded { .. } => State::InitHeld,
            Self::PodUnknown { .. }
            | Self::SpecUnknown
            | Self::HealthUnknown { .. }
            | Self::OnlyInCheckpoint { .. }
            | Self::MayBeInit
            | Self::OnlyTold { .. } => State::Unknown,
            // The kubelet that runs decides; what it would forget is said once, for all.
            Self::Damaged | Self::Held { .. } => State::Ok,
        }
    }
}

fn other_source(why: Option<&SourceGap>) -> String {
    why.map_or_else(|| "nothing else was asked".to_owned(), SourceGap::to_string)
}

fn health_before(was_healthy: Option<bool>) -> &'static str {
    match was_healthy {
        Some(true) => "; it was healthy when the checkpoint was written",
        Some(false) => "; it was not healthy when the checkpoint was written",
        None => "",
    }
}

/// Returns what each sentence about a damaged checkpoint begins with.
fn damaged(error: &str) -> String {
    format!(
        "the checkpoint is damaged (the kubelet says: {error}), and a kubelet that starts takes nothing \
         of it and hands the devices out again: do not restart it before kq devices verify"
    )
}
