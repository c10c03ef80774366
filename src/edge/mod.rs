//! The edge of the world: the only folder that reads files, connects or asks the time.

#![expect(clippy::disallowed_methods, reason = "this is where the world is read")]

pub mod api_server;
pub mod http;
pub mod input;
pub mod kubelet_api;
pub mod kubelet_files;
