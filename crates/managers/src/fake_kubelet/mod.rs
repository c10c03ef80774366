//! The state of a fake kubelet while plugins come and go, and its events.
//!
//! [`Manager`] is the device manager with its connections; each step returns [`Event`]s.
//! Sockets, files and the clock are the caller's. Followed are `PluginConnected`, `PluginDisconnected` and
//! `PluginListAndWatchReceiver` in `pkg/kubelet/cm/devicemanager/manager.go` (v1.36).

mod admission;
mod changes;
mod event;
mod machine;
mod report;
mod view;

pub use admission::{TopologyConfig, admit};
pub use event::{Event, Throttle, TimedEvent};
pub use machine::Manager;
pub use report::{
    Affinity, AllocatedDevice, Call, ContainerAllocation, DeviceAllocation, DeviceAllocationList,
    DevicePodEnded, GivenResource, PluginState, PreStart, Unanswered, Unregistered,
};
pub use view::{gets, table, wide};
