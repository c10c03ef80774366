//! Allocated devices with their holders and states: the kubelet's checkpoint, the pod-resources API, the node's
//! status and the active pods, compared with each other.
//!
//! * `holding`: a device in a container, from either source;
//! * `conflicts`: devices in two containers that may not share;
//! * `judge`: the state of a holding;
//! * `free`: the devices that no pod holds;
//! * `resources`: the devices of each resource.

mod conflicts;
mod free;
mod holding;
mod judge;
mod reason;
mod report;
mod resources;
#[cfg(test)]
mod tests;
mod view;

pub use free::{FreeDevices, FreeOf};
pub use holding::Role;
pub use reason::{CheckpointDamage, HealthReason, Reason, ResourceNote, SourceGap, State};
pub use report::{Asked, DeviceList, DeviceRow, Finding, Given, Health, PodRef};
pub use resources::{FreeDevice, ResourceSummary};
pub use view::{dropped, free, given, resources, table, wide};
