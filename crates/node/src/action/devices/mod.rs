//! Changes and long-running commands of device allocation: the repair of a checkpoint, the fake kubelet with its
//! requests, and the inspection of plugins.

#[cfg(cri)]
mod control;
mod plugins;
mod preference;
mod repair;
#[cfg(cri)]
mod serve;

#[cfg(cri)]
pub use control::{Allocation, AllocationOptions, allocate, end_pod};
pub use plugins::{InspectOptions, inspect, wait_for};
pub use preference::{PluginSearch, QueriedPlugins, QueriedSocket};
pub use repair::{PreparedRepair, RepairOptions};
#[cfg(cri)]
pub use serve::{ServeOptions, serve};
