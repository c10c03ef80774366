//! The edges against the real thing: servers on real sockets, real files.

/// The API server: kubeconfigs, pages of pods, a server that is busy.
#[cfg(feature = "apiserver")]
mod api_server;
/// A kq without the API server says so.
#[cfg(not(feature = "apiserver"))]
mod api_server_off;
/// The small HTTP client: what a server can do wrong, and that no call outlives its deadline.
mod http;
/// HTTP servers on loopback that answer as a test says, with TLS or without.
mod http_server;
/// The kubelet's own API: trust, credentials, permissions.
mod kubelet_api;
