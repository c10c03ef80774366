//! The edges against the real thing: servers on real sockets, real files.

/// The small HTTP client: what a server can do wrong, and that no call outlives its deadline.
mod http;
/// HTTP servers on loopback that answer as a test says, with TLS or without.
mod http_server;
/// The kubelet's own API: trust, credentials, permissions.
mod kubelet_api;
