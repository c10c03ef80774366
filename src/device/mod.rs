//! Devices of plugins: who has which, what the kubelet would do next. The domain of `kq devices`. Pure.
//!
//! * [`list`]: who has which device, from every source that tells.
//! * [`manager`]: the kubelet's device manager: what it holds, allocates, offers.
//! * [`plugins`]: the sockets of plugins, looked at from outside.
//! * [`pods`]: which pods are active, so that they keep their devices.
//! * [`stand_in`]: the manager with plugins that come and go, for those who write one.
//! * [`verify`]: the files in which the kubelet remembers all that: sound, damaged, contradictory.

pub mod list;
pub mod manager;
pub mod plugins;
pub mod pods;
pub mod run_options;
pub mod stand_in;
pub mod verify;
