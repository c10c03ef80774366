//! The signals that the kubelet evicts on, and what each of them is about.
//!
//! Mirrors the two maps that `pkg/kubelet/eviction/helpers.go` fills in `init`, and the constants of
//! `pkg/kubelet/eviction/api/types.go`, read in 1.36.2.

use std::fmt;

/// A signal that the kubelet evicts on; ordered by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// `allocatableMemory.available`: what the pods together may still use.
    AllocatableMemoryAvailable,
    /// `containerfs.available`
    ContainerFsAvailable,
    /// `containerfs.inodesFree`
    ContainerFsInodesFree,
    /// `imagefs.available`
    ImageFsAvailable,
    /// `imagefs.inodesFree`
    ImageFsInodesFree,
    /// `memory.available`
    MemoryAvailable,
    /// `nodefs.available`
    NodeFsAvailable,
    /// `nodefs.inodesFree`
    NodeFsInodesFree,
    /// `pid.available`
    PidAvailable,
}

/// A scarce resource of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StarvedResource {
    /// `memory`
    Memory,
    /// `ephemeral-storage`
    EphemeralStorage,
    /// `inodes`
    Inodes,
    /// `pids`
    Pids,
}

/// A condition that the node reports while a threshold is crossed; ordered by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PressureCondition {
    /// `DiskPressure`
    Disk,
    /// `MemoryPressure`
    Memory,
    /// `PIDPressure`
    Pid,
}

/// Which filesystem a signal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalFs {
    /// `nodefs`
    Node,
    /// `imagefs`
    Image,
    /// `containerfs`
    Container,
}

impl Signal {
    /// All signals, in the order of their texts.
    pub const ALL: [Self; 9] = [
        Self::AllocatableMemoryAvailable,
        Self::ContainerFsAvailable,
        Self::ContainerFsInodesFree,
        Self::ImageFsAvailable,
        Self::ImageFsInodesFree,
        Self::MemoryAvailable,
        Self::NodeFsAvailable,
        Self::NodeFsInodesFree,
        Self::PidAvailable,
    ];

    /// Returns the signal of a text, if there is one.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.as_str() == text)
    }

    /// Returns the text in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllocatableMemoryAvailable => "allocatableMemory.available",
            Self::ContainerFsAvailable => "containerfs.available",
            Self::ContainerFsInodesFree => "containerfs.inodesFree",
            Self::ImageFsAvailable => "imagefs.available",
            Self::ImageFsInodesFree => "imagefs.inodesFree",
            Self::MemoryAvailable => "memory.available",
            Self::NodeFsAvailable => "nodefs.available",
            Self::NodeFsInodesFree => "nodefs.inodesFree",
            Self::PidAvailable => "pid.available",
        }
    }

    /// Returns what is short when the signal is low.
    pub fn resource(self) -> StarvedResource {
        match self {
            Self::AllocatableMemoryAvailable | Self::MemoryAvailable => StarvedResource::Memory,
            Self::ContainerFsAvailable | Self::ImageFsAvailable | Self::NodeFsAvailable => {
                StarvedResource::EphemeralStorage
            }
            Self::ContainerFsInodesFree | Self::ImageFsInodesFree | Self::NodeFsInodesFree => {
                StarvedResource::Inodes
            }
            Self::PidAvailable => StarvedResource::Pids,
        }
    }

    /// Returns the condition that the node reports when the signal is low.
    pub fn condition(self) -> PressureCondition {
        match self.resource() {
            StarvedResource::Memory => PressureCondition::Memory,
            StarvedResource::EphemeralStorage | StarvedResource::Inodes => PressureCondition::Disk,
            StarvedResource::Pids => PressureCondition::Pid,
        }
    }

    /// Returns the filesystem that the signal is about; `None` for memory and processes.
    pub fn filesystem(self) -> Option<SignalFs> {
        match self {
            Self::NodeFsAvailable | Self::NodeFsInodesFree => Some(SignalFs::Node),
            Self::ImageFsAvailable | Self::ImageFsInodesFree => Some(SignalFs::Image),
            Self::ContainerFsAvailable | Self::ContainerFsInodesFree => Some(SignalFs::Container),
            Self::AllocatableMemoryAvailable | Self::MemoryAvailable | Self::PidAvailable => None,
        }
    }
}

impl StarvedResource {
    /// Returns the name in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Inodes => "inodes",
            Self::Pids => "pids",
        }
    }
}

impl PressureCondition {
    /// Returns the type of the node's condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disk => "DiskPressure",
            Self::Memory => "MemoryPressure",
            Self::Pid => "PIDPressure",
        }
    }
}

/// Shown, compared with others and serialized by the text.
macro_rules! shown_by_text {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        kq_k8s::schema_as!($name, String);

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )*};
}

shown_by_text!(Signal, StarvedResource, PressureCondition);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_texts_in_order() {
        let texts = Signal::ALL.map(Signal::as_str);
        assert!(texts.is_sorted());
        assert!(Signal::ALL.is_sorted());
        for signal in Signal::ALL {
            assert_eq!(Signal::from_text(signal.as_str()), Some(signal));
            let fs = matches!(signal.condition(), PressureCondition::Disk);
            assert_eq!(signal.filesystem().is_some(), fs, "{signal}");
        }
        assert_eq!(Signal::from_text("mem.available"), None);
        assert_eq!(Signal::from_text("Memory.available"), None);
    }

    #[test]
    fn conditions_are_ordered_by_their_texts() {
        let all = [PressureCondition::Disk, PressureCondition::Memory, PressureCondition::Pid];
        assert!(all.is_sorted());
        assert!(all.map(PressureCondition::as_str).is_sorted());
    }
}
