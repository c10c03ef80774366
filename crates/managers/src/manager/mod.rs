//! The kubelet's device manager (`pkg/kubelet/cm/devicemanager/manager.go`) as a value and its steps.
//!
//! * `lifecycle`: plugins come, list, and go; what is written to the checkpoint.
//! * `registration`: the checks of a registration.
//! * `capacity`: the node's capacity.
//! * [`allocate`]: the devices of a container. `admit`: those of a pod. `start`: before a container starts.
//! * [`hints`] and [`topology`]: the preferred NUMA nodes, and what the policy makes of them.
//! * `provider`: the manager as one of several that the topology manager asks.

mod admit;
pub mod allocate;
mod capacity;
pub mod hints;
mod lifecycle;
mod plugins;
mod provider;
mod registration;
mod start;
pub mod topology;

pub use admit::{Affinities, PodAdmission, Step};
pub use capacity::{Capacity, CapacityReason, NoneHealthy, ResourceCapacity, STOP_GRACE};
pub use hints::NumaNodes;
pub use lifecycle::{Device, Endpoint, HEALTHY, ManagerState};
pub use plugins::{Allocated, PluginOptions, Plugins, SilentPlugins};
pub use provider::DeviceProvider;
pub use registration::{
    API_VERSION, DIAL_PATIENCE, RegistrationError, check_plugin, check_registration,
};
