//! Allocated devices with their holders and states: the kubelet's checkpoint, the pod-resources API, the node's
//! status and the active pods, compared with each other.
//!
//! * `holding`: a device in a container, from either source;
//! * `judge`: the state of a holding, and devices in two containers that may not share;
//! * `resources`: the devices of each resource, and those that no pod holds.

mod holding;
mod judge;
mod reason;
mod report;
mod resources;
#[cfg(test)]
mod tests;
mod view;

pub use holding::Role;
pub use reason::{CheckpointDamage, HealthReason, Reason, ResourceNote, SourceGap, State};
pub use report::{Asked, DeviceList, DeviceRow, Finding, Given, Health, PodRef};
pub use resources::{FreeDevice, FreeDevices, FreeOf, ResourceSummary};
pub use view::{dropped, free, given, resources, table, wide};
