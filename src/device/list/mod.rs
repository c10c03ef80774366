//! Who has which device, and in what state: the kubelet's checkpoint, what it tells on its
//! pod-resources socket, the node's status and the active pods, held against each other.
//!
//! * `holding`: a device in a container, from either source;
//! * `conflicts`: devices in two containers that may not share;
//! * `judge`: what is the matter with a holding;
//! * `free`: the devices that are left;
//! * `resources`: what there is of each resource, and what is left.

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
