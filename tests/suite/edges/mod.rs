//! The edges of kq on real sockets, files and programs.

/// The container runtime over the CRI: a real containerd, and fakes that fail in every way.
mod cri;
