//! What is asked of a runtime.

use crate::facts::runtime::{ContainerState, RuntimeVersion};

/// Which facts are wanted; the version is always asked for. Everything costs a call, and the lists
/// cost what they are long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeNeeds {
    pub cgroup_driver: bool,
    /// The program that creates containers, which is run once for its version.
    pub low_level: bool,
    /// The sandboxes of pods.
    pub sandboxes: bool,
    /// The containers, ended ones too.
    pub containers: bool,
    pub images: bool,
    /// The file systems of images and containers.
    pub image_filesystems: bool,
    /// The statuses of the containers: a call for each, and only where the containers are wanted too.
    pub container_statuses: StatusNeeds,
    /// What containers wrote over their images.
    pub writable_layers: bool,
    /// What images are made of, which runtimes tell beside the CRI.
    pub image_storage: bool,
    /// The name of the image of sandboxes.
    pub sandbox_image: bool,
}

/// Of which containers the status is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusNeeds {
    #[default]
    None,
    /// For image volumes: of all, but only where the runtime may have such volumes.
    ImageVolumes,
    /// Of those that ended.
    Ended,
    All,
}

impl StatusNeeds {
    /// Tells whether a runtime of that version is asked for statuses at all.
    pub fn applies_to(self, version: &RuntimeVersion) -> bool {
        match self {
            Self::None => false,
            Self::ImageVolumes => version.has_image_volumes() != Some(false),
            Self::Ended | Self::All => true,
        }
    }

    /// Tells whether the status of a container in that state is wanted.
    pub fn includes(self, state: ContainerState) -> bool {
        match self {
            Self::None => false,
            Self::Ended => state == ContainerState::Exited,
            Self::ImageVolumes | Self::All => true,
        }
    }
}

impl RuntimeNeeds {
    /// Everything.
    pub const ALL: Self = Self {
        cgroup_driver: true,
        low_level: true,
        sandboxes: true,
        containers: true,
        images: true,
        image_filesystems: true,
        container_statuses: StatusNeeds::All,
        writable_layers: true,
        image_storage: true,
        sandbox_image: true,
    };
}
