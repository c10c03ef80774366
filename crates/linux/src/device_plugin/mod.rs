//! Device plugins over the device plugin API, on unix sockets: as the kubelet talks to them.
//!
//! [`folder`] lists the folder of their sockets, [`unix_sockets`] the connected processes; both open no
//! connection. The rest speaks gRPC and needs the feature `cri`: [`ask_options`] calls a plugin for its options
//! only, which plugins that serve a kubelet tolerate; `RegistrationServer` is the kubelet's side of
//! registration, and each plugin that registered is a `PluginClient`.
//!
//! Followed are `pkg/kubelet/cm/devicemanager/plugin/v1beta1` and its `endpoint.go`.

mod query;

#[cfg(target_os = "linux")]
pub mod address;
#[cfg(target_os = "linux")]
pub mod folder;
#[cfg(target_os = "linux")]
pub mod socket_registry;
#[cfg(target_os = "linux")]
pub mod unix_sockets;

#[cfg(not(target_os = "linux"))]
pub use super::elsewhere::{address, folder, unix_sockets};

/// The largest message that the kubelet takes from a plugin: grpc-go's default.
pub const MAX_PLUGIN_MESSAGE_BYTES: usize = 4 << 20;

pub use query::{PluginAnswer, PluginQuery};

#[cfg(not(cri))]
mod disabled;
#[cfg(not(cri))]
pub use disabled::{ask_all, ask_info, ask_options, ask_preferred};

#[cfg(cri)]
mod any_authority;
#[cfg(cri)]
mod ask;
#[cfg(cri)]
mod client;
#[cfg(cri)]
mod control;
#[cfg(cri)]
mod places;
#[cfg(cri)]
mod registration;
#[cfg(cri)]
mod registration_server;

#[cfg(cri)]
pub use ask::{ask_all, ask_info, ask_options, ask_preferred};
#[cfg(cri)]
pub use client::{PluginClient, wire_devices};
#[cfg(cri)]
pub use control::{Caller, ControlError, MAX_CONTROL_BYTES, send_request};
#[cfg(cri)]
pub use registration_server::{Incoming, RegistrationServer, Timeouts, in_time};

#[cfg(cri)]
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, reason = "generated from v1beta1.proto, where the words are")]
pub mod v1beta1;

#[cfg(cri)]
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, reason = "generated from pluginregistration.proto")]
pub mod pluginregistration;
