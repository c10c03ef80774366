//! The kubelet's pod-resources API, on its unix socket: the devices, CPUs and memory
//! of each container, and the allocatable ones.
//!
//! Without the feature `cri`, which brings gRPC, it reports that.

/// Where the kubelet serves it, below its root folder.
pub const BELOW_ROOT: &str = "pod-resources/kubelet.sock";

#[cfg(not(cri))]
mod disabled;
#[cfg(not(cri))]
pub use disabled::read_pod_resources;

#[cfg(cri)]
mod read;
#[cfg(cri)]
pub use read::read_pod_resources;

#[cfg(cri)]
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, reason = "generated from v1.proto, where the words are")]
pub mod v1;
