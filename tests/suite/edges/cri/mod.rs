//! The container runtime over the CRI.

/// A real containerd of the machine.
#[cfg(feature = "cri")]
mod containerd;
/// Without the feature there is an error that says so.
#[cfg(not(feature = "cri"))]
mod disabled;
/// Commands of probes: requests, oversized output, commands that never end.
#[cfg(feature = "cri")]
mod exec;
/// Runtimes that are made up, on real sockets.
#[cfg(feature = "cri")]
pub mod fake;
/// Whatever goes wrong ends in time and has a reason.
#[cfg(feature = "cri")]
mod faults;
/// What is answered is understood and put in order.
#[cfg(feature = "cri")]
mod lists;
/// The program that creates containers is found and queried.
#[cfg(feature = "cri")]
mod low_level;
/// What is removed, and what stands in the way.
#[cfg(feature = "cri")]
mod session;
/// Statuses of containers are queried where they are needed, and each may fail.
#[cfg(feature = "cri")]
mod statuses;
/// The pieces that images share, as a fake containerd reports them.
#[cfg(feature = "cri")]
mod storage;
/// What the removal of images frees, as a real containerd does it.
#[cfg(feature = "cri")]
mod storage_freed;
/// A made-up runtime whose images and containers come and go.
#[cfg(feature = "cri")]
pub mod world;
