//! Image and container garbage collection: the domain of `kq gc`. Pure.
//!
//! * [`policy`]: when images go, as a kubelet checks it.
//! * [`loops`]: when the kubelet runs its two garbage collections, and which failures it tells.

pub mod loops;
pub mod policy;
