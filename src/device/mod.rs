//! Devices of plugins: who has which, what the kubelet would do next. The domain of `kq devices`. Pure.
//!
//! * [`reconstruct`]: the manager of a node, put together from what is known of it from outside.
//! * [`capacity`]: what the node offers.
//! * [`flipped_bit`](mod@flipped_bit): the one bit that explains damage.
//! * [`list`]: who has which device, from every source that tells.
//! * [`manager`]: the kubelet's device manager: what it holds, allocates, offers.
//! * [`plugins`]: the sockets of plugins, looked at from outside.
//! * [`plan`](mod@plan): what would happen to the devices of pods.
//! * [`repair`]: a checkpoint without what is stale or damaged in it.
//! * [`run_options`]: what a container gets from the answers of its plugins.
//! * [`fake_kubelet`]: the manager with plugins that come and go, for those who write one.
//! * [`verify`]: the files in which the kubelet remembers all that: sound, damaged, contradictory.

pub mod capacity;
pub mod fake_kubelet;
pub mod flipped_bit;
pub mod list;
pub mod manager;
pub mod plan;
pub mod plugins;
pub mod reconstruct;
pub mod repair;
pub mod run_options;
pub mod verify;
