//! The kubelet's device manager (`pkg/kubelet/cm/devicemanager/manager.go`) as a value and its steps.

mod capacity;
mod lifecycle;
mod plugins;
mod registration;
mod state;

pub use capacity::{Capacity, CapacityReason, ResourceCapacity, STOP_GRACE};
pub use plugins::{Allocated, PluginOptions, Plugins};
pub use registration::{
    API_VERSION, DIAL_PATIENCE, RegistrationError, check_plugin, check_registration,
};
pub use state::{Device, Endpoint, HEALTHY, ManagerState};
