//! A simulated kubelet with generated histories, and kq, which observes it from outside.
//!
//! Images are pulled, used and removed; the kubelet's own rules ([`crate::cycle`]) keep its
//! memory, and [`crate::record`] keeps kq's records. What kq then says it knows, and what it
//! foresees, is held against what the kubelet remembers and does.

/// What kq foresees is what the kubelet does.
mod foresight;
/// Nothing that a node may say is too much for a plan.
mod garbage;
/// Made-up histories.
mod history;
/// What kq knows is what the kubelet remembers.
mod memory;
