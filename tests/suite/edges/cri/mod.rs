//! The container runtime over the CRI.

/// The client and server are what the .proto says.
mod generated;
