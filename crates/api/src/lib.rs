//! HTTP: the API server, and the kubelet's API.

#![expect(clippy::disallowed_methods, reason = "deadlines are counted here")]

pub mod api_server;
pub mod http;
pub mod kubelet_api;
mod kubelet_sockets;
