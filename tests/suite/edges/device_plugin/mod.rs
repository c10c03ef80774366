//! Device plugins on real sockets.

/// A runtime on a thread of its own.
pub mod background;
/// The client of plugins: those that lie, hang and die.
mod plugins;
/// The kubelet's pod-resources API, from a server on a socket.
mod pod_resources;
/// A device plugin.
pub mod sample_plugin;
