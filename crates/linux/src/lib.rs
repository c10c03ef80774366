//! What a Linux node has besides files: the container runtime, device plugins, the pod-resources API and systemd on their
//! sockets, and probes that are sent.

#![expect(clippy::disallowed_methods, reason = "sockets are used and deadlines are counted here")]

#[cfg(target_os = "linux")]
#[macro_use]
mod write_through;

pub mod cri;
pub mod device_plugin;
pub mod pod_resources;

#[cfg(target_os = "linux")]
mod http2;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod systemd_bus;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{probe, systemd_bus};
