//! The servers of the gRPC services that kq is a client of, for fakes.

#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod content;
#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod cri;
#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod images;
#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod leases;
#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod namespaces;
#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod pluginregistration;
#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod pod_resources;
#[rustfmt::skip]
#[allow(clippy::all, reason = "generated from a .proto in crates/linux/src")]
pub mod snapshots;
