//! The clients of containerd's own services, generated from the .proto next to each; asked only to read.

#![allow(
    missing_docs,
    clippy::all,
    reason = "generated from the .proto files, where the words are"
)]

#[rustfmt::skip]
pub mod content;
#[rustfmt::skip]
pub mod images;
#[rustfmt::skip]
pub mod leases;
#[rustfmt::skip]
pub mod namespaces;
#[rustfmt::skip]
pub mod snapshots;
