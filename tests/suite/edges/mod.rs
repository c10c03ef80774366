//! The edges against the real thing: servers on real sockets, real files.

/// The host's files, and the kubelet among its processes.
mod host;
