//! Device plugins on real sockets.

/// A runtime on a thread of its own.
#[path = "../../../support/background.rs"]
pub mod background;
/// The client of plugins: those that lie, hang and die.
mod plugins;
/// The kubelet's pod-resources API, from a server on a socket.
mod pod_resources;
/// A device plugin; `cargo run --example device_plugin` runs it as well.
#[path = "../../../support/sample_plugin.rs"]
pub mod sample_plugin;
/// The sockets of a stand-in: callers that go before they are answered, and those that wait.
mod stand_in;
