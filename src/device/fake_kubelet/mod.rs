//! What a stand-in for the kubelet holds while plugins come and go, and what it tells of it.
//!
//! [`Manager`] is the device manager with its connections; each step returns what happened as [`Event`]s.
//! Sockets, files and the clock are the caller's. Followed are `PluginConnected`, `PluginDisconnected` and
//! `PluginListAndWatchReceiver` in `pkg/kubelet/cm/devicemanager/manager.go` (v1.36).

mod admission;
mod changes;
mod event;
mod machine;
mod report;
mod throttle;
mod view;

pub use admission::{TopologyConfig, admit};
pub use event::{Event, TimedEvent};
pub use machine::Manager;
pub use report::{
    Affinity, AllocatedDevice, Call, ContainerAllocation, DeviceAllocation, DeviceAllocationList,
    DevicePodEnded, GivenResource, PluginState, PreStart, Unanswered, Unregistered,
};
pub use throttle::Throttle;
pub use view::{gets, table, wide};
