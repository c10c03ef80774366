//! What can be the matter with a device in a container.

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

crate::schema::schema_as!(State, String);

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a device is in its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Other pods have it as well; how many more than are named.
    OtherPods(Vec<String>, usize),
    /// Other containers of the pod have it that may not share it; how many more than are named.
    OtherContainers(Vec<String>, usize),
    /// The pod has no such container.
    NoSuchContainer,
    /// The container asks for none.
    NotAskedFor,
    /// The kubelet lists the pod's devices without this one.
    NotTold,
    /// The kubelet does not list the pod.
    PodNotTold,
    /// The checkpoint does not have it.
    NotRecorded,
    /// There is no checkpoint.
    NoCheckpoint,
    /// The kubelet holds it, and its checkpoint is damaged.
    Damaged,
    /// The plugin's answer in the checkpoint cannot be decoded: why.
    Skipped(String),
    /// No device of the resource is healthy: what that can mean.
    NoneHealthy(String),
    /// Others of the resource are healthy: how many.
    NotAmongHealthy(usize),
    /// The pod is gone: why that is known.
    PodGone(String),
    /// The pod ended: why that is known.
    PodEnded(String),
    /// The init container ended; who uses it again.
    InitEnded(Vec<String>),
    /// Something could not be found out.
    Unknown(String),
    /// As it should be: why the pod is active.
    Held(String),
}

impl Reason {
    /// Returns the state that follows.
    pub fn state(&self) -> State {
        match self {
            Self::OtherPods(..) | Self::OtherContainers(..) => State::Double,
            Self::NoSuchContainer | Self::NotAskedFor => State::Orphan,
            Self::NotTold
            | Self::PodNotTold
            | Self::NotRecorded
            | Self::NoCheckpoint
            | Self::Skipped(_) => State::Missing,
            Self::NoneHealthy(_) | Self::NotAmongHealthy(_) => State::Unhealthy,
            Self::PodGone(_) | Self::PodEnded(_) => State::Stale,
            Self::InitEnded(_) => State::InitHeld,
            Self::Unknown(_) => State::Unknown,
            // The kubelet that runs decides; what it would forget is said once, for all.
            Self::Damaged | Self::Held(_) => State::Ok,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPods(others, more) => {
                write!(f, "also in {}", others.join(", "))?;
                and_more(f, *more)
            }
            Self::OtherContainers(others, more) => {
                write!(f, "also in {} of the pod", others.join(", "))?;
                and_more(f, *more)?;
                f.write_str("; only what an ordinary init container had may be used again")
            }
            Self::NoSuchContainer => f.write_str("the pod has no such container"),
            Self::NotAskedFor => f.write_str("the container's limits do not name the resource"),
            Self::NotTold => f.write_str(
                "in the checkpoint, but the kubelet does not tell of it: the checkpoint is older or \
                 newer than what the kubelet holds",
            ),
            Self::PodNotTold => f.write_str(
                "in the checkpoint, but the kubelet does not list the pod among those with resources",
            ),
            Self::NotRecorded => f.write_str(
                "the kubelet tells of it, but it is not in the checkpoint: forgotten when the kubelet \
                 starts again",
            ),
            Self::NoCheckpoint => f.write_str(
                "the kubelet tells of it, but there is no checkpoint: forgotten when the kubelet \
                 starts again",
            ),
            Self::Damaged => f.write_str(
                "held; forgotten when the kubelet starts again, as its checkpoint is damaged",
            ),
            Self::Skipped(error) => write!(
                f,
                "what the plugin answered cannot be decoded ({error}): the entry is skipped when the \
                 kubelet starts again"
            ),
            Self::NoneHealthy(why) => write!(f, "none is healthy: {why}"),
            Self::NotAmongHealthy(count) => write!(
                f,
                "not among the {count} healthy: its plugin calls it unhealthy, or lists it no more"
            ),
            Self::PodGone(why) => write!(
                f,
                "the pod is gone ({why}); the entry stays until a pod asks for devices again"
            ),
            Self::PodEnded(why) => write!(
                f,
                "the pod ended ({why}); the entry stays until a pod asks for devices again"
            ),
            Self::InitEnded(users) if users.is_empty() => {
                f.write_str("the init container ended; kept, unused, until the pod ends")
            }
            Self::InitEnded(users) => {
                write!(f, "the init container ended; used again by {}", users.join(", "))
            }
            Self::Unknown(why) => f.write_str(why),
            Self::Held(why) => f.write_str(why),
        }
    }
}

fn and_more(f: &mut fmt::Formatter<'_>, more: usize) -> fmt::Result {
    match more {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

crate::schema::schema_as!(Reason, String);

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
