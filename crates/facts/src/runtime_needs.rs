//! The facts that a runtime is queried for, and the details of one sandbox or container in its answers.

use crate::runtime::{ContainerState, RuntimeVersion};

/// The facts to query; the version is always included. Each costs a call, and the cost of a list
/// depends on its length.
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
    /// The statuses of the containers, one call each, and only if the containers are needed too.
    pub container_statuses: StatusNeeds,
    /// The writable layers of the containers.
    pub writable_layers: bool,
    /// The layers of images, which runtimes report outside of the CRI.
    pub image_storage: bool,
    /// The name of the image of sandboxes.
    pub sandbox_image: bool,
}

/// The containers whose status is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusNeeds {
    #[default]
    None,
    /// For image volumes: of all, but only where the runtime may have such volumes.
    ImageVolumes,
    /// Those that ended.
    Ended,
    All,
}

impl StatusNeeds {
    /// Returns true if a runtime of that version is queried for statuses at all.
    pub fn applies_to(self, version: &RuntimeVersion) -> bool {
        match self {
            Self::None => false,
            Self::ImageVolumes => version.has_image_volumes() != Some(false),
            Self::Ended | Self::All => true,
        }
    }

    /// Returns true if the status of a container in that state is needed.
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

/// Details of a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxStatus {
    /// Its addresses, the first one first; none where it has the node's network.
    pub ips: Vec<String>,
    /// The process that holds it, if the runtime reports it.
    pub pid: Option<i32>,
    /// The file of its network namespace, if the runtime reports one and it has one of its own.
    pub network_namespace: Option<String>,
    /// It runs.
    pub ready: bool,
}

/// Details of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerDetails {
    pub state: ContainerState,
    /// When it started, in nanoseconds since 1970; `None`: it has not.
    pub started_at: Option<i64>,
    /// When it ended, in nanoseconds since 1970; `None`: it has not.
    pub finished_at: Option<i64>,
    /// Its exit code; `None`: it has not ended.
    pub exit_code: Option<i32>,
    /// Its process, if the runtime reports it and it runs.
    pub pid: Option<i32>,
}
