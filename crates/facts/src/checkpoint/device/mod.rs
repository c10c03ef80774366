//! `kubelet_internal_checkpoint`: the devices of containers, and the answers of their plugins.
//!
//! Followed are `checkpoint/checkpoint.go` and `pod_devices.go` in `pkg/kubelet/cm/devicemanager`.

mod answer;
mod gogo;
mod pod_devices;
mod salvage;
#[cfg(test)]
mod tests;
mod types;

pub use answer::{ContainerAllocateResponse, DecodeError, DeviceSpec, Mount};
pub use pod_devices::{DeviceSet, PodDevice, PodDeviceKey, PodDevices, Restored};
pub use salvage::{Salvage, Unsound, salvage};
pub use types::{DeviceCheckpoint, DevicesPerNuma, Loaded, PodDevicesEntry};
