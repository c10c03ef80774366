//! The kernel's data on the file systems with the images, containers, logs and volumes of a node.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A file system, as `statfs` and the table of mounts have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Filesystem {
    /// The folder on which it is mounted, on the node.
    pub mount_point: String,
    /// `MAJOR:MINOR`: two folders with the same are on one device.
    pub device: String,
    /// `ext4`, `xfs`, `overlay`.
    pub kind: String,
    /// The size of all blocks.
    pub capacity_bytes: u64,
    /// Free for root.
    pub free_bytes: u64,
    /// Free for unprivileged processes; the kubelet uses this amount.
    pub available_bytes: u64,
    /// All inodes; 0 on file systems that do not count them.
    pub inodes: u64,
    /// Inodes that are free.
    pub inodes_free: u64,
}

/// The usage of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FolderUsage {
    /// The blocks of everything on the folder's own file system; a file with several names counts once.
    pub bytes: u64,
    /// Files and folders.
    pub inodes: u64,
    /// Files hidden below mount points: they take space, and no path leads to them.
    pub hidden: Vec<HiddenFolder>,
    /// Why what is hidden could not be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_unknown: Option<String>,
}

/// A mount point, with its hidden contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HiddenFolder {
    /// The folder.
    pub path: String,
    pub bytes: u64,
    /// Files and folders.
    pub inodes: u64,
}

/// The folders of a node that the kubelet and its runtime fill.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum FolderRole {
    /// The runtime's images, unpacked: the mount point of `ImageFsInfo`.
    Images,
    /// The runtime's writable layers, where `ImageFsInfo` names another place for them.
    Containers,
    /// The kubelet's root folder, by default `/var/lib/kubelet`: the node's file system.
    Kubelet,
    /// The logs of pods, by default `/var/log/pods`.
    Logs,
    /// Images as they were fetched, where the runtime keeps them: containerd's content store.
    Content,
}

impl fmt::Display for FolderRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Images => "images",
            Self::Containers => "containers",
            Self::Kubelet => "the kubelet",
            Self::Logs => "logs",
            Self::Content => "fetched images",
        })
    }
}

/// One of these folders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeFolder {
    /// The folder on the node.
    pub path: String,
    /// The file system that it is on.
    pub filesystem: crate::lookup::Lookup<Filesystem>,
    /// Its usage, if counted.
    pub usage: crate::lookup::Lookup<FolderUsage>,
}
