//! What a plugin answered to Allocate for one container: `ContainerAllocateResponse` of the device
//! plugin API v1beta1, in protobuf.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a container gets with its devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerAllocateResponse {
    /// Variables.
    pub envs: BTreeMap<String, String>,
    /// Mounts.
    pub mounts: Vec<Mount>,
    /// Device nodes.
    pub devices: Vec<DeviceSpec>,
    /// Annotations for the runtime.
    pub annotations: BTreeMap<String, String>,
    /// Fully qualified CDI names: `vendor.com/class=name`.
    pub cdi_devices: Vec<String>,
}

/// A mount.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Mount {
    /// The path in the container.
    pub container_path: String,
    /// The path on the node.
    pub host_path: String,
    /// It cannot be written.
    pub read_only: bool,
}

/// A device node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeviceSpec {
    /// The path in the container.
    pub container_path: String,
    /// The path on the node.
    pub host_path: String,
    /// Some of `r`, `w`, `m`.
    pub permissions: String,
}

/// Why bytes are no such message: a lowercase fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);
