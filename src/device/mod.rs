//! Devices of plugins: who has which, what the kubelet would do next. The domain of `kq devices`. Pure.
//!
//! * [`manager`]: the kubelet's device manager: what it holds, allocates, offers.
//! * [`pods`]: which pods are active, so that they keep their devices.

pub mod manager;
pub mod pods;
