//! The device manager of a node: decisions about pods, lists, plans, checks of files.

/// Decisions about single pods.
pub mod admission;
/// The device capacity of a node.
pub mod capacity;
/// The devices of a node and their holders.
pub mod list;
/// The pods of a manifest.
mod manifest;
/// The effects of a start other than the planned one.
mod other_starts;
/// The devices that pods would get.
pub mod plan;
/// The topology manager.
pub mod topology;
/// The state files of a kubelet.
pub mod verify;

pub use manifest::manifest_pods;
