//! The device plugins of a node, inspected without disturbing them: listeners, connections, and resources that can be
//! allocated.

mod guess;
mod report;
mod view;
mod wait;

pub use guess::assign_resources;
pub use kq_facts::unix_sockets::Process;
pub use report::{
    Connections, DevicePlugins, Place, PluginInfo, PluginSocket, ResourceState, SocketKind,
};
pub use view::{table, wide};
pub use wait::{Missing, missing_for};
