//! The kubelet's device manager (`pkg/kubelet/cm/devicemanager/manager.go`) as a value and its steps.

mod plugins;
mod state;

pub use plugins::{Allocated, PluginOptions, Plugins};
pub use state::{Device, Endpoint, HEALTHY, ManagerState};
