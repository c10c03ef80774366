
#[cfg(feature = "apiserver")]
#[cfg(not(feature = "apiserver"))]
//! The edges against the real thing: servers on real sockets, real files.
//! The edges of kq on real sockets, files and programs.
/// A kq without the API server says so.
/// HTTP servers on loopback that answer as a test says, with TLS or without.
/// The API server: kubeconfigs, pages of pods, a server that is busy.
/// The container runtime over the CRI: a real containerd, and fakes that fail in every way.
/// The host's files, and the kubelet among its processes.
/// The kubelet's own API: trust, credentials, permissions.
/// The small HTTP client: what a server can do wrong, and that no call outlives its deadline.
mod api_server;
mod api_server_off;
mod cri;
mod host;
mod http;
mod http_server;
mod kubelet_api;
