//! Image and container garbage collection: the domain of `kq gc`. Pure.
//!
//! * [`policy`]: when images go, as a kubelet checks it; [`policy_report`] and [`policy_view`] show it.
//! * [`loops`]: when the kubelet runs its two garbage collections, and which failures it tells.
//! * [`containers`]: dead containers, sandboxes and log folders, which go before images do.

pub mod containers;
pub mod loops;
pub mod policy;
pub mod policy_report;
pub mod policy_view;
